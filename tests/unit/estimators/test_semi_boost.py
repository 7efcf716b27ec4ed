"""SemiBoost: its inconsistency, and ensembles as linear machines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.datasets import make_moons
from sklearn.tree import DecisionTreeClassifier

import semisvm
from problems import hide, sparse_text, two_blobs
from semisvm import NewtonSVC, SemiBoostClassifier
from semisvm.estimators.semi_boost import Confidence, vote_weight
from semisvm.maps import fit_neighbors, neighbor_graph, similarities
from semisvm.persistence import ModelFileError


def measure(seed=0, n=30, n_labels=8):
    X, y = two_blobs(n, 3, seed=seed)
    S = similarities(neighbor_graph(fit_neighbors(X, 5)))
    labels = hide(y, n_labels)
    labeled, unlabeled = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    positive = labels[labeled] == 1
    return Confidence.of(S, labeled, unlabeled, positive, 0.4), S, labels


def test_inconsistency_by_its_definition():
    wanted, S, labels = measure()
    H = np.random.default_rng(0).standard_normal(np.sum(labels < 0))
    given_rows, free = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    total = 0.0
    for j, row in enumerate(free):
        for i in given_rows:
            total += S[i, row] * np.exp(-2.0 * (2 * labels[i] - 1) * H[j])
        for k, other in enumerate(free):
            total += 0.4 * S[row, other] * np.exp(H[j] - H[k])
    assert wanted.inconsistency(H) == pytest.approx(total)


@given(seed=st.integers(0, 500))
def test_a_vote_lowers_the_inconsistency_by_at_least_the_bound(seed):
    wanted, _, _ = measure(seed)
    rng = np.random.default_rng(seed)
    H = rng.standard_normal(len(wanted.up))
    votes = np.where(rng.random(len(H)) < 0.5, 1.0, -1.0)
    p, q = wanted.at(H)
    assert p.sum() + q.sum() == pytest.approx(wanted.inconsistency(H))

    def bound(a):
        return np.sum(np.exp(-2 * a * votes) * p + np.exp(2 * a * votes) * q)

    weight = vote_weight(p, q, votes)
    assert bound(weight) == pytest.approx(minimize_scalar(bound).fun, rel=1e-6)
    assert wanted.inconsistency(H + weight * votes) <= bound(weight) * (1 + 1e-9)


def test_objective_never_goes_up_and_outputs_are_weighted_votes():
    X, y = two_blobs(150, 4)
    model = SemiBoostClassifier().fit(X, hide(y, 10))
    assert np.all(np.diff(model.trace_["objective"]) <= 1e-12)
    assert model.objective_ == pytest.approx(model.trace_["objective"][-1])
    assert len(model.kernel_map_.members) == model.n_iter_ == model.coef_.size
    votes = sum(
        weight * (2.0 * member.predict(X) - 1.0)
        for weight, member in zip(model.coef_[0], model.kernel_map_.members, strict=True)
    )
    np.testing.assert_allclose(model.decision_function(X), votes)
    np.testing.assert_array_equal(model.transduction_[10:], model.predict(X)[10:])


def test_any_classifier_is_boosted():
    X, y = make_moons(200, noise=0.05, random_state=0)
    labels = hide(y, 8)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = SemiBoostClassifier(tree).fit(X, labels)
    plain = tree.fit(X[labels >= 0], y[labels >= 0])
    assert model.score(X, y) > plain.score(X, y)
    assert not hasattr(tree, "classes_") or tree is not model.kernel_map_.members[0]


def test_sparse_and_dense_rows_agree():
    X, y = sparse_text(120, 60)
    labels = hide(y, 10)
    thin = SemiBoostClassifier().fit(X, labels)
    full = SemiBoostClassifier().fit(X.toarray(), labels)
    np.testing.assert_array_equal(thin.transduction_, full.transduction_)


def test_many_classes_names_and_files(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 3.0 * np.eye(3)[y] + 0.4 * rng.standard_normal((90, 3))
    names = np.array(["a", "b", "c"])
    labels = np.where(np.arange(90) < 12, names[y], None)
    model = SemiBoostClassifier().fit(X, labels)
    assert np.mean(model.predict(X) == names[y]) > 0.95
    assert model.coef_.shape == (3, len(model.kernel_map_.members))
    assert np.all((model.coef_ != 0).sum(axis=0) == 1)
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_members_of_other_packages_are_not_saved(tmp_path):
    X, y = two_blobs(40, 3)
    model = SemiBoostClassifier(DecisionTreeClassifier()).fit(X, hide(y, 8))
    with pytest.raises(ModelFileError, match=r"DecisionTreeClassifier: models with .* not saved"):
        semisvm.save(model, tmp_path / "m")


def test_what_would_be_fitted_again_is_not(monkeypatch):
    X, y = two_blobs(12, 3, gap=3.0, seed=0)
    partly, fitted = hide(y, 6), []
    again = SemiBoostClassifier(NewtonSVC(), share=1.0).fit(X, partly)
    member = SemiBoostClassifier._member
    monkeypatch.setattr(
        SemiBoostClassifier, "_member", lambda *given: fitted.append(1) or member(*given)
    )
    once = SemiBoostClassifier(share=1.0).fit(X, partly)
    assert len(fitted) < once.n_iter_ == again.n_iter_
    np.testing.assert_array_equal(once.coef_, again.coef_)
    np.testing.assert_array_equal(once.decision_function(X), again.decision_function(X))


def test_all_rows_labelled_is_the_boosted_machine_alone():
    X, y = two_blobs(60, 3)
    model = SemiBoostClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), NewtonSVC().fit(X, y).predict(X))
    assert "supervised" in model.trace_.notes[0]


def test_a_callback_stops_the_rounds():
    X, y = two_blobs(80, 3)
    model = SemiBoostClassifier(callback=lambda row: True).fit(X, hide(y, 8))
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    "wrong",
    [{"n_estimators": 0}, {"share": 0.0}, {"share": 1.5}, {"n_neighbors": 0}, {"callback": 3}],
)
def test_parameters_that_make_no_sense(wrong):
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SemiBoostClassifier(**wrong).fit(X, y)
