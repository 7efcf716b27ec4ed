"""Linear programs by the simplex method of HiGHS, mixed-integer ones by its branch and cut."""

import warnings
from typing import Any

import numpy as np

from semisvm.designs.base import Floats
from semisvm.designs.workers import no_fork
from semisvm.solvers.programs import (
    LinearProgram,
    LinearSolution,
    MixedIntegerProgram,
    MixedIntegerSolution,
    ProgramError,
    ProgramWarning,
    Status,
    bounds,
    vector,
)

STATUSES = {
    "kOptimal": Status.OPTIMAL,
    "kModelEmpty": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.INFEASIBLE,
    "kTimeLimit": Status.TIME_LIMIT,
    "kIterationLimit": Status.ITERATION_LIMIT,
}
"""Statuses of HiGHS; all others are numerical trouble."""


class LinearModel:
    """A linear program that the solver keeps, to be changed and solved again.

    After a change the simplex method starts from the last basis. New costs leave the point
    feasible, so the primal method is fast; new bounds leave the multipliers feasible, so the
    dual method is fast. HiGHS chooses.

    Parameters
    ----------
    program : LinearProgram
    time_limit : float, optional
        Seconds per solve.
    """

    def __init__(self, program: LinearProgram, *, time_limit: float | None = None) -> None:
        self._what = str(program)
        self._n, self._m = program.n_variables, program.n_rows
        self._time_limit = time_limit
        self._solver = _solver(program, 1)

    def change_costs(self, c: Floats) -> None:
        """Replace the costs of all variables."""
        self._solver.changeColsCost(self._n, _every(self._n), vector("c", c, self._n))

    def change_bounds(self, lower: Any, upper: Any) -> None:
        """Replace the bounds of all variables."""
        low, high = bounds(lower, upper, self._n)
        self._solver.changeColsBounds(self._n, _every(self._n), low, high)

    def change_sides(self, lower: Any, upper: Any) -> None:
        """Replace the two sides of all constraints."""
        low, high = bounds(lower, upper, self._m, "row")
        self._solver.changeRowsBounds(self._m, _every(self._m), low, high)

    def solve(self) -> LinearSolution:
        """Solve, from the last basis if there is one.

        Raises
        ------
        ProgramError
            If there is no solution, or none was found; ``status`` has the reason.
        """
        solver = self._solver
        status = _run(solver, self._time_limit)
        if status is not Status.OPTIMAL:
            raise ProgramError(status, self._what)
        found, info = solver.getSolution(), solver.getInfo()
        return LinearSolution(
            np.array(found.col_value),
            float(info.objective_function_value),
            np.array(found.row_dual),
            np.array(found.col_dual),
            max(int(info.simplex_iteration_count), 0),
        )


def solve_linear(program: LinearProgram, *, time_limit: float | None = None) -> LinearSolution:
    """Solve a linear program once.

    Parameters
    ----------
    program : LinearProgram
    time_limit : float, optional
        Seconds.

    Raises
    ------
    ProgramError
        If there is no solution, or none was found; ``status`` has the reason.
    """
    return LinearModel(program, time_limit=time_limit).solve()


def solve_mixed_integer(
    program: MixedIntegerProgram,
    *,
    start: Floats | None = None,
    time_limit: float | None = None,
    mip_gap: float = 1e-6,
    threads: int = 1,
) -> MixedIntegerSolution:
    """Solve a mixed-integer program by branch and cut.

    Parameters
    ----------
    program : MixedIntegerProgram
    start : array of shape (n,), optional
        A feasible point; a good one shortens the search.
    time_limit : float, optional
        Seconds; infinity is no limit.
    mip_gap : float
        (objective - bound) / abs(objective) at which to stop.
    threads : int
        Number of threads; 0 leaves it to HiGHS.

    Raises
    ------
    ProgramError
        If there is no solution, or none was found; ``status`` has the reason.

    Warns
    -----
    ProgramWarning
        If time ran out before the best point was proven to be optimal.
    """
    with no_fork:
        import highspy

    n = program.relaxed.n_variables
    solver = _solver(program.relaxed, threads)
    kinds = np.where(program.whole, 1, 0).astype(np.uint8)
    solver.changeColsIntegrality(n, _every(n), kinds)
    solver.setOptionValue("mip_rel_gap", float(mip_gap))
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = vector("start", start, n).tolist()
        solver.setSolution(point)
    status, info = _run(solver, time_limit), solver.getInfo()
    feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
    if status is Status.TIME_LIMIT and info.primal_solution_status == feasible:
        warnings.warn(
            f"{program} was not solved to optimality within {time_limit:g} s: its best point may "
            f"be {info.mip_gap:.2%} above the optimum. Raise time_limit or mip_gap.",
            ProgramWarning,
            stacklevel=2,
        )
    elif status is not Status.OPTIMAL:
        raise ProgramError(status, str(program))
    return MixedIntegerSolution(
        np.array(solver.getSolution().col_value),
        float(info.objective_function_value),
        float(info.mip_dual_bound),
        float(info.mip_gap),
        status,
        int(info.mip_node_count),
    )


def _solver(program: LinearProgram, threads: int) -> Any:
    """Return a new solver with the program."""
    with no_fork:
        import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_variables, program.n_rows
    lp.col_cost_ = program.c
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = program.A.indptr
    lp.a_matrix_.index_ = program.A.indices
    lp.a_matrix_.value_ = program.A.data
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", threads)
    solver.passModel(lp)
    return solver


def _run(solver: Any, seconds: float | None) -> Status:
    """Run a solver for at most ``seconds``; return its status."""
    if seconds is not None and np.isfinite(seconds):
        # HiGHS counts the time of all calls of a solver
        solver.setOptionValue("time_limit", solver.getRunTime() + float(seconds))
    # otherwise HiGHS refuses to change the number of threads since the last run of any model
    solver.resetGlobalScheduler(True)
    solver.run()
    if solver.getModelStatus().name == "kUnboundedOrInfeasible":
        # presolve does not distinguish the two; the simplex method does
        solver.setOptionValue("presolve", "off")
        solver.run()
    return STATUSES.get(solver.getModelStatus().name, Status.TROUBLE)


def _every(n: int) -> Any:
    return np.arange(n, dtype=np.int32)
