"""Linear and mixed-integer programs as data, their solutions, and how a solve ends.

A linear program is ::

    minimise  c' x    subject to    row_lower <= A x <= row_upper,   lower <= x <= upper

where in a mixed-integer program some of the variables are whole numbers. Shapes and finite numbers
are checked when a program is made.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.base import Floats


class Status(StrEnum):
    """How a solver ended."""

    OPTIMAL = "optimal"
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
    """A program has no solution, or none was found; the message has what may help.

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


def matrix(name: str, value: Any, n_columns: int) -> Any:
    """Return a finite CSC matrix with ``n_columns`` columns; without rows if value is None."""
    if value is None:
        return sparse.csc_matrix((0, n_columns))
    found = sparse.csc_matrix(value, dtype=np.float64)
    if found.shape[1] != n_columns:
        raise ValueError(
            f"{name} must have one column per variable, {n_columns}, but has {found.shape[1]}."
        )
    _check_finite(name, found.data)
    return found


def vector(name: str, value: Any, length: int) -> Floats:
    """Return a finite vector of the given length; None is the empty vector."""
    found = np.empty(0) if value is None else np.array(value, dtype=np.float64)
    if found.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {found.shape}.")
    _check_finite(name, found)
    return found


def bounds(lower: Any, upper: Any, n: int, what: str = "variable") -> tuple[Floats, Floats]:
    """Return the bounds of n variables or rows; missing ones are infinite."""
    low = np.array(np.broadcast_to(-np.inf if lower is None else lower, n), dtype=np.float64)
    high = np.array(np.broadcast_to(np.inf if upper is None else upper, n), dtype=np.float64)
    wrong = ~(low <= high)
    if wrong.any():
        j = int(np.argmax(wrong))
        raise ValueError(
            f"the bounds of {what} {j} are {low[j]} and {high[j]}: the lower bound must not "
            "exceed the upper bound, and neither may be NaN."
        )
    return low, high


def _check_finite(name: str, values: Floats) -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinity; programs need finite numbers.")


@dataclass(frozen=True)
class LinearProgram:
    """A linear program; missing bounds are infinite.

    Attributes
    ----------
    c : array of shape (n,)
        Costs of the variables.
    A : {array, sparse matrix} of shape (m, n)
    row_lower, row_upper : array of shape (m,), or one number for all, optional
        Bounds of the rows; equal bounds make an equation.
    lower, upper : array of shape (n,), or one number for all, optional
        Bounds of the variables.
    """

    c: Any
    A: Any
    row_lower: Any = None
    row_upper: Any = None
    lower: Any = None
    upper: Any = None

    def __post_init__(self) -> None:
        n = np.size(self.c)
        A = matrix("A", self.A, n)
        row_lower, row_upper = bounds(self.row_lower, self.row_upper, A.shape[0], "row")
        lower, upper = bounds(self.lower, self.upper, n, "variable")
        clean = {
            "c": vector("c", self.c, n),
            "A": A,
            "row_lower": row_lower,
            "row_upper": row_upper,
            "lower": lower,
            "upper": upper,
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.c)

    @property
    def n_rows(self) -> int:
        """Number of rows, m."""
        return int(self.A.shape[0])

    def __str__(self) -> str:
        return f"a linear program of {self.n_variables} variables and {self.n_rows} rows"


@dataclass(frozen=True)
class MixedIntegerProgram:
    """A linear program in which some variables are whole numbers.

    Attributes
    ----------
    relaxed : LinearProgram
        The program without this condition.
    whole : bool array of shape (n,)
        Which variables are whole numbers.
    """

    relaxed: LinearProgram
    whole: NDArray[np.bool_]

    def __post_init__(self) -> None:
        whole = np.asarray(self.whole)
        if whole.dtype != bool or whole.shape != (self.relaxed.n_variables,):
            raise ValueError(
                f"whole must hold a bool for each of the {self.relaxed.n_variables} variables, "
                f"got {whole.dtype} of shape {whole.shape}."
            )

    def __str__(self) -> str:
        relaxed = self.relaxed
        return (
            f"a mixed-integer program of {relaxed.n_variables} variables, "
            f"{int(np.count_nonzero(self.whole))} of them whole, and {relaxed.n_rows} rows"
        )


@dataclass(frozen=True)
class LinearSolution:
    """The solution of a linear program, and its certificate.

    The multipliers satisfy ``c = A' row_duals + reduced_costs``.

    Attributes
    ----------
    x : array of shape (n,)
    objective : float
    row_duals : array of shape (m,)
        Change of the objective per unit of a row's bound: positive at the lower bound,
        negative at the upper one.
    reduced_costs : array of shape (n,)
        The same for the bounds of the variables.
    pivots : int
        Number of steps of the simplex method.
    """

    x: Floats
    objective: float
    row_duals: Floats
    reduced_costs: Floats
    pivots: int


@dataclass(frozen=True)
class MixedIntegerSolution:
    """The best point found for a mixed-integer program.

    Attributes
    ----------
    x : array of shape (n,)
    objective : float
    bound : float
        Lower bound on the objective of any point.
    gap : float
        (objective - bound) / abs(objective), at most ``mip_gap`` if the status is
        ``Status.OPTIMAL``.
    status : Status
        ``Status.OPTIMAL``, or ``Status.TIME_LIMIT`` after a warning.
    nodes : int
        Number of nodes of the search tree.
    """

    x: Floats
    objective: float
    bound: float
    gap: float
    status: Status
    nodes: int
