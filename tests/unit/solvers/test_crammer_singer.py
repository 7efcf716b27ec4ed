"""The weight step of the Crammer-Singer loss: peers, brute force, certificate, invariances."""

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.svm import LinearSVC

from margin_problems import (
    CLASSES,
    TREE,
    blobs,
    check_duals,
    hard,
    primal,
    problem_of,
    soft,
    solve,
    text,
)
from semisvm.designs import workers
from semisvm.labels.hierarchy import build
from semisvm.losses.linear_tail import margin_costs


def quadratic_programme(problem, X):
    """The minimum by a general solver, with a slack for every row and class."""
    n, m = problem.costs.shape
    A = np.column_stack([X, np.full(n, problem.design.bias)])
    paths, reg, costs = problem.hierarchy.paths, problem.reg, problem.costs.ravel()
    size = A.shape[1] * len(paths)
    rows, bounds = [], []
    for i in range(n):
        for y in range(m):
            for z in range(m):
                # xi_iy - s_z + s_y >= (z != y)
                node = np.einsum("j,k->jk", A[i], paths[:, y] - paths[:, z]).ravel()
                slack = np.zeros(n * m)
                slack[i * m + y] = 1.0
                rows.append(np.concatenate([node, slack]))
                bounds.append(float(z != y))
    M, b = np.array(rows), np.array(bounds)
    answer = optimize.minimize(
        lambda p: reg / 2 * p[:size] @ p[:size] + costs @ p[size:],
        np.concatenate([np.zeros(size), np.ones(n * m)]),
        jac=lambda p: np.concatenate([reg * p[:size], costs]),
        constraints={"type": "ineq", "fun": lambda p: M @ p - b, "jac": lambda p: M},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert answer.success
    return answer.fun


def test_margin_costs_against_loops():
    S = np.random.default_rng(0).standard_normal((30, 5))
    S[0] = 0.0
    S[1, :2] = S[1].max() + 1.0
    direct = [[max((z != y) + s[z] for z in range(5)) - s[y] for y in range(5)] for s in S.tolist()]
    np.testing.assert_allclose(margin_costs(S), direct, atol=1e-14)
    np.testing.assert_array_equal(margin_costs(S[:, :1]), 0.0)


PEER_CASES = {
    "dense": lambda: blobs(),
    "sparse": lambda: text(),
    "d > n": lambda: blobs(30, 80),
    "overlapping": lambda: blobs(100, 2, seed=3),
}


# with few columns and less regularisation than this, the ascent does not get to 1e-6 within
# 20,000 passes; the peer needs 8,000 to 44,000
PEER_REGS = [(case, reg) for case in PEER_CASES for reg in (1e-1, 1e-2)]


PEER_REGS += [("sparse", 1e-3), ("d > n", 1e-3)]


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # to 1e-9, in some versions
@pytest.mark.parametrize(("case", "reg"), PEER_REGS)
def test_objective_against_liblinear(case, reg):
    X, y = PEER_CASES[case]()
    problem = problem_of(X, hard(y), reg)
    state = solve(problem, 1e-6)
    assert state.converged
    # liblinear minimises 1/2 ||W||^2 + C sum_i xi_i: ours divided by reg
    peer = LinearSVC(
        C=1 / (reg * len(y)),
        multi_class="crammer_singer",
        fit_intercept=False,
        tol=1e-9,
        max_iter=10**5,
    ).fit(X, y)
    w = np.vstack([peer.coef_.T, np.zeros(4)]).ravel()
    best = primal(problem, X, w)
    assert state.objective == pytest.approx(best, rel=1e-4)
    assert state.objective <= best * (1 + 2e-6)
    assert state.dual <= best * (1 + 1e-12)


@pytest.mark.parametrize("tree", [None, TREE])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sharp", [0.3, 3.0])
def test_soft_labels_against_a_quadratic_programme(tree, seed, sharp):
    X, _ = blobs(9, 2, seed=seed)
    hierarchy = None if tree is None else build(tree, CLASSES)
    problem = problem_of(X, soft(9, 4, seed, sharp), 0.2, 1.0, hierarchy)
    state = solve(problem, 1e-7)
    assert state.converged
    check_duals(problem, X, state)
    assert state.objective == pytest.approx(quadratic_programme(problem, X), rel=2e-7)


@pytest.mark.parametrize("seed", range(20))
def test_one_row_is_solved_in_one_visit(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1, 3))
    costs = soft(1, 5, seed, sharp=10.0 ** rng.uniform(-1, 1))
    problem = problem_of(X, costs, 10.0 ** rng.uniform(-2, 1), 1.0)
    state = solve(problem, 1e-12, max_iter=1)
    assert state.converged
    check_duals(problem, X, state)


@pytest.mark.parametrize("case", PEER_CASES)
@pytest.mark.parametrize("labels", ["hard", "soft"])
@pytest.mark.parametrize("tree", [None, TREE])
def test_certificate_bounds_the_error_and_the_dual_rises(case, labels, tree):
    X, y = PEER_CASES[case]()
    costs = hard(y) if labels == "hard" else soft(len(y))
    hierarchy = None if tree is None else build(tree, CLASSES)
    problem = problem_of(X, costs, 1e-2, 1.0, hierarchy)
    best = solve(problem, 1e-7)
    assert best.converged
    seen = []

    def set_direction(state):
        check_duals(problem, X, state)
        seen.append((state.objective, state.dual, state.gap))
        return False

    solve(problem, 1e-5, on_step=set_direction)
    objectives, duals, gaps = np.array(seen).T
    assert np.all(gaps >= (objectives - best.objective) * (1 - 1e-9) - 1e-12)
    assert np.all(np.diff(duals) >= -1e-14)
    assert gaps[-1] <= 1e-5 * objectives[-1]
    assert gaps[-1] < 1e-3 * gaps[0]


def test_tighter_tolerance_means_smaller_gap(ascent_alone):
    X, y = blobs(100, 3, seed=3)
    problem = problem_of(X, hard(y), 1e-3, 1.0)
    states = [solve(problem, tol) for tol in (1e-1, 1e-3, 1e-5)]
    assert states[0].gap > states[1].gap > states[2].gap
    assert states[0].n_iter < states[2].n_iter


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_stopping_scales_with_the_costs(scale):
    X, y = blobs()
    one = solve(problem_of(X, hard(y), 1e-2), 1e-5)
    other = solve(problem_of(X, scale * hard(y), scale * 1e-2), 1e-5)
    assert other.n_iter == one.n_iter
    assert other.objective == pytest.approx(scale * one.objective, rel=1e-7)


def test_bias_is_a_constant_feature():
    X, y = blobs()
    implicit = solve(problem_of(X, hard(y), bias=0.5))
    explicit = solve(problem_of(np.column_stack([X, np.full(len(X), 0.5)]), hard(y)))
    np.testing.assert_allclose(implicit.w, explicit.w[:-4], atol=1e-3)
    assert implicit.objective == pytest.approx(explicit.objective, rel=1e-7)


def test_containers_and_precisions():
    X, y = blobs(60, 6)
    X = np.where(np.abs(X) < 0.7, 0.0, X).astype(np.float32)
    one = solve(problem_of(X.astype(float), hard(y), bias=1.0))
    long = sparse.csr_matrix(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for other in (X, sparse.csr_matrix(X), sparse.csr_matrix(X.astype(float)), long):
        state = solve(problem_of(other, hard(y), bias=1.0))
        assert state.objective == pytest.approx(one.objective, rel=1e-7)


def test_rows_that_end_in_zeros():
    X, y = blobs(60, 6)
    X = np.where(np.arange(6) > np.arange(60)[:, None] % 6, 0.0, X)
    problem = problem_of(X, hard(y), bias=1.0)
    assert problem.design._lengths is not None
    dense, thin = solve(problem), solve(problem_of(sparse.csr_matrix(X), hard(y), bias=1.0))
    np.testing.assert_allclose(dense.w, thin.w, rtol=1e-9, atol=1e-12)


def test_renumbered_columns(monkeypatch):
    monkeypatch.setattr("semisvm.designs.csr.RENUMBER_MIN_COLUMNS", 10)
    monkeypatch.setattr("semisvm.designs.csr.RENUMBER_MIN_ENTRIES", 10)
    X, y = text()
    problem = problem_of(X, hard(y))
    design = problem.design
    assert design._arrays[1].dtype == np.uint16
    state = solve(problem)
    coef = np.column_stack([design.decode(column)[0] for column in state.directions.T])
    w = np.vstack([coef, np.zeros(4)]).ravel()
    assert primal(problem, X, w) == pytest.approx(state.objective, rel=1e-9)


def test_repeatable_and_equal_for_threads(monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 50)
    X, y = blobs()
    one, again = (solve(problem_of(X, hard(y), bias=1.0)) for _ in range(2))
    np.testing.assert_array_equal(one.w, again.w)
    two = solve(problem_of(X, hard(y), bias=1.0, n_threads=2))
    np.testing.assert_array_equal(one.w, two.w)


def test_order_of_rows_does_not_matter():
    X, y = blobs()
    order = np.random.default_rng(5).permutation(len(y))
    one, other = solve(problem_of(X, hard(y))), solve(problem_of(X[order], hard(y)[order]))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)
    np.testing.assert_allclose(one.w, other.w, atol=1e-3)


@pytest.mark.parametrize("labels", ["hard", "soft"])
def test_repeated_row_is_a_doubled_cost(labels):
    X, y = blobs(40)
    costs = hard(y) if labels == "hard" else soft(40)
    doubled = costs.copy()
    doubled[:10] *= 2
    one = solve(problem_of(X, doubled))
    other = solve(problem_of(np.vstack([X, X[:10]]), np.vstack([costs, costs[:10]])))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)
    np.testing.assert_allclose(one.w, other.w, atol=1e-3)


def test_two_classes_are_the_binary_hinge():
    X, y = blobs(60, 3, m=2, seed=1)
    reg = 1e-2
    state = solve(problem_of(X, hard(y, 2), reg))
    # opposite columns +-u/2 of margin u: reg/4 ||u||^2 + mean hinge
    peer = LinearSVC(
        C=2 / (reg * 60), loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6
    ).fit(X, y)
    u = peer.coef_[0]
    best = reg / 4 * u @ u + np.maximum(0, 1 - (2 * y - 1) * (X @ u)).mean()
    assert state.objective == pytest.approx(best, rel=1e-6)


def test_empty_rows_one_class_and_no_cost():
    X, y = blobs(20)
    X[:3] = 0.0
    for matrix in (X, sparse.csr_matrix(X)):
        for costs in (hard(y), soft(20)):
            state = solve(problem_of(matrix, costs))
            assert state.converged
            check_duals(problem_of(matrix, costs), matrix, state)
    single = solve(problem_of(X, np.full((20, 1), 0.05)))
    assert single.converged
    assert single.objective == 0.0
    nothing = solve(problem_of(X, np.zeros((20, 4))))
    assert nothing.converged
    assert not nothing.w.any()
