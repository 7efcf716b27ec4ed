r"""Quadratic programs as data, and their solutions.

The form is ::

    minimise  1/2 x' P x + q' x    subject to    A x = b,   G x <= h,   lower <= x <= upper,
                                                 ||F x + f|| <= c' x + d   for every cone
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs.base import Floats
from semisvm.programs.checks import bounds, matrix, vector
from semisvm.programs.status import Status


@dataclass(frozen=True)
class Cone:
    """The constraint ||F x + f|| <= c' x + d, with the Euclidean norm: a second-order cone.

    Attributes
    ----------
    F : {array, sparse matrix} of shape (k, n)
    f : array of shape (k,), optional
        Zero if not given.
    c : array of shape (n,), optional
        Zero if not given.
    d : float
    """

    F: Any
    f: Any = None
    c: Any = None
    d: float = 0.0

    def __post_init__(self) -> None:
        n = np.shape(self.F)[1] if np.ndim(self.F) == 2 or sparse.issparse(self.F) else 0
        F = matrix("F", self.F, n)
        zeros = {"f": np.zeros(F.shape[0]), "c": np.zeros(n)}
        given = {
            name: zeros[name] if getattr(self, name) is None else getattr(self, name)
            for name in zeros
        }
        clean = {
            "F": F,
            "f": vector("f", given["f"], F.shape[0]),
            "c": vector("c", given["c"], n),
            "d": float(vector("d", [self.d], 1)[0]),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def slack(self, x: Floats) -> float:
        """Compute c' x + d - ||F x + f||, which is not negative if the constraint holds."""
        return float(self.c @ x + self.d - np.linalg.norm(self.F @ x + self.f))


@dataclass(frozen=True)
class QuadraticProgram:
    """A convex quadratic program; parts that are not given do not constrain it.

    Attributes
    ----------
    P : {array, sparse matrix} of shape (n, n)
        Symmetric and positive semidefinite; half of the curvature lies in each triangle.
    q : array of shape (n,)
    A : {array, sparse matrix} of shape (k, n), optional
    b : array of shape (k,), optional
        Right sides of the equations.
    G : {array, sparse matrix} of shape (m, n), optional
    h : array of shape (m,), optional
        Right sides of the inequalities.
    lower, upper : array of shape (n,), or one number for all, optional
        Bounds of the variables; infinite by default.
    cones : sequence of Cone
    """

    P: Any
    q: Any
    A: Any = None
    b: Any = None
    G: Any = None
    h: Any = None
    lower: Any = None
    upper: Any = None
    cones: Sequence[Cone] = ()

    def __post_init__(self) -> None:
        n = np.size(self.q)
        P = matrix("P", self.P, n)
        if P.shape[0] != n:
            raise ValueError(f"P must have {n} rows, one per entry of q, but has {P.shape[0]}.")
        gap = abs(P - P.T)
        if gap.nnz and gap.max() > 1e-10 * abs(P).max():
            raise ValueError("P must be symmetric: use (P + P.T) / 2.")
        A, G = matrix("A", self.A, n), matrix("G", self.G, n)
        lower, upper = bounds(self.lower, self.upper, n)
        for k, cone in enumerate(self.cones):
            if cone.F.shape[1] != n:
                raise ValueError(
                    f"F of cone {k} must have {n} columns, one per entry of q, but has "
                    f"{cone.F.shape[1]}."
                )
        clean = {
            "P": P,
            "q": vector("q", self.q, n),
            "A": A,
            "b": vector("b", self.b, A.shape[0]),
            "G": G,
            "h": vector("h", self.h, G.shape[0]),
            "lower": lower,
            "upper": upper,
            "cones": tuple(self.cones),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.q)

    def objective(self, x: Floats) -> float:
        """Compute the objective at a point."""
        return float(0.5 * x @ (self.P @ x) + self.q @ x)


@dataclass(frozen=True)
class QuadraticSolution:
    """The solution of a quadratic program, and its certificate.

    The multipliers satisfy ``P x + q + A' equality_duals + G' inequality_duals +
    bound_duals = sum over cones of [c, F'] cone_duals`` up to the accuracy of the solver.

    Attributes
    ----------
    x : array of shape (n,)
    objective : float
    status : Status
        ``Status.OPTIMAL``, or ``Status.INACCURATE`` after a warning.
    equality_duals : array of shape (k,)
    inequality_duals : array of shape (m,)
        Not negative.
    bound_duals : array of shape (n,)
        Positive where the upper bound is active, negative where the lower bound is.
    iterations : int
    cone_duals : tuple of arrays of shape (1 + k,)
        One per cone, and inside it: the first entry, for c, is at least the norm of the
        others, for the rows of F.
    """

    x: Floats
    objective: float
    status: Status
    equality_duals: Floats
    inequality_duals: Floats
    bound_duals: Floats
    iterations: int
    cone_duals: tuple[Floats, ...] = ()


def upper_triangle(P: Any) -> Any:
    """Return the upper triangle of a symmetric matrix, as solvers require."""
    return sparse.triu(P, format="csc")
