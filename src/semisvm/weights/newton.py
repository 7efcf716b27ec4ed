r"""Modified finite Newton for regularised linear machines.

For the squared hinge the objective f of a problem (see `weights.problems`) is piecewise
quadratic: a Newton step solves a least squares problem over the rows inside the margin
only, by conjugate gradients, and an exact line search keeps it convergent (Keerthi and
DeCoste, JMLR 6, 2005). Other smooth losses take the same steps.

f - reg/2 ||w||^2 is convex, so f(w) - min f <= ||grad f(w)||^2 / (2 reg). The solver
stops when this bound falls below ``tol`` times f(w): the relative error of a returned
objective is certified, not estimated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from semisvm.designs import Floats
from semisvm.vectors import add, dot
from semisvm.weights import conjugate_gradients
from semisvm.weights.problems import Linearization, Problem

# A first step from zero starts with every row active; solving it well is wasted.
CRUDE_CG_STEPS = 10
MAX_CG_STEPS = 2_000
# A Newton step reduces the residual to this share of the gradient, or just far enough
# below what the tolerance asks for.
FORCING = 0.1
OVERSHOOT = 0.5
# With few weights conjugate gradients end by themselves: where a tight solution is asked
# for, solving every step tightly costs little and the last one lands on the solution.
FEW_WEIGHTS = 500
TIGHT_TOL = 1e-8
TIGHT_FORCING = 1e-9
# Below this tolerance a solution is certified by a gradient that was computed afresh, not by
# one that follows from those before.
CHECKED_TOL = 1e-5
MAX_LINE_STEPS = 50
# Share of the first derivative that may be left: the residual of a full step is orthogonal
# to it, so unless rows change sides one look at t = 1 is enough.
LINE_TOLERANCE = 1e-3
# Steps that promise less than the rounding of the objective may still halve the gradient,
# where it is the certificate that is missing; so many in a row that do not end the solve.
MAX_IDLE_STEPS = 5
ROUNDING = float(np.finfo(np.float64).eps)


@dataclass
class State:
    """Weights, their scores, and what the last solve took; solvers change it in place.

    Attributes
    ----------
    w : array of shape (n_weights,)
    scores : array of shape (n_rows,) or (n_rows, m)
        Valid on the rows of the last problem.
    objective : float
    gradient_norm : float
    gap : float
        Certified bound on f(w) - min f.
    n_iter, cg_steps, n_active : int
    converged : bool
    gradient : array of shape (n_weights,), optional
        Of the last problem, at the weights.
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
    gradient: Floats | None = None

    @classmethod
    def at(cls, w: Floats, problem: Problem) -> Self:
        """Start at weights ``w`` (copied), with their scores."""
        return cls(w.copy(), problem.scores(w))

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
    start: Linearization | None = None,
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
    start : Linearization, optional
        Of the problem at the state, if it is known.
    """
    crude = not problem.quadratic and not state.w.any()
    state.n_iter = state.cg_steps = idle = 0
    smallest = np.inf
    here = start or problem.linearize(state.w, state.scores)
    while True:
        measure(state, here.value, here.gradient, here.n_active, problem.reg, tol)
        if state.converged and not here.exact and tol <= CHECKED_TOL:
            here = problem.linearize(state.w, state.scores)
            continue
        stopped = on_step is not None and on_step(state)
        if state.converged or stopped or state.n_iter == max_iter:
            return state
        max_steps = CRUDE_CG_STEPS if crude and state.n_iter == 0 else MAX_CG_STEPS
        step, residual, cg_steps = newton_step(problem, here, state, tol, max_steps)
        gradient = here.gradient
        # the curvature has done its work: let go of its memory before there is more
        del here
        slope = dot(gradient, step)
        halved = state.gradient_norm < 0.5 * smallest
        smallest = min(state.gradient_norm, smallest) if halved else smallest
        idle = 0 if halved or -slope > ROUNDING * state.objective else idle + 1
        step_scores = problem.scores(step)
        t = line_search(problem, state, step, step_scores, slope)
        state.n_iter += 1
        state.cg_steps += cg_steps
        if t == 0.0 or idle == MAX_IDLE_STEPS:
            # no descent left in double precision
            return state
        add(state.w, t, step)
        # the step solves H step = -gradient - residual
        residual *= -t
        add(residual, 1.0 - t, gradient)
        here = problem.move(state.w, state.scores, step_scores, t, residual)


def newton_step(
    problem: Problem, here: Linearization, state: State, tol: float, max_steps: int = MAX_CG_STEPS
) -> tuple[Floats, Floats, int]:
    """Solve for the step to the minimum of the quadratic model, as well as it is worth.

    Returns
    -------
    step : array of shape (n_weights,)
        Zero if the model curves down along the very first direction.
    residual : array of shape (n_weights,)
    cg_steps : int
    """
    return conjugate_gradients.solve(
        here.product,
        problem.reg,
        -here.gradient,
        inverse=here.inverse(),
        scales=here.scales,
        workers=problem.workers,
        stop=_residual_goal(problem, state, tol),
        max_steps=max_steps,
    )


def measure(
    state: State, value: float, gradient: Floats, n_active: int, reg: float, tol: float
) -> None:
    """Write down what is known of the weights, and whether they are good enough."""
    state.objective = value + 0.5 * reg * dot(state.w, state.w)
    state.n_active = n_active
    judge(state, gradient, reg, tol)


def judge(state: State, gradient: Floats, reg: float, tol: float) -> None:
    """Tell by the gradient whether the weights are good enough."""
    squared = dot(gradient, gradient)
    state.gradient = gradient
    state.gradient_norm = float(np.sqrt(squared))
    state.gap = squared / (2.0 * reg)
    state.converged = state.gap <= tol * state.objective


def _residual_goal(problem: Problem, state: State, tol: float) -> float:
    """Give the norm of the residual to which the linear system is worth solving."""
    enough = OVERSHOOT * float(np.sqrt(2.0 * problem.reg * tol * state.objective))
    if problem.n_weights <= FEW_WEIGHTS and tol <= TIGHT_TOL:
        return min(TIGHT_FORCING * state.gradient_norm, enough)
    return enough if problem.quadratic else max(FORCING * state.gradient_norm, enough)


def line_search(
    problem: Problem,
    state: State,
    step: Floats,
    step_scores: Floats,
    start: float,
    tol: float = LINE_TOLERANCE,
) -> float:
    """Find the minimiser of t -> f(w + t step) on t >= 0, given the derivative at 0.

    The derivative is increasing, and piecewise linear for the squared losses: Newton's
    method on it, kept inside a bracket, lands in the piece that holds the root and there
    needs one step. Each step is one pass over the scores, against a full sort of the
    breakpoints.
    """
    reg = problem.reg
    ws, ss = dot(state.w, step), dot(step, step)
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(MAX_LINE_STEPS):
        first, second = problem.along(state.scores, step_scores, t)
        first += reg * (ws + t * ss)
        second += reg * ss
        if abs(first) <= tol * -start:
            break
        if first < 0.0:
            low = t
        else:
            high = t
        t -= first / second
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t
