"""A smooth function of the weights, from which the labels are eliminated (gradient TSVM)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.blocks import OneScoreBlock
from semisvm.designs import Floats
from semisvm.loop import Level, follow
from semisvm.objectives.two_classes import TwoClassTask
from semisvm.solvers import State
from semisvm.solvers.lbfgs import Iterate, minimize_lbfgs
from semisvm.vectors import dot

SHARPNESS = 3.0
"""exp(-3 f^2) is close to the squared hinge of the nearer label, and smooth."""


@dataclass(frozen=True)
class Outputs:
    r"""The objective at one weight of the unlabelled rows, for the quasi-Newton solver.

    The mean output of the unlabelled rows must be the level c. With mu their mean row, the
    outputs f = v . (x - mu) + c satisfy this for any weights v, so the constraint is
    eliminated. X stays as it is, since ``(X - 1 mu^T) v = X v - (mu . v) 1``.
    """

    task: TwoClassTask
    block: OneScoreBlock
    lam: float
    mu: Floats
    level: float

    @property
    def reg(self) -> float:
        """Strength of the regularisation."""
        return self.task.reg

    def weights(self, v: Floats, level: float = 0.0) -> Floats:
        """Return the weights of a model, with the intercept that makes ``level`` the mean."""
        offset = (level - dot(self.mu[:-1], v)) / self.block.design.bias
        return np.append(v, offset)

    def scores(self, w: Floats) -> Floats:
        """Compute (X - 1 mu^T) w for weights, or for a step of the weights."""
        design = self.block.design
        return design.scores(self.weights(w), design.all_rows, np.zeros(design.n_rows))

    def _losses(self, scores: Floats) -> tuple[float, Floats]:
        """Compute the losses of labelled and unlabelled rows, and their slopes."""
        block, slopes = self.block, np.zeros(len(scores))
        sign = np.where(block.positive, 1.0, -1.0)
        below = np.maximum(1.0 - sign * (scores[block.labeled] + self.level), 0.0)
        slopes[block.labeled] = -block.weight * sign * below
        free = scores[block.unlabeled] + self.level
        cost = 0.5 * self.lam / self.task.n_unlabeled * block.mass
        bumps = cost * np.exp(-SHARPNESS * free * free)
        slopes[block.unlabeled] = -2.0 * SHARPNESS * free * bumps
        return 0.5 * float(np.sum(block.weight * below * below)) + float(bumps.sum()), slopes

    def at(self, w: Floats, scores: Floats) -> Iterate:
        """Evaluate the objective and its gradient in one pass over the rows."""
        loss, slopes = self._losses(scores)
        design = self.block.design
        pulled = design.pull_back(slopes, design.all_rows, np.empty(design.n_weights))
        gradient = pulled[:-1] - (pulled[-1] / design.bias) * self.mu[:-1] + self.reg * w
        objective = loss + 0.5 * self.reg * dot(w, w)
        return Iterate(w, scores, objective, objective, gradient)

    def along(
        self, point: Iterate, step: Floats, step_scores: Floats
    ) -> Callable[[float], tuple[float, float]]:
        """Return the function t -> value and slope at ``point.w + t step``, without the data."""
        ww, ws, ss = dot(point.w, point.w), dot(point.w, step), dot(step, step)

        def evaluate(t: float) -> tuple[float, float]:
            loss, slopes = self._losses(point.scores + t * step_scores)
            value = loss + 0.5 * self.reg * (ww + 2.0 * t * ws + t * t * ss)
            return value, dot(slopes, step_scores) + self.reg * (ws + t * ss)

        return evaluate


class Descending:
    """The one step of the method at a weight of the unlabelled rows.

    Parameters
    ----------
    task : TwoClassTask
    v : array of shape (n_weights - 1,)
    max_steps : int
    """

    def __init__(self, task: TwoClassTask, v: Floats, max_steps: int) -> None:
        self.task = task
        self.mean_output = task.mean_output
        self.block = task.rows.in_one_place()
        self.max_steps = max_steps
        design, unlabeled = self.block.design, self.block.unlabeled
        share = np.zeros(design.n_rows)
        share[unlabeled] = self.block.mass / task.n_unlabeled
        self.mu = design.pull_back(share, design.rows(unlabeled), np.empty(task.n_weights))
        self.v = v
        self.state = State(v)

    def enter(self, level: Level) -> None:
        """Do nothing: the weights are where the last level left them."""

    def weight_step(self, level: Level) -> State:
        """Descend from the last weights to a first-order point."""
        function = Outputs(self.task, self.block, level.value, self.mu, self.mean_output)
        point, steps = minimize_lbfgs(function, self.v, level.tol, self.max_steps)
        self.v, gap = point.w, point.gap(self.task.reg)
        self.state = State(
            function.weights(point.w, function.level),
            point.objective,
            float(np.sqrt(dot(point.gradient, point.gradient))),
            gap,
            n_iter=steps,
            n_active=self.block.design.n_rows,
            converged=gap <= level.tol * point.objective,
        )
        self.block.take_scores(point.scores + function.level)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Do nothing: there are no labels to choose."""
        facts = {"imbalance": self.task.imbalance()}
        return True, {"objective": self.state.objective, **facts}


def descend(
    task: TwoClassTask,
    start: Floats | None,
    levels: Sequence[Level],
    max_steps: int,
    keep_mean: bool = False,
) -> tuple[State, int]:
    """Raise the weight of the unlabelled rows; return the state and the number of levels.

    Parameters
    ----------
    task : TwoClassTask
    start : array of shape (n_weights,), optional
        Weights to start from; by default zero.
    levels : sequence of Level
    max_steps : int
        Per level.
    keep_mean : bool
        Whether the mean output of the unlabelled rows stays that of the start. Otherwise it
        is 2 r - 1, as if all outputs were 1 or -1. Where a class is rare and outputs vary
        little, that would put all of them close to -1.
    """
    v = np.zeros(task.n_weights - 1) if start is None else start[:-1].copy()
    method = Descending(task, v, max_steps)
    if keep_mean and start is not None:
        method.mean_output = dot(method.mu, start)
    rounds, _ = follow("descending", levels, method, task.recorder, max_rounds=1)
    return method.state, rounds
