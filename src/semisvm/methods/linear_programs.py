"""Methods that are linear programs: RLP, the 1-norm SVM, and FSV.

The first two are one program, or a few. FSV minimises a smooth count of the weights by a sequence
of programs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.methods.loop import Level, follow
from semisvm.solvers import State
from semisvm.solvers.hinge_programs import HingeProgram, HingeSolution
from semisvm.solvers.programs import ProgramError, Status
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.two_classes import TwoClassTask

FEWEST_ERRORS_TOL = 1e-6
"""Relative tolerance at which a sum of errors counts as the smallest."""
LARGEST_PRICE = 1e9
"""Price of errors relative to the 1-norm; beyond it, data have margins of 1e-9 of their size."""


@dataclass(frozen=True)
class Found:
    """The solution of a problem of two classes.

    Attributes
    ----------
    w : array of shape (n_weights,)
    objective : float
    n_iter : int
        Number of programs solved.
    converged : bool
    bound : float
        Lower bound on the objective; -inf if none is known.
    """

    w: Floats
    objective: float
    n_iter: int
    converged: bool = True
    bound: float = -np.inf


def signs_of(block: OneScoreBlock) -> Floats:
    """Return 1 for labelled rows of the second class, -1 for the others."""
    return np.where(block.positive, 1.0, -1.0)


def record(task: TwoClassTask, phase: str, found: HingeSolution, objective: float) -> None:
    """Add a row to the trace for a solved program."""
    n_rows = task.rows.n_labeled
    state = State(found.w, gradient_norm=np.nan, n_iter=found.pivots, n_active=n_rows)
    task.recorder.record(phase, state, objective=objective, pivots=found.pivots)
    task.recorder.level_done()


def fewest_errors(task: TwoClassTask) -> Found:
    """Raise the price of errors until their sum is as small as without the 1-norm (RLP)."""
    block = task.rows.single_shard()
    X, signs = block.design.matrix(block.labeled), signs_of(block)
    # the solution does not depend on the unit of X, so scale the numbers to about one
    unit = float(abs(X).max()) or 1.0
    X, ones = X / unit, np.ones(len(signs))
    least = HingeProgram(X, signs, mu=0.0).bound(ones)
    program = HingeProgram(X, signs, mu=1.0)
    enough = least + FEWEST_ERRORS_TOL * max(1.0, least)
    price, n_iter = 1.0, 1
    while price <= LARGEST_PRICE:
        found, n_iter = program.solve(price * ones), n_iter + 1
        errors = found.loss / price
        record(task, "pricing", found, errors)
        if errors <= enough:
            w = np.append(found.w[:-1] / unit, found.w[-1])
            return Found(w, errors, n_iter)
        price *= 10.0
    raise ProgramError(Status.TROUBLE, "the program of least errors and least 1-norm")


def one_norm(task: TwoClassTask, mu: float) -> Found:
    """Solve the program of the 1-norm SVM."""
    block = task.rows.single_shard()
    X, signs = block.design.matrix(block.labeled), signs_of(block)
    found = HingeProgram(X, signs, mu).solve(np.ones(len(signs)))
    record(task, "program", found, found.value)
    return Found(found.w, found.value, 1, bound=found.bound)


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
        block = task.rows.single_shard()
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
