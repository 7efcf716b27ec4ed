"""Quadratic and cone programs, solved by Clarabel, an interior point method.

They check the solvers of the package from outside: `mean_problems` solves the problems of label
means with them. A program is ::

    minimise  1/2 x' P x + q' x    subject to    A x = b,   G x <= h,   lower <= x <= upper,
                                                 ||F x + f|| <= c' x + d   for every cone

Shapes and finite numbers are checked when a program is made.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs import Floats
from semisvm.designs.workers import no_fork
from semisvm.solvers.programs import (
    ProgramError,
    ProgramWarning,
    Status,
    bounds,
    matrix,
    vector,
)


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
        ``Status.OPTIMAL``, perhaps after a warning that it is less accurate.
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


ALMOST = "AlmostSolved"
STATUSES = {
    "Solved": Status.OPTIMAL,
    ALMOST: Status.OPTIMAL,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "AlmostDualInfeasible": Status.UNBOUNDED,
    "MaxTime": Status.TIME_LIMIT,
    "MaxIterations": Status.ITERATION_LIMIT,
}
"""Clarabel's statuses; all others are numerical trouble."""


def solve_quadratic(
    program: QuadraticProgram,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    time_limit: float | None = None,
) -> QuadraticSolution:
    """Solve a quadratic program.

    Parameters
    ----------
    program : QuadraticProgram
    tol : float
        Feasibility and duality gap, absolute or relative, at which a point is a solution.
    max_iter : int
    time_limit : float, optional
        Seconds.
    threads : int
        Number of threads; 0 leaves it to Clarabel.

    Returns
    -------
    solution : QuadraticSolution

    Raises
    ------
    ProgramError
        If there is no solution, or none was found; ``status`` has the reason.

    Warns
    -----
    ProgramWarning
        If the solution is less accurate than ``tol``.
    """
    with no_fork:
        import clarabel

    rows, right, bounded = _constraints(program)
    m, k = len(right), len(program.b)
    sizes = [1 + cone.F.shape[0] for cone in program.cones]
    cones = [
        clarabel.ZeroConeT(k),
        clarabel.NonnegativeConeT(m - k - sum(sizes)),
        *(clarabel.SecondOrderConeT(size) for size in sizes),
    ]
    settings = _settings(clarabel, tol, max_iter, time_limit)
    solver = clarabel.DefaultSolver(
        sparse.triu(program.P, format="csc"), program.q, rows, right, cones, settings
    )
    found = solver.solve()
    status = STATUSES.get(str(found.status), Status.TROUBLE)
    what = f"a quadratic program of {program.n_variables} variables and {m} constraints"
    if str(found.status) == ALMOST:
        warnings.warn(
            f"{what} was solved less accurately than {tol:g}; scale the data, or raise tol.",
            ProgramWarning,
            stacklevel=2,
        )
    elif status is not Status.OPTIMAL:
        raise ProgramError(status, what)
    return _solution(program, found, status, bounded)


def _constraints(program: QuadraticProgram) -> tuple[Any, Any, Any]:
    """Return all constraints as rows of A x + s = b: equations, inequalities, bounds, cones."""
    low, high = np.isfinite(program.lower), np.isfinite(program.upper)
    unit = sparse.eye(program.n_variables, format="csr")
    of_cones = [part for cone in program.cones for part in (-cone.c[None, :], -cone.F)]
    sides = [part for cone in program.cones for part in ([cone.d], cone.f)]
    plain = [program.A, program.G, -unit[low], unit[high]]
    rows = sparse.vstack([*plain, *map(sparse.csr_matrix, of_cones)], format="csc")
    right = [program.b, program.h, -program.lower[low], program.upper[high], *sides]
    return rows, np.concatenate(right), (low, high)


def _settings(clarabel: Any, tol: float, max_iter: int, time_limit: float | None) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.max_iter = max_iter
    settings.max_threads = 1
    if time_limit is not None:
        settings.time_limit = time_limit
    return settings


def _solution(
    program: QuadraticProgram, found: Any, status: Status, bounded: Any
) -> QuadraticSolution:
    low, high = bounded
    sizes = [len(program.b), len(program.h), int(low.sum()), int(high.sum())]
    sizes += [1 + cone.F.shape[0] for cone in program.cones]
    equal, inequal, below, above, *cones = np.split(np.array(found.z), np.cumsum(sizes))[:-1]
    at_bounds = np.zeros(program.n_variables)
    at_bounds[low] -= below
    at_bounds[high] += above
    x = np.array(found.x)
    return QuadraticSolution(
        x,
        program.objective(x),
        status,
        equal,
        inequal,
        at_bounds,
        int(found.iterations),
        tuple(cones),
    )
