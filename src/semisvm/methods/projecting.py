r"""Soft labels that keep the class shares and stay near the model (posterior regularisation).

The soft labels q nearest to the probabilities p of the model have a closed form up to one
price nu_y per class, which keeps the share r(y) ::

    q_j(y) = p_j(y) exp(nu_y) / sum_z p_j(z) exp(nu_z),        1/u sum_j q_j(y) = r(y)

The divergence of q from p is the cost -log p of the maxent loss, minus the entropy. So q minimises
a free energy, with the temperature and the weight of the unlabelled rows equal, and is eliminated
as annealing eliminates its beliefs: see `methods.free_energy` and, for the curvature in which the
soft labels respond, `blocks.many_beliefs`. Near the shares p and q are alike, so almost all of the
curvature is the part of the prices: a few directions of curvature ``weight``, which a Newton step
solves for, while steps that alternate between q and the weights must be small. The function is not
convex, so the steps are those of problems whose labels respond.
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.loop import Level
from semisvm.losses.log import probabilities
from semisvm.methods.free_energy import FreeEnergy
from semisvm.methods.maxent import share_residual
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.objectives.row_problems import SoftLabels
from semisvm.solvers import Linearization, State
from semisvm.solvers.newton import LEAST_FALL, MAX_IDLE_STEPS, Backtracking, minimize
from semisvm.vectors import dot


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
        With the maxent loss. Its rows are in one place, and scored.
    weight : float
        Weight of the mean divergence.
    """

    def __init__(self, task: ManyClassTask, weight: float) -> None:
        soft = SoftLabels(weight, weight, sums=_sums(task))
        super().__init__(task, soft)
        self.block = task.rows.in_one_place()
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
        """Tell what the soft labels are like; settled when the weights gain nothing by moving."""
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
