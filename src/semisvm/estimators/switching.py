"""The steps of a transductive machine for two classes: hard labels that follow the weights."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Level
from semisvm.labels import switch_pairs
from semisvm.losses import Signs
from semisvm.vectors import add, dot
from semisvm.weights import BinaryProblem, State, minimize
from semisvm.weights.free_energy import LEAST_GAIN
from semisvm.weights.newton import CHECKED_TOL, measure, newton_step

# Where rounds switch more than this share of the pairs of the round before, three rounds in,
# labels follow the weights slowly: a step that knows how they will answer is tried.
CREEPING = 0.5


class Switching:
    """The two steps for two classes: retrain, and switch labels of pairs that disagree."""

    def __init__(
        self, task: BinaryTask, state: State, labels: Signs, max_pairs: int | None
    ) -> None:
        self.task = task
        self.state = state
        self.labels = labels
        self.max_pairs = max_pairs
        # whether the labels are the best ones for the scores, and what these are like:
        # both last until the weights move
        self._best = False
        self._imbalance = np.nan
        # the labels for which the state has the gradient, and their weight
        self._solved: tuple[Signs, float] | None = None
        # pairs switched in the rounds of the level, and whether steps may count on more
        self._switched: list[int] = []
        self._answering = False

    def enter(self, level: Level) -> None:
        """Compute scores and gradient afresh before the level that gives the answer."""
        self._switched = []
        # levels that only lead the way are not worth it
        self._answering = level.last and self.max_pairs is None
        if level.last:
            self.task.score_all(self.state)
            self._solved = None

    def weight_step(self, level: Level) -> State:
        """Retrain from the last weights."""
        task, state, lam = self.task, self.state, level.value
        known = self._solved and task.relabeled(state, self._solved, self.labels, lam)
        self._solved = self.labels, lam
        if known:
            value, gradient, n_active = known
            measure(state, value, gradient, n_active, task.reg, level.tol)
            if state.converged and level.tol > CHECKED_TOL:
                # nothing that would need the problem itself
                state.n_iter = state.cg_steps = 0
                return state
        problem = task.semisupervised(self.labels, ~self.labels, lam)
        if self._creeps():
            self._answering = self._answered(problem, known, level)
            if self._answering:
                return state
        start = problem.following(state.scores, *known) if known else None
        return minimize(problem, state, tol=level.tol, start=start)

    def _creeps(self) -> bool:
        """Tell whether labels follow the weights, and weights the labels, only slowly."""
        counts = self._switched
        return self._answering and len(counts) >= 3 and counts[-1] > CREEPING * counts[-2]

    def _answered(
        self, problem: BinaryProblem, known: tuple[float, Floats, int] | None, level: Level
    ) -> bool:
        """Take a step that knows how the labels will answer, if it lowers the objective.

        How many labels a step will switch depends on how many scores are close to the
        threshold: their density is estimated at a bandwidth, which is the temperature of
        soft labels.
        """
        task, state, lam = self.task, self.state, level.value
        curvature = np.empty(len(state.scores))
        if known:
            here = problem.following(state.scores, *known, curvature)
        else:
            slopes = np.empty_like(curvature)
            here = problem.linearize_into(slopes, curvature, state.w, state.scores)
            del slopes
            measure(state, here.value, here.gradient, here.n_active, task.reg, level.tol)
            if state.converged:
                return False
        gaps = task.label_gaps(state.scores, lam)
        # Scott's rule, for the standard deviation of a logistic distribution
        temperature = float(gaps.std()) * len(gaps) ** -0.2 * np.sqrt(3.0) / np.pi
        del gaps
        if not temperature > 0.0:
            return False
        *beliefs, _ = task.soft_labels(state.scores, lam, temperature)
        at = (state.scores, lam, temperature)
        here = task.answering(problem, here, curvature, beliefs, *at)
        del beliefs
        step, _, cg_steps = newton_step(problem, here, state, level.tol)
        slope = dot(here.gradient, step)
        del here, curvature
        before = state.objective
        add(state.w, 1.0, step)
        step_scores = task.scores(step)
        add(state.scores, 1.0, step_scores)
        objective = task.balanced_objective(state.w, state.scores, lam)
        if objective < before + LEAST_GAIN * slope:
            state.n_iter, state.cg_steps, state.objective = 1, cg_steps, objective
            self._solved = state.gradient = None
            return True
        add(state.w, -1.0, step)
        add(state.scores, -1.0, step_scores)
        return False

    def objective(self, lam: float) -> float:
        """Give J at the weights and labels."""
        return self.task.objective(self.state.w, self.state.scores, lam, self.labels)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Switch pairs; settled when no switch lowers the objective."""
        task, scores, switched = self.task, self.state.scores, 0
        if self.state.n_iter > 0 or not self._best:
            before = self.labels
            self.labels, switched = switch_pairs(scores[task.unlabeled], before, self.max_pairs)
            self._imbalance = task.imbalance(scores)
            self._best = self.max_pairs is None or switched < self.max_pairs
        objective = self.state.objective
        if switched:
            objective = task.objective(self.state.w, scores, level.value, self.labels)
        self._switched.append(switched)
        facts = {"objective": objective, "switched": switched, "imbalance": self._imbalance}
        # after a step for other labels than these the weights are not theirs
        return switched == 0 and self._solved is not None, facts
