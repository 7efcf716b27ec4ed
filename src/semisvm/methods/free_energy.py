"""Steps down the free energy, from which the soft labels have been eliminated."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from semisvm.designs import Floats
from semisvm.methods import sample_sizes
from semisvm.methods.loop import Level, follow
from semisvm.methods.sample_sizes import larger, rows_of
from semisvm.solvers import Linearization, State
from semisvm.solvers.conjugate_gradients import Preconditioner
from semisvm.solvers.newton import Backtracking, judge, minimize
from semisvm.tasks.task import Task
from semisvm.tasks.weight_steps import RespondingProblem, SoftLabels

# A point of the path whose outputs miss the class shares by more than this is returned only if no
# point is better balanced. It is a fraction of the rarer of two classes, or of all rows.
BALANCED = 0.2
# Mean entropy of a row below which labels that were found on samples settle as hard labels.
SETTLED = 0.01
# Temperature below which nothing changes, in units of the weight of the unlabelled rows.
LEAST = 1e-7
# Levels to go on to, in a schedule with two levels for every usual step.
CLOSE, USUAL = 1, 2


class FreeEnergy(RespondingProblem):
    """The objective minus the entropy, with the soft labels eliminated.

    The blocks hold the beliefs when a solve begins, and updated ones after it moved the weights.
    """

    def __init__(self, task: Task, soft: SoftLabels) -> None:
        super().__init__(task.rows, task.reg, task.shared_preconditioner)
        self.task = task
        self.soft = soft

    def linearize(self, w: Floats) -> Linearization:
        """Compute value, gradient and curvature for the current beliefs."""
        self.rows.all.set_belief_costs(self.soft.lam)
        return super().linearize(w)

    def inverse(self) -> Preconditioner | None:
        """Return the inverse of the mean curvature of the labelled rows, for all classes."""
        if self.labeled_preconditioner is None:
            return None
        curvature = self.rows.all.labeled_curvature()
        return self.labeled_preconditioner.inverse(curvature.mean(axis=1, keepdims=True), self.reg)

    def curve(self) -> None:
        """Let the labels respond to the coming step."""
        self.hessian.reduce(self.soft, charged=True)
        if self.curvature_rows is not None:
            self.rows.sample_curvature(self.curvature_rows)

    def energy(self, w: Floats) -> float:
        """Update the beliefs, and compute the free energy."""
        self.task.soften(self.soft)
        return self.task.free_energy(w, self.soft)


class Softening(ABC):
    """The two steps at a temperature, and the best point of the path.

    Alternating weights and labels would be slow when labels are about to be decided. Here a
    weight step takes into account how the beliefs respond: it is a Newton step on the free
    energy, from which the beliefs have been eliminated. Losses that are not smooth alternate.

    At a temperature the free energy never rises (``free_energy`` in the trace). The objective in
    the trace is that of hard labels, by which points of the path are compared, and may rise.

    Parameters
    ----------
    task : TwoClassTask or ManyClassTask
    state : State
        Start of the path; its rows are scored.
    lam : float
        Weight of the unlabelled rows.
    entropy_tol : float
        See `AnnealedSVC`.
    sizes : sequence of int
        Sizes of samples of the unlabelled rows. The path begins with the smallest one, and takes
        the next one when the rows at hand are fitted much better than others.
    """

    task: Any
    # Where the mean entropy of a row falls by more than this from one temperature to the next,
    # the next temperature is closer.
    deciding: ClassVar[float] = np.inf

    def __init__(
        self,
        task: Task,
        state: State,
        lam: float,
        entropy_tol: float,
        sizes: Sequence[int] = (),
    ) -> None:
        self.task = task
        self.sizes = sizes
        self.state = state
        self.settles = bool(sizes)
        self.soft = SoftLabels(lam, np.inf)
        self.entropy_tol = entropy_tol
        self.entropy = np.inf
        # at the temperature before the last
        self._hotter = np.inf
        self.best = state.copy()
        # imbalance of the best point, zero if it is small, and its objective
        self._best_key = (np.inf, np.inf)
        self._energy: float | None = None
        self._facts: dict[str, float] = {}
        self._moved = False
        self._as_predicted = False

    @abstractmethod
    def _inspect(self) -> dict[str, float]:
        """Compute the facts of this point of the path, and keep it if it is the best."""

    def _keep(self, objective: float, imbalance: float, balanced: bool) -> None:
        """Keep the lowest objective among the balanced points, or the most balanced one."""
        key = (0.0 if balanced else imbalance, objective)
        if key < self._best_key:
            self._best_key = key
            self.best = self.state.copy()

    def cold(self) -> bool:
        """Return whether the labels have hardened, and not only those of a small sample."""
        enough = max(self.entropy_tol, SETTLED) if self.settles else self.entropy_tol
        return self.entropy < enough and not self._is_too_small()

    def stride(self) -> int:
        """Return how many levels to go on, by how much was decided at the last one."""
        return CLOSE if self.deciding < self._hotter - self.entropy < np.inf else USUAL

    def _end_level(self) -> None:
        """Measure the entropy; logarithms are slow, so this is done once per level."""
        self._hotter, self.entropy = self.entropy, self.task.rows.all.entropy()

    def take(self, size: int | None) -> None:
        """Go on with a sample of the unlabelled rows, or with all of them.

        Points of the path are compared by the rows at hand, so the best one is judged again.
        """
        task, before = self.task, self.task.sample_size
        self.task = task.sampled(size)
        if size == before and self.task is task:
            return
        here = self.state
        if np.isfinite(self._best_key[1]):
            self.state, self._best_key = self.task.at(self.best), (np.inf, np.inf)
            self._inspect()
        self.state = self.task.at(here)

    def _take_rows(self, level: Level) -> None:
        """Take the rows of a level: all at the last one, and more if the sample is too small."""
        size = self.task.sample_size
        if size is None or level.last:
            self.take(None)
        elif self._is_too_small():
            self.take(larger(self.sizes, size))

    def _is_too_small(self) -> bool:
        """Return whether the rows at hand are a sample, and fitted much better than others.

        The free energy of the others is compared, relative to the objective.
        """
        here, size, soft, price = self.task, self.task.sample_size, self.soft, self.soft.price
        if size is None or self._energy is None:
            return False
        others = here.sampled(size, others=True)
        others.at(self.state)
        others.soften(soft)
        there = others.free_energy(self.state.w, soft)
        soft.price = price
        self.task = here.sampled(size)
        self.task.at(self.state)
        return bool(there - self._energy > sample_sizes.MOST_OPTIMISM * self._facts["objective"])

    def enter(self, level: Level) -> None:
        """Take the rows of a level, and update the beliefs to its temperature."""
        self._take_rows(level)
        self._cool(level)

    def _cool(self, level: Level) -> None:
        """Update the beliefs to a new temperature."""
        self.soft.temperature, self._energy = level.value, None
        self.task.soften(self.soft)
        self.state.gradient = None

    def weight_step(self, level: Level) -> State:
        """Take a Newton step on the free energy, unless its gradient is small enough."""
        task, state = self.task, self.state
        self._moved = False
        state.n_iter = state.cg_steps = 0
        if state.gradient is not None:
            judge(state, state.gradient, task.reg, level.tol)
            if state.converged:
                return state
        if self._energy is None:
            self._energy = task.free_energy(state.w, self.soft)
        self._descend(level)
        return self.state

    def _search(self, level: Level) -> Backtracking:
        """Return how far to move along a step, and on samples what is not worth one."""
        little = level.tol if self.sizes and not level.last else 0.0
        return Backtracking(self._energy, negligible=little)

    def _descend(self, level: Level) -> None:
        task, soft, before = self.task, self.soft, replace(self.soft)
        search, problem = self._search(level), FreeEnergy(task, soft)
        problem.curvature_rows = sample_sizes.CURVATURE_ROWS if self.sizes else None
        minimize(problem, self.state, tol=level.tol, search=search)
        self._moved = self.state.n_iter > 0
        if self._moved:
            self._energy, self._as_predicted = search.energy, search.as_predicted
        else:
            task.rows.all.restore_beliefs(soft.lam)
            self.soft = before

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Compare the beliefs with those before the step; settled when they hardly changed."""
        rows, divergence = self.task.rows, 0.0
        if self._moved:
            divergence = rows.all.divergence(self.soft.lam)
        if self._moved or not self._facts:
            # otherwise this is the same point of the path
            self._facts = self._inspect()
        if self._energy is None:
            # no step was needed at this temperature
            self._energy = self.task.free_energy(self.state.w, self.soft)
        facts = {**self._facts, "free_energy": self._energy, "divergence": divergence}
        facts |= rows_of(self.task)
        settled = self._is_settled(level, divergence)
        self._as_predicted = False
        if settled:
            self._end_level()
            facts["entropy"] = self.entropy
        return settled, facts

    def _is_settled(self, level: Level, divergence: float) -> bool:
        """Return whether a temperature is done; the last one is when no step gains anything."""
        if level.last:
            return not self._moved
        return divergence < self.entropy_tol or self._as_predicted

    def beliefs(self) -> Floats:
        """Return the beliefs at the last temperature, for the current scores."""
        self.task = self.task.sampled(None)
        self.task.rows.all.release()
        self.task.soften(self.soft)
        while self.settles and self.soft.temperature > LEAST * self.soft.lam:
            # the path was left before the labels were hard
            if self.task.rows.all.entropy() < self.entropy_tol:
                break
            self.soft.temperature *= 0.1
            self.task.soften(self.soft)
        found: Floats = self.task.rows.all.beliefs()
        return found

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        gradient = self.state.gradient
        return {
            "sampled": self.task.sample_size,
            "state": self.state.to_dict(),
            "gradient": None if gradient is None else gradient.copy(),
            "best": self.best.w.copy(),
            "best_key": list(self._best_key),
            "temperature": self.soft.temperature,
            "price": self.soft.price,
            "entropies": [self._hotter, self.entropy],
            "energy": self._energy,
            "facts": dict(self._facts),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.task = self.task.sampled(snapshot["sampled"])
        self.state = self.task.returned(snapshot["state"])
        self.best = replace(self.state, w=snapshot["best"].copy())
        self._best_key = tuple(snapshot["best_key"])
        self.soft.temperature, self.soft.price = snapshot["temperature"], snapshot["price"]
        self._hotter, self.entropy = snapshot["entropies"]
        self._energy = snapshot["energy"]
        self._facts = dict(snapshot["facts"])
        if self.soft.price is not None:
            self.task.soften(self.soft)
        if snapshot["gradient"] is not None:
            self.state.gradient = snapshot["gradient"].copy()


class Alternating(Softening):
    """The same for losses that are not smooth: weights and beliefs alternate.

    Weights are found up to a duality gap, so a step may miss the minimum by more than it gains.
    Weights at which the free energy is higher are not taken, and end the temperature.
    """

    def _descend(self, level: Level) -> None:
        task, before, last = self.task, self.state.copy(), replace(self.soft)
        task.rows.all.set_belief_costs(self.soft.lam)
        self.state = task.solve(self.state, level.tol)
        task.soften(self.soft)
        energy = task.free_energy(self.state.w, self.soft)
        assert self._energy is not None
        self._moved = energy < self._energy
        if self._moved:
            self._energy = energy
            return
        before.converged, before.n_iter = self.state.converged, 0
        self.state, self.soft = task.at(before), last
        task.soften(self.soft)

    def _is_settled(self, level: Level, divergence: float) -> bool:
        """Return whether the beliefs hardly moved: then the weights are those that suit them."""
        return divergence < self.entropy_tol

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Compare the beliefs with those before the step; settled when they hardly moved."""
        settled, facts = super().label_step(level)
        if not settled and not self.state.converged:
            # beliefs cannot settle on weights that are not found: the next level may be easier
            self._end_level()
            facts["entropy"] = self.entropy
            return True, facts
        return settled, facts


@dataclass(frozen=True)
class Path:
    """The temperatures of a fit, and what is made of their minima.

    Attributes
    ----------
    levels : sequence of Level
        Falling temperatures; empty to skip them.
    last : float or None
        Last temperature, colder than all levels; None where the levels end by themselves.
    refine : bool
        Whether the best point is refined with hard labels; otherwise the last one is returned.
    tol : float
        Certified relative error of the last point.
    """

    levels: Sequence[Level]
    last: float | None
    refine: bool
    tol: float

    def follow(self, method: Softening, max_rounds: int) -> tuple[int, bool]:
        """Follow the minimum; return the number of rounds, and whether the last point settled."""
        recorder = method.task.recorder
        rounds, settled = follow(
            "annealing", self.levels, method, recorder, max_rounds, method.cold, method.stride
        )
        last = self.last
        if last is None and rounds and not self.refine:
            last = method.soft.temperature
        if last is None:
            return rounds, settled
        level = Level(last, self.tol, last=True)
        more, settled = follow("last temperature", [level], method, recorder, max_rounds)
        return rounds + more, settled
