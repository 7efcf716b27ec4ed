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
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from semisvm.designs import Design, Floats, RowList
from semisvm.losses import Loss
from semisvm.vectors import dot
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
class State:
    """Weights, their scores, and what the last solve took; solvers change it in place.

    Attributes
    ----------
    w : array of shape (n_weights,)
    scores : array of shape (n_rows,)
        X w, valid on the rows of the last problem.
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

    @classmethod
    def at(cls, w: Floats, design: Design, rows: RowList) -> Self:
        """Start at weights ``w`` (copied), with the scores of the listed rows."""
        return cls(w.copy(), design.scores(w, rows, np.zeros(design.n_rows)))

    def copy(self) -> Self:
        """Give a state that keeps its weights when this one goes on."""
        return replace(self, w=self.w.copy(), scores=self.scores.copy())


def minimize(
    problem: Problem,
    state: State,
    *,
    tol: float,
    max_iter: int = 200,
    on_step: Callable[[State], bool] | None = None,
) -> State:
    """Minimise f from a state, in place.

    Parameters
    ----------
    problem : Problem
    state : State
        Start, with the scores of the problem's rows; holds the solution afterwards.
    tol : float
        Certified relative error of the objective at which to stop.
    max_iter : int
        Newton steps.
    on_step : callable, optional
        Called with the state at the start and after every step; True ends the solve.
    """
    design = problem.design
    slope, curvature = np.zeros(design.n_rows), np.zeros(design.n_rows)
    gradient = np.empty(design.n_weights)
    crude = not problem.loss.quadratic and not state.w.any()
    state.n_iter = state.cg_steps = 0
    while True:
        active = _linearize(problem, state, slope, curvature, gradient)
        state.converged = state.gap <= tol * state.objective
        stopped = on_step is not None and on_step(state)
        if state.converged or stopped or state.n_iter == max_iter:
            return state
        step, cg_steps = conjugate_gradients.solve(
            partial(_product, design, curvature, active),
            partial(_scales, design, curvature, active),
            problem.reg,
            -gradient,
            stop=_residual_goal(problem, state, tol),
            max_steps=CRUDE_CG_STEPS if crude and state.n_iter == 0 else MAX_CG_STEPS,
        )
        # the slopes have done their work: their memory takes the scores of the step
        step_scores = design.scores(step, problem.rows, slope)
        t = line_search(problem, state, step, step_scores)
        state.w += t * step
        state.scores += t * step_scores
        state.n_iter += 1
        state.cg_steps += cg_steps
        if t == 0.0:
            # no descent left in double precision
            return state


def _linearize(
    problem: Problem, state: State, slope: Floats, curvature: Floats, gradient: Floats
) -> RowList:
    """Fill slope, curvature and gradient at the state; return the rows with curvature."""
    index, reg = problem.rows.index, problem.reg
    value = problem.loss.evaluate(
        state.scores, problem.positive, problem.negative, index, slope, curvature
    )
    # rows outside the problem never get a curvature, so the list needs no look-up
    active = problem.rows
    if np.count_nonzero(curvature) < len(active):
        active = problem.design.rows(np.flatnonzero(curvature))
    problem.design.pull_back(slope, active, gradient)
    gradient += reg * state.w
    squared = dot(gradient, gradient)
    state.objective = value + 0.5 * reg * dot(state.w, state.w)
    state.gradient_norm = float(np.sqrt(squared))
    state.gap = squared / (2.0 * reg)
    state.n_active = len(active)
    return active


def _residual_goal(problem: Problem, state: State, tol: float) -> float:
    """Give the norm of the residual to which the linear system is worth solving."""
    enough = OVERSHOOT * float(np.sqrt(2.0 * problem.reg * tol * state.objective))
    return enough if problem.loss.quadratic else max(FORCING * state.gradient_norm, enough)


def _product(design: Design, c: Floats, rows: RowList, p: Floats, out: Floats) -> Floats:
    return design.curvature(p, c, rows, out)


def _scales(design: Design, c: Floats, rows: RowList) -> Floats:
    return design.column_scales(c, rows, np.empty(design.n_weights))


def line_search(problem: Problem, state: State, step: Floats, step_scores: Floats) -> float:
    """Find the minimiser of t -> f(w + t step) on t >= 0.

    The derivative is increasing, and piecewise linear for the squared losses: Newton's
    method on it, kept inside a bracket, lands in the piece that holds the root and there
    needs one step. Each step is one pass over the scores, against a full sort of the
    breakpoints.
    """
    loss, index, reg = problem.loss, problem.rows.index, problem.reg
    a, b = problem.positive, problem.negative
    ws, ss = dot(state.w, step), dot(step, step)
    first, _ = loss.along(state.scores, step_scores, a, b, index, 0.0)
    start = first + reg * ws
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(MAX_LINE_STEPS):
        first, second = loss.along(state.scores, step_scores, a, b, index, t)
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
