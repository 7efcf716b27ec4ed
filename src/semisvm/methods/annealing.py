"""Soft labels that harden as the temperature falls (deterministic annealing).

`deterministic_annealing` is for two classes, `cooling` for many.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.losses import SmoothManyClassLoss
from semisvm.methods.free_energy import BALANCED, Alternating, Path, Softening
from semisvm.methods.loop import Level, follow, growing, settling
from semisvm.methods.solution import Solution
from semisvm.methods.transductive import Assigning, Switching, beliefs_of, finish_many, finish_two
from semisvm.solvers import State
from semisvm.solvers.newton import Backtracking
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask

# A class with a smaller share than this can be lost on the path; then the start is better than
# the end. `benchmarks answers` counts how often: 2 of 8 draws of reuters (6%), 1 of 4 of usps
# (20%), none of 124 others, 84 of them above this share.
RARE = 0.25
# The start is given up when it would have to gain more than this many times its last gain to
# get below the end of the path; each round gains about 0.7 of the one before.
HOPE = 2.0
NOT_ANNEALED = (
    "switching labels from the supervised start gave a lower objective than annealing: that model "
    "is returned"
)


class Annealing(Softening):
    """Annealing of two classes."""

    task: TwoClassTask

    def _cool(self, level: Level) -> None:
        """Update the beliefs to a new temperature, and the gradient if few have changed."""
        task, state = self.task, self.state
        if state.gradient is None:
            super()._cool(level)
            return
        self.soft.temperature, self._energy = level.value, None
        task.soften(self.soft, keep=True)
        if task.rows.all.follow_beliefs(self.soft.lam, state.gradient) is None:
            state.gradient = None

    def _inspect(self) -> dict[str, float]:
        """Compute the smallest J over labels with the class counts; keep the best point."""
        objective = self.task.balanced_objective(self.state.w, self.soft.lam)
        imbalance = self.task.imbalance()
        balanced = imbalance <= BALANCED or self.task.is_balanced(BALANCED)
        self._keep(objective, imbalance, balanced)
        return {"objective": objective, "imbalance": imbalance}


class AlternatingAnnealing(Alternating, Annealing):
    """Annealing of two classes for losses that are not smooth."""


class Rival(Switching):
    """Switching that is given up when it is unlikely to get below a given objective."""

    def __init__(self, task: TwoClassTask, state: State, value: float) -> None:
        super().__init__(task, state, None)
        self._value = value
        self._here = np.inf

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Switch pairs; settled when switching no longer lowers the objective enough."""
        settled, facts = super().label_step(level)
        before, self._here = self._here, facts["objective"]
        hopeless = self._here - HOPE * (before - self._here) > self._value
        return settled or hopeless, facts

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        return {**super().snapshot(), "here": self._here}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        super().restore(snapshot)
        self._here = snapshot["here"]


def anneal(
    task: TwoClassTask,
    state: State,
    *,
    path: Path,
    lam: float,
    tol: float,
    entropy_tol: float,
    max_rounds: int,
    balance_tol: float | None,
    sizes: Sequence[int] = (),
) -> Solution:
    """Cool from a state; refine the best point of the path with hard labels, or return the last.

    Parameters
    ----------
    task : TwoClassTask
    state : State
    path : Path
    lam, tol, entropy_tol, max_rounds, balance_tol
        See `AnnealedSVC`.
    sizes : sequence of int
        Sizes of the samples that the labels settle on before they do on all rows.
    """
    recorder, rounds, settled = task.recorder, 0, False
    first = state.copy() if task.rarer_share < RARE else None
    method = (Annealing if task.loss.smooth else AlternatingAnnealing)(
        task, state, lam, entropy_tol, sizes
    )
    method.settles &= path.refine
    if 0.0 < task.open_share < 1.0:
        rounds, settled = path.follow(method, max_rounds)
    if rounds and not path.refine:
        task = method.task.sampled(None)
        hard = Switching(task, task.at(method.state), None)
        solution = finish_two(hard, [], lam=lam, max_rounds=max_rounds, balance_tol=balance_tol)
        solution.n_iter, solution.converged = rounds, settled and hard.state.converged
        solution.beliefs = _of_both(method.beliefs())
        return solution
    # the end of the path is not needed any more
    method.state, task, size = method.best, method.task, method.task.sample_size
    loose, *rest = settling(lam, tol, sizes)
    compared, more, best = rounds > 0 and first is not None, 0, method.best
    if compared or not sizes:
        # where there are samples, the smallest one is enough to compare with the start
        few = task.sampled(loose.rows)
        switching = Switching(few, few.at(best.copy() if sizes else best), None)
        more, _ = follow("switching", [loose], switching, recorder, max_rounds)
        if compared:
            assert first is not None
            end = switching.state, switching.objective(lam)
            found, again = _or_start(few, *end, first, loose, max_rounds)
            more += again
            if found is not end[0]:
                best, size = found, loose.rows
            switching = Switching(few, few.at(found), None)
    if sizes:
        task = task.sampled(size)
        switching = Switching(task, task.at(best), None)
    solution = finish_two(
        switching,
        rest or [loose],
        lam=lam,
        max_rounds=max_rounds,
        balance_tol=balance_tol,
        growth=growing(lam, tol, sizes, size),
    )
    solution.n_iter += rounds + more
    beliefs = method.beliefs() if rounds else solution.codes.astype(np.float64)
    solution.beliefs = _of_both(beliefs)
    return solution


def _or_start(
    task: TwoClassTask, end: State, value: float, first: State, level: Level, max_rounds: int
) -> tuple[State, int]:
    """Refine the start of the path too; return the state with the lower objective.

    Parameters
    ----------
    task : TwoClassTask
    end, value : State, float
        The end of the path after refinement, and its objective.
    first : State
        The start.
    level : Level
    max_rounds : int

    Returns
    -------
    state : State
    rounds : int
    """
    rival = Rival(task, task.at(first), value)
    rounds, _ = follow("from the start", [level], rival, task.recorder, max_rounds)
    if rival.objective(level.value) >= value:
        return end, rounds
    task.recorder.note(NOT_ANNEALED)
    return rival.state, rounds


def _of_both(positive: Floats) -> Floats:
    """Return the beliefs in both labels, (u, 2), with no other vector over rows."""
    both = np.empty((len(positive), 2))
    np.subtract(1.0, positive, out=both[:, 0])
    both[:, 1] = positive
    return both


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

    def __init__(
        self,
        task: ManyClassTask,
        state: State,
        lam: float,
        entropy_tol: float,
        sizes: Sequence[int] = (),
    ) -> None:
        super().__init__(task, state, lam, entropy_tol, sizes)
        self._hard_prices: Floats | None = None

    def _search(self, level: Level) -> Backtracking:
        """Return how far to move along a step, and what is not worth one."""
        negligible = 0.0 if level.last else NEGLIGIBLE * level.tol
        return Backtracking(self._energy, floor=FLOOR, negligible=negligible)

    def _inspect(self) -> dict[str, float]:
        """Compute the smallest J over labels with the class counts; keep the best point."""
        task, state = self.task, self.state
        self._hard_prices, cost, _ = task.assign(self._hard_prices)
        objective = task.objective(state.w, self.soft.lam, task.rows.all.fit(), cost)
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
    sizes: Sequence[int] = (),
) -> Solution:
    """Cool from a state; refine the best point of the path with hard labels, or return the last.

    Parameters
    ----------
    task : ManyClassTask
    state : State
    path : Path
    lam, tol, entropy_tol, max_rounds
        See `AnnealedSVC`.
    sizes : sequence of int
        See `anneal`.
    """
    smooth = isinstance(task.loss, SmoothManyClassLoss)
    method = (Cooling if smooth else AlternatingCooling)(task, state, lam, entropy_tol, sizes)
    method.settles &= path.refine
    rounds, settled = path.follow(method, max_rounds)
    as_it_is = rounds > 0 and not path.refine
    task = method.task.sampled(None) if as_it_is else method.task
    state = method.state if as_it_is else method.best
    hard = Assigning(task, task.at(state))
    # with samples all levels but the last are those of growing ones
    levels = [] if as_it_is else settling(lam, tol)[-1 if sizes else 0 :]
    growth = [] if as_it_is else growing(lam, tol, sizes, task.sample_size)
    solution = finish_many(hard, levels, lam=lam, max_rounds=max_rounds, growth=growth)
    if as_it_is:
        solution.converged = settled and state.converged
    solution.n_iter += rounds
    solution.beliefs = beliefs_of(solution.codes, len(task.counts))
    if rounds:
        solution.beliefs = method.beliefs()
    return solution
