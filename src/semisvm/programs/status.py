"""One set of statuses for how solving a program ended, whatever the solver."""

from enum import StrEnum


class Status(StrEnum):
    """How a solver ended."""

    OPTIMAL = "optimal"
    INACCURATE = "inaccurate"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    TROUBLE = "numerical trouble"


ADVICE = {
    Status.INFEASIBLE: "no point satisfies all constraints; relax them.",
    Status.UNBOUNDED: "the objective is unbounded; bound the variables.",
    Status.TIME_LIMIT: "no point was found in time; raise the time limit.",
    Status.ITERATION_LIMIT: "no optimum was found within the iteration limit; raise it.",
    Status.TROUBLE: "the numbers are too large, too small or too different in size; scale the "
    "columns of the data.",
}
"""What to do about a program without a solution."""


class ProgramError(ValueError):
    """A program has no solution, or none was found; the message says what may help.

    Attributes
    ----------
    status : Status
        Why.
    """

    def __init__(self, status: Status, what: str) -> None:
        super().__init__(f"{what} ended with status '{status}': {ADVICE[status]}")
        self.status = status


class ProgramWarning(UserWarning):
    """A point was found, but it is not proven to be optimal."""
