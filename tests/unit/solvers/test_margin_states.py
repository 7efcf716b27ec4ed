"""The weight step of the Crammer-Singer loss: warm starts, changed costs, and how it gets there."""

import numpy as np
import pytest

from margin_problems import (
    CLASSES,
    TREE,
    blobs,
    check_duals,
    hard,
    problem_of,
    soft,
    solve,
)
from semisvm.labels.hierarchy import build
from semisvm.solvers import _crammer_singer_kernels, crammer_singer
from semisvm.solvers.crammer_singer import MarginState


def test_warm_start_takes_fewer_passes(ascent_alone):
    X, y = blobs(100, 3, seed=3)
    cold = solve(problem_of(X, hard(y), 1e-2), 1e-5)
    problem = problem_of(X, hard(y), 1e-2)
    state = solve(problem, 1e-5)
    assert solve(problem, 1e-5, state).n_iter == 0
    flipped = y.copy()
    flipped[:3] = (y[:3] + 1) % 4
    again = problem_of(X, hard(flipped), 1e-2)
    warm = solve(again, 1e-5, state)
    assert warm is state
    assert warm.converged
    check_duals(again, X, warm)
    assert warm.objective == pytest.approx(solve(again, 1e-7).objective, rel=2e-5)
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize("tree", [None, TREE])
def test_changed_rows_costs_and_reg(tree):
    """A chain of problems with one state: each ends at its own minimum."""
    X, y = blobs(60)
    hierarchy = None if tree is None else build(tree, CLASSES)
    options = {"bias": 1.0, "hierarchy": hierarchy}
    labeled = np.arange(15)
    chain = [
        problem_of(X, hard(y), rows=labeled, **options),
        problem_of(X, hard(y), **options),
        problem_of(X, hard((y + 1) % 4), **options),
        problem_of(X, soft(60), **options),
        problem_of(X, 3 * soft(60, seed=1), **options),
        problem_of(X, 3 * soft(60, seed=1), reg=0.1, **options),
        problem_of(X, hard(y), reg=0.1, rows=labeled, **options),
    ]
    state = MarginState.start(chain[0])
    for problem in chain:
        solve(problem, 1e-6, state)
        assert state.converged
        check_duals(problem, X, state)
        assert state.objective == pytest.approx(solve(problem, 1e-8).objective, rel=2e-6)
    assert not state.duals[15:].any()


def test_duals_of_a_label_given_to_its_only_rival_restart_at_zero():
    X, y = blobs(30, 2, seed=2)
    problem = problem_of(X, hard(y), 1e-4)
    state = solve(problem, 1e-6)
    at_bound = np.flatnonzero((hard(y) - state.duals)[np.arange(30), y] < 1e-15)
    assert len(at_bound)
    row = at_bound[0]
    rival = int(np.argmin(state.duals[row]))
    assert state.duals[row, rival] == pytest.approx(-1 / 30, abs=1e-12)
    other = y.copy()
    other[row] = rival
    solve(problem_of(X, hard(other), 1e-4), 1e-6, state, max_iter=0)
    np.testing.assert_allclose(state.duals[row], 0.0, atol=1e-15)


def test_growing_costs_move_nothing():
    X, y = blobs()
    state = solve(problem_of(X, hard(y)))
    before = state.copy()
    solve(problem_of(X, 3 * hard(y)), 1e-6, state, max_iter=0)
    np.testing.assert_array_equal(state.w, before.w)
    np.testing.assert_array_equal(state.duals, before.duals)


def test_copy_keeps_its_weights():
    X, y = blobs()
    state = solve(problem_of(X, hard(y)))
    kept = state.copy()
    w = kept.w.copy()
    solve(problem_of(X, hard((y + 1) % 4)), state=state)
    np.testing.assert_array_equal(kept.w, w)
    assert solve(problem_of(X, hard(y)), state=kept).n_iter == 0


def test_weights_without_duals_serve_for_their_scores():
    X, y = blobs()
    problem = problem_of(X, hard(y))
    w = solve(problem).w
    state = MarginState.start(problem, w)
    np.testing.assert_allclose(state.scores, X @ w.reshape(-1, 4)[:-1])
    assert solve(problem, state=state).converged


def test_on_step_can_stop():
    X, y = blobs()
    state = solve(problem_of(X, hard(y)), on_step=lambda state: state.n_iter > 0)
    assert not state.converged
    assert state.n_iter > 0


@pytest.mark.parametrize("m", [3, 7])
def test_projection_ends_where_entries_are_equal_up_to_rounding(m):
    rng = np.random.default_rng(0)
    q = np.empty(m)
    for _ in range(20_000):
        r = rng.standard_normal() + np.spacing(1.0) * rng.integers(-3, 4, m)
        total = abs(rng.standard_normal())
        _crammer_singer_kernels._project(r, total, -1, q)
        assert q.min() >= 0.0
        assert abs(q.sum() - total) <= 1e-12 * (1.0 + total)


def test_costly_rows_are_visited_more_often(monkeypatch):
    X, y = blobs(400, 30, seed=2)
    costs = hard(y)
    costs[:12] *= 300.0
    problem = problem_of(X, costs, reg=1e-3)
    orders, sweep = [], problem.design.sweep

    def spy(kernels, directions, order, *rest):
        orders.append(order)
        sweep(kernels, directions, order, *rest)

    monkeypatch.setattr(problem.design, "sweep", spy)
    often = solve(problem, tol=1e-4)
    visits = np.bincount(orders[0], minlength=400)
    assert visits[:12].tolist() == [10] * 12
    assert visits[12:].max() == 1
    monkeypatch.setattr(crammer_singer, "HEAVY", 10**9)
    once = solve(problem, tol=1e-4)
    assert often.converged
    assert often.objective == pytest.approx(once.objective, rel=2e-4)
    assert often.n_iter < once.n_iter


@pytest.mark.parametrize("tree", [None, TREE])
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_newton_steps_find_the_same_minimum(kind, tree, monkeypatch):
    X, y = blobs(40)
    costs = hard(y) if kind == "hard" else soft(40)
    problem = problem_of(X, costs, 1e-2, 1.0, build(tree, CLASSES))
    monkeypatch.setattr(crammer_singer, "PATIENCE", 10**9)
    plain = solve(problem)
    monkeypatch.setattr(crammer_singer, "PATIENCE", 1)
    stepped = solve(problem)
    assert stepped.converged
    check_duals(problem, X, stepped)
    assert stepped.n_iter < plain.n_iter
    assert stepped.objective == pytest.approx(plain.objective, rel=1e-7)


def test_ascent_that_creeps_is_helped():
    X, y = blobs(30, 3, m=2)
    costs = soft(30, 2)
    costs[:6] = hard(y[:6], 2)
    # rows that are long for the regularisation: ascent alone would take 10^5 passes
    problem = problem_of(1e3 * X, costs, 1e-3, 1.0)
    state = solve(problem, 1e-6)
    assert state.converged
    assert state.n_iter < 1_000


def test_ascent_without_room_ends_early():
    X, y = blobs(30, 3, m=2)
    state = solve(problem_of(1e9 * X, hard(y, 2), 1e-4, 1.0), 1e-6)
    assert not state.converged
    assert state.n_iter < 1_000
