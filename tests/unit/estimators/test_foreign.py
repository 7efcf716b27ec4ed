"""Classifiers of other packages in committees and in the choice of a method."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

import semisvm
from problems import hide
from promises import clusters
from semisvm import NewtonSVC, SemiSupervisedCommittee, choose
from semisvm.estimators.foreign import ForeignClassifier
from semisvm.model_selection import cross_validation, method_choice
from semisvm.model_selection.candidates import pool
from semisvm.persistence import ModelFileError

OTHERS = {
    "lr": LogisticRegression(),
    "trees": HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2),
    "forest": RandomForestClassifier(10, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}
SEMI = {"spreading": LabelSpreading(), "own": SelfTrainingClassifier(LogisticRegression())}


def names_of(y, m):
    """Return labels as texts, with None where there is none."""
    return np.array([None if k < 0 else "abc"[k] for k in y], dtype=object)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", OTHERS)
def test_scores_are_those_of_the_labelled_rows(name, m):
    X, _, partly = clusters(m)
    known = partly >= 0
    model = ForeignClassifier(OTHERS[name], unlabeled=None).fit(X, names_of(partly, m))
    alone = clone(OTHERS[name]).fit(X[known], partly[known])
    assert model.classes_.tolist() == [*"abc"[:m]]
    if name == "forest":
        p = np.log(np.maximum(alone.predict_proba(X), 0.5 / known.sum()))
        expected = p[:, 1] - p[:, 0] if m == 2 else p
    else:
        expected = alone.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", [*OTHERS, *SEMI])
def test_no_marker_becomes_a_class(name, m):
    X, _, partly = clusters(m)
    members = [("theirs", {**OTHERS, **SEMI}[name]), ("ours", NewtonSVC())]
    model = SemiSupervisedCommittee(members, unlabeled=-1).fit(X, partly)
    assert model.classes_.tolist() == list(range(m))
    assert {*model.transduction_.tolist()} <= {*range(m)}
    assert model.predict_proba(X).shape == (len(X), m)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).estimators[0][1] is not members[0][1]


def test_what_a_committee_refuses(tmp_path):
    X, _, partly = clusters(2)
    for wrong in (StandardScaler(), 3, "svm"):
        with pytest.raises(ValueError, match="must be a classifier"):
            SemiSupervisedCommittee([("a", wrong)]).fit(X, partly)
    weight = np.ones(len(X))
    with pytest.raises(ValueError, match="take no sample_weight"):
        SemiSupervisedCommittee([("a", OTHERS["pipeline"])]).fit(X, partly, sample_weight=weight)
    model = SemiSupervisedCommittee([("a", OTHERS["lr"])]).fit(X, partly, sample_weight=weight)
    with pytest.raises(ModelFileError, match="other packages"):
        semisvm.save(model, tmp_path / "model.semisvm")
    with pytest.raises(ValueError, match="cannot compute the scores of a"):
        semisvm.to_onnx(model, tmp_path / "model.onnx")


@pytest.fixture
def few(monkeypatch):
    """Try the supervised SVM, and others."""
    monkeypatch.setattr(method_choice, "QUICK", ("svm",))


def test_others_are_chosen_where_they_are_better(few):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    partly = hide(y, 120)
    others = {"forest": RandomForestClassifier(50, random_state=0), "lr": LogisticRegression()}
    choice = choose(X, partly, quick=True, others=others)
    assert choice.name == "forest"
    assert choice.method == "committee"
    assert {"svm", "forest"} <= {method.name for method in choice.methods.methods}
    model = choice.make().fit(X, partly)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, y) > 0.85
    labelled = partly >= 0
    alone = others["forest"].fit(X[labelled], y[labelled])
    assert np.mean(model.predict(X) == alone.predict(X)) > 0.99


def test_names_of_others_are_their_own(few):
    X, _, partly = clusters(2)
    with pytest.raises(ValueError, match="svm is the name of a method"):
        choose(X, partly, others={"svm": LogisticRegression()})
    with pytest.raises(ValueError, match="must be a classifier"):
        choose(X, partly, others={"a": StandardScaler()})
    # weights of rows leave out what takes none
    others = {"lr": LogisticRegression(), "pipeline": OTHERS["pipeline"]}
    weighted = choose(X, partly, quick=True, others=others, sample_weight=np.ones(len(X)))
    tried = {method.name for method in weighted.methods.methods}
    assert "lr" in tried | {*weighted.skipped}
    assert "pipeline" not in tried | {*weighted.skipped}
    # evidence is for those that take it
    evidence = [{0, 1}] * len(X)
    assert choose(X, partly, quick=True, others=others, evidence=evidence).methods["lr"]


def test_given_shares_and_one_method_have_a_report(few, monkeypatch):
    """A method that takes no shares becomes the only member of a committee."""
    X, _, partly = clusters(2)
    choice = choose(X, partly, quick=True, parameters={"class_prior": [0.4, 0.6]})
    assert (choice.method, choice.name) == ("committee", "svm")

    def scores(estimator, grounds, labels, shares, outside):
        sign = (2 * labels.codes - 1) * (estimator.__class__ is NewtonSVC)
        return lambda fold: 3.0 * sign[fold] + np.random.default_rng(0).normal(size=len(fold))

    def two(*given):
        return [entry for entry in pool(*given) if entry.name in ("svm", "tsvm")]

    monkeypatch.setattr(cross_validation, "held_out_scores", scores)
    monkeypatch.setattr(method_choice, "pool", two)
    model = semisvm.SemiSupervisedClassifier(class_prior=[0.4, 0.6]).fit(X, partly)
    assert str(model.report_).startswith("Chosen: svm.")
    assert model.report_.data["held_out"]["accuracy"] > 0.9
