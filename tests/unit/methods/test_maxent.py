"""What the three maxent classifiers have in common."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from maxent_problems import CONSTRAINED, EVERY, blobs
from problems import two_blobs
from semisvm import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    NewtonSVC,
    PosteriorRegularizedClassifier,
)


@pytest.mark.parametrize("cls", EVERY)
def test_published_attributes(cls, problem):
    X, partly, prior = problem
    m, free = len(prior), partly == -1
    model = cls(reg=1e-2, class_prior=prior).fit(X, partly)
    assert model.coef_.shape == ((1, 5) if m == 2 else (m, 5))
    np.testing.assert_array_equal(model.transduction_[~free], partly[~free])
    distribution = model.label_distribution_
    np.testing.assert_array_equal(model.transduction_, distribution.argmax(axis=1))
    np.testing.assert_allclose(distribution.sum(axis=1), 1)
    p = model.predict_proba(X)
    assert p.shape == (len(X), m)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    if cls in CONSTRAINED:
        np.testing.assert_allclose(distribution[free], p[free], atol=1e-9)
        assert model.multipliers_.shape == (m,)
        assert model.multipliers_.sum() == pytest.approx(0, abs=1e-9)
    assert "loss" not in model.get_params()


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("m", [2, 4])
def test_without_unlabelled_rows_it_is_supervised(cls, m):
    X, y = blobs(m)
    model = cls(1e-2, tol=1e-10).fit(X, y)
    peer = NewtonSVC(1e-2, loss="log").fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    assert any("no unlabelled rows" in note for note in model.trace_.notes)


@pytest.mark.parametrize("cls", EVERY)
def test_prior_as_a_dict_by_name(cls, problem):
    X, partly, prior = problem
    names = np.array(["a", "b", "c", "d"])[: len(prior)]
    target = np.array([None if code == -1 else names[code] for code in partly], dtype=object)
    by_name = dict(zip(names.tolist(), prior.tolist(), strict=True))
    model = cls(1e-2, class_prior=by_name).fit(X, target)
    plain = cls(1e-2, class_prior=prior).fit(X, partly)
    np.testing.assert_allclose(model.class_prior_, prior)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert model.classes_.tolist() == names.tolist()


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("names", [["one", "two"], [3, 7], [0.0, 1.0], [False, True]])
def test_classes_of_every_kind(cls, names):
    X, y = two_blobs(60, 4)
    target = np.array(names)[y]
    model = cls().fit(X, target)
    assert model.classes_.dtype == target.dtype
    assert set(model.predict(X)) == set(target)


@pytest.mark.parametrize("cls", EVERY)
def test_containers_and_threads(cls, problem):
    X, partly, prior = problem
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    options = {"reg": 1e-2, "class_prior": prior, "tol": 1e-10}
    one = cls(**options).fit(X, partly)
    for other in (
        cls(**options).fit(sparse.csr_matrix(X), partly),
        cls(n_jobs=3, **options).fit(X, partly),
        cls(**options).fit(X.astype(np.float32), partly),
    ):
        np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-3)
        np.testing.assert_array_equal(other.transduction_, one.transduction_)


@pytest.mark.parametrize("cls", EVERY)
def test_warm_start_stays_where_it_is(cls, problem):
    X, partly, prior = problem
    model = cls(1e-2, class_prior=prior, warm_start=True).fit(X, partly)
    first, rounds = model.coef_, model.n_iter_
    model.fit(X, partly)
    assert model.n_iter_ <= rounds
    np.testing.assert_allclose(model.coef_, first, atol=1e-2 * np.abs(first).max())


@pytest.mark.parametrize("cls", EVERY)
def test_too_few_rounds_warn(cls, problem):
    X, partly, prior = problem
    with pytest.warns(ConvergenceWarning):
        cls(1e-2, class_prior=prior, max_iter=1).fit(X, partly)


@pytest.mark.parametrize("cls", EVERY)
def test_callback_stops_without_a_warning(cls, problem):
    X, partly, prior = problem
    model = cls(1e-2, class_prior=prior, callback=lambda row: row["phase"] != "supervised")
    model.fit(X, partly)
    assert len(model.trace_) == 2
    assert model.trace_.notes == ["stopped by the callback"]


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (ExpectationConstrainedClassifier, {"constraint_tol": 0}, "constraint_tol"),
        (EntropyRegularizedClassifier, {"unlabeled_weight": -1}, "unlabeled_weight"),
        (EntropyRegularizedClassifier, {"annealing_rate": 1}, "annealing_rate"),
        (PosteriorRegularizedClassifier, {"kl_weight": -1}, "kl_weight"),
    ],
)
def test_bad_parameters(cls, options, message):
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match=message):
        cls(**options).fit(X, y)
