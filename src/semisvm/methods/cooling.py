"""Soft labels of many classes that harden as the temperature falls (deterministic annealing)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.loop import Level, follow, settling
from semisvm.methods.assigning import Assigning, beliefs_of, finish
from semisvm.methods.solution import Solution
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.solvers import State
from semisvm.solvers.aitken import Extrapolation
from semisvm.solvers.crammer_singer import MarginState


class Cooling:
    """The two steps with soft labels at a temperature, and the best point of the path."""

    def __init__(self, task: ManyClassTask, state: State, lam: float, entropy_tol: float) -> None:
        self.task = task
        self.state = state
        self.lam = lam
        self.entropy_tol = entropy_tol
        self.entropy = np.inf
        self.temperature = np.inf
        self.best = state.copy()
        self._lowest = np.inf
        self._prices: Floats | None = None
        self._hard_prices: Floats | None = None
        self._extrapolation = Extrapolation()
        self._before = state.w

    def _soften(self) -> None:
        """Compute the beliefs from the scores, at the temperature of the level."""
        self._prices = self.task.soften(self.lam, self.temperature, self._prices)

    def cold(self) -> bool:
        """Tell whether the labels have hardened."""
        return self.entropy < self.entropy_tol

    def enter(self, level: Level) -> None:
        """Update the beliefs to the new temperature."""
        self.temperature = level.value
        self._soften()
        self._extrapolation.forget()

    def weight_step(self, level: Level) -> State:
        """Train on all labels of every row, weighted by the beliefs."""
        self._before = self.state.w.copy()
        self.task.rows.charge_beliefs(self.lam)
        self.state = self.task.solve(self.state, level.tol)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Update the beliefs; settled when they hardly change."""
        task, state, divergence = self.task, self.state, 0.0
        if state.n_iter > 0:
            task.rows.keep_beliefs()
            self._soften()
            divergence = task.rows.divergence()
        self.entropy = task.rows.entropy()
        self._hard_prices, cost, _ = task.assign(self._hard_prices)
        objective = task.objective(state.w, self.lam, task.rows.fit(), cost)
        if objective < self._lowest:
            self._lowest, self.best = objective, state.copy()
        facts = {
            "objective": objective,
            "entropy": self.entropy,
            "divergence": divergence,
            "imbalance": task.imbalance(),
        }
        # without converged weights beliefs cannot settle, but the next level may be easier
        settled = divergence < self.entropy_tol or not state.converged
        # weights computed from dual variables cannot be moved without them
        if not settled and not isinstance(state, MarginState):
            move = state.w - self._before
            ahead = self._extrapolation.ahead(move)
            if ahead:
                self._skip(ahead * move)
        return settled, facts

    def _skip(self, step: Floats) -> None:
        """Take an extrapolated step if it lowers the free energy."""
        rows, state, prices = self.task.rows, self.state, self._prices
        here = self._free_energy(state.w)
        rows.keep_beliefs()
        there = state.w + step
        rows.score(there)
        self._soften()
        if self._free_energy(there) < here:
            state.w = there
            return
        rows.score(state.w)
        rows.return_to_beliefs()
        self._prices = prices

    def _free_energy(self, w: Floats) -> float:
        """Compute J at the beliefs, less the entropy."""
        objective = self.task.objective(w, self.lam, *self.task.rows.soft_losses())
        return objective - self.temperature * self.task.rows.entropy()

    def beliefs(self) -> Floats:
        """Return the beliefs for the current scores, (u, m), at the last temperature."""
        self._soften()
        return self.task.rows.beliefs()

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        return {
            "state": self.state.to_dict(),
            "best": self.best.w.copy(),
            "lowest": self._lowest,
            "prices": self._prices,
            "hard_prices": self._hard_prices,
            "temperature": self.temperature,
            "entropy": self.entropy,
            "last_move": self._extrapolation.last_move,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.state = self.task.returned(snapshot["state"])
        self.best = replace(self.state, w=snapshot["best"].copy())
        self._lowest = snapshot["lowest"]
        self._prices, self._hard_prices = snapshot["prices"], snapshot["hard_prices"]
        self.temperature, self.entropy = snapshot["temperature"], snapshot["entropy"]
        self._extrapolation.last_move = snapshot["last_move"]
        if self._prices is not None:
            self._soften()


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
    method = Cooling(task, state, lam, entropy_tol)
    rounds, _ = follow("annealing", levels, method, task.recorder, max_rounds, method.cold)
    settled = Assigning(task, task.at(method.best))
    solution = finish(settled, settling(lam, tol), lam=lam, max_rounds=max_rounds)
    solution.n_iter += rounds
    solution.beliefs = beliefs_of(solution.codes, len(task.counts))
    if rounds:
        solution.beliefs = method.beliefs()
    return solution
