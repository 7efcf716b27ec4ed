"""Limited-memory BFGS for smooth functions of linear scores, convex or not.

Scores are linear in the weights, so a trial of the line search needs only the scores of the
step: whatever the number of trials, one iteration is two passes over the data.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import dot

MEMORY = 10
MAX_STEPS = 500
MAX_TRIALS = 60
DECREASE = 1e-4
CURVATURE = 0.9
# Near a minimum the gain of a step is below the rounding of the value; the slope still
# distinguishes a good step from a bad one.
ROUNDING = 1e-13
# The solver stops after this many consecutive steps that neither gain nor halve the gap.
MAX_IDLE_STEPS = 10
# Relative width below which a bracket of the step length is not refined.
NARROW = 1e-6
# Step lengths are doubled and halved; if so many were wrong, by far larger factors.
USUAL_TRIALS = 10
FAR = 1e3


@dataclass
class Iterate:
    """A function A to be minimised, at weights w.

    Attributes
    ----------
    w : array of shape (n_weights,)
    scores : array of shape (n_rows, m)
    objective : float
        The positive value to which the tolerance is relative.
    value : float
        A(w).
    gradient : array of shape (n_weights,)
        Gradient of A.
    """

    w: Floats
    scores: Floats
    objective: float
    value: float
    gradient: Floats

    def gap(self, reg: float) -> float:
        """Compute ||gradient||^2 / (2 reg), which bounds A(w) - min A if A is convex."""
        return dot(self.gradient, self.gradient) / (2.0 * reg)


class Smooth(Protocol):
    """What the solver needs from a function."""

    @property
    def reg(self) -> float:
        """Strength of the regularisation."""
        ...

    def scores(self, w: Floats) -> Floats:
        """Compute the scores for weights, or for a step of the weights."""
        ...

    def at(self, w: Floats, scores: Floats) -> Iterate:
        """Evaluate the function and its gradient."""
        ...

    def along(
        self, point: Iterate, step: Floats, step_scores: Floats
    ) -> Callable[[float], tuple[float, float]]:
        """Return the function t -> value and slope at ``point.w + t step``, without the data."""
        ...


class Curvature:
    """The second derivatives, estimated from the last steps."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)

    def learn(self, step: Floats, change: Floats) -> None:
        """Store a step and the change of the gradient along it, if A curves upwards there."""
        product = dot(step, change)
        if product > 0.0:
            self.pairs.append((step, change, product))

    def direction(self, gradient: Floats) -> Floats:
        """Compute minus the inverse curvature times the gradient (two-loop recursion)."""
        out, parts = -gradient, []
        for step, change, product in reversed(self.pairs):
            parts.append(dot(step, out) / product)
            out -= parts[-1] * change
        if self.pairs:
            _, change, product = self.pairs[-1]
            out *= product / dot(change, change)
        for (step, change, product), part in zip(self.pairs, reversed(parts), strict=True):
            out += (part - dot(change, out) / product) * step
        return out


def minimize_lbfgs(
    function: Smooth, w: Floats, tol: float, max_steps: int = MAX_STEPS
) -> tuple[Iterate, int]:
    """Minimise a function from weights ``w`` until its gap is ``tol`` times the objective.

    Returns
    -------
    point : Iterate
        It misses the tolerance only if no step helped or there were too many.
    steps : int
    """
    point, curvature, steps = function.at(w, function.scores(w)), Curvature(), 0
    last_restart, idle = np.inf, 0
    while steps < max_steps and point.gap(function.reg) > tol * point.objective:
        if idle == MAX_IDLE_STEPS:
            break
        step = curvature.direction(point.gradient)
        step_scores = function.scores(step)
        slope = dot(point.gradient, step)
        t = line_search(function.along(point, step, step_scores), point.value, slope)
        if t == 0.0:
            # the stored pairs mislead: restart from the gradient, if the last restart helped
            if not curvature.pairs or point.gap(function.reg) > 0.5 * last_restart:
                break
            last_restart = point.gap(function.reg)
            curvature.pairs.clear()
            continue
        new = function.at(point.w + t * step, point.scores + t * step_scores)
        step *= t
        curvature.learn(step, new.gradient - point.gradient)
        gained = new.value < point.value - ROUNDING * abs(point.value)
        nearer = new.gap(function.reg) < 0.5 * point.gap(function.reg)
        idle = 0 if gained or nearer else idle + 1
        point, steps = new, steps + 1
    return point, steps


def line_search(along: Callable[[float], tuple[float, float]], value: float, slope: float) -> float:
    """Find a step length that lowers the value and leaves the steep part (weak Wolfe)."""
    if not slope < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    slack = ROUNDING * abs(value)
    for trial in range(MAX_TRIALS):
        there, rise = along(t)
        lower = there <= value + DECREASE * t * slope
        level = there <= value + slack and rise <= (2.0 * DECREASE - 1.0) * slope
        if not (lower or level):
            high = t
        elif rise < CURVATURE * slope:
            low = t
        else:
            return t
        if high - low <= NARROW * low:
            # only rounding is left
            break
        factor = 2.0 if trial < USUAL_TRIALS else FAR
        if high == np.inf:
            t *= factor
        elif trial < USUAL_TRIALS or high < 2.0 * factor * low:
            t = 0.5 * (low + high)
        else:
            t = max(high / factor, low * factor)
    return low
