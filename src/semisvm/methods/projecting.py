"""Soft labels that keep the class counts and stay near the model (posterior regularisation)."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.label_steps import LabelStep, entropic, mean_entropy_of
from semisvm.loop import Level
from semisvm.losses.log import probabilities
from semisvm.methods.maxent import share_residual
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.solvers import State

# A level ends after so many weight steps that did not converge.
MAX_UNFINISHED = 3
# Next to the entropy of the soft labels, rounding hides smaller shares of the objective.
SMALLEST_SHARE = 1e-10


class Projecting:
    """The two steps: fit the model to soft labels q, and project it onto the class counts."""

    def __init__(self, task: ManyClassTask, state: State, weight: float) -> None:
        self.task = task
        self.state = state
        self.block = task.rows.in_one_place()
        self.weight = weight
        self.step = self._project(None)
        self._lowest = np.inf
        self._unfinished = 0

    @property
    def q(self) -> Floats:
        """Soft labels (u, m)."""
        assert self.step.beliefs is not None
        return self.step.beliefs

    def _project(self, prices: Floats | None) -> LabelStep:
        """Find the q with the class counts nearest to p: sum q log q - sum q log p."""
        costs = self.block.label_costs()
        return entropic(costs, self.task.counts, 1.0, prices)

    def objective(self) -> float:
        """Compute the objective of weights and soft labels."""
        entropy = self.weight * mean_entropy_of(self.q)
        cost = self.step.cost
        return self.task.objective(self.state.w, self.weight, self.block.fit(), cost) - entropy

    def enter(self, level: Level) -> None:
        """Recompute the scores before the level that yields the result."""
        self._lowest = np.inf
        self._unfinished = 0
        if level.last:
            self.task.rows.score(self.state.w)

    def weight_step(self, level: Level) -> State:
        """Fit all rows, the unlabelled ones to their soft labels."""
        # the function minimised here includes the entropy of q, which dominates for a large
        # kl_weight; the tolerance is relative to the objective without it
        objective = self.objective()
        share = objective / (objective + self.weight * mean_entropy_of(self.q))
        tol = level.tol * max(share, SMALLEST_SHARE)
        self.block.take_beliefs(self.q)
        self.block.charge_beliefs(self.weight)
        return self.task.solve(self.state, tol)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Project; settled when the weights were a solution for these soft labels."""
        settled = self.state.n_iter == 0
        if not settled:
            self.step = self._project(self.step.prices)
        counts = self.task.counts
        p = probabilities(self.block.scores[self.block.unlabeled])
        objective = self.objective()
        # the objective falls unless rounding prevents the weight step from converging
        self._unfinished += not self.state.converged
        stalled = not self.state.converged and objective >= self._lowest
        stalled |= self._unfinished == MAX_UNFINISHED
        self._lowest = min(objective, self._lowest)
        facts = {
            "objective": objective,
            "residual": share_residual(p, counts),
            "label_residual": share_residual(self.q, counts),
            "imbalance": self.task.imbalance(),
        }
        return settled or stalled, facts
