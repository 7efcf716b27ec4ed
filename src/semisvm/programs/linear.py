r"""Linear and mixed-integer programs as data, and their solutions.

The form is ::

    minimise  c' x    subject to    row_lower <= A x <= row_upper,   lower <= x <= upper

where in a mixed-integer program some of the variables are whole numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats
from semisvm.programs.checks import bounds, matrix, vector
from semisvm.programs.status import Status


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
