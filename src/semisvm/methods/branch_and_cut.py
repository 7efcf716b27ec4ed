"""S3VM as a mixed-integer program: branch and cut, starting from the solution of VS3VM."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs import Floats
from semisvm.methods.concave import Majorizing, balance_of
from semisvm.objectives.two_classes import TwoClassTask
from semisvm.programs import solve_mixed_integer
from semisvm.solvers.hinge_program import Balance
from semisvm.solvers.label_program import LabelProgram, undecided

TIGHTENING_SHARE = 0.25
"""Maximum share of the time for bounds on the outputs; the rest is for the search."""
START_TOL = 1e-6


@dataclass(frozen=True)
class BranchAndCut:
    """The method with its parameters, which are those of `MixedIntegerSVC`."""

    mu: float
    nu: float
    max_iter: int
    time_limit: float | None
    mip_gap: float
    threads: int

    def solve(self, task: TwoClassTask, *, balanced: bool) -> tuple[Majorizing, int, float]:
        """Find the labels of least cost.

        Returns
        -------
        method : Majorizing
            With the best weights found.
        rounds : int
        bound : float
            Lower bound on the objective.
        """
        begun = perf_counter()
        balance = balance_of(task) if balanced else None
        method = Majorizing(task, self.mu, self.nu, balance)
        rounds, _ = method.follow(START_TOL, self.max_iter)
        # no objective is negative; without unlabelled rows the start is the optimum
        bound = 0.0 if task.n_unlabeled else method.state.objective
        if task.n_unlabeled and not task.recorder.stopped:
            bound = max(bound, self._search(method, balance, begun))
            rounds += 1
        return method, rounds, bound

    def _search(self, method: Majorizing, balance: Balance | None, begun: float) -> float:
        """Let branch and cut choose the labels; return the lower bound that it proved."""
        task, start, block = method.task, method.state, method.block
        program = LabelProgram(
            dense(block.design.matrix(block.labeled)),
            method.signs,
            dense(block.design.matrix(block.unlabeled)),
            method.mu,
            method.nu,
            balance,
        ).scaled(start.objective)
        seconds = np.inf if self.time_limit is None else self.time_limit
        bounds = program.first_bounds(start.objective)
        deadline = begun + TIGHTENING_SHARE * seconds
        bounds = program.tightened(*bounds, start.objective, deadline)
        found = solve_mixed_integer(
            program.program(*bounds),
            start=program.point(start.w),
            time_limit=max(seconds - (perf_counter() - begun), 0.0),
            mip_gap=self.mip_gap,
            threads=self.threads,
        )
        method.take(program.labels(found.x))
        bound = program.unit * found.bound
        in_doubt = int(np.count_nonzero(undecided(*bounds)))
        task.recorder.record(
            "search",
            method.state,
            objective=method.state.objective,
            nodes=found.nodes,
            bound=bound,
            in_doubt=in_doubt,
        )
        task.recorder.level_done()
        return bound


def dense(X: Any) -> Floats:
    """Return a matrix as an array of float64."""
    thin: bool = sparse.issparse(X)
    return np.asarray(X.toarray() if thin else X, dtype=np.float64)
