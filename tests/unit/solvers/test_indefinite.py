"""Systems whose curvature may vanish, and steps that are not worth taking."""

import numpy as np
import pytest

from problems import inverted, sparse_text
from semisvm.designs import Workers, make_design
from semisvm.solvers import Linearization, State, conjugate_gradients, newton
from semisvm.solvers.newton import Backtracking, minimize
from semisvm.solvers.woodbury import preconditioner_of

REG = 0.1


def solve(H, rhs, **options):
    def product(p, out):
        np.matmul(H, p, out=out)
        return out

    return conjugate_gradients.solve(
        product, REG, rhs.copy(), scales=lambda: np.ones(len(rhs)), stop=1e-10,
        max_steps=50, workers=Workers(), **{"inverse": None, **options},
    )  # fmt: skip


def spread_out(eigenvalues, seed=0):
    """A symmetric matrix with these eigenvalues, and a right-hand side along all of them."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((len(eigenvalues),) * 2))
    return (Q * eigenvalues) @ Q.T, Q @ rng.uniform(0.5, 1.5, len(eigenvalues))


def test_a_floor_that_is_not_reached_changes_nothing():
    H, rhs = spread_out(np.array([0.0, 0.3, 1.0, 5.0]))
    x, _, _ = solve(H, rhs)
    with_floor, _, _ = solve(H, rhs, floor=0.5)
    np.testing.assert_array_equal(x, with_floor)
    np.testing.assert_allclose((H + REG * np.eye(4)) @ x, rhs, atol=1e-9)


@pytest.mark.parametrize("inverse", [None, conjugate_gradients.Scales(np.full(4, 0.2))])
@pytest.mark.parametrize("lowest", [-3.0, -REG, -0.99 * REG])
def test_the_first_direction_below_the_floor_is_the_last(inverse, lowest):
    H, rhs = spread_out(np.array([lowest, 1.0, 1.0, 2.0]))
    x, residual, steps = solve(H, rhs, floor=0.5, inverse=inverse)
    np.testing.assert_allclose(residual, rhs - (H + REG * np.eye(4)) @ x, atol=1e-9)
    assert 1 <= steps <= 3
    # it goes down the model, as far as the preconditioner would
    model = 0.5 * x @ (H + REG * np.eye(4)) @ x - rhs @ x
    assert model < 0.0
    assert np.linalg.norm(x) <= 2.0 * np.linalg.norm(rhs) / min(REG, 0.2)


def test_a_single_direction_below_the_floor_is_followed_as_far_as_the_regulariser_would():
    H, rhs = np.diag([-3.0, -3.0]), np.array([1.0, 2.0])
    x, _, steps = solve(H, rhs, floor=0.5)
    assert steps == 1
    np.testing.assert_allclose(x, rhs / REG)
    x, _, steps = solve(H, rhs)
    assert steps == 0
    assert not x.any()


def test_no_number_out_of_range_is_followed():
    x, _, steps = solve(np.diag([np.inf, 1.0]), np.array([1.0, 2.0]), floor=0.5)
    assert steps == 0
    assert not x.any()


def test_one_column_of_curvatures_serves_all_columns_of_weights():
    X, _ = sparse_text(60, 300)
    design = make_design(X, 1.0, Workers())
    rows, rng = design.rows(np.arange(0, 60, 6)), np.random.default_rng(1)
    labeled_preconditioner = preconditioner_of(design, rows, np.full(10, 0.1), 1e-3, 10**6)
    c, r = rng.uniform(0.05, 0.1, (10, 1)), rng.standard_normal(design.n_weights * 3)
    one = inverted(labeled_preconditioner.inverse(c, 1e-3), r)
    each = inverted(labeled_preconditioner.inverse(np.repeat(c, 3, axis=1), 1e-3), r)
    np.testing.assert_array_equal(one, each)


class Parabola:
    """1/2 w' A w - b' w + 1, whose labels do not respond."""

    reg, quadratic, workers, n_weights, n_systems = 1.0, False, Workers(), 2, 1
    spare = None

    def __init__(self):
        self.w = np.zeros(2)
        self.looked = 0

    def energy(self, w):
        return 1.0 + 1.5 * w @ w - w.sum()

    def linearize(self, w):
        return Linearization(self.energy(w) - 0.5 * w @ w, 3.0 * w - 1.0, 2)

    def product(self, p, out):
        np.multiply(p, 2.0, out=out)
        return out

    def curve(self):
        pass

    def inverse(self):
        return None

    def scales(self):
        return np.full(2, 2.0)

    def set_direction(self, step):
        self.looked += 1

    def move(self, t):
        pass


def stepped(negligible):
    state, problem = State(np.zeros(2)), Parabola()
    search = Backtracking(1.0, negligible=negligible)
    minimize(problem, state, tol=1e-6, search=search)
    return state, problem, search


class Flat(Parabola):
    """The same with a curvature that is far too small, and a record of the moves."""

    def __init__(self):
        super().__init__()
        self.moves = []

    def product(self, p, out):
        np.multiply(p, -0.9, out=out)
        return out

    def set_direction(self, step):
        self.step = step

    def along(self, times):
        return np.array([[0.0, 2.0 * self.step @ self.step]])

    def move(self, t):
        self.moves.append(t)


def test_a_flat_direction_does_not_make_a_step_far_too_long():
    state, problem = State(np.zeros(2)), Flat()
    minimize(problem, state, tol=1e-6, search=Backtracking(1.0, floor=1e-3))
    # curvature 0.1 leads to (10, 10); with fixed labels the minimum is at (1, 1) / 3
    np.testing.assert_allclose(problem.step, 10.0)
    assert problem.moves[0] == pytest.approx(newton.FAR / 30.0)
    assert state.n_iter == 1
    assert problem.energy(state.w) < 1.0


def test_a_step_that_cannot_gain_enough_is_not_taken():
    # the gradient has length sqrt(2), so with reg 1 a step gains at most 1; it gains 1/3
    state, problem, search = stepped(1.01)
    assert (state.n_iter, problem.looked, search.energy) == (0, 0, 1.0)
    assert not state.w.any()


def test_a_step_that_gained_little_is_the_last():
    state, _, search = stepped(0.5)
    assert state.n_iter == 1
    assert search.energy == pytest.approx(2 / 3)
    assert search.as_predicted
