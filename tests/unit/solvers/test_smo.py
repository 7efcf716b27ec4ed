import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from problems import sparse_text, two_blobs
from semisvm.designs import Workers, make_design
from semisvm.solvers.smo import (
    PairProblem,
    PairState,
    RowGram,
    WholeGram,
    certify,
    hinge_problem,
    solve_pairs,
)


def solved(problem, tol=1e-10):
    return solve_pairs(problem, PairState.zero(problem), tol=tol, max_iter=10**7)


def svm(X, y, cost, **options):
    problem = hinge_problem(WholeGram(X @ X.T), y == 1, cost)
    return problem, solved(problem, **options)


def primal(X, y, cost, w, b):
    signs = 2.0 * y - 1.0
    return 0.5 * w @ w + cost @ np.maximum(0.0, 1.0 - signs * (X @ w + b))


@pytest.mark.parametrize("gap", [0.5, 3.0])
def test_the_machine_is_that_of_libsvm(gap):
    X, y = two_blobs(80, 4, gap=gap)
    cost = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    _, found = svm(X, y, cost)
    w = found.beta @ X
    peer = SVC(kernel="linear", C=1.0, tol=1e-9).fit(X, y, sample_weight=cost)
    assert found.converged
    assert found.scale == pytest.approx(primal(X, y, cost, w, found.intercept), rel=1e-12)
    best = primal(X, y, cost, peer.coef_[0], peer.intercept_[0])
    assert best * (1.0 - 1e-6) < found.scale < best * (1.0 + 1e-9)
    np.testing.assert_allclose(w, peer.coef_[0], atol=1e-4)
    assert found.intercept == pytest.approx(peer.intercept_[0], abs=1e-4)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 5), log_tol=st.integers(-8, -2))
def test_the_gap_is_a_bound_and_the_duals_are_feasible(seed, rank, log_tol):
    """Any bounds, any targets, any push, a singular matrix too."""
    rng = np.random.default_rng(seed)
    n, tol = 9, 10.0**log_tol
    A = rng.standard_normal((n, rank))
    problem = PairProblem(
        WholeGram(A @ A.T),
        rng.standard_normal(n),
        -rng.exponential(size=n),
        rng.exponential(size=n),
        rng.standard_normal(n),
    )
    best = solved(problem, 1e-12)
    found = solved(problem, tol)
    assert found.converged
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.all((problem.lower <= found.beta) & (found.beta <= problem.upper))
    assert found.gap <= tol * found.scale
    assert found.scale - best.scale <= found.gap + 1e-9 * (1.0 + best.scale)
    gradient = A @ A.T @ found.beta + problem.push - problem.target
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-9)


def test_against_a_grid_of_duals():
    """Three duals with sum zero are a plane: look at all of it."""
    G = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 1.5]])
    target, push = np.array([1.0, -1.0, 0.0]), np.array([0.2, 0.1, -0.3])
    lower, upper = np.array([0.0, -0.8, -0.3]), np.array([0.8, 0.0, 0.3])
    found = solved(PairProblem(WholeGram(G), target, lower, upper, push))
    first, second = np.meshgrid(np.linspace(0, 0.8, 401), np.linspace(-0.8, 0, 401))
    beta = np.stack([first, second, -first - second], axis=-1)
    values = beta @ (target - push) - 0.5 * np.einsum("...i,ij,...j", beta, G, beta)
    values[np.abs(beta[..., 2]) > 0.3] = -np.inf
    dual = found.scale - found.gap
    assert values.max() <= dual + 1e-9
    assert values.max() == pytest.approx(dual, abs=1e-4)


def test_steps_are_limited_and_the_certificate_stays_honest():
    X, y = two_blobs(80, 4, gap=0.5)
    problem, _ = svm(X, y, np.ones(80))
    state = solve_pairs(problem, PairState.zero(problem), tol=1e-10, max_iter=5)
    assert state.n_iter == 5
    assert not state.converged
    certify(problem, state)
    assert state.gap > 1e-10 * state.scale


def test_a_start_near_the_solution_is_cheap():
    X, y = two_blobs(80, 4, gap=0.5)
    problem, found = svm(X, y, np.ones(80))
    cold = found.n_iter
    again = solve_pairs(problem, found, tol=1e-10, max_iter=10**7)
    assert again.n_iter == 0 < cold


@pytest.mark.parametrize("kind", ["sparse", "dense", "float32"])
@pytest.mark.parametrize("room", [40, 4096])
def test_rows_of_a_design_are_never_all_at_hand(kind, room):
    X, y = sparse_text(400, 60) if kind == "sparse" else two_blobs(400, 5, gap=1.0)
    X = X.astype(np.float32) if kind == "float32" else X
    full = np.asarray(X.toarray() if kind == "sparse" else X, dtype=np.float64)
    gram, whole = RowGram(make_design(X, 0.7, Workers())), WholeGram(full @ full.T + 0.7**2)
    some, change = np.array([3, 200, 399]), np.array([0.5, 1.0, -1.5])
    for rows in (some, np.array([3, 7, 150, 399]), np.arange(0, 400, 5), some):
        (ours, mine), (theirs, at) = gram.among(rows), whole.among(rows)
        np.testing.assert_allclose(ours[np.ix_(mine, mine)], theirs[np.ix_(at, at)], atol=1e-5)
    ours, theirs = np.ones(400), np.ones(400)
    gram.add(some, change, ours)
    whole.add(some, change, theirs)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    # with little room the products of other rows are dropped, and the working sets are smaller
    # than the free coordinates
    gram.room = room
    found = solved(hinge_problem(gram, y == 1, np.full(400, 0.5)), 1e-7)
    assert found.converged
    # the constant feature is without effect: the duals have sum zero
    _, peer = svm(full, y, np.full(400, 0.5))
    assert found.scale == pytest.approx(peer.scale, rel=1e-6)


def test_ascent_ends_where_gradients_are_rounding_errors():
    # products of 1e30, of which those of the differences of rows are 1e6
    moves = 0
    for seed in range(3):
        X, y = two_blobs(16, 3, gap=1.0, seed=seed)
        _, found = svm(1e3 * X + 1e15, y, np.ones(16))
        moves += found.n_iter
    assert moves < 600_000
