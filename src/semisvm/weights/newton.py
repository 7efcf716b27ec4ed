r"""Modified finite Newton for regularised linear machines.

The problem, over weights w (with the bias as last entry) and fixed costs a, b, is ::

    min_w f(w) = reg/2 ||w||^2 + sum_i [ a_i/2 l(o_i) + b_i/2 l(-o_i) ],   o = X w

For the squared hinge f is piecewise quadratic: a Newton step solves a least squares
problem over the rows inside the margin only, by conjugate gradients, and an exact line
search keeps it convergent (Keerthi and DeCoste, JMLR 6, 2005).

f - reg/2 ||w||^2 is convex, so f(w) - min f <= ||grad f(w)||^2 / (2 reg). The solver
stops when this bound falls below ``tol`` times f(w): the relative error of a returned
objective is certified, not estimated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from semisvm.designs import Design, Floats, RowList
from semisvm.losses import Loss
from semisvm.weights import conjugate_gradients

# A first step from zero starts with every row active; solving it well is wasted.
CRUDE_CG_STEPS = 10
MAX_CG_STEPS = 2_000
# A Newton step reduces the residual to this share of the gradient, or just far enough
# below what the tolerance asks for.
FORCING = 0.1
OVERSHOOT = 0.5
MAX_LINE_STEPS = 50
LINE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Problem:
    """The data of one weight step.

    Attributes
    ----------
    design : Design
    rows : RowList
        Rows that carry a cost; no other row is read.
    loss : Loss
    positive, negative : arrays of shape (n_rows,)
        Costs a and b.
    reg : float
    """

    design: Design
    rows: RowList
    loss: Loss
    positive: Floats
    negative: Floats
    reg: float


@dataclass
class NewtonResult:
    """Weights and scores of a weight step, and what it took.

    Attributes
    ----------
    w : array of shape (n_weights,)
    scores : array of shape (n_rows,), valid on the rows of the problem
    objective : float
    gradient_norm : float
    gap : float
        Certified bound on f(w) - min f.
    n_iter, cg_steps, n_active : int
    converged : bool
    """

    w: Floats
    scores: Floats
    objective: float = np.inf
    gradient_norm: float = np.inf
    gap: float = np.inf
    n_iter: int = 0
    cg_steps: int = 0
    n_active: int = 0
    converged: bool = False


def minimize(
    problem: Problem,
    w: Floats,
    scores: Floats | None = None,
    *,
    tol: float,
    max_iter: int = 200,
    on_step: Callable[[NewtonResult], bool] | None = None,
) -> NewtonResult:
    """Minimise f from ``w``.

    Parameters
    ----------
    problem : Problem
    w : array of shape (n_weights,)
        Start; copied.
    scores : array of shape (n_rows,), optional
        X w, where the caller has it already; copied.
    tol : float
        Certified relative error of the objective at which to stop.
    max_iter : int
        Newton steps.
    on_step : callable, optional
        Called with the state at the start and after every step; True ends the solve.
    """
    design, rows = problem.design, problem.rows
    state = NewtonResult(w.copy(), np.zeros(design.n_rows) if scores is None else scores.copy())
    if scores is None:
        design.scores(state.w, rows, state.scores)
    slope, curvature, step_scores = (np.zeros(design.n_rows) for _ in range(3))
    gradient = np.empty(design.n_weights)
    from_zero = not state.w.any()
    while True:
        active = _linearize(problem, state, slope, curvature, gradient)
        state.converged = state.gap <= tol * state.objective
        stopped = on_step is not None and on_step(state)
        if state.converged or stopped or state.n_iter == max_iter:
            return state
        crude = from_zero and state.n_iter == 0
        goal = np.sqrt(2.0 * problem.reg * tol * state.objective)
        step, cg_steps = conjugate_gradients.solve(
            partial(_product, design, curvature, active),
            partial(design.column_scales, curvature, active, step_scores),
            problem.reg,
            -gradient,
            stop=max(FORCING * state.gradient_norm, OVERSHOOT * goal),
            max_steps=CRUDE_CG_STEPS if crude else MAX_CG_STEPS,
        )
        design.scores(step, rows, step_scores)
        t = line_search(problem, state.w, state.scores, step, step_scores)
        state.w += t * step
        state.scores += t * step_scores
        state.n_iter += 1
        state.cg_steps += cg_steps
        if t == 0.0:
            # no descent left in double precision
            return state


def _linearize(
    problem: Problem, state: NewtonResult, slope: Floats, curvature: Floats, gradient: Floats
) -> RowList:
    """Fill slope, curvature and gradient at the state; return the rows with curvature."""
    index, reg = problem.rows.index, problem.reg
    value = problem.loss.evaluate(
        state.scores, problem.positive, problem.negative, index, slope, curvature
    )
    active = problem.design.rows(index[curvature[index] > 0.0])
    problem.design.pull_back(slope, active, gradient)
    gradient += reg * state.w
    squared = float(gradient @ gradient)
    state.objective = value + 0.5 * reg * float(state.w @ state.w)
    state.gradient_norm = float(np.sqrt(squared))
    state.gap = squared / (2.0 * reg)
    state.n_active = len(active)
    return active


def _product(design: Design, c: Floats, rows: RowList, p: Floats, out: Floats) -> Floats:
    return design.curvature(p, c, rows, out)


def line_search(
    problem: Problem, w: Floats, scores: Floats, step: Floats, step_scores: Floats
) -> float:
    """Find the minimiser of t -> f(w + t step) on t >= 0.

    The derivative is increasing, and piecewise linear for the squared losses: Newton's
    method on it, kept inside a bracket, lands in the piece that holds the root and there
    needs one step. Each step is one pass over the scores, against a full sort of the
    breakpoints.
    """
    loss, index, reg = problem.loss, problem.rows.index, problem.reg
    a, b = problem.positive, problem.negative
    ws, ss = float(w @ step), float(step @ step)
    first, _ = loss.along(scores, step_scores, a, b, index, 0.0)
    start = first + reg * ws
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(MAX_LINE_STEPS):
        first, second = loss.along(scores, step_scores, a, b, index, t)
        first += reg * (ws + t * ss)
        second += reg * ss
        if abs(first) <= LINE_TOLERANCE * -start:
            break
        if first < 0.0:
            low = t
        else:
            high = t
        t -= first / second
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t
