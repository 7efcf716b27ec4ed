"""Soft labels of many classes that harden as the temperature falls (deterministic annealing)."""

from typing import Any

from semisvm.designs import Floats
from semisvm.loop import Level, settling
from semisvm.losses import SmoothManyClassLoss
from semisvm.methods.assigning import Assigning, beliefs_of, finish
from semisvm.methods.free_energy import BALANCED, Alternating, Path, Softening
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

    def _search(self, level: Level) -> Backtracking:
        """Return how far to move along a step, and what is not worth one."""
        negligible = 0.0 if level.last else NEGLIGIBLE * level.tol
        return Backtracking(self._energy, floor=FLOOR, negligible=negligible)

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
    path: Path,
    lam: float,
    tol: float,
    entropy_tol: float,
    max_rounds: int,
) -> Solution:
    """Cool from a state; refine the best point of the path with hard labels, or return the last.

    Parameters
    ----------
    task : ManyClassTask
    state : State
    path : Path
    lam, tol, entropy_tol, max_rounds
        See `AnnealedSVC`.
    """
    smooth = isinstance(task.loss, SmoothManyClassLoss)
    method = (Cooling if smooth else AlternatingCooling)(task, state, lam, entropy_tol)
    rounds, settled = path.follow(method, max_rounds)
    as_it_is = rounds > 0 and not path.refine
    state = method.state if as_it_is else method.best
    hard = Assigning(task, task.at(state))
    levels = [] if as_it_is else settling(lam, tol)
    solution = finish(hard, levels, lam=lam, max_rounds=max_rounds)
    if as_it_is:
        solution.converged = settled and state.converged
    solution.n_iter += rounds
    solution.beliefs = beliefs_of(solution.codes, len(task.counts))
    if rounds:
        solution.beliefs = method.beliefs()
    return solution
