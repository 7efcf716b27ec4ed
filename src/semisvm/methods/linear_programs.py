"""Methods that are one linear program, or a few: RLP and the 1-norm SVM."""

from dataclasses import dataclass

import numpy as np

from semisvm.blocks import OneScoreBlock
from semisvm.designs import Floats
from semisvm.objectives.two_classes import TwoClassTask
from semisvm.programs import ProgramError, Status
from semisvm.solvers import State
from semisvm.solvers.hinge_program import HingeProgram, HingeSolution

FEWEST_ERRORS_TOL = 1e-6
"""Relative tolerance at which a sum of errors counts as the smallest."""
LARGEST_PRICE = 1e9
"""Price of errors relative to the 1-norm; beyond it, data have margins of 1e-9 of their size."""


@dataclass(frozen=True)
class Found:
    """The answer to a problem of two classes.

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
    block = task.rows.in_one_place()
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
    block = task.rows.in_one_place()
    X, signs = block.design.matrix(block.labeled), signs_of(block)
    found = HingeProgram(X, signs, mu).solve(np.ones(len(signs)))
    record(task, "program", found, found.value)
    return Found(found.w, found.value, 1, bound=found.bound)
