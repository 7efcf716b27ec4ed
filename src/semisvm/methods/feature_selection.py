"""FSV: a smooth count of the weights, minimised by a sequence of linear programs."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.loop import Level, follow
from semisvm.methods.linear_programs import signs_of
from semisvm.objectives.two_classes import TwoClassTask
from semisvm.solvers import State
from semisvm.solvers.hinge_program import HingeProgram

START_POWERS = (1.0, 0.5, 0.0)
"""Prices of the 1-norm at the starts, as powers of the sharpness times mu."""
LEAST_SLOPE = 1e-4
"""Tangents at large weights are no flatter than this: a weight that is free has no bound."""


class Counting:
    """The two steps: solve a linear program above the objective, and linearise again.

    A weight costs mu (1 - exp(-sharpness |w_k|)): nearly nothing, or nearly mu. This is concave
    in |w_k|, so it lies below its tangent at the last weights. The minimum of a program with
    the tangents is therefore never worse than the point before.

    There are local minima, so each level is a start of its own: the 1-norm SVM with the tangents
    at zero, and with prices that fall to mu. The best of all points is kept.
    """

    def __init__(self, task: TwoClassTask, mu: float, sharpness: float) -> None:
        self.task, self.mu, self.sharpness = task, mu, sharpness
        block = task.rows.in_one_place()
        X, self.signs = block.design.matrix(block.labeled), signs_of(block)
        self.program = HingeProgram(X, self.signs, mu * sharpness)
        self.state = self.last = self.found = State(np.empty(0))

    def follow(self, tol: float, max_iter: int) -> tuple[int, bool]:
        """Solve programs from every start; return their number, and whether all settled."""
        prices = np.unique(self.mu * self.sharpness ** np.array(START_POWERS))[::-1]
        levels = [Level(float(price), tol, last=price == prices[-1]) for price in prices]
        return follow("counting", levels, self, self.task.recorder, max_iter)

    def enter(self, level: Level) -> None:
        """Start from the 1-norm SVM with the price of the level."""
        self.program.change_mu(np.full(len(self.program.mu), level.value))
        self.last = State(np.empty(0))

    def weight_step(self, level: Level) -> State:
        """Solve the linear program of the current tangents."""
        found = self.program.solve(np.ones(len(self.signs)))
        objective = found.loss + self.mu * float(self.counted(found.w[:-1]).sum())
        self.found = State(
            found.w,
            objective,
            gradient_norm=np.nan,
            gap=found.value - found.bound,
            n_iter=found.pivots,
            n_active=len(self.signs),
        )
        return self.found

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Take the tangents at the new weights; settled when the program gained nothing."""
        before, now = self.last.objective, self.found.objective
        self.last = self.found
        if now < self.state.objective:
            self.state = self.found
        slopes = np.exp(-self.sharpness * np.abs(self.found.w[:-1]))
        self.program.change_mu(self.mu * self.sharpness * np.maximum(slopes, LEAST_SLOPE))
        settled = bool(np.isfinite(before)) and before - now <= level.tol * max(before, self.mu)
        return settled, {"objective": self.state.objective, "pivots": self.found.n_iter}

    def counted(self, weights: Floats) -> Floats:
        """Return 1 - exp(-sharpness |w_k|)."""
        return np.asarray(-np.expm1(-self.sharpness * np.abs(weights)))
