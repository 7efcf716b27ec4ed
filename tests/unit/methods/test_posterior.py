"""Posterior regularisation: derivatives, the fixed point, and what it tends to."""

import warnings

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from maxent_problems import central_differences, task_of
from semisvm import ExpectationConstrainedClassifier, NewtonSVC, PosteriorRegularizedClassifier
from semisvm.designs import Workers
from semisvm.label_steps import entropic
from semisvm.labels.partial import prior_counts
from semisvm.losses import LOG
from semisvm.methods.maxent import Projection


def test_posterior_objective_never_rises(problem):
    X, partly, prior = problem
    model = PosteriorRegularizedClassifier(1e-2, class_prior=prior).fit(X, partly)
    frame = model.trace_.to_frame().query("phase == 'projecting'")
    assert len(frame) > 2
    assert np.all(np.diff(frame["objective"]) <= 1e-12)
    assert model.objective_ == pytest.approx(frame["objective"].iloc[-1], rel=1e-12)
    assert np.isfinite(model.trace_["residual"]).all()
    assert np.all(frame["label_residual"] <= 1e-9)


def test_posterior_fixed_point(problem):
    """The soft labels keep the counts, are p with a factor a class, and fit the weights."""
    X, partly, prior = problem
    model = PosteriorRegularizedClassifier(1e-2, 0.7, class_prior=prior, tol=1e-12)
    model.fit(X, partly)
    free, m = partly == -1, len(prior)
    q = model.label_distribution_
    counts = prior_counts(model.class_prior_, free.sum())
    np.testing.assert_allclose(q[free].sum(axis=0), counts, atol=1e-9)
    p = model.predict_proba(X)
    factors = np.log(q[free] / p[free])
    factors -= factors[:, :1]
    np.testing.assert_allclose(factors, np.broadcast_to(factors[0], factors.shape), atol=1e-8)
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.node_coef_, model.node_intercept_]).T
    cost = np.where(free, 0.7 / free.sum(), 1 / (~free).sum())
    gradient = 1e-2 * W + A.T @ (cost[:, None] * (p - q))
    assert np.abs(gradient).max() < 1e-6
    divergence = np.sum(q[free] * np.log(q[free] / p[free])) / free.sum()
    fit = -np.log(p[~free, partly[~free]]).mean()
    assert model.objective_ == pytest.approx(5e-3 * np.sum(W**2) + fit + 0.7 * divergence, rel=1e-9)
    assert m == q.shape[1]


def projection(m, workers, weight):
    task = task_of(m, workers)
    w, step = np.random.default_rng(3).standard_normal((2, 4 * m))
    task.rows.all.score(w)
    return Projection(task, weight), w, step


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("weight", [0.7, 50.0])
def test_gradient_and_curvature_with_eliminated_soft_labels(m, weight):
    with Workers(1) as workers:
        problem, w, step = projection(m, workers, weight)

        def at(v):
            problem.rows.all.score(v)
            return problem.energy(v)

        def gradient(v):
            at(v)
            return problem.linearize(v).gradient

        expected = central_differences(at, w)
        here = gradient(w)
        np.testing.assert_allclose(here, expected, atol=1e-7 * weight)
        bend = (gradient(w + 1e-4 * step) - gradient(w - 1e-4 * step)) / 2e-4
        gradient(w)
        problem.curve()
        product = problem.product(step, np.empty_like(w)) + problem.reg * step
        np.testing.assert_allclose(product, bend, atol=1e-6 * weight)


@pytest.mark.parametrize("m", [2, 4])
def test_held_soft_labels_do_not_respond(m):
    with Workers(1) as workers:
        problem, w, step = projection(m, workers, 5.0)
        problem.linearize(w)
        problem.curve()
        responding = problem.product(step, np.empty_like(w))
        problem.hold(w)
        held = problem.product(step, np.empty_like(w))
        assert step @ held > step @ responding
        assert step @ held > 0


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_posterior_reaches_the_optimum_of_alternating_steps(problem, weight):
    """Fixed soft labels, then their weights, and again, is slow but reaches the same point."""
    X, partly, prior = problem
    options = {"class_prior": prior, "tol": 1e-10}
    model = PosteriorRegularizedClassifier(1e-2, weight, **options).fit(X, partly)
    free, codes = partly == -1, np.eye(len(prior))
    A = np.column_stack([X, np.ones(len(X))])
    cost = np.where(free, weight / free.sum(), 1 / (~free).sum())
    counts = prior_counts(model.class_prior_, free.sum())
    W = NewtonSVC(1e-2, loss="log", tol=1e-10).fit(X, partly)
    W = np.column_stack([W.node_coef_, W.node_intercept_]).T
    if len(prior) == 2:
        W = np.column_stack([-W[:, 0] / 2, W[:, 0] / 2])
    q = np.where(free[:, None], 0.0, codes[partly])

    def value(v):
        V = v.reshape(W.shape)
        costs = LOG.many.costs(A @ V)
        slopes = A.T @ (cost[:, None] * (np.exp(-costs) - q))
        return 5e-3 * v @ v + np.sum(cost[:, None] * q * costs), 1e-2 * v + slopes.ravel()

    for _ in range(40):
        q[free] = entropic(LOG.many.costs(A[free] @ W), counts, 1.0).beliefs
        W = optimize.minimize(value, W.ravel(), jac=True, method="L-BFGS-B").x.reshape(W.shape)
    # alternating steps approach the optimum from above
    rest = cost[free] @ np.sum(q[free] * np.log(q[free]), axis=1)
    slow = value(W.ravel())[0] + rest
    assert model.objective_ <= slow + 1e-9
    assert model.objective_ == pytest.approx(slow, rel=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(-LOG.many.costs(A @ W)), atol=5e-3)


def test_posterior_converges_whatever_its_weight():
    X, y = load_breast_cancer(return_X_y=True)
    partly = np.full(len(y), -1)
    partly[::60] = y[::60]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for weight in (1.0, 0.1 * np.count_nonzero(partly == -1)):
            model = PosteriorRegularizedClassifier(1e-3, weight).fit(scale(X), partly)
            assert model.n_iter_ < 100


def test_posterior_nears_the_shares_with_its_weight(problem):
    X, partly, prior = problem
    residuals = [
        PosteriorRegularizedClassifier(1e-2, weight, class_prior=prior)
        .fit(X, partly)
        .trace_["residual"][-1]
        for weight in (0.1, 1.0, 10.0)
    ]
    assert residuals[0] > residuals[1] > residuals[2]


def test_posterior_with_a_large_weight_is_the_expectation_constraint(problem):
    X, partly, prior = problem
    limit = ExpectationConstrainedClassifier(1e-2, class_prior=prior).fit(X, partly)
    model = PosteriorRegularizedClassifier(1e-2, 30.0, class_prior=prior).fit(X, partly)
    # the constraint on q admits more than that on p
    assert model.objective_ < limit.objective_
    assert model.objective_ == pytest.approx(limit.objective_, rel=1e-2)
    np.testing.assert_allclose(model.predict_proba(X), limit.predict_proba(X), atol=0.03)
