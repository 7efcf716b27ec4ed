"""The exact optima that label means are judged by, against enumeration and other solvers."""

from itertools import combinations

import numpy as np
import pytest
from papers.mean_problems import KnownMeans, Separation, SmallProblem, mean_loss
from scipy.optimize import LinearConstraint, minimize

from problems import two_blobs
from semisvm import MeanSVC

N_LABELED, N_UNLABELED = 4, 6


def draw(seed, overlap=2.0):
    """Return few overlapping rows, the labelled ones first, and which are positive."""
    rng = np.random.default_rng(seed)
    positive = np.array([False, True] * 5)
    X = rng.standard_normal((10, 2)) * overlap + np.where(positive, 1.0, -1.0)[:, None]
    return X, positive


def small(seed, C_unlabeled=1.0, n_positive=3):
    X, positive = draw(seed)
    return SmallProblem(X @ X.T, positive[:N_LABELED], n_positive, 1.0, C_unlabeled)


def test_loss_of_known_means_is_the_hinge_except_far_on_the_wrong_side():
    z = np.linspace(-4.0, 4.0, 81)
    hinge = np.maximum(0.0, 1.0 - z)
    for sign in (-1.0, 1.0):
        loss = mean_loss(sign * z, np.full(len(z), sign))
        far = z < -1.0
        assert np.allclose(loss[~far], hinge[~far])
        assert np.allclose(loss[far], -2.0 * z[far])
        assert np.all(loss <= 2.0 * hinge)


@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_best_separation_is_that_of_all_labellings(seed, cost):
    problem = small(seed, cost)
    values = [problem.separation(labels) for labels in problem.labelings]
    assert len(values) == 20
    found = Separation(problem).optimum()
    assert found.value == pytest.approx(min(values), rel=1e-5)
    assert problem.separation(found.labels) == pytest.approx(min(values), rel=1e-5)
    assert found.solved <= len(values)


@pytest.mark.parametrize("seed", range(3))
def test_a_dual_point_bounds_every_labelling_and_the_relaxation_is_the_best_of_them(seed):
    problem = small(seed)
    separation = Separation(problem)
    values = np.array([problem.separation(labels) for labels in problem.labelings])
    relaxed = separation.relaxed()
    assert relaxed <= values.min() + 1e-6
    duals = [separation.solve(labels)[1] for labels in problem.labelings]
    for dual in (*duals, np.mean(duals, axis=0)):
        bounds = separation.lower_bounds(dual)
        assert np.all(bounds <= values + 1e-6)
        assert bounds.min() <= relaxed + 1e-5
    # a solution proves its own value
    own = [separation.lower_bounds(dual)[k] for k, dual in enumerate(duals)]
    assert np.allclose(own, values, atol=1e-6)


@pytest.mark.parametrize("method", ["iter", "mkl"])
def test_label_means_have_the_objective_that_is_computed_here(method):
    X, positive = draw(1, overlap=0.7)
    labels = np.where(np.arange(10) < N_LABELED, positive, -1)
    model = MeanSVC(1.0, method=method, class_prior=[0.5, 0.5], tol=1e-8).fit(X, labels)
    rounds = model.trace_["phase"] == "means"
    problem = SmallProblem(X @ X.T, positive[:N_LABELED], 3, 1.0, 0.1)
    value = problem.separation(model.transduction_[N_LABELED:] == 1)
    assert model.trace_["objective"][rounds][-1] == pytest.approx(value, rel=1e-5)


def by_scipy(problem, truth, sides):
    """Solve problem (5) for given signs of the outputs by another solver."""
    rows, y = problem.rows, problem.y
    (n, r), u = problem.labeled.shape, len(truth)
    signs = np.where(truth, 1.0, -1.0)

    def objective(x):
        w, b, slack, top = x[:r], x[r], x[r + 1 : r + 1 + n], x[r + 1 + n :]
        loss = top - signs * (rows[n:] @ w + b)
        return 0.5 * w @ w + problem.C * slack.sum() + problem.C_unlabeled * loss.sum()

    def block(rows, slack, top):
        return np.hstack([rows, np.ones((len(rows), 1)), slack, top])

    free, none = block(rows[n:], np.zeros((u, n)), np.zeros((u, u))), np.zeros((n, u))
    above = np.hstack([np.zeros((u, r + 1 + n)), np.eye(u)])
    A = np.vstack(
        [
            y[:, None] * block(rows[:n], np.zeros((n, n)), none) + np.eye(n, len(free[0]), r + 1),
            above - free,
            above + free,
            sides[:, None] * free,
        ]
    )
    lower = np.concatenate([np.ones(n), np.zeros(3 * u)])
    start = np.concatenate([np.zeros(r + 1), np.ones(n + u)])
    bounds = [(None, None)] * (r + 1) + [(0.0, None)] * n + [(1.0, None)] * u
    constraint = LinearConstraint(A, lower, np.inf)
    options = {"ftol": 1e-12, "maxiter": 1000}
    return minimize(
        objective, start, bounds=bounds, constraints=constraint, method="SLSQP", options=options
    ).fun


@pytest.mark.parametrize("seed", range(3))
def test_known_means_are_best_over_all_balanced_signs(seed):
    problem = small(seed)
    truth = draw(seed)[1][N_LABELED:]
    values = {}
    for chosen in combinations(range(N_UNLABELED), 3):
        sides = np.where(np.isin(np.arange(N_UNLABELED), chosen), 1.0, -1.0)
        values[tuple(sides)] = by_scipy(problem, truth, sides)
    found = KnownMeans(problem, truth).optimum()
    assert found.value == pytest.approx(min(values.values()), rel=1e-4)
    assert values[tuple(np.where(found.labels, 1.0, -1.0))] == pytest.approx(found.value, rel=1e-4)
    # the model that comes with it has this objective, and keeps the balance
    model = KnownMeans(problem, truth)
    assert model.objective(found.square, found.outputs) == pytest.approx(found.value, rel=1e-9)
    free = found.outputs[N_LABELED:]
    assert np.count_nonzero(free > 1e-6) <= 3
    assert np.count_nonzero(free < -1e-6) <= 3


def test_some_balance_takes_branching_and_clear_rows_take_none():
    solved = [KnownMeans(small(k, n_positive=2), _two_of_six(k)).optimum().solved for k in range(6)]
    assert max(solved) > 1, "no problem on which the balance matters"
    X, positive = draw(0, overlap=0.1)
    problem = SmallProblem(X @ X.T, positive[:N_LABELED], 3, 1.0, 1.0)
    found = KnownMeans(problem, positive[N_LABELED:]).optimum()
    assert found.solved == 1
    assert np.array_equal(found.labels, positive[N_LABELED:])


def _two_of_six(seed):
    truth = np.zeros(N_UNLABELED, dtype=bool)
    truth[np.random.default_rng(seed).choice(N_UNLABELED, 2, replace=False)] = True
    return truth


def test_best_balanced_intercept_is_that_of_a_fine_grid():
    problem = small(4)
    known = KnownMeans(problem, draw(4)[1][N_LABELED:])
    products = problem.rows @ np.array([0.7, -0.4])
    value, intercept = known.balanced(0.65, products)
    ranked = np.sort(products[N_LABELED:])
    grid = np.linspace(-ranked[3], -ranked[2], 2001)
    assert value <= min(known.objective(0.65, products + b) for b in grid) + 1e-12
    assert -ranked[3] <= intercept <= -ranked[2]


def test_inner_products_that_are_singular():
    X, y = two_blobs(10, 3)
    X[7] = X[5]
    problem = SmallProblem(X @ X.T, y[:4] == 1, 3, 1.0, 1.0)
    assert problem.rows.shape[1] == 3
    assert np.allclose(problem.rows @ problem.rows.T, X @ X.T)


def test_problems_without_an_answer_are_refused():
    X, positive = draw(0)
    gram = X @ X.T
    with pytest.raises(ValueError, match=r"n_positive must be between 1 and 5.*is 6"):
        SmallProblem(gram, positive[:4], 6, 1.0, 1.0)
    with pytest.raises(ValueError, match="both classes"):
        SmallProblem(gram, np.ones(4, dtype=bool), 3, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"30 unlabelled rows .* fewer rows"):
        SmallProblem(np.eye(34), positive[:4], 15, 1.0, 1.0)
    with pytest.raises(ValueError, match="n_positive = 3 positive rows, but has 2"):
        KnownMeans(small(0), np.array([1, 1, 0, 0, 0, 0], dtype=bool))
