"""Expectation constraints and entropy: derivatives, first-order conditions, class shares."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxent_problems import CONSTRAINED, blobs, central_differences, mean_entropy, task_of
from problems import hide, sparse_text
from semisvm import EntropyRegularizedClassifier, ExpectationConstrainedClassifier, NewtonSVC
from semisvm.designs import Workers
from semisvm.labels.partial import prior_counts
from semisvm.losses import LOG
from semisvm.losses.log import probabilities
from semisvm.methods.maxent import Subproblem, UnlabeledTerms
from semisvm.solvers.lbfgs import Iterate, line_search, minimize_lbfgs


@pytest.mark.parametrize("m", [2, 4])
def test_slopes_of_the_entropy(m):
    S = 2 * np.random.default_rng(0).standard_normal((6, m))
    terms = UnlabeledTerms(0.7, np.full(m, 1 / m), np.zeros(m), 0.0)
    entropy, constraint, slopes = terms.evaluate(S)
    assert entropy == pytest.approx(0.7 * mean_entropy(S), rel=1e-12)
    assert constraint == 0.0
    expected = central_differences(lambda Z: 0.7 * mean_entropy(Z), S)
    np.testing.assert_allclose(slopes, expected, atol=1e-9)


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("penalty", [0.0, 30.0])
def test_slopes_of_the_constraints(m, penalty):
    rng = np.random.default_rng(1)
    S, multipliers = 2 * rng.standard_normal((6, m)), rng.standard_normal(m)
    shares = np.arange(1, m + 1) / np.arange(1, m + 1).sum()

    def terms_of_c(Z):
        c = probabilities(Z).mean(axis=0) - shares
        return multipliers @ c + penalty / 2 * c @ c

    terms = UnlabeledTerms(0.0, shares, multipliers, penalty)
    entropy, constraint, slopes = terms.evaluate(S)
    assert entropy == 0.0
    assert constraint == pytest.approx(terms_of_c(S), rel=1e-12)
    np.testing.assert_allclose(slopes, central_differences(terms_of_c, S), atol=1e-8)


def subproblem(m, workers):
    task, multipliers = task_of(m, workers), np.linspace(-0.1, 0.1, m)
    shares = task.counts / task.n_unlabeled
    return Subproblem(task, UnlabeledTerms(0.3, shares, multipliers, 20.0))


@pytest.mark.parametrize("m", [2, 4])
def test_gradient_and_line_of_the_augmented_lagrangian(m):
    with Workers(1) as workers:
        function = subproblem(m, workers)
        rng = np.random.default_rng(2)
        w, step = rng.standard_normal((2, 4 * m))
        point = function.at(w, function.scores(w))

        def value(v):
            return function.at(v, function.scores(v)).value

        np.testing.assert_allclose(point.gradient, central_differences(value, w), atol=1e-7)
        along = function.along(point, step, function.scores(step))
        for t in (0.0, 0.3, 2.0):
            there = function.at(w + t * step, function.scores(w + t * step))
            wanted = (there.value, there.gradient @ step)
            np.testing.assert_allclose(along(t), wanted, rtol=1e-10)


@pytest.mark.parametrize("m", [2, 4])
def test_quasi_newton_finds_a_stationary_point(m):
    with Workers(1) as workers:
        function = subproblem(m, workers)
        start = np.zeros(4 * m)
        before = function.at(start, function.scores(start))
        point, steps = minimize_lbfgs(function, start, 1e-14)
        assert isinstance(point, Iterate)
        assert steps > 0
        assert point.value < before.value
        assert np.abs(point.gradient).max() < 1e-7


def test_line_search_finds_lengths_of_all_sizes():
    for scale in (1e-60, 1e-20, 1.0, 1e20, 1e60):
        trials = []

        def along(t, scale=scale, trials=trials):
            trials.append(t)
            return 0.5 * (t / scale - 1.0) ** 2, (t / scale - 1.0) / scale

        t = line_search(along, 0.5, -1.0 / scale)
        assert 0.05 * scale < t < 1.95 * scale
        assert len(trials) <= 40


def test_line_search_of_a_function_that_is_not_convex():
    def along(t):
        return np.sin(t), np.cos(t)

    for start in (2.0, 3.0, 4.5):
        t = line_search(lambda t, s=start: along(s + t), *along(start))
        value, slope = along(start + t)
        assert t > 0
        assert value < np.sin(start)
        assert slope >= 0.9 * np.cos(start)
    assert line_search(along, *along(0.5)) == 0.0


@pytest.mark.parametrize("cls", CONSTRAINED)
@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_shares_are_met_and_traced(cls, tol, fit_intercept, problem):
    X, partly, prior = problem
    model = cls(reg=1e-2, class_prior=prior, constraint_tol=tol, fit_intercept=fit_intercept)
    model.fit(X, partly)
    free = partly == -1
    wanted = prior_counts(model.class_prior_, free.sum()) / free.sum()
    residual = np.abs(model.predict_proba(X[free]).mean(axis=0) - wanted).max()
    assert residual <= tol
    traced = model.trace_["residual"]
    assert np.isfinite(traced).all()
    assert traced[0] > 1e-3
    assert traced[-1] == pytest.approx(residual, abs=1e-10)


def lagrangian_gradient(model, X, partly, lam):
    """Gradient of f + mu . c with respect to weights and intercepts, by another way."""
    free, m = partly == -1, len(model.classes_)
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.node_coef_, model.node_intercept_]).T
    P = probabilities(A @ W)
    slopes = np.zeros_like(P)
    slopes[~free] = (P[~free] - np.eye(m)[partly[~free]]) / (~free).sum()
    for i in np.flatnonzero(free):
        jacobian = np.diag(P[i]) - np.outer(P[i], P[i])
        slopes[i] = jacobian @ (model.multipliers_ - lam * np.log(P[i])) / free.sum()
    return model.reg * W + A.T @ slopes


@pytest.mark.parametrize("cls", CONSTRAINED)
def test_first_order_conditions_of_the_lagrangian(cls, problem):
    X, partly, prior = problem
    lam = 0.0 if cls is ExpectationConstrainedClassifier else 1.0
    model = cls(reg=1e-2, class_prior=prior, tol=1e-11, constraint_tol=1e-7).fit(X, partly)
    assert np.abs(lagrangian_gradient(model, X, partly, lam)).max() < 1e-6
    assert np.abs(model.multipliers_).max() > 1e-4


def test_constraint_costs_no_more_than_it_must(problem):
    """A small step that keeps the shares cannot lower the objective (second order)."""
    X, partly, prior = problem
    options = {"class_prior": prior, "tol": 1e-11, "constraint_tol": 1e-8}
    model = ExpectationConstrainedClassifier(1e-2, **options).fit(X, partly)
    free, given = partly == -1, partly != -1
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.node_coef_, model.node_intercept_]).T

    def lagrangian(V):
        P = probabilities(A @ V)
        fit = -np.log(P[given, partly[given]]).mean()
        c = P[free].mean(axis=0) - prior
        return fit + 5e-3 * np.sum(V**2) + model.multipliers_ @ c + 10 * c @ c

    rng = np.random.default_rng(0)
    here = lagrangian(W)
    for _ in range(50):
        assert lagrangian(W + 1e-3 * rng.standard_normal(W.shape)) > here


def test_entropy_makes_the_model_surer(problem):
    X, partly, prior = problem
    options = {"reg": 1e-2, "class_prior": prior}
    plain = ExpectationConstrainedClassifier(**options).fit(X, partly)
    sure = EntropyRegularizedClassifier(**options).fit(X, partly)
    free = partly == -1
    before, after = (mean_entropy(np.log(m.predict_proba(X[free]))) for m in (plain, sure))
    assert after < 0.7 * before
    fit = sure.objective_ - after
    assert 0 < fit < 1


def test_small_entropy_weight_is_the_expectation_constraint(problem):
    X, partly, prior = problem
    options = {"reg": 1e-2, "class_prior": prior, "tol": 1e-10, "constraint_tol": 1e-7}
    plain = ExpectationConstrainedClassifier(**options).fit(X, partly)
    nearly = EntropyRegularizedClassifier(unlabeled_weight=1e-6, **options).fit(X, partly)
    np.testing.assert_allclose(nearly.coef_, plain.coef_, atol=1e-3)


@pytest.mark.parametrize("cls", CONSTRAINED)
def test_shares_out_of_reach_warn(cls):
    """Equal rows have equal probabilities, and without an intercept they are even."""
    X = np.array([[1.0], [-1.0], [0.0], [0.0], [0.0], [0.0]])
    partly = np.array([0, 1, -1, -1, -1, -1])
    model = cls(class_prior=[0.25, 0.75], fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="misses the class shares by 0.25"):
        model.fit(X, partly)
    assert any("misses the class shares" in note for note in model.trace_.notes)


def test_class_without_unlabelled_rows():
    X, y = blobs(4)
    with pytest.warns(UserWarning, match="zero rows"):
        model = ExpectationConstrainedClassifier(
            1e-2, class_prior=[0.3, 0.3, 0.4, 0.0], constraint_tol=1e-3
        ).fit(X, hide(y, 20))
    assert model.trace_["residual"][-1] <= 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_sparse_and_dense_rows_differ_by_the_tolerance(seed):
    X, y = sparse_text(60, 40, seed=seed)
    partly = hide(y, 12, seed)
    for tol, most in ((1e-5, 5e-4), (1e-9, 1e-4)):
        thin, full = (
            EntropyRegularizedClassifier(tol=tol, class_prior="labels").fit(rows, partly)
            for rows in (X, X.toarray())
        )
        np.testing.assert_allclose(full.predict_proba(X), thin.predict_proba(X), atol=most)


def penalised(model, X, partly, shares, lam):
    """Return the objective with the shares as a penalty, from its definition."""
    S = X @ model.node_coef_.T + model.node_intercept_
    known = partly != -1
    norm = np.sum(model.node_coef_**2) + np.sum(model.node_intercept_**2)
    fit = LOG.many.costs(S[known])[np.arange(known.sum()), partly[known]].mean()
    gap = probabilities(S[~known]).mean(axis=0) - shares
    penalty = 0.5 * model.constraint_weight * np.sum(gap**2)
    return 0.5 * model.reg * norm + fit + lam * mean_entropy(S[~known]) + penalty


@pytest.mark.parametrize("cls", CONSTRAINED)
def test_the_shares_may_be_wanted_only(cls, problem):
    X, partly, shares = problem
    wanted = prior_counts(shares[::-1], int(np.sum(partly == -1))) / np.sum(partly == -1)
    lam = 1.0 if cls is EntropyRegularizedClassifier else 0.0
    missed = []
    for weight in (0.0, 1.0, 100.0):
        model = cls(reg=0.01, class_prior=shares[::-1], constraint_weight=weight, tol=1e-8)
        model.fit(X, partly)
        assert model.objective_ == pytest.approx(penalised(model, X, partly, wanted, lam), rel=1e-9)
        mean = model.predict_proba(X[partly == -1]).mean(axis=0)
        missed.append(np.abs(mean - wanted).max())
        np.testing.assert_array_equal(model.multipliers_, 0.0)
    assert missed[0] > missed[1] > missed[2] > 1e-3


def test_without_entropy_and_shares_it_is_maxent(problem):
    X, partly, shares = problem
    free = ExpectationConstrainedClassifier(
        reg=0.01, class_prior=shares[::-1], constraint_weight=0.0, tol=1e-10
    ).fit(X, partly)
    peer = NewtonSVC(reg=0.01, loss="log", tol=1e-10).fit(X, partly)
    np.testing.assert_allclose(free.decision_function(X), peer.decision_function(X), atol=1e-3)
