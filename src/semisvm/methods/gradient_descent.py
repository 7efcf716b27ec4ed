r"""A smooth function of the weights, from which the labels are eliminated (gradient TSVM).

The mean output of the unlabelled rows does not fix the share of positive ones. Two rules do:

- Before a level, while outputs are still close to zero, the mean output is moved if the outputs
  miss the class shares; it stays near 2 r - 1, where outputs of about 1 and -1 need it.
- After the last level, the intercept is moved until the shares hold for *new* rows. Each unlabelled
  row pushes its own output away from zero. The output of a new row has no such part, and with more
  columns than rows it is the larger part: an intercept at which the unlabelled rows keep the
  shares may then miss those of new rows by 30 points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from semisvm.designs import Floats
from semisvm.designs.vectors import dot
from semisvm.methods.loop import Level, follow
from semisvm.methods.solution import Solution
from semisvm.solvers import State
from semisvm.solvers.lbfgs import Iterate, minimize_lbfgs
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.two_classes import TwoClassTask

SHARPNESS = 3.0
"""exp(-3 f^2) is close to the squared hinge of the nearer label, and smooth."""
FAR = 1e3
"""An output from which on exp(-3 f^2) is zero."""

# How far the mean output may be moved: to that of 3/4 or 5/4 of the rarer class, with outputs 1 and
# -1. Further away, the outputs of a rare class multiply when they reach 1.
MOVED = 0.25
# By how much, as a share of the rows, positive outputs of new and of unlabelled rows may part when
# the intercept is moved, and in how many steps that is tried.
APART, PARTS = 0.05, 21
# The average push of a row on its own output need not be known better.
PUSH_TOL, PUSH_STEPS = 1e-2, 50


@dataclass(frozen=True)
class Known:
    """What evidence says of unlabelled rows: how much each counts like a labelled one.

    Attributes
    ----------
    share : array of shape (u,)
        From 0, where nothing is known, to 1, where one label is impossible.
    sign : array of shape (u,)
        The likelier label, 1 or -1.
    """

    share: Floats
    sign: Floats

    @classmethod
    def of(cls, evidence: Floats | None) -> "Known | None":
        """Make it of the costs of positive labels, minus those of negative ones."""
        if evidence is None:
            return None
        # |p - (1 - p)| at the log-odds of p
        return cls(np.tanh(0.5 * np.abs(evidence)), np.where(evidence > 0.0, -1.0, 1.0))

    def lack(self, outputs: Floats) -> Floats:
        """Return by how much outputs are inside the margin of the likelier label."""
        return np.asarray(np.maximum(1.0 - self.sign * outputs, 0.0))

    def permitted(self, positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return labels without those that are impossible."""
        return np.where(self.share < 1.0, positive, self.sign > 0.0)


def possible_outputs(task: ManyClassTask, outputs: Sequence[Floats]) -> list[Floats]:
    """Return outputs, one array per class, with those of impossible classes at -infinity."""
    evidence = task.rows.single_shard().evidence
    if evidence is None:
        return list(outputs)
    return [np.where(np.isinf(evidence[:, k]), -np.inf, own) for k, own in enumerate(outputs)]


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
    known: "Known | None" = None

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
        # further out, bumps are zero, and squares might overflow
        free = np.clip(scores[block.unlabeled] + self.level, -FAR, FAR)
        cost = 0.5 * self.lam / self.task.n_unlabeled * block.mass
        bumps = cost * np.exp(-SHARPNESS * free * free)
        if self.known is not None:
            bumps *= 1.0 - self.known.share
        slopes[block.unlabeled] = -2.0 * SHARPNESS * free * bumps
        with np.errstate(over="ignore"):  # a step that leads there is too long
            fit = 0.5 * float(np.sum(block.weight * below * below))
            if self.known is not None:
                each, lack = cost * self.known.share, self.known.lack(free)
                slopes[block.unlabeled] -= 2.0 * each * self.known.sign * lack
                fit += float(np.sum(each * lack * lack))
        return fit + float(bumps.sum()), slopes

    def _pull_back(self, slopes: Floats) -> Floats:
        """Compute (X - 1 mu^T)^T slopes."""
        design = self.block.design
        pulled = design.pull_back(slopes, design.all_rows, np.empty(design.n_weights))
        return pulled[:-1] - (pulled[-1] / design.bias) * self.mu[:-1]

    def at(self, w: Floats, scores: Floats) -> Iterate:
        """Evaluate the objective and its gradient in one pass over the rows."""
        loss, slopes = self._losses(scores)
        gradient = self._pull_back(slopes) + self.reg * w
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

    def unseen(self, scores: Floats) -> Floats:
        r"""Estimate the outputs that the unlabelled rows would have as new rows.

        With s_j the slope of the loss of row j, m the multiplier of the constraint on the
        mean and H_-j the second derivatives without the row, the output without it is, to
        first order, ::

            f(x_j) + (s_j - m/u) k_j,        k_j = (x_j - mu)^T H_-j^-1 (x_j - mu)

        and exactly so if no two rows share a column. The average of the k_j serves for all
        rows, as in generalised cross-validation.

        Parameters
        ----------
        scores : array of shape (n,)
            Of all rows, at a minimum, without the level.

        Returns
        -------
        outputs : array of shape (n,)
            Those of labelled rows are as they are.
        """
        block, (_, slopes) = self.block, self._losses(scores)
        mass = np.broadcast_to(block.mass, block.unlabeled.shape)
        # without one of the rows for which a row with a weight counts
        push = np.divide(slopes[block.unlabeled], mass, out=np.zeros(len(mass)), where=mass > 0.0)
        push -= np.where(mass > 0.0, slopes.sum() / self.task.n_unlabeled, 0.0)
        outputs = scores + self.level
        outputs[block.unlabeled] += self._leverage(scores, mass) * push
        return outputs

    def _leverage(self, scores: Floats, mass: Floats) -> float:
        """Estimate the average k_j, by one system of equations.

        Of two neighbours in the order of the outputs one is a probe, and the other lends its
        curvature to both, so that no probe meets its own. The signs of the probes alternate,
        which leaves out the products of different ones, as random signs do.
        """
        block, reg = self.block, self.reg
        counted = np.flatnonzero(mass > 0.0)
        order = counted[np.argsort(scores[block.unlabeled[counted]], kind="stable")]
        probes, others = order[::2], order[1::2]
        signs = np.zeros(len(scores))
        signs[block.unlabeled[probes]] = np.sqrt(mass[probes])
        signs[block.unlabeled[probes[1::2]]] *= -1.0
        curvature = self._curvature(scores)
        curvature[block.unlabeled[probes]] = 0.0
        curvature[block.unlabeled[others]] *= 2.0

        def product(p: Floats) -> Floats:
            return reg * p + self._pull_back(curvature * self.scores(p))

        pulled = self._pull_back(signs)
        system = LinearOperator((len(pulled), len(pulled)), matvec=product, dtype=np.float64)
        solved, _ = cg(system, pulled, rtol=PUSH_TOL, maxiter=PUSH_STEPS)
        return max(dot(pulled, solved), 0.0) / max(float(mass[probes].sum()), 1.0)

    def _curvature(self, scores: Floats) -> Floats:
        """Compute the second derivatives of the losses, or zero where they are negative."""
        block, curvature = self.block, np.zeros(len(scores))
        sign = np.where(block.positive, 1.0, -1.0)
        inside = sign * (scores[block.labeled] + self.level) < 1.0
        curvature[block.labeled] = block.weight * inside
        square = SHARPNESS * (scores[block.unlabeled] + self.level) ** 2
        cost = 0.5 * self.lam / self.task.n_unlabeled * block.mass
        bend = 2.0 * SHARPNESS * (2.0 * square - 1.0)
        bends = cost * np.exp(-square) * np.maximum(bend, 0.0)
        if self.known is not None:
            lacking = self.known.lack(scores[block.unlabeled] + self.level) > 0.0
            bends = bends * (1.0 - self.known.share) + 2.0 * cost * self.known.share * lacking
        curvature[block.unlabeled] = bends
        return curvature


class Descending:
    """The one step of the method at a weight of the unlabelled rows.

    Parameters
    ----------
    task : TwoClassTask
    v : array of shape (n_weights - 1,)
    max_steps : int
    balance_tol : float, optional
        How far the outputs may miss the class shares before the mean output is moved.
    """

    def __init__(
        self, task: TwoClassTask, v: Floats, max_steps: int, balance_tol: float | None = None
    ) -> None:
        self.task = task
        self.mean_output = task.mean_output
        self.block = task.rows.single_shard()
        self.max_steps = max_steps
        self.balance_tol = balance_tol
        design, unlabeled = self.block.design, self.block.unlabeled
        share = np.zeros(design.n_rows)
        share[unlabeled] = self.block.mass / task.n_unlabeled
        self.mu = design.pull_back(share, design.rows(unlabeled), np.empty(task.n_weights))
        self.v = v
        self.state = State(v)
        self.known = Known.of(self.block.evidence)
        self._solved: tuple[Outputs, Iterate] | None = None

    def enter(self, level: Level) -> None:
        """Move the mean output if the outputs of the last level miss the class shares."""
        if self.balance_tol is None or self._solved is None:
            return
        most = 2.0 * MOVED * self.task.rarer_share
        moved = self.mean_output + self.task.balancing_shift(self.balance_tol)
        expected = self.task.mean_output
        self.mean_output = float(np.clip(moved, expected - most, expected + most))

    def weight_step(self, level: Level) -> State:
        """Descend from the last weights to a first-order point."""
        known = (self.mu, self.mean_output, self.known)
        function = Outputs(self.task, self.block, level.value, *known)
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
        self._solved = function, point
        self.block.take_scores(point.scores + function.level)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Do nothing: there are no labels to choose."""
        facts = {"imbalance": self.task.imbalance()}
        return True, {"objective": self.state.objective, **facts}

    def labels(self) -> NDArray[np.intp]:
        """Label the unlabelled rows by their outputs, near enough to the class shares.

        The threshold is zero, or where the outputs keep the shares up to ``balance_tol``.
        """
        tol = self.balance_tol
        shift = 0.0 if tol is None else self.task.balancing_shift(tol)
        positive = self.task.rows.all.outputs() + shift > 0.0
        if self.known is not None:
            positive = self.known.permitted(positive)
        return positive.astype(np.intp)

    def balance(self) -> None:
        """Move the intercept if the outputs of new rows would miss the class shares."""
        if self.balance_tol is None or self._solved is None:
            return
        task, block, (function, point) = self.task, self.block, self._solved
        outputs, unseen = point.scores + function.level, function.unseen(point.scores)
        block.take_scores(unseen.copy())
        shift = task.balancing_shift(self.balance_tol)
        if shift:
            shift = self._in_step(outputs[block.unlabeled], unseen[block.unlabeled], shift)
        task.balance(self.state, shift)

    def _in_step(self, outputs: Floats, unseen: Floats, shift: float) -> float:
        """Return how much of a shift keeps the shares of new and unlabelled rows together.

        Outputs of unlabelled rows leave a gap around zero, which those of new rows fill. An
        intercept that moves through the gap changes the predictions of new rows alone.
        """
        parts = shift * np.linspace(0.0, 1.0, PARTS)
        mass = self.block.mass / self.task.n_unlabeled

        def shares(scores: Floats) -> Floats:
            return np.array([np.sum(mass * (scores + part > 0.0)) for part in parts])

        apart = np.abs(shares(outputs) - shares(unseen))
        beyond = np.flatnonzero(apart > max(APART, apart[0]))
        return float(parts[beyond[0] - 1] if len(beyond) else shift)


def descend(
    task: TwoClassTask,
    start: Floats | None,
    levels: Sequence[Level],
    max_steps: int,
    *,
    keep_mean: bool = False,
    balance_tol: float | None = None,
) -> Solution:
    """Raise the weight of the unlabelled rows.

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
    balance_tol : float, optional
        How far the outputs may miss the class shares before mean output and intercept are moved.
    """
    v = np.zeros(task.n_weights - 1) if start is None else start[:-1].copy()
    method = Descending(task, v, max_steps, balance_tol)
    if keep_mean and start is not None:
        method.mean_output = dot(method.mu, start)
    rounds, _ = follow("descending", levels, method, task.recorder, max_rounds=1)
    codes, state = method.labels(), method.state
    method.balance()
    return Solution(state.w, state.objective, rounds, state.converged, codes)
