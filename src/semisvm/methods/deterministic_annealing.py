"""Soft labels of two classes that harden as the temperature falls (deterministic annealing)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.loop import Level, follow, settling
from semisvm.methods.solution import Solution
from semisvm.methods.switching import Switching, finish
from semisvm.objectives.two_classes import TwoClassTask
from semisvm.solvers import Linearization, State
from semisvm.solvers.newton import Backtracking, judge, minimize
from semisvm.solvers.problems import RespondingProblem, SoftLabels

# A point of the path whose share of positive outputs misses the class share by more than this
# fraction of the rarer class is returned only if no point is better balanced.
BALANCED = 0.2
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


class FreeEnergy(RespondingProblem):
    """The objective minus the entropy, with the soft labels eliminated.

    The blocks hold the beliefs when a solve begins, and updated ones after it moved the weights.
    """

    def __init__(self, task: TwoClassTask, soft: SoftLabels) -> None:
        super().__init__(task.rows, task.reg, task.heavy)
        self.task = task
        self.soft = soft

    def linearize(self, w: Floats) -> Linearization:
        """Compute value, gradient and curvature for the current beliefs."""
        self.rows.charge_beliefs(self.soft.lam)
        return super().linearize(w)

    def curve(self) -> None:
        """Let the labels respond to the coming step."""
        self.hessian.reduce(self.soft, charged=True)

    def energy(self, w: Floats) -> float:
        """Update the beliefs, and compute the free energy."""
        self.task.soften(self.soft)
        return self.task.free_energy(w, self.soft)


class Annealing:
    """The two steps at a temperature, and the best point of the path.

    Alternating weights and labels would be slow when labels are about to be decided. Here a
    weight step takes into account how the beliefs respond: it is a Newton step on the free
    energy, from which the beliefs have been eliminated.
    """

    def __init__(self, task: TwoClassTask, state: State, lam: float, entropy_tol: float) -> None:
        self.task = task
        self.state = state
        self.soft = SoftLabels(lam, np.inf)
        self.entropy_tol = entropy_tol
        self.entropy = np.inf
        self.best = state.copy()
        self._best_key = (np.inf, np.inf)
        self._energy: float | None = None
        self._facts: dict[str, float] = {}
        self._moved = False
        self._as_predicted = False

    def cold(self) -> bool:
        """Tell whether the labels have hardened."""
        return self.entropy < self.entropy_tol

    def enter(self, level: Level) -> None:
        """Update the beliefs to the new temperature."""
        task, state = self.task, self.state
        self.soft.temperature, self._energy = level.value, None
        task.soften(self.soft, keep=state.gradient is not None)
        if state.gradient is None:
            return
        # the weights have not moved: if few beliefs have changed, the gradient is updated
        changes = task.rows.follow_beliefs(self.soft.lam)
        for change in changes or ():
            if change is not None:
                state.gradient += change
        if changes is None:
            state.gradient = None

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
        self._descend(level.tol)
        return state

    def _descend(self, tol: float) -> None:
        task, soft, price = self.task, self.soft, self.soft.price
        search = Backtracking(self._energy)
        minimize(FreeEnergy(task, soft), self.state, tol=tol, search=search)
        self._moved = self.state.n_iter > 0
        if self._moved:
            self._energy, self._as_predicted = search.energy, search.as_predicted
        else:
            task.rows.restore_beliefs(soft.lam)
            soft.price = price

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Compare the beliefs with those before the step; settled when they hardly changed."""
        task, state, divergence = self.task, self.state, 0.0
        if self._moved:
            divergence = task.rows.divergence(self.soft.lam)
        if self._moved or not self._facts:
            # otherwise this is the same point of the path
            objective = task.balanced_objective(state.w, self.soft.lam)
            self._facts = {"objective": objective, "imbalance": task.imbalance()}
            self._remember(**self._facts)
        facts = {**self._facts, "divergence": divergence}
        if self._energy is not None:
            facts["free_energy"] = self._energy
        settled = divergence < self.entropy_tol or self._as_predicted
        self._as_predicted = False
        if settled:
            # needed only at the end of a level, and logarithms are slow
            self.entropy = facts["entropy"] = task.rows.entropy()
        return settled, facts

    def _remember(self, objective: float, imbalance: float) -> None:
        """Keep the lowest objective among the balanced points, or the most balanced one."""
        balanced = imbalance <= BALANCED or self.task.is_balanced(BALANCED)
        key = (0.0 if balanced else imbalance, objective)
        if key < self._best_key:
            self._best_key = key
            self.best = self.state.copy()

    def beliefs(self) -> Floats:
        """Return the beliefs in the second class at the last temperature, for current scores."""
        self.task.soften(self.soft)
        return self.task.rows.beliefs()

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current level."""
        return {
            "w": self.state.w.copy(),
            "best": self.best.w.copy(),
            "best_key": self._best_key,
            "temperature": self.soft.temperature,
            "price": self.soft.price,
            "entropy": self.entropy,
            "facts": dict(self._facts),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the level at which a snapshot was taken."""
        self.state = self.task.from_weights(snapshot["w"].copy())
        self.best = replace(self.state, w=snapshot["best"].copy())
        self._best_key = tuple(snapshot["best_key"])
        self.soft.temperature, self.soft.price = snapshot["temperature"], snapshot["price"]
        self.entropy, self._facts = snapshot["entropy"], dict(snapshot["facts"])


class AlternatingAnnealing(Annealing):
    """Annealing for losses that are not smooth: weights and beliefs alternate."""

    def _descend(self, tol: float) -> None:
        task, soft = self.task, self.soft
        task.rows.charge_beliefs(soft.lam)
        task.solve(self.state, tol)
        self._moved = self.state.n_iter > 0
        if self._moved:
            task.soften(soft)
            self._energy = task.free_energy(self.state.w, soft)
        else:
            task.rows.restore_beliefs(soft.lam)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Compare the beliefs with those before the step; settled when they hardly moved."""
        settled, facts = super().label_step(level)
        if not settled and not self.state.converged:
            # beliefs cannot settle on weights that are not found: the next level may be easier
            self.entropy = facts["entropy"] = self.task.rows.entropy()
            return True, facts
        return settled, facts


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


def anneal(
    task: TwoClassTask,
    state: State,
    *,
    cooling: Sequence[Level],
    lam: float,
    tol: float,
    entropy_tol: float,
    max_rounds: int,
    balance_tol: float | None,
) -> Solution:
    """Cool from a state, and refine the best point of the path with hard labels.

    Parameters
    ----------
    task : TwoClassTask
    state : State
    cooling : sequence of Level
        Falling temperatures; empty to skip the path.
    lam, tol, entropy_tol, max_rounds, balance_tol
        See `AnnealedSVC`.
    """
    recorder, first, rounds = task.recorder, state.copy(), 0
    method = (Annealing if task.loss.smooth else AlternatingAnnealing)(
        task, state, lam, entropy_tol
    )
    if 0 < task.n_positive < task.n_unlabeled:
        rounds, _ = follow("annealing", cooling, method, recorder, max_rounds, method.cold)
    loose, *rest = settling(lam, tol)
    switching = Switching(task, task.at(method.best), None)
    more, _ = follow("switching", [loose], switching, recorder, max_rounds)
    if rounds and task.rarer_share < RARE:
        end = switching.state, switching.objective(lam)
        found, again = _or_start(task, *end, first, loose, max_rounds)
        switching, more = Switching(task, task.at(found), None), more + again
    solution = finish(
        switching, rest or [loose], lam=lam, max_rounds=max_rounds, balance_tol=balance_tol
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
