from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from problems import charged_block, linearized, solve_from, sparse_text, two_blobs, weight_step
from semisvm.designs import Workers, make_design, vectors
from semisvm.losses import LOSSES
from semisvm.solvers import conjugate_gradients, newton
from semisvm.solvers.newton import line_search
from semisvm.tasks import scored_rows
from semisvm.tasks.weight_steps import RowsProblem

SMOOTH = sorted(name for name, loss in LOSSES.items() if loss.two and loss.two.smooth)
PIECEWISE = ["squared", "squared_hinge"]


def problem_of(X, y, reg=1e-2, loss="squared_hinge", soft=False, rows=None, seed=0, scale=1.0):
    n = len(y)
    design = make_design(X, 1.0, Workers())
    p = np.random.default_rng(seed).random(n) if soft else y.astype(float)
    a, b = scale * p / n, scale * (1 - p) / n
    return weight_step(charged_block(design, LOSSES[loss].two, a, b, rows), reg)


def costs_of(problem):
    [block] = problem.rows.blocks
    rows, a, b = block.charged()
    return block, rows, a, b


def value(problem, w):
    block, rows, a, b = costs_of(problem)
    design, loss, index = block.design, block.loss, rows.index
    o = design.scores(w, rows, np.zeros(design.n_rows))[index]
    fit = 0.5 * (a[index] @ loss.values(o) + b[index] @ loss.values(-o))
    return fit + 0.5 * problem.reg * w @ w


def solve(problem, tol=1e-12, w=None, **options):
    return solve_from(problem, w, tol=tol, **options)


CASES = {
    "n > d": lambda: two_blobs(120, 6),
    "d > n": lambda: two_blobs(20, 60),
    "sparse": lambda: sparse_text(80, 150),
    "overlapping": lambda: two_blobs(200, 4, gap=0.3),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("soft", [False, True])
def test_first_order_conditions_by_finite_differences(case, loss, soft):
    problem = problem_of(*CASES[case](), loss=loss, soft=soft)
    state = solve(problem)
    assert state.converged
    rng = np.random.default_rng(0)
    for _ in range(5):
        e = rng.standard_normal(len(state.w))
        h = 1e-7
        slope = (value(problem, state.w + h * e) - value(problem, state.w - h * e)) / (2 * h)
        assert abs(slope) < 1e-6


def test_gradient_norm_is_that_of_the_gradient():
    problem = problem_of(*two_blobs(60, 5))
    rng = np.random.default_rng(3)
    w = rng.standard_normal(problem.n_weights)
    state = solve(problem, w=w, max_iter=0)
    h, gradient = 1e-6, []
    for j in range(len(w)):
        e = np.zeros(len(w))
        e[j] = h
        gradient.append((value(problem, w + e) - value(problem, w - e)) / (2 * h))
    assert state.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("loss", PIECEWISE)
def test_gradients_follow_from_those_before(case, loss, monkeypatch):
    """What a solve ends with, never computed afresh, is the gradient, value and curvature."""
    monkeypatch.setattr(newton, "CHECKED_TOL", 0.0)
    monkeypatch.setattr(scored_rows, "MAX_CHANGED", 1.0)
    problem = problem_of(*CASES[case](), loss=loss, soft=True)
    count = Mock(side_effect=RowsProblem.linearize)
    monkeypatch.setattr(RowsProblem, "linearize", lambda *given: count(*given))
    state = solve(problem, tol=1e-6)
    assert state.n_iter >= (1 if problem.quadratic else 2)
    assert count.call_count == 1
    here = linearized(problem, state.w)
    np.testing.assert_allclose(state.gradient, here.gradient, atol=1e-13)
    assert state.objective == pytest.approx(value(problem, state.w), rel=1e-12)
    assert state.n_active == here.n_active


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_move_gives_the_linearization_there(share, monkeypatch):
    monkeypatch.setattr(scored_rows, "MAX_CHANGED", share)
    problem = problem_of(*two_blobs(120, 6), soft=True)
    rng = np.random.default_rng(5)
    w, step = 0.3 * rng.standard_normal((2, problem.n_weights))
    t, out = 0.8, np.empty(problem.n_weights)
    here = linearized(problem, w)
    predicted = here.gradient + t * problem.reg * step + t * problem.product(step, out)
    problem.set_direction(step)
    moved = problem.advance(w + t * step, t, predicted)
    [block] = problem.rows.blocks
    scores, product, scales = block.scores, problem.product(step, out.copy()), problem.scales()
    there = linearized(problem, w + t * step)
    np.testing.assert_allclose(scores, block.scores, rtol=1e-12)
    assert moved.exact == (share == 0.0)
    assert moved.value == pytest.approx(there.value)
    assert moved.n_active == there.n_active
    np.testing.assert_allclose(moved.gradient, there.gradient, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(product, problem.product(step, out), rtol=1e-12)
    np.testing.assert_allclose(scales, problem.scales(), rtol=1e-12)


def test_tight_solutions_are_certified_afresh(monkeypatch):
    problem = problem_of(*two_blobs(120, 6))
    seen, original = [], RowsProblem.linearize

    def spy(self, w):
        seen.append(w.copy())
        return original(self, w)

    monkeypatch.setattr(RowsProblem, "linearize", spy)
    solution = solve(problem, tol=1e-8)
    np.testing.assert_array_equal(seen[-1], solution.w)
    seen.clear()
    loose = solve(problem, tol=1e-2)
    assert not np.array_equal(seen[-1], loose.w)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_gap_certifies_the_error(tol):
    problem = problem_of(*two_blobs(200, 5, gap=0.8))
    best = solve(problem, tol=1e-15).objective
    state = solve(problem, tol=tol)
    assert state.converged
    assert -1e-15 <= state.objective - best <= state.gap + 1e-15
    assert state.gap <= tol * state.objective


def test_objective_never_rises():
    seen = []
    problem = problem_of(*two_blobs(900, 600, gap=0.4), reg=1e-5)
    solve(problem, on_step=lambda s: seen.append(s.objective))
    assert len(seen) > 3
    assert np.all(np.diff(seen) <= 1e-16)


def test_only_the_rows_of_the_problem_are_read():
    X, y = two_blobs(100, 5)
    rows = np.arange(0, 100, 3)
    part = problem_of(X, y, rows=rows, scale=100 / len(rows))
    alone = problem_of(X[rows], y[rows])
    np.testing.assert_allclose(solve(part).w, solve(alone).w, atol=1e-9)
    others = np.setdiff1d(np.arange(100), rows)
    X[others] = np.nan
    unread = problem_of(X, y, rows=rows, scale=100 / len(rows))
    np.testing.assert_array_equal(solve(unread).w, solve(part).w)


def test_squared_loss_is_one_linear_system():
    X, y = two_blobs(80, 6)
    problem = problem_of(X, y, loss="squared")
    state = solve(problem, tol=1e-10)
    A = np.column_stack([X, np.ones(80)])
    exact = np.linalg.solve(A.T @ A / 80 + 0.01 * np.eye(7), A.T @ (2 * y - 1) / 80)
    np.testing.assert_allclose(state.w, exact, rtol=1e-4, atol=1e-6)
    assert state.n_iter == 1


def test_warm_start_at_the_solution_does_nothing():
    problem = problem_of(*two_blobs(80, 6))
    state = solve(problem, tol=1e-8)
    again = solve(problem, tol=1e-8, w=state.w)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.w, state.w)


def test_on_step_can_stop():
    problem = problem_of(*two_blobs(900, 600, gap=0.4), reg=1e-6)
    state = solve(problem, on_step=lambda s: s.n_iter == 2)
    assert state.n_iter == 2
    assert not state.converged


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_line_search_against_sorted_breakpoints(soft, seed):
    X, y = two_blobs(50, 4, gap=0.5, seed=seed)
    problem = problem_of(X, y, soft=soft, seed=seed)
    rng = np.random.default_rng(seed)
    w, step = rng.standard_normal(5), rng.standard_normal(5)
    block, rows, a, b = costs_of(problem)
    problem.rows.all.score(w)
    direction = block.design.scores(step, rows, np.zeros(50))

    def derivative(t):
        first, _ = block.loss.along(block.scores, direction, a, b, rows.index, t)
        return first + problem.reg * (w @ step + t * step @ step)

    if derivative(0.0) > 0:
        step, direction = -step, -direction
    assert derivative(0.0) < 0
    breaks = np.concatenate([(side - block.scores) / direction for side in (1.0, -1.0)])
    points = np.concatenate([[0.0], np.sort(breaks[breaks > 0]), [1e6]])
    k = np.flatnonzero([derivative(t) >= 0 for t in points])[0]
    lo, hi = points[k - 1], points[k]
    exact = lo - derivative(lo) * (hi - lo) / (derivative(hi) - derivative(lo))
    problem.set_direction(step)
    known = (w @ step, step @ step, derivative(0.0))
    t = line_search(problem, *known, tol=1e-12)
    assert t == pytest.approx(exact, rel=1e-9)
    rough = line_search(problem, *known, tol=0.1)
    assert abs(derivative(rough)) <= 0.1 * abs(derivative(0.0))


def test_line_search_refuses_an_ascent_direction():
    problem = problem_of(*two_blobs(50, 4))
    state = solve(problem, tol=1e-3)
    up = np.random.default_rng(0).standard_normal(5)
    problem.set_direction(up)
    [[first, _]] = problem.along((0.0,))
    slope = first + problem.reg * state.w @ up
    sign = 1.0 if slope > 0 else -1.0
    problem.set_direction(sign * up)
    assert line_search(problem, sign * state.w @ up, up @ up, abs(slope)) == 0.0


@pytest.mark.parametrize("scales", [np.ones(40), np.logspace(-3, 3, 40)])
def test_conjugate_gradients_solves(scales, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((100, 40)) * scales
    H, rhs = A.T @ A, rng.standard_normal(40)

    def product(p, out):
        out[:] = H @ p
        return out

    x, residual, steps = conjugate_gradients.solve(
        product,
        0.1,
        rhs.copy(),
        inverse=None,
        scales=lambda: np.diag(H).copy(),
        stop=1e-9,
        max_steps=2000,
        workers=Workers(),
    )
    reached = (H + 0.1 * np.eye(40)) @ x
    np.testing.assert_allclose(reached, rhs, atol=1e-7)
    np.testing.assert_allclose(residual, rhs - reached, atol=1e-7)
    assert steps < 400


def test_column_scaling_rescues_badly_scaled_data(monkeypatch):
    X, y = two_blobs(300, 80)
    problem = problem_of(X * np.logspace(-2, 2, 80), y, reg=1e-3)
    scaled = solve(problem, tol=1e-8).cg_steps
    monkeypatch.setattr(conjugate_gradients, "PLAIN_STEPS", 10**9)
    assert scaled < 0.5 * solve(problem, tol=1e-8).cg_steps


def cg(product, rhs, stop, **options):
    defaults = {"inverse": None, "scales": lambda: 1.0, "max_steps": 2000, "workers": Workers()}
    return conjugate_gradients.solve(product, 0.1, rhs.copy(), stop=stop, **defaults | options)


@pytest.fixture
def independent_systems():
    """Three systems in turns, of different spectra, the last with a zero right-hand side."""
    rng = np.random.default_rng(3)
    factors = [rng.standard_normal((20, 700)) * scale for scale in (0.1, 3.0, 1.0)]
    rhs = rng.standard_normal((700, 3)) * [1.0, 5.0, 0.0]

    def product(p, out):
        for A, x, y in zip(factors, p.reshape(-1, 3).T, out.reshape(-1, 3).T, strict=True):
            y[:] = A.T @ (A @ x)
        return out

    return factors, product, rhs


@pytest.mark.parametrize("inverse", [None, conjugate_gradients.Scales(np.full(2100, 2.0))])
def test_vectors_that_are_given_to_conjugate_gradients_come_back(independent_systems, inverse):
    _, product, rhs = independent_systems
    spare = []
    rounds = [cg(product, rhs.ravel(), 1e-8, systems=3, inverse=inverse, spare=spare)]
    own = [rounds[0][0].copy(), *spare]
    assert len(spare) == 2
    for vector in spare:
        vector.fill(np.nan)
    spare.append(np.full(rhs.size, np.nan))
    rounds.append(cg(product, rhs.ravel(), 1e-8, systems=3, inverse=inverse, spare=spare))
    assert len(spare) == 2
    np.testing.assert_array_equal(rounds[1][0], own[0])
    # neither what is returned nor two of those given back share memory
    returned = [*rounds[1][:2], *spare]
    assert len({vector.ctypes.data for vector in returned}) == 4


def test_independent_systems_are_solved_at_once_as_if_alone(independent_systems):
    factors, product, rhs = independent_systems
    x, residual, steps = cg(product, rhs.ravel(), 1e-8, systems=3)
    found, left = x.reshape(-1, 3), residual.reshape(-1, 3)
    alone = [
        cg(lambda p, out, A=A: np.dot(A.T, A @ p, out=out), b, 1e-8)
        for A, b in zip(factors[:2], np.ascontiguousarray(rhs.T), strict=False)
    ]
    for k, (expected, _, _) in enumerate(alone):
        np.testing.assert_allclose(found[:, k], expected, atol=1e-7)
    assert not found[:, 2].any()
    for A, s, r, b in zip(factors, found.T, left.T, rhs.T, strict=True):
        np.testing.assert_allclose(r, b - A.T @ (A @ s) - 0.1 * s, atol=1e-9)
    assert steps <= max(count for _, _, count in alone) + 1
    assert steps < cg(product, rhs.ravel(), 1e-8)[2]


def test_independent_systems_stop_where_one_is_not_definite(independent_systems):
    _, product, rhs = independent_systems

    def bent(p, out):
        product(p, out)
        out.reshape(-1, 3)[:, 1] = -p.reshape(-1, 3)[:, 1]
        return out

    x, _, steps = cg(bent, rhs.ravel(), 1e-8, systems=3)
    assert steps == 0
    assert not x.any()


def test_several_products_in_one_pass():
    step, a, b = np.random.default_rng(0).standard_normal((3, 1001))
    np.testing.assert_allclose(vectors.dots_with(step, a, b), [step @ step, step @ a, step @ b])
    blended = a.copy()
    vectors.blend(-0.3, blended, 1.3, b)
    np.testing.assert_allclose(blended, 1.3 * b - 0.3 * a)


@pytest.mark.parametrize("m", [1, 3, 20, 700])
@pytest.mark.parametrize("turns", [1, 41, 2000])
def test_passes_over_vectors_of_several_systems(m, turns):
    rng = np.random.default_rng(m + turns)
    x, r, p, q = rng.standard_normal((4, turns * m))
    alpha, each = rng.standard_normal(m), lambda v: v.reshape(-1, m).sum(axis=0)
    long = np.tile(alpha, turns)
    close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)
    close(vectors.dots(x, r, m, 0, turns), each(x * r))
    close(vectors.bend(q, p, 0.3, m, 0, turns), each(p * (q + 0.3 * p)))
    left = r - long * (q + 0.3 * p)
    for first, moved in ((True, long * p), (False, x + long * p)):
        x1, r1 = x.copy(), r.copy()
        close(vectors.advance(x1, r1, p, q, 0.3, alpha, first, 0, turns), each(left**2))
        close(x1, moved)
        close(r1, left)
    p1 = p.copy()
    part = turns // 3
    vectors.conjugate(p1, q, alpha, part, turns)
    close(p1[part * m :], (q + long * p)[part * m :])
    close(p1[: part * m], p[: part * m])


def hard_rows(seed, n=17, d=40):
    """Rows far from zero, with columns of all scales: gradients lose all their digits."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) + 1e6) * 1e6 * 10.0 ** rng.uniform(-8, 8, d)
    return X, rng.permutation(np.arange(n) % 2)


# in 13 a preconditioner lost all digits
@pytest.mark.parametrize("seed", [0, 1, 2, 5, 13])
def test_rounding_ends_a_solve_and_does_not_mislead_it(seed):
    problem, seen = problem_of(*hard_rows(seed), reg=1e-3), []
    state = solve(problem, tol=1e-10, on_step=lambda state: seen.append(state.objective) or False)
    assert state.n_iter < 60
    assert value(problem, state.w) == pytest.approx(state.objective, rel=1e-3, abs=1e-9)
    assert state.objective <= min(seen) + 1e-9
    assert state.objective < 1e-6


def test_line_search_does_not_trust_a_derivative_that_is_wrong():
    problem = problem_of(*two_blobs(50, 4))
    state = solve(problem, tol=1e-1)
    down = -np.asarray(problem.linearize(state.w).gradient)
    problem.set_direction(down)
    ws, ss, slope = state.w @ down, down @ down, -down @ down
    assert line_search(problem, ws, ss, slope) > 0.0
    t = line_search(problem, ws, ss, 1e30 * slope, tol=1e-60)
    if t != 0.0:  # by chance a step is the minimum to the last bit
        [(first, _)] = problem.along((t,))
        assert first + problem.reg * (ws + t * ss) == 0.0


@pytest.mark.parametrize("loss", [name for name in SMOOTH if name != "squared"])
def test_line_search_finds_minima_of_any_size(loss):
    """Steps were taken far uphill where the minimum is 1e-16 of a step away, or less."""
    problem = problem_of(*two_blobs(50, 4), loss=loss)
    w = 0.1 * np.random.default_rng(0).standard_normal(5)
    problem.rows.all.score(w)
    down = -np.asarray(problem.linearize(w).gradient)
    found = []
    for length in (1.0, 1e12, 1e20, 1e60):
        step = length * down
        problem.set_direction(step)
        found.append(length * line_search(problem, w @ step, step @ step, -down @ step))
    np.testing.assert_allclose(found, found[0], rtol=0.01)


def test_line_search_that_ends_early_goes_no_further_than_downhill():
    """The derivative jumps from below to above zero, and is nowhere small."""
    along = Mock(side_effect=lambda times: [(-1.0 if t < 1e-60 else 1.0, 1.0) for t in times])
    problem = SimpleNamespace(reg=0.0, along=along)
    assert 0.0 < line_search(problem, 0.0, 1.0, -1.0) < 1e-60
