"""Choosing a method: what is tried, what wins, and what is said."""

import json

import numpy as np
import pytest

from problems import hide, sparse_text, two_blobs
from semisvm import registry
from semisvm.model_selection import choose, choosing
from semisvm.model_selection.choosing import candidates, neighbours, too_few
from semisvm.model_selection.comparison import Comparison, FoldScore
from semisvm.model_selection.watching import Step
from semisvm.partial_labels import encode


def comparison(**scores):
    found = {
        name: [FoldScore(name, k, value, 0.0) for k, value in enumerate(values)]
        for name, values in scores.items()
    }
    return Comparison.of(
        found,
        baseline=next(iter(scores)),
        scoring="accuracy",
        confidence=0.95,
        test_share=0.25,
        n_labeled=40,
        n_unlabeled=100,
    )


@pytest.fixture
def scores(monkeypatch):
    """Replace the fits by scores; give the list of what was asked for."""
    asked, made_up = [], {}

    def compare(estimators, X, y, **options):
        asked.append(estimators)
        usual = [0.7, 0.6, 0.8, 0.7, 0.7]
        return comparison(**{name: made_up.get(name, usual) for name in estimators})

    monkeypatch.setattr(choosing, "compare", compare)
    return asked, made_up


def test_the_supervised_method_is_taken_where_nothing_is_better(scores):
    X, y = two_blobs(60)
    choice = choose(X, hide(y, 20))
    assert (choice.method, choice.parameters) == ("svm", {})
    assert choice.reasons[0] == (
        "svm was chosen by cross-validated accuracy: svm 0.700, tsvm 0.700, da 0.700."
    )
    assert "Recommended: the supervised model, svm." in choice.reasons[2]


def test_a_method_and_a_setting_that_are_better_are_taken(scores):
    asked, made_up = scores
    made_up["da"] = [0.9, 0.8, 0.9, 0.9, 0.9]
    made_up["reg=0.0001"] = [0.9, 0.7, 0.9, 0.9, 0.9]
    X, y = two_blobs(60)
    choice = choose(X, hide(y, 20), parameters={"n_jobs": 2, "unlabeled_weight": 0.5})
    assert choice.method == "da"
    assert choice.parameters == {"unlabeled_weight": 0.5, "reg": 1e-4, "n_jobs": 2}
    assert choice.reasons[1] == "reg=0.0001 scored 0.860, the default 0.700."
    assert choice.reasons[2].startswith("The unlabelled rows helped: da is 0.180 ahead of svm")
    assert list(asked[1]) == ["defaults", "reg=0.0001", "reg=0.01"]
    assert "unlabeled_weight" not in asked[0]["svm"].get_params()
    assert asked[0]["tsvm"].unlabeled_weight == 0.5


def test_a_small_lead_is_not_enough_but_a_likely_one_is(scores):
    _, made_up = scores
    X, y = two_blobs(60)
    made_up["tsvm"] = [0.9, 0.4, 0.8, 0.7, 0.8]
    assert choose(X, hide(y, 20)).method == "svm"
    made_up["tsvm"] = [0.8, 0.6, 0.9, 0.7, 0.8]
    choice = choose(X, hide(y, 20))
    assert choice.method == "tsvm"
    assert "probably helped, but 40 labels cannot prove it" in choice.reasons[2]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            [0] * 3 + [1] * 4,
            "7 labels are too few to compare methods: tsvm is used without a comparison.",
        ),
        ([0] * 10 + [1] * 9 + [2], "class 2 has a single label, which cannot be held out"),
        ([0] * 10 + [1, 2], "2 classes have a single label"),
    ],
)
def test_too_few_labels(labels, said):
    y = np.array([*labels, -1, -1, -1])
    assert too_few(encode(y)) is not None
    choice = choose(np.eye(len(y)), y, parameters={"reg": 0.1})
    assert (choice.method, choice.parameters) == ("tsvm", {"reg": 0.1})
    assert choice.reasons[0].startswith(said)
    assert choice.methods is None


def test_candidates_suit_the_data():
    two = encode([0, 1, -1])
    assert [m.name for m in candidates(two, True)] == ["svm", "tsvm", "da"]
    assert [m.name for m in candidates(encode([0, 1]), True)] == ["svm"]
    tsvm = registry.get("tsvm")
    assert {"unlabeled_weight": 0.1} in neighbours(tsvm, {})
    assert neighbours(tsvm, {"reg": 1.0, "unlabeled_weight": 1.0}) == []


def test_unknown_parameters_are_refused():
    X, y = two_blobs(40)
    with pytest.raises(ValueError, match="tolerance cannot be set where the method is chosen"):
        choose(X, hide(y, 20), parameters={"tolerance": 1})


def test_a_real_choice_is_data_and_repeats(monkeypatch):
    monkeypatch.setattr(choosing, "MOST_UNLABELED", 60)
    X, y = sparse_text(120)
    told = []
    partly = hide(y, 20)
    choice = choose(X, partly, random_state=3, tell=told.append)
    assert choice.method in ("svm", "tsvm", "da")
    assert choice.methods.n_unlabeled == 60
    assert "60 of the unlabelled rows were used to choose." in choice.reasons
    assert told[0] == Step("svm", 1, 15, 0, 45)
    assert str(told[0]) == "svm, fold 1 of 15"
    assert str(told[-1]).startswith(f"{choice.method}, ")
    assert told[-1].done == told[-1].total - 1
    again = choose(X, partly, random_state=3).to_dict()
    for facts in (again, first := choice.to_dict()):
        for part in ("methods", "settings"):
            facts[part] = [method["scores"] for method in facts[part]["methods"]]
    assert json.loads(json.dumps(first)) == again
