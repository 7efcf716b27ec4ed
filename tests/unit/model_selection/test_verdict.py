"""One verdict: computed from the numbers, the same in all outputs."""

import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.model_selection import choose, compare
from semisvm.model_selection.comparison_result import Comparison, FoldScore
from semisvm.model_selection.verdict import word_of
from semisvm.reporting import render_card, report_data
from semisvm.tables import Table
from semisvm.training import bundled, prepare

BASE = [0.70, 0.74, 0.66, 0.72, 0.68]
NOISE = [0.03, -0.05, 0.06, -0.01, -0.03]


def comparison(gaps, noise=NOISE, n_labeled=200, **facts):
    scores = {"svm": BASE}
    scores |= {k: [b + d + e for b, e in zip(BASE, noise, strict=True)] for k, d in gaps.items()}
    folds = {k: [FoldScore(k, i, v, 0.1) for i, v in enumerate(s)] for k, s in scores.items()}
    return Comparison.of(
        folds,
        baseline="svm",
        scoring="accuracy",
        confidence=0.95,
        test_share=0.25,
        n_labeled=n_labeled,
        n_unlabeled=90,
        **facts,
    )


def test_no_verdict_without_a_variance():
    assert word_of((0.188, 0.188), 60) == "no evidence"
    assert word_of((-0.1, -0.1), 60) == "no evidence"
    assert word_of((0.1, 0.2), 60) == "helped"
    assert word_of((-0.2, -0.1), 60) == "hurt"
    assert word_of((0.1, 0.2), 5) == "no evidence"


def test_a_chosen_model_is_judged_and_kept():
    verdict = comparison({"tsvm": 0.08, "committee": 0.02}, chosen="committee").did_it_help()
    assert (verdict.word, verdict.method) == ("no evidence", "committee")
    assert verdict.recommended == "committee"
    assert "Recommended" not in verdict.sentence
    assert "too few to tell" in verdict.sentence
    open_ = comparison({"tsvm": 0.02, "committee": 0.01}).did_it_help()
    assert (open_.method, open_.recommended) == ("tsvm", "svm")


def test_methods_that_were_helped_are_named_beside_a_chosen_one_that_may_not_be():
    """The table says of them that they were."""
    gaps = {"tsvm": 0.3, "da": 0.25, "svm reg=1": 0.4, "committee": 0.02}
    found = comparison(gaps, chosen="committee", supervised=["svm reg=1"])
    assert [d.verdict for d in found.differences] == ["helped"] * 3 + ["no evidence"]
    verdict = found.did_it_help()
    assert verdict.word == "no evidence"
    assert "200 labels are too few to tell. They did help tsvm and da, each alone." in (
        verdict.sentence
    )
    alone = comparison({"tsvm": 0.3, "committee": 0.02}, chosen="committee").did_it_help()
    assert "They did help tsvm, each alone" not in alone.sentence
    assert "They did help tsvm alone." in alone.sentence


def test_a_chosen_model_that_hurt_is_not_recommended():
    found = comparison({"tsvm": 0.0, "committee": -0.4}, chosen="committee")
    verdict = found.did_it_help()
    assert (verdict.word, verdict.method, verdict.recommended) == ("hurt", "committee", "svm")
    assert "Recommended: the supervised model, svm." in verdict.sentence


def test_labels_that_were_not_held_out_do_not_count():
    guesses = [FoldScore("guess", k, 0.7, 0.0) for k in range(5)]
    found = comparison({"tsvm": 0.0}, n_labeled=12, n_held=10, chance=guesses)
    assert found.did_it_help().chance.startswith("10 held-out labels are too few to show")
    found = comparison({"tsvm": 0.0}, n_labeled=12, chance=guesses)
    assert found.did_it_help().chance.startswith("12 labels are too few to show")


def test_a_verdict_has_the_bounds_of_the_difference():
    found = comparison({"tsvm": 0.03})
    low, high = found.differences[0].interval
    sentence = found.did_it_help().sentence
    assert re.search(rf"\bsvm .*{high:.3f} worse than tsvm.* {-low:.3f} better", sentence)
    chosen = comparison({"tsvm": 0.03}, chosen="tsvm").did_it_help().sentence
    assert re.search(rf"tsvm .*{-low:.3f} worse than svm.* {high:.3f} better", chosen)


def test_supervised_methods_have_no_verdict_on_unlabelled_rows():
    found = comparison({"svm reg=1": 0.3, "tsvm": 0.0}, supervised=["svm reg=1"])
    verdict = found.did_it_help()
    assert (verdict.word, verdict.method) == ("no evidence", "tsvm")
    alone = comparison({"svm reg=1": 0.3}, supervised=["svm reg=1"], chosen="svm reg=1")
    assert alone.did_it_help().recommended == "svm reg=1"
    assert "No method that uses the unlabelled rows" in alone.did_it_help().sentence
    X, y = two_blobs(60)
    methods = {
        "svm": NewtonSVC(),
        "other": make_pipeline(StandardScaler(), NewtonSVC(reg=1.0)),
        "lr": LogisticRegression(),
        "tsvm": TransductiveSVC(),
    }
    assert compare(methods, X, hide(y, 20), cv=2).supervised == ("other", "lr")


def test_the_verdict_comes_from_the_numbers_of_a_file():
    found = comparison({"tsvm": 0.02, "committee": 0.01}, chosen="committee")
    plain = json.loads(json.dumps(found.to_dict()))
    plain["did_it_help"] = {"word": "helped", "recommended": "tsvm", "sentence": "It helped."}
    again = Comparison.from_dict(plain)
    assert again.did_it_help() == found.did_it_help()
    # as an earlier version left it
    for name in ("chosen", "supervised"):
        del plain[name]
    for method in plain["methods"]:
        del method["scores"], method["seconds"], method["chance"]
    old = Comparison.from_dict(plain, "committee")
    assert old.did_it_help().sentence == found.did_it_help().sentence


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fit_card_and_report_agree(seed):
    X, y = two_blobs(150, gap=1.0, seed=seed)
    partly = hide(y, 24)
    labels = np.array([None if v == -1 else str(v) for v in partly], dtype=object)
    columns = {f"c{k}": [str(v) for v in X[:, k]] for k in range(X.shape[1])}
    prepared = prepare(Table(columns, labels))
    choice = choose(prepared.X, prepared.labels, unlabeled=None, quick=True)
    model = bundled(choice.make(unlabeled=None).fit(prepared.X, labels), choice.method, prepared)
    model.summary["choice"] = choice.to_dict()
    verdict = choice.methods.did_it_help()
    assert set(verdict.sentences) <= set(choice.reasons)
    data = report_data(model)
    assert data["comparison"]["did_it_help"]["sentence"] == verdict.sentence
    assert verdict.recommended == choice.name or verdict.word != "no evidence"
    card = render_card(data).replace("\\", "")
    assert all(sentence in card for sentence in verdict.sentences)


def test_every_label_counts_the_same():
    """Twelve labels in folds of 3 and 2: the guess has the share of the labels, 10 of 12."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    y = np.array([1] * 10 + [0] * 2 + [-1] * 28)
    with pytest.warns(UserWarning, match="fewer than n_splits"):
        found = compare([NewtonSVC()], X, y, cv=5)["NewtonSVC"]
    assert found.chance.guess == pytest.approx(10 / 12)
    chosen = choose(X, y, quick=True).methods
    assert chosen["svm"].chance.guess == pytest.approx(10 / 12)
    assert 12 * chosen["svm"].mean == pytest.approx(round(12 * chosen["svm"].mean))
