r"""Soft labels that keep the class counts and stay near the model (posterior regularisation).

The soft labels q nearest to the probabilities p of the model have a closed form up to one
price nu_y per class, which keeps the count n(y) ::

    q_j(y) = p_j(y) exp(nu_y) / sum_z p_j(z) exp(nu_z),        sum_j q_j(y) = n(y)

So q is eliminated: what is minimised is a smooth function of the weights alone. At the best q
the derivative by q vanishes, so its slope in the scores s_j is that for fixed soft labels,
weight/u (p_j - q_j). In its second derivative the soft labels respond to a step of the scores.
With P_j = diag(p_j) - p_j p_j^T and Q_j = diag(q_j) - q_j q_j^T, ::

    dq_j = Q_j (ds_j + dnu),        (sum_j Q_j) dnu = - sum_j Q_j ds_j

and a product with the curvature is weight/u (P_j ds_j - dq_j). Near the counts p and q are alike,
so almost all of it is the part of the prices: a few directions of curvature ``weight``, which a
Newton step solves for, while steps that alternate between q and the weights must be small. The
function is not convex, so the steps are those of problems whose labels respond.
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.label_steps import LabelStep, entropic, mean_entropy_of
from semisvm.loop import Level
from semisvm.losses import SmoothManyClassLoss
from semisvm.losses.log import probabilities
from semisvm.methods.maxent import share_residual
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.solvers import Linearization, State
from semisvm.solvers.newton import Backtracking, minimize
from semisvm.solvers.problems import RowsProblem
from semisvm.vectors import dot

# Relative size below which the curvature of the prices is taken for rounding: prices are free
# up to a constant, and those of decided classes have no curvature.
FLAT = 1e-12


class Projection(RowsProblem):
    """The objective as a function of the weights, the soft labels being eliminated.

    Its rows are in one place.

    Parameters
    ----------
    task : ManyClassTask
    weight : float
        Weight of the mean divergence.
    """

    def __init__(self, task: ManyClassTask, weight: float) -> None:
        super().__init__(task.rows, task.reg, task.heavy)
        self.task = task
        self.weight = weight
        self.block = task.rows.in_one_place()
        self.step = self._project(None)
        # of the last linearization, if soft labels respond: p, q and the inverse of sum_j Q_j
        self._responding: tuple[Floats, Floats, Floats] | None = None

    @property
    def q(self) -> Floats:
        """Soft labels (u, m) of the current scores."""
        assert self.step.beliefs is not None
        return self.step.beliefs

    @property
    def p(self) -> Floats:
        """Probabilities (u, m) of the model."""
        return probabilities(self.block.scores[self.block.unlabeled])

    def _project(self, prices: Floats | None) -> LabelStep:
        """Find the q with the class counts nearest to p: sum q log q - sum q log p."""
        return entropic(self.block.label_costs(), self.task.counts, 1.0, prices)

    def update(self) -> None:
        """Find the soft labels for the current scores."""
        self.step = self._project(self.step.prices)

    def divergence(self) -> float:
        """Compute the sum of KL(q_j || p_j).

        The counts are met up to a small tolerance. With its price, what is missing changes the
        sum in second order only, so the objective can resolve small gains.
        """
        counts, prices = self.task.counts, self.step.prices
        missing = dot(prices[counts > 0], (counts - self.q.sum(axis=0))[counts > 0])
        entropy = len(self.q) * float(mean_entropy_of(self.q))
        # where scores are huge, rounding is larger than the sum
        return max(self.step.cost - entropy + missing, 0.0)

    def objective(self, w: Floats) -> float:
        """Compute the objective of weights and soft labels."""
        return self.task.objective(w, self.weight, self.block.fit(), self.divergence())

    def energy(self, w: Floats) -> float:
        """Update the soft labels, and compute the objective."""
        self.update()
        return self.objective(w)

    def linearize(self, w: Floats) -> Linearization:
        """Compute value and gradient at the current soft labels."""
        self._responding = None
        self.block.take_beliefs(self.q)
        self.block.charge_beliefs(self.weight)
        here = super().linearize(w)
        here.value = self.objective(w) - 0.5 * self.reg * dot(w, w)
        return here

    def hold(self, w: Floats) -> Linearization:
        """Linearize with the soft labels held fixed."""
        return self.linearize(w)

    def curve(self) -> None:
        """Let the soft labels respond to the coming step."""
        q = self.q
        together = np.diag(q.sum(axis=0)) - q.T @ q
        inverse = np.linalg.pinv(together, FLAT, hermitian=True)
        self._responding = self.p, q, inverse.astype(np.float64, copy=False)

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the curvature, in which the soft labels respond."""
        if self._responding is None:
            return super().product(p, out)
        block, design, hierarchy = self.block, self.block.design, self.task.hierarchy
        step = block.scores_of(p)
        step[block.labeled] = self._fixed(step[block.labeled])
        step[block.unlabeled] = self._respond(step[block.unlabeled])
        into = out.reshape(design.n_weights, hierarchy.n_nodes)
        design.pull_back_many(hierarchy.node_slopes(step), design.all_rows, into)
        return out

    def _fixed(self, step: Floats) -> Floats:
        """Multiply a step (l, m) of the scores by the curvature of the given labels."""
        block, loss = self.block, self.task.loss
        assert isinstance(loss, SmoothManyClassLoss)
        loss.apply(block.scores, block.costs, block.labeled, 0, len(step), step)
        return step

    def _respond(self, step: Floats) -> Floats:
        """Multiply a step (u, m) of the scores by the curvature of the divergence."""
        assert self._responding is not None
        p, q, inverse = self._responding
        moved = _spread(q, step)
        moved += _spread(q, np.broadcast_to(-inverse @ moved.sum(axis=0), step.shape))
        return (self.weight / len(step)) * (_spread(p, step) - moved)

    def move(self, t: float) -> None:
        """Move along the step."""
        self.rows.move(t)


def _spread(p: Floats, step: Floats) -> Floats:
    """Multiply each row of a step by diag(p_j) - p_j p_j^T."""
    moved: Floats = p * step
    moved -= p * moved.sum(axis=1, keepdims=True)
    return moved


class Projecting:
    """The steps of the common loop: one Newton step of the weights, and its soft labels."""

    def __init__(self, task: ManyClassTask, state: State, weight: float) -> None:
        self.task = task
        self.state = state
        self.problem = Projection(task, weight)

    @property
    def q(self) -> Floats:
        """Soft labels (u, m)."""
        return self.problem.q

    def objective(self) -> float:
        """Compute the objective of weights and soft labels."""
        return self.problem.objective(self.state.w)

    def enter(self, level: Level) -> None:
        """Recompute scores and soft labels before the level that yields the result."""
        if level.last:
            self.task.rows.score(self.state.w)
            self.problem.update()

    def weight_step(self, level: Level) -> State:
        """Take a Newton step, unless the gradient is small enough."""
        state = minimize(self.problem, self.state, tol=level.tol, search=Backtracking())
        if not state.converged and state.n_iter == 0:
            # no step lowered the objective: the soft labels are those of the last trial
            self.problem.update()
        return state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Tell what the soft labels are like; settled when the weights have not moved."""
        problem, counts = self.problem, self.task.counts
        facts = {
            "objective": self.objective(),
            "residual": share_residual(problem.p, counts),
            "label_residual": share_residual(problem.q, counts),
            "imbalance": self.task.imbalance(),
        }
        return self.state.n_iter == 0, facts
