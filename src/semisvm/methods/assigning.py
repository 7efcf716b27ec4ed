"""Hard labels of many classes that follow the weights, under class counts (TSVM)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.label_steps import LabelStep, greedy, simplex, switching
from semisvm.loop import Level, follow
from semisvm.methods.solution import Solution
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.solvers import State
from semisvm.solvers.newton import already_solved

TableStep = Callable[[Floats, Any, Any], LabelStep]


class Assigning:
    """The two steps: retrain, and assign the unlabelled rows again under the class counts."""

    def __init__(self, task: ManyClassTask, state: State) -> None:
        self.task = task
        self.state = state
        self.prices: Floats | None = None
        # the weights at which the labels were chosen
        self._chosen_at = state.w.copy()
        # whether the labels are the best ones for the scores, and the imbalance of these:
        # both stay valid until the weights move
        self._best = False
        self._imbalance: float | None = None
        # the weight of the unlabelled rows for which the state has the gradient
        self._solved: float | None = None
        self._lowest = np.inf
        self._choose_first()

    def _choose_first(self) -> None:
        self.prices, _, _ = self.task.assign(self.prices)
        self.task.rows.adopt_table()

    def enter(self, level: Level) -> None:
        """Recompute scores and gradient before the level that yields the result."""
        self._lowest = np.inf
        if level.last:
            self.task.rows.score(self.state.w)
            self._solved = None

    def weight_step(self, level: Level) -> State:
        """Retrain from the last weights."""
        task, state, lam = self.task, self.state, level.value
        known = None
        if self._solved is not None:
            known = task.relabeled(state, lam / self._solved, lam)
        self._solved = lam
        if known is not None and already_solved(state, known, task.reg, level.tol):
            # no pass over the rows
            return state
        task.rows.charge_labels(lam)
        self.state = task.solve(state, level.tol, start=known)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Assign labels; settled when no assignment is cheaper."""
        task, state = self.task, self.state
        changed, objective = 0, state.objective
        if state.n_iter > 0 or not self._best:
            changed, cost = self._choose()
            objective = task.objective(state.w, level.value, task.rows.fit(), cost)
            self._imbalance = task.imbalance()
        # with weights that are only nearly optimal, labels may cycle
        stalled = objective >= self._lowest
        self._lowest = min(objective, self._lowest)
        facts = {"objective": objective, "switched": changed, "imbalance": self._imbalance}
        return changed == 0 or stalled, facts

    def _choose(self) -> tuple[int, float]:
        """Take the best labels if they are cheaper; return how many changed, and the cost."""
        self._best = True
        prices, cost, before = self.task.assign(self.prices)
        # labels of equal cost are left alone, so ties cannot cycle
        if cost >= before - 1e-12 * abs(before):
            return 0, min(cost, before)
        self.prices = prices
        self._chosen_at[:] = self.state.w
        return self.task.rows.adopt_table(), cost

    def objective(self, lam: float) -> float:
        """Compute J at the weights and labels."""
        return self.task.objective(self.state.w, lam, *self.task.rows.losses())

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        return {
            "state": self.state.to_dict(),
            "chosen_at": self._chosen_at.copy(),
            "prices": self.prices,
            "lowest": self._lowest,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.task.rows.score(snapshot["chosen_at"])
        self.prices, _, _ = self.task.assign(snapshot["prices"])
        self.task.rows.adopt_table()
        self._chosen_at = snapshot["chosen_at"].copy()
        self._lowest = snapshot["lowest"]
        self.state = self.task.returned(snapshot["state"])
        self._solved, self._best = None, False


class TableAssigning(Assigning):
    """The same by a step on the table of all costs, from the last labels; rows in one place.

    Parameters
    ----------
    task, state
    step : (costs, counts, labels) -> LabelStep
    first : the same, optional
        Step that improves the greedy labels at the start, as Algorithm 1 of the paper says;
        without it the first labels are the exact ones.
    """

    def __init__(
        self,
        task: ManyClassTask,
        state: State,
        step: TableStep = switching,
        first: TableStep | None = switching,
    ) -> None:
        self._step, self._first = step, first
        super().__init__(task, state)

    def _choose_first(self) -> None:
        if self._first is None:
            super()._choose_first()
            return
        block, counts = self.task.rows.in_one_place(), self.task.counts
        labels = greedy(block.scores[block.unlabeled], counts).labels
        block.take_labels(self._first(block.label_costs(), counts, labels).labels)

    def _choose(self) -> tuple[int, float]:
        block, counts = self.task.rows.in_one_place(), self.task.counts
        _, before = block.losses()
        new = self._step(block.label_costs(), counts, block.labels)
        self._best = new.cost >= before - 1e-12 * abs(before)
        if self._best:
            return 0, min(new.cost, before)
        changed = int(np.count_nonzero(new.labels != block.labels))
        block.take_labels(new.labels)
        return changed, new.cost

    def snapshot(self) -> dict[str, Any]:
        """Raise TypeError: switched labels do not follow from weights and prices."""
        raise TypeError(
            "a fit with label_step='switching' or 'simplex', or with max_switches, cannot be saved "
            "and resumed: its labels do not follow from the weights."
        )


LABEL_STEPS = ("exact", "switching", "simplex")


def assigning(
    task: ManyClassTask, state: State, label_step: str, max_pairs: int | None
) -> Assigning:
    """Return the method for a label step by name, with at most ``max_pairs`` pairs at a time."""
    if label_step == "exact" and max_pairs is None:
        return Assigning(task, state)
    if label_step == "simplex":
        return TableAssigning(task, state, simplex, simplex)
    first = None if label_step == "exact" else switching
    return TableAssigning(task, state, partial(switching, max_pairs=max_pairs), first)


def finish(method: Assigning, levels: Sequence[Level], *, lam: float, max_rounds: int) -> Solution:
    """Run the assigning loop to its end."""
    task = method.task
    rounds, settled = follow("assigning", levels, method, task.recorder, max_rounds)
    state, objective = method.state, method.objective(lam)
    return Solution(state.w, objective, rounds, settled and state.converged, task.rows.labels())


def beliefs_of(codes: Any, n_classes: int) -> Floats:
    """Return hard labels as beliefs, (u, m)."""
    return np.eye(n_classes)[codes]
