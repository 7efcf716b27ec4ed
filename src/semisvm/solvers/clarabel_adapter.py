"""Quadratic and cone programs by Clarabel, an interior point method."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs.workers import no_fork
from semisvm.solvers.programs import (
    ProgramError,
    ProgramWarning,
    QuadraticProgram,
    QuadraticSolution,
    Status,
    upper_triangle,
)

STATUSES = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.INACCURATE,
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
    threads: int = 1,
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
    settings = _settings(clarabel, tol, max_iter, time_limit, threads)
    solver = clarabel.DefaultSolver(
        upper_triangle(program.P), program.q, rows, right, cones, settings
    )
    found = solver.solve()
    status = STATUSES.get(str(found.status), Status.TROUBLE)
    what = f"a quadratic program of {program.n_variables} variables and {m} constraints"
    if status is Status.INACCURATE:
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


def _settings(
    clarabel: Any, tol: float, max_iter: int, time_limit: float | None, threads: int
) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.max_iter = max_iter
    settings.max_threads = threads
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
