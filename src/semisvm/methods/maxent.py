"""Maxent classifiers with given class shares: an augmented Lagrangian, and KL projections.

They model p_i(y) = exp(s_iy) / sum_z exp(s_iz), the softmax of the scores. The share r(y) of
each class among the u unlabelled rows is given: the mean of p_i(y) over them is fixed to
r(y), or pulled towards it. It is a mean, so r(y) u need not be a whole number.

*Augmented Lagrangian.* With H the entropy of a row, the problem is ::

    min_w f(w) = reg/2 ||w||^2 + 1/l sum_i xi(s_i, y_i) + lam/u sum_j H(p_j)
    s.t.  c_y(w) = 1/u sum_j p_j(y) - r(y) = 0    for every class y

One round minimises, over w and at fixed multipliers mu and penalty rho, ::

    A(w) = f(w) + mu . c(w) + rho/2 ||c(w)||^2

and then sets mu to mu + rho c(w). With these multipliers the gradient of the Lagrangian
f + mu . c at w is that of A, so a settled round is a first-order point. The penalty is
raised when the residual max_y |c_y| does not fall fast enough. The c_y sum to zero, so the
multipliers are determined up to a constant, which is chosen so that they sum to zero.

Evidence, as costs e_j(y) of labels, zero for the likeliest class, adds its likelihood to f, ::

    1/u sum_j -log sum_y p_j(y) exp(-e_j(y))

whose slopes in the scores are p_j - r_j with r_j(y) ~ p_j(y) exp(-e_j(y)).

With a fixed penalty and multipliers of zero A itself is the objective: the shares are then wanted,
not enforced (expectation regularisation), or ignored if the penalty is zero.

*KL projection* (posterior regularisation). The soft labels q nearest to the probabilities p of the
model have a closed form up to one price nu_y per class, which keeps the share r(y) ::

    q_j(y) = p_j(y) exp(nu_y) / sum_z p_j(z) exp(nu_z),        1/u sum_j q_j(y) = r(y)

The divergence of q from p is the cost -log p of the maxent loss, minus the entropy. So q minimises
a free energy, with the temperature and the weight of the unlabelled rows equal, and is eliminated
as annealing eliminates its beliefs: see `methods.free_energy` and, for the curvature in which the
soft labels respond, `tasks.many_beliefs`. Near the shares p and q are alike, so almost all of the
curvature is the part of the prices: a few directions of curvature ``weight``, which a Newton step
solves for, while steps that alternate between q and the weights must be small. The function is not
convex, so the steps are those of problems whose labels respond.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import dot
from semisvm.labels.weights import UNIT_WEIGHT, has_weights
from semisvm.losses import LOG, SmoothManyClassLoss
from semisvm.losses.log import probabilities
from semisvm.methods.free_energy import FreeEnergy
from semisvm.methods.loop import Level
from semisvm.solvers import Linearization, State
from semisvm.solvers.lbfgs import Iterate, minimize_lbfgs
from semisvm.solvers.newton import LEAST_FALL, MAX_IDLE_STEPS, Backtracking, minimize
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.weight_steps import SoftLabels


def mean_rows(p: Floats, mass: Floats) -> Floats:
    """Return the mean of the rows of probabilities (u, m), by their masses."""
    found: Floats = mass @ p / mass.sum() if has_weights(mass) else p.mean(axis=0)
    return found


def share_residual(p: Floats, task: ManyClassTask) -> float:
    """Return the largest difference between mean probabilities (u, m) and required shares."""
    return float(np.abs(mean_rows(p, task.rows.single_shard().mass) - task.shares).max())


def first_state(task: ManyClassTask, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: from the weights of the last fit")
        return task.from_weights(start)
    state = task.first(tol)
    task.at(state)
    block = task.rows.single_shard()
    residual = share_residual(probabilities(block.scores[block.unlabeled]), task)
    task.recorder.record("supervised", state, objective=state.objective, residual=residual)
    task.recorder.level_done()
    return state


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
    evidence : array of shape (u, m), optional
        What evidence adds to the costs of labels.
    """

    weight: float
    shares: Floats
    multipliers: Floats
    penalty: float
    mass: Floats = field(default_factory=lambda: UNIT_WEIGHT)
    evidence: Floats | None = None

    def evaluate(self, scores: Floats) -> tuple[float, float, Floats]:
        """Compute the terms of f and of c, and the slopes (u, m) of both."""
        costs = MAXENT.costs(scores)
        p = np.exp(-costs)
        excess = mean_rows(p, self.mass) - self.shares
        each = self.mass / self.mass.sum() if has_weights(self.mass) else self.mass / len(p)
        # The slope of sum_z p_z g_z is p (g - p . g) if g is constant. It is also the slope
        # of the entropy, g = -log p: the contributions of dg cancel within a row.
        pull = self.weight * costs + (self.multipliers + self.penalty * excess)
        pull -= np.einsum("iy,iy->i", p, pull)[:, None]
        pull *= p * each[:, None]
        value = self.weight * float((each[:, None] * p * costs).sum())
        if self.evidence is not None:
            total = costs + self.evidence
            least = total.min(axis=1)
            r = np.exp(least[:, None] - total)
            sums = r.sum(axis=1)
            pull += each[:, None] * (p - r / sums[:, None])
            value += float(np.sum(each * (least - np.log(sums))))
        constraint = float(np.sum((self.multipliers + 0.5 * self.penalty * excess) * excess))
        return value, constraint, pull


class Subproblem:
    """A at fixed multipliers, for the quasi-Newton solver; needs a single shard."""

    def __init__(self, task: ManyClassTask, terms: UnlabeledTerms) -> None:
        self.terms = terms
        self.reg = task.reg
        self.hierarchy = task.hierarchy
        self.block = task.rows.single_shard()
        self.block.set_given_costs()

    def scores(self, w: Floats) -> Floats:
        """Compute the scores for weights, or for a step of the weights."""
        return self.block.scores_of(w)

    def _losses(self, scores: Floats) -> tuple[float, float, Floats]:
        """Compute f without its regulariser, the terms of c, and the slopes of both."""
        block, slopes = self.block, np.zeros_like(scores)
        fit = MAXENT.evaluate(scores, block.costs, block.labeled, slopes)
        value, constraint, pull = self.terms.evaluate(scores[block.unlabeled])
        slopes[block.unlabeled] = pull
        return fit + value, constraint, slopes

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
        self.block = task.rows.single_shard()
        self.shares = task.shares

    @property
    def probabilities(self) -> Floats:
        """Probabilities (u, m) of the unlabelled rows."""
        block = self.block
        if block.evidence is None:
            return np.exp(-block.label_costs())
        return np.exp(-MAXENT.costs(block.scores[block.unlabeled]))

    @property
    def given_evidence(self) -> Floats:
        """Probabilities (u, m) of the unlabelled rows, given the evidence about them."""
        if self.block.evidence is None:
            return self.probabilities
        return probabilities(-self.block.label_costs())

    def enter(self, level: Level) -> None:
        """Reset what was recorded for another weight of the entropy."""
        self.residual = np.inf
        self.unfinished = 0

    def weight_step(self, level: Level) -> State:
        """Minimise A from the last weights."""
        block = self.block
        known = (self.shares, self.multipliers, self.penalty, block.mass, block.evidence)
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


def _sums(task: ManyClassTask) -> Floats:
    """Return the sums of soft labels, shape (m,), which need not be whole numbers.

    Classes to which no whole row belongs have none: prices do not resolve them.
    """
    used = np.where(task.counts > 0, task.shares, 0.0)
    return np.asarray(task.n_unlabeled * used / used.sum())


class Projection(FreeEnergy):
    """The objective as a function of the weights, the soft labels being eliminated.

    Parameters
    ----------
    task : ManyClassTask
        With the maxent loss. Its rows are in a single shard, and scored.
    weight : float
        Weight of the mean divergence.
    """

    def __init__(self, task: ManyClassTask, weight: float) -> None:
        soft = SoftLabels(weight, weight, sums=_sums(task))
        super().__init__(task, soft)
        self.block = task.rows.single_shard()
        self.update()

    @property
    def q(self) -> Floats:
        """Soft labels (u, m) of the current scores."""
        return self.block.beliefs()

    @property
    def p(self) -> Floats:
        """Probabilities (u, m) of the model."""
        return probabilities(self.block.scores[self.block.unlabeled])

    def update(self) -> None:
        """Find the soft labels for the current scores."""
        self.task.soften(self.soft)
        # where scores are huge, rounding is larger than the divergence
        self.soft.value = max(self.soft.value, 0.0)

    def objective(self, w: Floats) -> float:
        """Compute the objective of weights and soft labels."""
        return self.task.free_energy(w, self.soft)

    def energy(self, w: Floats) -> float:
        """Update the soft labels, and compute the objective."""
        self.update()
        return self.objective(w)

    def linearize(self, w: Floats) -> Linearization:
        """Compute value and gradient at the current soft labels, which are then held fixed."""
        self.hessian.forget()
        here = super().linearize(w)
        here.value = self.objective(w) - 0.5 * self.reg * dot(w, w)
        return here


class Projecting:
    """The steps of the common loop: one Newton step of the weights, and its soft labels."""

    def __init__(self, task: ManyClassTask, state: State, weight: float) -> None:
        self.task = task
        self.state = state
        self.problem = Projection(task, weight)
        # the lowest objective of the level, and for how many rounds it has hardly fallen
        self._lowest, self._idle = np.inf, 0

    @property
    def q(self) -> Floats:
        """Soft labels (u, m)."""
        return self.problem.q

    def objective(self) -> float:
        """Compute the objective of weights and soft labels."""
        return self.problem.objective(self.state.w)

    def enter(self, level: Level) -> None:
        """Recompute scores and soft labels before the level that yields the result."""
        self._lowest, self._idle = np.inf, 0
        if level.last:
            self.task.rows.all.score(self.state.w)
            self.problem.update()

    def weight_step(self, level: Level) -> State:
        """Take a Newton step, unless the gradient is small enough."""
        state = minimize(self.problem, self.state, tol=level.tol, search=Backtracking())
        if not state.converged and state.n_iter == 0:
            # no step lowered the objective: the soft labels are those of the last trial
            self.problem.update()
        return state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Return whether moving the weights gains nothing, and what the trace shows."""
        problem, task, objective = self.problem, self.task, self.objective()
        fell = objective < (1.0 - LEAST_FALL * level.tol) * self._lowest
        self._lowest, self._idle = min(objective, self._lowest), 0 if fell else self._idle + 1
        facts = {
            "objective": objective,
            "residual": share_residual(problem.p, task),
            "label_residual": share_residual(problem.q, task),
            "imbalance": task.imbalance(),
        }
        return self.state.n_iter == 0 or self._idle == MAX_IDLE_STEPS, facts
