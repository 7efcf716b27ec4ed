"""Hard labels that follow the weights (TSVM): of two classes, and of many under class counts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.label_steps import LabelStep, greedy, simplex, switching
from semisvm.methods import sample_sizes
from semisvm.methods.joint_steps import Settling
from semisvm.methods.loop import Level, follow
from semisvm.methods.sample_sizes import larger, rows_of
from semisvm.methods.solution import Solution
from semisvm.solvers import Linearization, State
from semisvm.solvers.newton import Backtracking, already_solved, minimize
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.task import Task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.tasks.weight_steps import RespondingProblem, SoftLabels

# If from the third round on a round switches more than this fraction of the pairs of the last
# one, labels follow the weights slowly: a step that anticipates their response is tried.
SLOW = 0.5


class Anticipating(RespondingProblem):
    """A weight step that anticipates which labels it will switch.

    How many labels a step switches depends on how many scores are close to the threshold:
    their density is estimated at a bandwidth, which is the temperature of soft labels.
    """

    def __init__(self, task: TwoClassTask, lam: float) -> None:
        super().__init__(task.rows, task.reg, task.labeled_preconditioner)
        self.task = task
        self.lam = lam

    def curve(self) -> None:
        """Let the labels respond to the coming step."""
        task, deviation = self.task, self.task.rows.all.gap_spread(self.lam)[2]
        # Scott's rule, for the standard deviation of a logistic distribution
        temperature = deviation * task.n_unlabeled**-0.2 * np.sqrt(3.0) / np.pi
        self.hessian.forget()
        if temperature > 0.0 and 0.0 < task.open_share < 1.0:
            soft = SoftLabels(self.lam, float(temperature))
            task.soften(soft)
            self.hessian.reduce(soft, charged=False)

    def energy(self, w: Floats) -> float:
        """Compute J with the labels that suit the scores."""
        return self.task.balanced_objective(w, self.lam)


class Retraining(ABC):
    """The weight step of both methods: retrain from the last weights, for hard labels.

    If few labels have changed, the gradient of the last step is updated rather than computed anew.
    """

    def __init__(self, task: Task, state: State, sizes: Sequence[int] = ()) -> None:
        self.task = task
        self.state = state
        self.sizes = sizes
        # the weight of the unlabelled rows, and whether weights moved at the level
        self._lam: float | None = None
        self._moved = False
        # whether the labels are the best ones for the scores, and the imbalance of these:
        # both stay valid until the weights move
        self._best = False
        self._imbalance: float | None = None
        # the weight of the unlabelled rows for which the state has the gradient
        self._solved: float | None = None
        # the lowest objective of the level: labels may cycle where class counts cannot be kept
        # exactly (rows with masses), or weights are only nearly optimal
        self._lowest = np.inf

    def take(self, size: int | None) -> None:
        """Go on with a sample of the unlabelled rows, or with all of them; choose their labels."""
        task, before = self.task, self.task.sample_size
        self.task = task.sampled(size)
        if size != before or self.task is not task:
            self.task.at(self.state)
            self._solved, self._best = None, False
            self._choose_first()

    @abstractmethod
    def _choose_first(self) -> None:
        """Choose labels for rows that have none."""

    def _next_size(self) -> int | None:
        """Return the size of the next sample; None if there is none: joint steps take all rows."""
        size = self.task.sample_size
        return None if size is None else larger(self.sizes, size)

    @abstractmethod
    def _best_objective(self, task: Any, lam: float) -> float:
        """Compute the objective of rows at their best labels."""

    def _is_too_small(self) -> bool:
        """Return whether the objective of other rows is much higher than that of the sample."""
        here, size, lam = self.task, self.task.sample_size, self._lam
        if self._next_size() is None or lam is None or not self._moved:
            return False
        others = here.sampled(size, others=True)
        others.at(self.state)
        there = self._best_objective(others, lam)
        # scores and labels of the sample were lost
        self.take(size)
        return there - self._lowest > sample_sizes.MOST_OPTIMISM * self._lowest

    def enter(self, level: Level) -> None:
        """Take the rows of a level; before the last one recompute scores and gradient."""
        if level.last or not self.sizes or self._lam is None:
            self.take(level.rows)
        elif self._is_too_small():
            self.take(self._next_size())
        self._lam, self._moved = level.value, False
        self._lowest = np.inf
        if level.last:
            self.task.rows.all.score(self.state.w)
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
        task.rows.all.set_label_costs(lam)
        self.state = self._retrained(known, level)
        self._moved |= self.state.n_iter > 0
        return self.state

    def _retrained(self, known: Linearization | None, level: Level) -> State:
        return self.task.solve(self.state, level.tol, start=known)


class Switching(Retraining):
    """The two steps for two classes: retrain, and switch labels of pairs that disagree.

    No pair disagrees once the largest scores are labelled positive, which takes a single
    threshold. A limited number of pairs is switched one by one.
    """

    task: TwoClassTask

    def __init__(
        self,
        task: TwoClassTask,
        state: State,
        max_pairs: int | None,
        sizes: Sequence[int] = (),
    ) -> None:
        super().__init__(task, state, sizes)
        self.max_pairs = max_pairs
        # pairs switched in the rounds of the level, and whether steps may anticipate more
        self._switched: list[int] = []
        self._anticipating = False
        self._choose_first()

    def _choose_first(self) -> None:
        self.task.label_best()

    def _best_objective(self, task: TwoClassTask, lam: float) -> float:
        return task.balanced_objective(self.state.w, lam)

    def enter(self, level: Level) -> None:
        """Begin a level; at the last one steps may anticipate the response of the labels."""
        super().enter(level)
        self._switched = []
        # not worth it at the levels before
        self._anticipating = level.last and self.max_pairs is None and self.task.loss.smooth

    def _retrained(self, known: Linearization | None, level: Level) -> State:
        if self._slow():
            self._anticipating = self._anticipated(known, level)
            if self._anticipating:
                return self.state
        return super()._retrained(known, level)

    def _slow(self) -> bool:
        """Return whether labels and weights follow each other only slowly."""
        counts = self._switched
        return self._anticipating and len(counts) >= 3 and counts[-1] > SLOW * counts[-2]

    def _anticipated(self, known: Linearization | None, level: Level) -> bool:
        """Take a step that anticipates the response of the labels, if it lowers the objective."""
        search = Backtracking(max_trials=1)
        problem = Anticipating(self.task, level.value)
        minimize(problem, self.state, tol=level.tol, start=known, search=search)
        if self.state.n_iter == 0:
            return False
        self.state.objective = search.energy
        self._solved = None
        return True

    def objective(self, lam: float) -> float:
        """Compute J at the weights and labels."""
        return self.task.objective(self.state.w, lam)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Switch pairs; settled when no switch lowers the objective."""
        task, switched = self.task, 0
        if self.state.n_iter > 0 or not self._best:
            switched = self._switch()
            self._imbalance = task.imbalance()
        objective = self.state.objective
        if switched or task.rows.has_evidence:
            # that of a weight step has no costs of evidence
            objective = self.objective(level.value)
        self._switched.append(switched)
        stalled = task.rows.has_weights and objective >= self._lowest
        self._lowest = min(objective, self._lowest)
        facts = {"objective": objective, "switched": switched, "imbalance": self._imbalance}
        facts |= rows_of(task)
        # after an anticipating step the weights are not the solution for these labels
        return stalled or (switched == 0 and self._solved is not None), facts

    def _switch(self) -> int:
        if self.max_pairs is None:
            self._best = True
            return self.task.label_best()
        switched = self.task.rows.switch_pairs(self.max_pairs)
        self._best = switched < self.max_pairs
        return switched

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        if self.max_pairs is not None:
            raise TypeError(
                "a fit with max_switches cannot be saved and resumed: its labels do not follow "
                "from the weights."
            )
        self._update_gradient()
        gradient = self.state.gradient
        return {
            "sampled": self.task.sample_size,
            "state": self.state.to_dict(),
            "gradient": None if self._solved is None or gradient is None else gradient.copy(),
            "solved": self._solved,
            "switched": list(self._switched),
            "anticipating": self._anticipating,
            "lowest": self._lowest,
            "lam": self._lam,
            "moved": self._moved,
        }

    def _update_gradient(self) -> None:
        """Make the gradient that of the chosen labels, so that these need not be kept."""
        if self._solved is not None and self._switched and self._switched[-1]:
            known = self.task.relabeled(self.state, 1.0, self._solved)
            if known is None:
                self._solved = None
            else:
                self.state.gradient, self.state.n_active = known.gradient, known.n_active
                evidence = 0.5 * self._solved / self.task.n_unlabeled * self._evidence_cost()
                self.state.objective = self.objective(self._solved) - evidence

    def _evidence_cost(self) -> float:
        return self.task.rows.all.evidence_cost() if self.task.rows.has_evidence else 0.0

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.task = self.task.sampled(snapshot["sampled"])
        self.state = self.task.returned(snapshot["state"])
        # a round ends with the labels that suit its weights
        self.task.label_best()
        self._best, self._solved = False, None
        if snapshot["gradient"] is not None:
            self.state.gradient, self._solved = snapshot["gradient"].copy(), snapshot["solved"]
            self.task.rows.all.mark_labels()
        self._switched = list(snapshot["switched"])
        self._anticipating = snapshot["anticipating"]
        self._lowest = snapshot["lowest"]
        self._lam, self._moved = snapshot["lam"], snapshot["moved"]


def finish_two(
    method: Switching,
    levels: Sequence[Level],
    *,
    lam: float,
    max_rounds: int,
    balance_tol: float | None,
    growth: Sequence[Level] = (),
) -> Solution:
    """Run the switching loop to its end and make the outputs of new rows keep the class shares.

    Before the last level, weights and labels settle on growing samples, if these are given.
    """
    rounds, settled = settle("switching", levels, growth, method, max_rounds)
    task, state = method.task, method.state
    if balance_tol is not None and task.rows.bias > 0.0 and task.n_unlabeled:
        task.leave_out(lam)
        task.balance(state, task.balancing_shift(balance_tol))
    objective = method.objective(lam)
    labels = task.rows.all.chosen_labels().astype(np.intp)
    return Solution(state.w, objective, rounds, settled and state.converged, labels)


def settle(
    phase: str, levels: Sequence[Level], growth: Sequence[Level], method: Any, max_rounds: int
) -> tuple[int, bool]:
    """Follow levels, with growing samples before the last of them; end with all rows."""
    recorder, last, rounds = method.task.recorder, levels, 0
    if growth:
        rounds, _ = follow(phase, levels[:-1], method, recorder, max_rounds)
        steps = Settling(method.task, method.state)
        more, _ = follow("settling", growth, steps, recorder, max_rounds)
        method.state, method.task, last = steps.state, steps.task, levels[-1:]
        method.take(None)
        rounds += more
    more, settled = follow(phase, last, method, recorder, max_rounds)
    # the callback may have ended the fit on a sample
    method.take(None)
    return rounds + more, settled


TableStep = Callable[[Floats, Any, Any], LabelStep]


class Assigning(Retraining):
    """The two steps: retrain, and assign the unlabelled rows again under the class counts."""

    task: ManyClassTask

    def __init__(self, task: ManyClassTask, state: State, sizes: Sequence[int] = ()) -> None:
        super().__init__(task, state, sizes)
        self.prices: Floats | None = None
        # the weights at which the labels were chosen
        self._chosen_at = state.w.copy()
        self._choose_first()

    def _choose_first(self) -> None:
        self.prices, _, _ = self.task.assign(self.prices)
        self.task.rows.all.adopt_table()
        self._chosen_at[:] = self.state.w

    def _best_objective(self, task: ManyClassTask, lam: float) -> float:
        _, cost, _ = task.assign(self.prices)
        return task.objective(self.state.w, lam, task.rows.all.fit(), cost)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Assign labels; settled when no assignment is cheaper."""
        task, state = self.task, self.state
        changed, objective = 0, state.objective
        if state.n_iter > 0 or not self._best:
            changed, cost = self._choose()
            objective = task.objective(state.w, level.value, task.rows.all.fit(), cost)
            self._imbalance = task.imbalance()
        elif task.rows.has_evidence:
            objective = self.objective(level.value)
        stalled = objective >= self._lowest
        self._lowest = min(objective, self._lowest)
        facts = {"objective": objective, "switched": changed, "imbalance": self._imbalance}
        facts |= rows_of(task)
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
        return self.task.rows.all.adopt_table(), cost

    def objective(self, lam: float) -> float:
        """Compute J at the weights and labels."""
        return self.task.objective(self.state.w, lam, *self.task.rows.all.losses())

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        return {
            "sampled": self.task.sample_size,
            "state": self.state.to_dict(),
            "chosen_at": self._chosen_at.copy(),
            "prices": self.prices,
            "lowest": self._lowest,
            "lam": self._lam,
            "moved": self._moved,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.task = self.task.sampled(snapshot["sampled"])
        self.task.rows.all.score(snapshot["chosen_at"])
        self.prices, _, _ = self.task.assign(snapshot["prices"])
        self.task.rows.all.adopt_table()
        self._chosen_at = snapshot["chosen_at"].copy()
        self._lowest = snapshot["lowest"]
        self._lam, self._moved = snapshot["lam"], snapshot["moved"]
        self.state = self.task.returned(snapshot["state"])
        self._solved, self._best = None, False


class TableAssigning(Assigning):
    """The same by a step on the table of all costs, from the last labels; needs a single shard.

    Parameters
    ----------
    task, state
    step : (costs, counts, labels) -> LabelStep
    first : the same, optional
        Step that improves the greedy labels at the start, as in Algorithm 1 of the paper;
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
        block, counts = self.task.rows.single_shard(), self.task.counts
        labels = greedy(block.scores[block.unlabeled], counts).labels
        block.take_labels(self._first(block.label_costs(), counts, labels).labels)

    def _choose(self) -> tuple[int, float]:
        block, counts = self.task.rows.single_shard(), self.task.counts
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
    task: ManyClassTask,
    state: State,
    label_step: str,
    max_pairs: int | None,
    sizes: Sequence[int] = (),
) -> Assigning:
    """Return the method for a label step by name, with at most ``max_pairs`` pairs at a time."""
    if label_step == "exact" and max_pairs is None:
        return Assigning(task, state, sizes)
    if label_step == "simplex":
        return TableAssigning(task, state, simplex, simplex)
    first = None if label_step == "exact" else switching
    return TableAssigning(task, state, partial(switching, max_pairs=max_pairs), first)


def finish_many(
    method: Assigning,
    levels: Sequence[Level],
    *,
    lam: float,
    max_rounds: int,
    growth: Sequence[Level] = (),
) -> Solution:
    """Run the assigning loop to its end, with labels that settle on samples before the last level.

    See `finish_two`.
    """
    rounds, settled = settle("assigning", levels, growth, method, max_rounds)
    task, state, objective = method.task, method.state, method.objective(lam)
    return Solution(
        state.w, objective, rounds, settled and state.converged, task.rows.all.chosen_labels()
    )


def beliefs_of(codes: Any, n_classes: int) -> Floats:
    """Return hard labels as beliefs, (u, m)."""
    return np.eye(n_classes)[codes]
