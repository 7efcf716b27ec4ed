r"""Modified finite Newton for regularised linear models.

For the squared hinge the objective f of a problem (see `solvers.problems`) is piecewise
quadratic: a Newton step solves a least squares problem over only the rows inside the
margin, by conjugate gradients, and an exact line search makes it converge (Keerthi and
DeCoste, JMLR 6, 2005). Other smooth losses take the same steps.

f - reg/2 ||w||^2 is convex, so f(w) - min f <= ||grad f(w)||^2 / (2 reg). The solver
stops when this bound falls below ``tol`` times f(w): the relative error of a returned
objective is certified, not estimated.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import add, blend, dot, dots_with
from semisvm.solvers import conjugate_gradients
from semisvm.solvers.conjugate_gradients import Preconditioner
from semisvm.solvers.problems import Linearization, Problem, ReducedProblem

# A first step from zero starts with every row active; solving it accurately is a waste.
CRUDE_CG_STEPS = 10
MAX_CG_STEPS = 2_000
MORE_CG_STEPS, CG_STEPS_PER_WEIGHT = 100, 20
# A Newton step reduces the residual to this fraction of the gradient, or to just below what
# the tolerance requires.
FORCING = 0.1
OVERSHOOT = 0.5
# With few weights conjugate gradients are finite: if a tight solution is required, solving
# every step tightly costs little, and the last step reaches the solution.
FEW_WEIGHTS = 500
TIGHT_TOL = 1e-8
TIGHT_FORCING = 1e-9
# From this tolerance on a solution is certified by a recomputed gradient, not by an updated
# one.
CHECKED_TOL = 1e-5
# The same holds for a gradient that has fallen to this part of the last one that was computed:
# updates carry the rounding of that.
DRIFT = 1e-9
MAX_LINE_STEPS = 50
# After so many the derivative that the search began with is checked, up to this relative error.
MANY_LINE_STEPS = 10
WRONG = 0.5
# Then zero may be the lower end of a bracket whose root is smaller by many orders of magnitude.
MUCH_LESS = 1e-3
# Fraction of the first derivative that may be left: the residual of a full step is orthogonal
# to it, so unless rows change sides, one evaluation at t = 1 is enough.
LINE_TOLERANCE = 1e-3
# A step that lowers the objective by less than this multiple of the tolerance may still halve the
# gradient, which the certificate needs. The solve ends after so many steps in a row that do not:
# where columns differ by many orders of magnitude, rounding keeps the gradient large.
LEAST_FALL = 1e-3
# The costs of the labelled rows sum to one, and so does, nearly, their loss without weights: less
# than this is a matter of the last digits of scores.
NOTHING = 1e-12
MAX_IDLE_STEPS = 5
# A step in which labels respond is taken if the energy falls by this fraction of what its
# slope predicts; otherwise a shorter one is tried, up to MAX_TRIALS times.
LEAST_GAIN = 1e-4
MAX_TRIALS = 20
# How many times as far as with fixed labels a step may go.
FAR = 4.0
# Relative error up to which the energy counts as having fallen as predicted.
TRUST = 0.1


@dataclass
class State:
    """Weights, and statistics of the last solve; solvers change it in place.

    Attributes
    ----------
    w : array of shape (n_weights,)
    objective : float
    gradient_norm : float
    gap : float
        Certified bound on f(w) - min f.
    n_iter, cg_steps, n_active : int
    converged : bool
    gradient : array of shape (n_weights,), optional
        Gradient of the last problem at the weights.
    """

    w: Floats
    objective: float = np.inf
    gradient_norm: float = np.inf
    gap: float = np.inf
    n_iter: int = 0
    cg_steps: int = 0
    n_active: int = 0
    converged: bool = False
    gradient: Floats | None = None

    def copy(self) -> Self:
        """Return a copy with its own weights."""
        return replace(self, w=self.w.copy(), gradient=None)

    def to_dict(self) -> dict[str, Any]:
        """Return weights and statistics, without the gradient, as plain data."""
        return {"w": self.w.copy(), **{name: getattr(self, name) for name in STATISTICS}}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Self:
        """Make a state of what `to_dict` returned."""
        return cls(**{**found, "w": found["w"].copy()})


STATISTICS = ("objective", "gradient_norm", "gap", "n_iter", "cg_steps", "n_active", "converged")


def minimize(
    problem: Problem,
    state: State,
    *,
    tol: float,
    max_iter: int = 200,
    on_step: Callable[[State], bool] | None = None,
    start: Linearization | None = None,
    search: "Search | None" = None,
) -> State:
    """Minimise f from a state, in place; the problem holds the scores of its weights.

    Parameters
    ----------
    problem : Problem
    state : State
        Start; holds the solution afterwards.
    tol : float
        Certified relative error of the objective at which to stop.
    max_iter : int
        Maximum number of Newton steps.
    on_step : callable, optional
        Called with the state at the start and after every step; True ends the solve.
    start : Linearization, optional
        Linearization of the problem at the state, if known.
    search : Search, optional
        How far to move along a step; by default an exact line search, for convex problems.
    """
    search = LineSearch() if search is None else search
    crude = search.convex and not problem.quadratic and not state.w.any()
    state.n_iter = state.cg_steps = 0
    here: Linearization | None = start or problem.linearize(state.w)
    computed = 0.0
    while here is not None:
        measure(state, here, problem.reg, tol)
        if here.exact:
            computed = state.gradient_norm
        elif (
            (state.converged and tol <= CHECKED_TOL)
            or state.gradient_norm < DRIFT * computed
            or search.stalls(state, tol)
        ):
            here = problem.linearize(state.w)
            continue
        stopped = on_step is not None and on_step(state)
        if state.converged or stopped or state.n_iter == max_iter:
            break
        max_steps = CRUDE_CG_STEPS if crude and state.n_iter == 0 else MAX_CG_STEPS
        here = search.step(problem, state, here, tol, max_steps)
    return state


class Search(ABC):
    """A safeguard of Newton's method: how a step is computed, and how far it is taken."""

    convex: ClassVar[bool]

    def stalls(self, state: State, tol: float) -> bool:
        """Return whether the last step gained nothing, so that an updated gradient is in doubt."""
        return False

    @abstractmethod
    def step(
        self, problem: Any, state: State, here: Linearization, tol: float, max_steps: int
    ) -> Linearization | None:
        """Take a step; return the linearization there, or None if the solve ends."""


@dataclass
class LineSearch(Search):
    """An exact line search, for convex problems.

    Attributes
    ----------
    idle : int
        Steps in a row that neither lowered the objective nor halved the gradient.
    smallest : float
        Norm of the gradient when it was halved last.
    lowest : float
        The objective when it fell last.
    slow : bool
        Whether conjugate gradients were slow in one of the steps.
    """

    convex: ClassVar[bool] = True
    idle: int = 0
    smallest: float = np.inf
    lowest: float = np.inf
    slow: bool = False

    def stalls(self, state: State, tol: float) -> bool:
        """Return whether the last step neither lowered the objective nor halved the gradient."""
        halved = state.gradient_norm < 0.5 * self.smallest
        little = max(LEAST_FALL * tol * state.objective, NOTHING)
        return not (halved or state.objective < self.lowest - little)

    def _note(self, state: State, tol: float) -> None:
        """Count the steps that gained nothing."""
        self.idle = self.idle + 1 if self.stalls(state, tol) else 0
        if state.gradient_norm < 0.5 * self.smallest:
            self.smallest = state.gradient_norm
        self.lowest = min(self.lowest, state.objective)

    def step(
        self, problem: Problem, state: State, here: Linearization, tol: float, max_steps: int
    ) -> Linearization | None:
        """Move to the minimum along a Newton step."""
        self._note(state, tol)
        options: Any = (problem, here, state, tol, max_steps)
        step, residual, cg_steps = newton_step(*options, direct=self.slow)
        ss, ws, slope = dots_with(step, state.w, here.gradient)
        grown = dot(residual, residual) > dot(here.gradient, here.gradient)
        if (grown or not slope < 0.0) and not self.slow:
            # rounding spoilt the preconditioner, or the solution
            self.slow = True
            step, residual, cg_steps = newton_step(*options, direct=True)
            ss, ws, slope = dots_with(step, state.w, here.gradient)
        self.slow |= conjugate_gradients.is_slow(cg_steps, len(step) // problem.n_systems)
        problem.set_direction(step)
        t = line_search(problem, ws, ss, slope)
        state.n_iter += 1
        state.cg_steps += cg_steps
        if self.idle >= MAX_IDLE_STEPS or (t == 0.0 and here.exact):
            # no further descent in double precision
            return None
        if t == 0.0:
            return problem.linearize(state.w)
        add(state.w, t, step)
        # the step solves H step = -gradient - residual
        blend(-t, residual, 1.0 - t, here.gradient)
        there = problem.advance(state.w, t, residual)
        if problem.spare is not None:
            problem.spare.extend([step, here.gradient])
        return there


class Backtracking(Search):
    """Backtracking on the energy of a problem whose labels respond.

    Parameters
    ----------
    before : float, optional
        The energy at the start; None is the objective of the state.
    max_trials : int
        Maximum number of step lengths to try.
    floor : float
        See `conjugate_gradients.solve`.
    negligible : float
        Gain, relative to the objective, that is not worth a step, nor another one.

    Attributes
    ----------
    energy : float
        Energy after the step.
    as_predicted : bool
        Whether the step was solved tightly, taken in full, and gained what was predicted, or
        else gained a negligible amount.
    """

    convex: ClassVar[bool] = False

    def __init__(
        self,
        before: float | None = None,
        max_trials: int = MAX_TRIALS,
        *,
        floor: float = 0.0,
        negligible: float = 0.0,
    ) -> None:
        self.before = before
        self.max_trials = max_trials
        self.floor = floor
        self.negligible = negligible
        self.energy = np.inf
        self.as_predicted = False

    def step(
        self,
        problem: ReducedProblem,
        state: State,
        here: Linearization,
        tol: float,
        max_steps: int,
    ) -> Linearization | None:
        """Take one step and end the solve, so that the caller can inspect the labels."""
        before = state.objective if self.before is None else self.before
        little, inverse = self.negligible * state.objective, problem.inverse()
        if little and _promise(here.gradient, inverse, problem.reg) < little:
            self.energy = before
            return None
        step, residual, state.cg_steps = newton_step(
            problem, here, state, tol, max_steps, inverse=inverse, floor=self.floor
        )
        enough = dot(residual, residual) <= 2.0 * problem.reg * tol * state.objective
        if state.cg_steps == 0:
            # The energy curves down along the first direction: labels respond to the weights so
            # strongly that the reduced Hessian is indefinite. With labels held fixed it is convex,
            # and its step is one of descent for the energy too, whose gradient is the same.
            del step, residual
            here = problem.hold(state.w)
            step, _, state.cg_steps = newton_step(
                problem, here, state, tol, max_steps, reduced=False
            )
            enough = False
        slope = dot(here.gradient, step)
        state.gradient = None
        problem.set_direction(step)
        t = self._descend(problem, state, step, slope, before)
        if t > 0.0:
            state.n_iter = 1
            # a parabola gains half of the slope
            off = abs(self.energy - before - 0.5 * slope)
            predicted = enough and t == 1.0 and off <= TRUST * 0.5 * abs(slope)
            self.as_predicted = predicted or before - self.energy < little
        if problem.spare is not None:
            problem.spare.append(step)
        return None

    def _longest(self, problem: ReducedProblem, step: Floats, slope: float) -> float:
        """Return the first length to try: 1, unless a flat direction makes the step too long.

        With the labels held fixed the energy has its minimum along the step at some length.
        Labels that respond take it further, but not by orders of magnitude.
        """
        if not self.floor:
            return 1.0
        [(_, second)] = problem.along((0.0,))
        second += problem.reg * dot(step, step)
        return min(1.0, FAR * -slope / second) if 0.0 < second < np.inf else 1.0

    def _descend(
        self, problem: ReducedProblem, state: State, step: Floats, slope: float, before: float
    ) -> float:
        """Shorten a step until the energy falls; return its length, or 0 if it never does."""
        t, ahead = 0.0, self._longest(problem, step, slope)
        for _ in range(self.max_trials):
            add(state.w, ahead - t, step)
            problem.move(ahead - t)
            t = ahead
            self.energy = problem.energy(state.w)
            if self.energy <= before + LEAST_GAIN * t * slope:
                return t
            # the minimum of a parabola through the values
            bend = self.energy - before - t * slope
            part = -0.5 * t * slope / bend if 0.0 < bend < np.inf else 0.0
            ahead = t * min(max(part, 0.1), 0.5)
        add(state.w, -t, step)
        problem.move(-t)
        self.energy = before
        return 0.0


def newton_step(
    problem: Problem,
    here: Linearization,
    state: State,
    tol: float,
    max_steps: int = MAX_CG_STEPS,
    *,
    reduced: bool = True,
    inverse: Preconditioner | None = None,
    floor: float = 0.0,
    direct: bool = False,
) -> tuple[Floats, Floats, int]:
    """Compute the step to the minimum of the quadratic model, as accurately as is useful.

    Without ``reduced`` the labels of a problem in which they respond are held fixed. The
    preconditioner is that of the problem, if it is not given.

    Returns
    -------
    step : array of shape (n_weights,)
        Zero if the model curves down along the first direction.
    residual : array of shape (n_weights,)
    cg_steps : int
    """
    # without rounding, as many steps as there are weights would do
    max_steps = min(max_steps, MORE_CG_STEPS + CG_STEPS_PER_WEIGHT * problem.n_weights)
    inverse = problem.inverse() if inverse is None else inverse
    if reduced:
        problem.curve()
    rhs = problem.spare.pop() if problem.spare else np.empty_like(here.gradient)
    return conjugate_gradients.solve(
        problem.product,
        problem.reg,
        np.negative(here.gradient, out=rhs),
        inverse=inverse,
        scales=problem.scales,
        workers=problem.workers,
        stop=_residual_goal(problem, state, tol),
        max_steps=max_steps,
        systems=problem.n_systems,
        floor=floor,
        direct=direct,
        spare=problem.spare,
    )


def _promise(gradient: Floats, inverse: Preconditioner | None, reg: float) -> float:
    """Bound the gain of a step by the curvature of the preconditioner, or of the regulariser."""
    squares = dot(gradient, gradient)
    if inverse is None:
        return 0.5 * float(squares) / reg
    together, _ = inverse.weigh(gradient, np.full(1, squares), np.empty_like(gradient))
    return 0.5 * float(together.sum()) / inverse.unit


def measure(state: State, here: Linearization, reg: float, tol: float) -> None:
    """Store objective and gradient in the state, and whether it has converged."""
    state.objective = here.value + 0.5 * reg * dot(state.w, state.w)
    state.n_active = here.n_active
    judge(state, here.gradient, reg, tol)


def already_solved(state: State, here: Linearization, reg: float, tol: float) -> bool:
    """Store a linearization in the state; return whether no step is needed, nor a check."""
    measure(state, here, reg, tol)
    if not state.converged or tol <= CHECKED_TOL:
        return False
    state.n_iter = state.cg_steps = 0
    return True


def judge(state: State, gradient: Floats, reg: float, tol: float) -> None:
    """Store the gradient in the state, and whether it has converged."""
    squared = dot(gradient, gradient)
    state.gradient = gradient
    state.gradient_norm = float(np.sqrt(squared))
    state.gap = squared / (2.0 * reg)
    state.converged = state.gap <= tol * state.objective


def _residual_goal(problem: Problem, state: State, tol: float) -> float:
    """Return the norm of the residual to which the linear system is worth solving."""
    # A residual of this norm is a gradient of this norm if no row changes sides: the bound
    # ||gradient||^2 / (2 reg) on the error then meets the tolerance, and more would be lost work.
    enough = OVERSHOOT * float(np.sqrt(2.0 * problem.reg * tol * max(state.objective, 0.0)))
    if problem.n_weights <= FEW_WEIGHTS and tol <= TIGHT_TOL:
        return min(TIGHT_FORCING * state.gradient_norm, enough)
    return enough if problem.quadratic else max(FORCING * state.gradient_norm, enough)


def line_search(
    problem: Problem, ws: float, ss: float, start: float, tol: float = LINE_TOLERANCE
) -> float:
    """Find the minimiser of t -> f(w + t step) on t >= 0, given the derivative at 0.

    The products w . step and step . step stand for the regulariser along the step.

    Zero is also returned where rounding made the given derivative wrong.

    The derivative is increasing, and piecewise linear for the squared losses: Newton's
    method on it, kept inside a bracket, reaches the piece that holds the root and then needs
    one step. Each step is one pass over the scores, instead of a full sort of the breakpoints.
    """
    reg = problem.reg
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for trial in range(MAX_LINE_STEPS):
        if trial == MANY_LINE_STEPS:
            [(first, _)] = problem.along((0.0,))
            if abs(first + reg * ws - start) > WRONG * -start:
                return 0.0
        [(first, second)] = problem.along((t,))
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
            t = _within(low, high, many=trial >= MANY_LINE_STEPS)
    else:
        # the objective falls up to there
        return low
    return t


def _within(low: float, high: float, *, many: bool) -> float:
    """Return the next trial inside a bracket; after many its ends are orders of magnitude apart."""
    if high == np.inf:
        return 2.0 * low
    if not many:
        return 0.5 * (low + high)
    return float(np.sqrt(low * high)) if low > 0.0 else MUCH_LESS * high
