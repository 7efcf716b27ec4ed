r"""Maxent with class shares as constraints, by an augmented Lagrangian.

With p_i(y) the softmax of the scores of row i and H its entropy, the problem is ::

    min_w f(w) = reg/2 ||w||^2 + 1/l sum_i xi(s_i, y_i) + lam/u sum_j H(p_j)
    s.t.  c_y(w) = 1/u sum_j p_j(y) - n(y)/u = 0    for every class y

One round minimises, over w and at fixed multipliers mu and penalty rho, ::

    A(w) = f(w) + mu . c(w) + rho/2 ||c(w)||^2

and then sets mu to mu + rho c(w): with these multipliers the gradient of the Lagrangian
f + mu . c at w is that of A, so a settled round is a first-order point. The penalty goes
up when the residual max_y |c_y| does not fall fast enough. The c_y sum to zero, hence
multipliers count up to a constant; theirs is that they sum to zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.multi_task import MultiTask
from semisvm.homotopy import Level
from semisvm.multi_losses import MAXENT
from semisvm.vectors import dot
from semisvm.weights import State
from semisvm.weights.quasi_newton import Point, minimize

FIRST_PENALTY = 10.0
GROWTH = 4.0
# A residual that keeps more than this share of its last value wants a higher penalty.
SHRINKAGE = 0.25
# Beyond it the penalty drowns the objective in double precision: the shares are out of
# reach of the model.
LARGEST_PENALTY = 1e8
# Levels on the way need not meet the shares better than this.
LOOSE_RESIDUAL = 1e-3
# Badly scaled columns leave every minimisation unfinished: so many at a level will do.
MAX_UNFINISHED = 3


@dataclass(frozen=True)
class UnlabeledTerms:
    """What the unlabelled rows add to A.

    Attributes
    ----------
    weight : float
        Weight of the entropy, lam.
    shares : array of shape (m,)
        Wanted mean probabilities, n(y)/u.
    multipliers : array of shape (m,)
    penalty : float
    """

    weight: float
    shares: Floats
    multipliers: Floats
    penalty: float

    def evaluate(self, scores: Floats) -> tuple[float, float, Floats]:
        """Give lam times the mean entropy, the terms of c, and the slopes (u, m) of both."""
        costs = MAXENT.costs(scores)
        p = np.exp(-costs)
        excess = p.mean(axis=0) - self.shares
        # The slope of sum_z p_z g_z is p (g - p . g) where g is constant. It is the slope
        # of the entropy too, g = -log p: what g changes by itself cancels over a row.
        pull = self.weight * costs + (self.multipliers + self.penalty * excess)
        pull -= np.einsum("iy,iy->i", p, pull)[:, None]
        pull *= p / len(p)
        entropy = self.weight * float((p * costs).sum()) / len(p)
        constraint = float(np.sum((self.multipliers + 0.5 * self.penalty * excess) * excess))
        return entropy, constraint, pull


class Subproblem:
    """A at fixed multipliers, for the quasi-Newton solver."""

    def __init__(self, task: MultiTask, terms: UnlabeledTerms) -> None:
        self.task = task
        self.terms = terms
        self.reg = task.reg
        self.problem = task.problem(task.labeled_costs())

    def scores(self, w: Floats) -> Floats:
        """Give the scores of weights, or of a step of the weights."""
        return self.problem.scores(w)

    def _losses(self, scores: Floats) -> tuple[float, float, Floats]:
        """Give f without its regulariser, the terms of c, and the slopes of both."""
        task, slopes = self.task, np.zeros_like(scores)
        fit = MAXENT.evaluate(scores, self.problem.costs, task.labeled, slopes)
        entropy, constraint, pull = self.terms.evaluate(scores[task.unlabeled])
        slopes[task.unlabeled] = pull
        return fit + entropy, constraint, slopes

    def at(self, w: Floats, scores: Floats) -> Point:
        """Evaluate A and its gradient, by one pass over the rows."""
        task = self.task
        loss, constraint, slopes = self._losses(scores)
        shape = (task.design.n_weights, task.hierarchy.n_nodes)
        slopes = task.hierarchy.node_slopes(slopes)
        gradient = task.design.pull_back_many(slopes, self.problem.rows, np.empty(shape)).ravel()
        gradient += self.reg * w
        objective = loss + 0.5 * self.reg * dot(w, w)
        return Point(w, scores, objective, objective + constraint, gradient)

    def along(
        self, point: Point, step: Floats, step_scores: Floats
    ) -> Callable[[float], tuple[float, float]]:
        """Give t -> value and slope at ``point.w + t step``, without the data."""
        ww, ws, ss = dot(point.w, point.w), dot(point.w, step), dot(step, step)

        def evaluate(t: float) -> tuple[float, float]:
            loss, constraint, slopes = self._losses(point.scores + t * step_scores)
            norm = ww + 2.0 * t * ws + t * t * ss
            slope = dot(slopes.ravel(), step_scores.ravel()) + self.reg * (ws + t * ss)
            return loss + constraint + 0.5 * self.reg * norm, slope

        return evaluate


class Multiplying:
    """The rounds of the augmented Lagrangian, as the steps of the common loop."""

    def __init__(
        self, task: MultiTask, state: State, multipliers: Floats, residual_tol: float
    ) -> None:
        self.task = task
        self.state = state
        self.multipliers = multipliers
        self.penalty = FIRST_PENALTY
        self.residual = np.inf
        self.unfinished = 0
        self.residual_tol = residual_tol
        self.shares = task.counts / len(task.unlabeled)

    @property
    def probabilities(self) -> Floats:
        """Probabilities (u, m) of the unlabelled rows."""
        return np.exp(-self.task.label_costs(self.state.scores))

    def enter(self, level: Level) -> None:
        """Forget what another weight of the entropy has left behind."""
        self.residual = np.inf
        self.unfinished = 0

    def weight_step(self, level: Level) -> State:
        """Minimise A from the last weights."""
        terms = UnlabeledTerms(level.value, self.shares, self.multipliers, self.penalty)
        state, reg = self.state, self.task.reg
        point, state.n_iter = minimize(Subproblem(self.task, terms), state.w, level.tol)
        state.w, state.scores, state.objective = point.w, point.scores, point.objective
        state.gap = point.gap(reg)
        state.gradient_norm = float(np.sqrt(2.0 * reg * state.gap))
        state.converged = state.gap <= level.tol * state.objective
        state.n_active, state.cg_steps = self.task.design.n_rows, 0
        return state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Renew the multipliers; settled when the shares are met or out of reach."""
        excess = self.probabilities.mean(axis=0) - self.shares
        self.multipliers = self.multipliers + self.penalty * excess
        before, self.residual = self.residual, float(np.abs(excess).max())
        facts = {
            "objective": self.state.objective,
            "residual": self.residual,
            "penalty": self.penalty,
            "imbalance": self.task.imbalance(self.state.scores),
        }
        goal = self.residual_tol if level.last else max(self.residual_tol, LOOSE_RESIDUAL)
        met = self.residual <= goal
        if not met and self.residual > SHRINKAGE * before:
            self.penalty *= GROWTH
        self.unfinished += not self.state.converged
        stuck = self.penalty > LARGEST_PENALTY or self.unfinished == MAX_UNFINISHED
        return (met and self.state.converged) or stuck, facts
