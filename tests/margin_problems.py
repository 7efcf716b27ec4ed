"""Small problems of the Crammer-Singer loss."""

import numpy as np
import pytest
from scipy import sparse

from problems import sparse_text
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import flat
from semisvm.solvers.crammer_singer import MarginProblem, MarginState, minimize_margin

CLASSES = np.arange(4)
TREE = {"left": [2, 3], "right": [0, 1]}


def blobs(n=80, d=5, m=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(m), rng.integers(0, m, n - m)])
    return rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((m, d))[y], y


def text(seed=0):
    X, half = sparse_text(90, 240, seed)
    return X, 2 * half + np.random.default_rng(seed + 1).integers(0, 2, 90)


def hard(y, m=4):
    return np.eye(m)[y] / len(y)


def soft(n, m=4, seed=0, sharp=1.0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(m, sharp), n) * rng.uniform(0.5, 2.0, (n, 1)) / n


def problem_of(X, costs, reg=1e-2, bias=0.0, hierarchy=None, rows=None, n_threads=1):
    design = make_design(X, bias, Workers(n_threads))
    hierarchy = hierarchy or flat(np.arange(costs.shape[1]))
    rows = design.all_rows if rows is None else design.rows(rows)
    return MarginProblem(design, rows, costs, hierarchy, reg)


def solve(problem, tol=1e-8, state=None, **options):
    options.setdefault("max_iter", 20_000)
    state = MarginState.start(problem) if state is None else state
    return minimize_margin(problem, state, tol=tol, **options)


def primal(problem, X, w):
    """The objective, from its definition."""
    X = X.toarray() if sparse.issparse(X) else X
    A = np.column_stack([X, np.full(len(X), problem.design.bias)]).astype(float)
    N = w.reshape(A.shape[1], -1)
    S = A @ N @ problem.hierarchy.paths
    m = S.shape[1]
    loss = 0.0
    for i in problem.rows.index:
        for y in range(m):
            worst = max((z != y) + S[i, z] - S[i, y] for z in range(m))
            loss += problem.costs[i, y] * worst
    return loss + problem.reg / 2 * w @ w


def check_duals(problem, X, state):
    """Feasible duals, weights made of them, and a dual value below the primal one."""
    n = len(problem.costs)
    listed = np.zeros((n, 1))
    listed[problem.rows.index] = 1.0
    B = problem.costs * listed
    q = B - state.duals
    assert q.min() >= -1e-15
    np.testing.assert_allclose(q.sum(axis=1), B.sum(axis=1), rtol=0, atol=1e-14)
    X = X.toarray() if sparse.issparse(X) else X
    A = np.column_stack([X, np.full(n, problem.design.bias)])
    N = A.T @ state.duals @ problem.hierarchy.paths.T / problem.reg
    np.testing.assert_allclose(state.w, N.ravel(), atol=1e-9 * max(1.0, np.abs(N).max()))
    total = B.sum(axis=1)
    value = (total - np.maximum(q + B - total[:, None], 0.0).max(axis=1)).sum()
    assert state.dual == pytest.approx(value - problem.reg / 2 * np.sum(N**2), rel=1e-9, abs=1e-12)
    assert state.objective == pytest.approx(primal(problem, X, state.w), rel=1e-9)
    assert state.gap == pytest.approx(state.objective - state.dual, rel=1e-9, abs=1e-15)
