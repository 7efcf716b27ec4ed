"""Soft labels of many classes that harden as the temperature falls (deterministic annealing)."""

from collections.abc import Sequence
from typing import Any

from semisvm.designs import Floats
from semisvm.loop import Level, follow, settling
from semisvm.losses import SmoothManyClassLoss
from semisvm.methods.assigning import Assigning, beliefs_of, finish
from semisvm.methods.free_energy import BALANCED, Alternating, Softening
from semisvm.methods.solution import Solution
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.solvers import State
from semisvm.solvers.newton import Backtracking

# Several directions may curve down at once. A direction whose curvature is below this multiple
# of that of the labelled rows and the regulariser is the last of a step, since the others are
# then due. Without it steps ended where they had hardly begun, or went far too far.
FLOOR = 0.5
# A temperature is left when a step gains, or can gain, less than this multiple of the tolerance
# (times the objective): most of the way to the labels is still ahead.
NEGLIGIBLE = 5.0
# Fall of the mean entropy of a row from one temperature to the next at which so much is decided
# at once that the path is followed in smaller steps. Two classes gain nothing by it.
DECIDING = 0.1


class Cooling(Softening):
    """Annealing of many classes."""

    task: ManyClassTask
    deciding = DECIDING

    def __init__(self, task: ManyClassTask, state: State, lam: float, entropy_tol: float) -> None:
        super().__init__(task, state, lam, entropy_tol)
        self._hard_prices: Floats | None = None

    def _search(self, tol: float) -> Backtracking:
        """Return how far to move along a step, and what is not worth one."""
        return Backtracking(self._energy, floor=FLOOR, negligible=NEGLIGIBLE * tol)

    def _inspect(self) -> dict[str, float]:
        """Compute the smallest J over labels with the class counts; keep the best point."""
        task, state = self.task, self.state
        self._hard_prices, cost, _ = task.assign(self._hard_prices)
        objective = task.objective(state.w, self.soft.lam, task.rows.fit(), cost)
        imbalance = task.imbalance()
        self._keep(objective, imbalance, imbalance <= BALANCED)
        return {"objective": objective, "imbalance": imbalance}

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        return {**super().snapshot(), "hard_prices": self._hard_prices}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        super().restore(snapshot)
        self._hard_prices = snapshot["hard_prices"]


class AlternatingCooling(Alternating, Cooling):
    """Annealing of many classes for losses that are not smooth."""


def cool(
    task: ManyClassTask,
    state: State,
    *,
    levels: Sequence[Level],
    lam: float,
    tol: float,
    entropy_tol: float,
    max_rounds: int,
) -> Solution:
    """Cool from a state, and refine the best point of the path with hard labels.

    Parameters
    ----------
    task : ManyClassTask
    state : State
    levels : sequence of Level
        Falling temperatures; empty to skip the path.
    lam, tol, entropy_tol, max_rounds
        See `AnnealedSVC`.
    """
    smooth = isinstance(task.loss, SmoothManyClassLoss)
    method = (Cooling if smooth else AlternatingCooling)(task, state, lam, entropy_tol)
    rounds, _ = follow(
        "annealing", levels, method, task.recorder, max_rounds, method.cold, method.stride
    )
    settled = Assigning(task, task.at(method.best))
    solution = finish(settled, settling(lam, tol), lam=lam, max_rounds=max_rounds)
    solution.n_iter += rounds
    solution.beliefs = beliefs_of(solution.codes, len(task.counts))
    if rounds:
        solution.beliefs = method.beliefs()
    return solution
