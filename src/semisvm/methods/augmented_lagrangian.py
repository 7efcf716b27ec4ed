r"""Maxent with class shares as constraints, by an augmented Lagrangian.

With p_i(y) the softmax of the scores of row i and H its entropy, the problem is ::

    min_w f(w) = reg/2 ||w||^2 + 1/l sum_i xi(s_i, y_i) + lam/u sum_j H(p_j)
    s.t.  c_y(w) = 1/u sum_j p_j(y) - r(y) = 0    for every class y

One round minimises, over w and at fixed multipliers mu and penalty rho, ::

    A(w) = f(w) + mu . c(w) + rho/2 ||c(w)||^2

and then sets mu to mu + rho c(w). With these multipliers the gradient of the Lagrangian
f + mu . c at w is that of A, so a settled round is a first-order point. The penalty is
raised when the residual max_y |c_y| does not fall fast enough. The c_y sum to zero, so the
multipliers are determined up to a constant, which is chosen so that they sum to zero.

With a fixed penalty and multipliers of zero A itself is the objective: the shares are then wanted,
not enforced (expectation regularisation), or ignored if the penalty is zero.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.loop import Level
from semisvm.losses import LOG, SmoothManyClassLoss
from semisvm.methods.maxent import mean_rows
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.row_weights import ALIKE, weighs
from semisvm.solvers import State
from semisvm.solvers.lbfgs import Iterate, minimize_lbfgs
from semisvm.vectors import dot

assert isinstance(LOG.many, SmoothManyClassLoss)
MAXENT = LOG.many
FIRST_PENALTY = 10.0
GROWTH = 4.0
# The penalty is raised when a residual stays above this fraction of its last value.
SHRINKAGE = 0.25
# Beyond this the penalty swamps the objective in double precision: the model cannot reach
# the shares.
LARGEST_PENALTY = 1e8
# Levels before the last need not meet the shares better than this.
LOOSE_RESIDUAL = 1e-3
# With badly scaled columns no minimisation converges; a level ends after this many.
MAX_UNFINISHED = 3


@dataclass(frozen=True)
class UnlabeledTerms:
    """The terms of A for the unlabelled rows.

    Attributes
    ----------
    weight : float
        Weight of the entropy, lam.
    shares : array of shape (m,)
        Required mean probabilities.
    multipliers : array of shape (m,)
    penalty : float
    mass : array of shape (u,) or (1,)
        For how many rows each row counts.
    """

    weight: float
    shares: Floats
    multipliers: Floats
    penalty: float
    mass: Floats = field(default_factory=lambda: ALIKE)

    def evaluate(self, scores: Floats) -> tuple[float, float, Floats]:
        """Compute lam times the mean entropy, the terms of c, and the slopes (u, m) of both."""
        costs = MAXENT.costs(scores)
        p = np.exp(-costs)
        excess = mean_rows(p, self.mass) - self.shares
        each = self.mass / self.mass.sum() if weighs(self.mass) else self.mass / len(p)
        # The slope of sum_z p_z g_z is p (g - p . g) if g is constant. It is also the slope
        # of the entropy, g = -log p: the contributions of dg cancel within a row.
        pull = self.weight * costs + (self.multipliers + self.penalty * excess)
        pull -= np.einsum("iy,iy->i", p, pull)[:, None]
        pull *= p * each[:, None]
        entropy = self.weight * float((each[:, None] * p * costs).sum())
        constraint = float(np.sum((self.multipliers + 0.5 * self.penalty * excess) * excess))
        return entropy, constraint, pull


class Subproblem:
    """A at fixed multipliers, for the quasi-Newton solver; its rows are in one place."""

    def __init__(self, task: ManyClassTask, terms: UnlabeledTerms) -> None:
        self.terms = terms
        self.reg = task.reg
        self.hierarchy = task.hierarchy
        self.block = task.rows.in_one_place()
        self.block.charge_given()

    def scores(self, w: Floats) -> Floats:
        """Compute the scores for weights, or for a step of the weights."""
        return self.block.scores_of(w)

    def _losses(self, scores: Floats) -> tuple[float, float, Floats]:
        """Compute f without its regulariser, the terms of c, and the slopes of both."""
        block, slopes = self.block, np.zeros_like(scores)
        fit = MAXENT.evaluate(scores, block.costs, block.labeled, slopes)
        entropy, constraint, pull = self.terms.evaluate(scores[block.unlabeled])
        slopes[block.unlabeled] = pull
        return fit + entropy, constraint, slopes

    def at(self, w: Floats, scores: Floats) -> Iterate:
        """Evaluate A and its gradient in one pass over the rows."""
        design = self.block.design
        loss, constraint, slopes = self._losses(scores)
        slopes = self.hierarchy.node_slopes(slopes)
        into = np.empty((design.n_weights, self.hierarchy.n_nodes))
        gradient = design.pull_back_many(slopes, design.all_rows, into).ravel()
        gradient += self.reg * w
        objective = loss + 0.5 * self.reg * dot(w, w)
        return Iterate(w, scores, objective, objective + constraint, gradient)

    def along(
        self, point: Iterate, step: Floats, step_scores: Floats
    ) -> Callable[[float], tuple[float, float]]:
        """Return the function t -> value and slope at ``point.w + t step``, without the data."""
        ww, ws, ss = dot(point.w, point.w), dot(point.w, step), dot(step, step)

        def evaluate(t: float) -> tuple[float, float]:
            loss, constraint, slopes = self._losses(point.scores + t * step_scores)
            norm = ww + 2.0 * t * ws + t * t * ss
            slope = dot(slopes.ravel(), step_scores.ravel()) + self.reg * (ws + t * ss)
            return loss + constraint + 0.5 * self.reg * norm, slope

        return evaluate


class AugmentedLagrangian:
    """The rounds of the augmented Lagrangian, as the steps of the common loop."""

    def __init__(
        self,
        task: ManyClassTask,
        state: State,
        multipliers: Floats,
        residual_tol: float,
        fixed_penalty: float | None = None,
    ) -> None:
        self.task = task
        self.state = state
        self.fixed = fixed_penalty is not None
        self.multipliers = np.zeros_like(multipliers) if self.fixed else multipliers
        self.penalty = FIRST_PENALTY if fixed_penalty is None else fixed_penalty
        self.residual = np.inf
        self.unfinished = 0
        self.residual_tol = residual_tol
        self.block = task.rows.in_one_place()
        self.shares = task.shares

    @property
    def probabilities(self) -> Floats:
        """Probabilities (u, m) of the unlabelled rows."""
        return np.exp(-self.block.label_costs())

    def enter(self, level: Level) -> None:
        """Reset what was recorded for another weight of the entropy."""
        self.residual = np.inf
        self.unfinished = 0

    def weight_step(self, level: Level) -> State:
        """Minimise A from the last weights."""
        known = (self.shares, self.multipliers, self.penalty, self.block.mass)
        terms = UnlabeledTerms(level.value, *known)
        state, reg = self.state, self.task.reg
        point, state.n_iter = minimize_lbfgs(Subproblem(self.task, terms), state.w, level.tol)
        state.w, state.objective = point.w, point.value if self.fixed else point.objective
        self.block.take_scores(point.scores)
        state.gap = point.gap(reg)
        state.gradient_norm = float(np.sqrt(2.0 * reg * state.gap))
        state.converged = state.gap <= level.tol * state.objective
        state.n_active, state.cg_steps = self.block.design.n_rows, 0
        return state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Update the multipliers; settled when the shares are met or out of reach."""
        excess = mean_rows(self.probabilities, self.block.mass) - self.shares
        if not self.fixed:
            self.multipliers = self.multipliers + self.penalty * excess
        before, self.residual = self.residual, float(np.abs(excess).max())
        facts = {
            "objective": self.state.objective,
            "residual": self.residual,
            "penalty": self.penalty,
            "imbalance": self.task.imbalance(),
        }
        if self.fixed:
            return True, facts
        goal = self.residual_tol if level.last else max(self.residual_tol, LOOSE_RESIDUAL)
        met = self.residual <= goal
        if not met and self.residual > SHRINKAGE * before:
            self.penalty *= GROWTH
        self.unfinished += not self.state.converged
        stuck = self.penalty > LARGEST_PENALTY or self.unfinished == MAX_UNFINISHED
        return (met and self.state.converged) or stuck, facts
