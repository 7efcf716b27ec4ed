"""The steps of annealing for two classes, and the start of its path as a rival of its end."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.switching import Switching
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Level
from semisvm.labels import mean_entropy, mean_kl
from semisvm.losses import Signs
from semisvm.vectors import add, dot
from semisvm.weights import BinaryProblem, State
from semisvm.weights.free_energy import LEAST_GAIN, change_beliefs
from semisvm.weights.newton import judge, measure, newton_step

# Points of the path whose share of positive outputs misses the prior by more than this
# share of the rarer class are not returned where there is a better balanced one.
BALANCED = 0.2
# The start is given up when it would have to gain more than so many times its last gain to
# come below the end of the path; each round gains about 0.7 of the one before.
HOPE = 2.0
# Where a step does not lower the free energy enough a shorter one is tried, so many times.
MAX_TRIALS = 20
# A step is the last one of its level if the free energy fell as predicted up to this share.
TRUST = 0.1
NOTHING = (np.empty(0), np.empty(0))


class Annealing:
    """The method's two steps at a temperature, and the best point of the path.

    Weights and labels in turns would creep where labels are about to decide. Here a weight
    step takes into account how the beliefs will answer: it is a Newton step down the free
    energy, in which they have been eliminated.
    """

    def __init__(self, task: BinaryTask, state: State, lam: float, entropy_tol: float) -> None:
        self.task = task
        self.lam = lam
        self.entropy_tol = entropy_tol
        self.state = state
        # it is that of the labelled rows alone
        state.gradient = None
        self.p, self.q = self._before = NOTHING
        self.price: float | None = None
        self.energy: float | None = None
        self.entropy = np.inf
        self.temperature = np.inf
        self.best = state.w.copy()
        self._best_key = (np.inf, np.inf)
        self.facts: dict[str, float] = {}
        self._as_predicted = False

    def beliefs(self, scores: Floats) -> Floats:
        """Give the beliefs of scores in the second class, at the last temperature."""
        return self.task.soft_labels(scores, self.lam, self.temperature, self.price)[0]

    def cold(self) -> bool:
        """Tell whether the labels have hardened."""
        return self.entropy < self.entropy_tol

    def enter(self, level: Level) -> None:
        """Let the beliefs feel the new temperature."""
        task, state, before = self.task, self.state, self.p
        self.temperature = level.value
        self.energy = None
        self._soften()
        # the weights have not moved since: where few beliefs have, the gradient follows
        if state.gradient is not None and not change_beliefs(
            state.gradient,
            before,
            self.p,
            design=task.design,
            loss=task.loss,
            scores=state.scores,
            unlabeled=task.unlabeled,
            lam=self.lam,
        ):
            state.gradient = None

    def _soften(self) -> None:
        """Renew the beliefs and their price."""
        self.p, self.q, self.price = self.task.soft_labels(
            self.state.scores, self.lam, self.temperature, self.price
        )

    def _energy(self) -> float:
        """Give the free energy of weights and beliefs."""
        assert self.price is not None
        soft_labels = self.p, self.q, self.price
        w, scores = self.state.w, self.state.scores
        return self.task.free_energy(w, scores, self.lam, self.temperature, soft_labels)

    def weight_step(self, level: Level) -> State:
        """Take a Newton step down the free energy, unless its gradient is small enough."""
        task, state = self.task, self.state
        state.n_iter = state.cg_steps = 0
        if state.gradient is not None:
            judge(state, state.gradient, task.reg, level.tol)
            if state.converged:
                return state
        if self.energy is None:
            self.energy = self._energy()
        problem = task.semisupervised(self.p, self.q, self.lam)
        # the costs of the rows are the beliefs; both at a time would take memory
        del self.p, self.q
        step = self._step(problem, level.tol)
        if step is None:
            self.p, self.q = task.beliefs_of(problem, self.lam)
        else:
            self._descend(*step)
            self._before = task.beliefs_of(problem, self.lam)
        return state

    def _step(self, problem: BinaryProblem, tol: float) -> tuple[Floats, float, bool] | None:
        """Give a step, the slope along it and whether it should end the level.

        None if the gradient is small enough.
        """
        task, state = self.task, self.state
        slopes, curvature = np.empty(len(state.scores)), np.empty(len(state.scores))
        here = problem.linearize_into(slopes, curvature, state.w, state.scores)
        del slopes
        measure(state, here.value, here.gradient, here.n_active, task.reg, tol)
        if state.converged:
            return None
        beliefs = task.beliefs_of(problem, self.lam)
        at = (state.scores, self.lam, self.temperature)
        here = task.answering(problem, here, curvature, beliefs, *at)
        del beliefs
        step, rest, state.cg_steps = newton_step(problem, here, state, tol)
        enough = dot(rest, rest) <= 2.0 * task.reg * tol * state.objective
        if state.cg_steps == 0:
            # the free energy curves down at once: hold the beliefs
            here = problem.linearize(state.w, state.scores)
            step, _, state.cg_steps = newton_step(problem, here, state, tol)
            enough = False
        state.gradient = None
        return step, dot(here.gradient, step), enough

    def _descend(self, step: Floats, slope: float, enough: bool) -> None:
        """Go along a step as far as the free energy falls, with new beliefs."""
        state, before = self.state, self.energy
        assert before is not None
        scores = self.task.scores(step)
        t, ahead = 0.0, 1.0
        for _ in range(MAX_TRIALS):
            add(state.w, ahead - t, step)
            add(state.scores, ahead - t, scores)
            t = ahead
            self._soften()
            self.energy = self._energy()
            if self.energy <= before + LEAST_GAIN * t * slope:
                state.n_iter = 1
                # half of the slope is what a parabola gains
                off = abs(self.energy - before - 0.5 * slope)
                self._as_predicted = enough and t == 1.0 and off <= TRUST * 0.5 * abs(slope)
                return
            # where a parabola through the values has its minimum
            bend = self.energy - before - t * slope
            part = -0.5 * t * slope / bend if 0.0 < bend < np.inf else 0.0
            ahead = t * min(max(part, 0.1), 0.5)
            del self.p, self.q
        add(state.w, -t, step)
        add(state.scores, -t, scores)
        self._soften()
        self.energy = before

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Compare the beliefs with those before the step; settled when they hardly moved."""
        task, state, divergence = self.task, self.state, 0.0
        if state.n_iter > 0:
            divergence = mean_kl(self.p, self.q, *self._before, task.design.workers)
        self._before = NOTHING
        if state.n_iter > 0 or not self.facts:
            # weights that did not move are the same point of the path
            objective = task.balanced_objective(state.w, state.scores, self.lam)
            self.facts = {"objective": objective, "imbalance": task.imbalance(state.scores)}
            self._remember(**self.facts)
        facts = {**self.facts, "divergence": divergence}
        if self.energy is not None:
            facts["free_energy"] = self.energy
        settled = divergence < self.entropy_tol or self._as_predicted
        self._as_predicted = False
        if settled:
            # only the end of a level asks for it, and logarithms are slow
            self.entropy = facts["entropy"] = mean_entropy(self.p, self.q, task.design.workers)
        return settled, facts

    def let_go(self) -> None:
        """Keep nothing of the path but its best point and what beliefs are computed from."""
        self.p, self.q = NOTHING
        self.state = State(np.empty(0), np.empty(0))

    def _remember(self, objective: float, imbalance: float) -> None:
        """Keep the lowest objective among the balanced points, or the most balanced one."""
        balanced = imbalance <= BALANCED or self.task.is_balanced(self.state.scores, BALANCED)
        key = (0.0 if balanced else imbalance, objective)
        if key < self._best_key:
            self._best_key = key
            self.best[:] = self.state.w


class Rival(Switching):
    """Switching that is given up when it has no hope to come below an objective."""

    def __init__(self, task: BinaryTask, state: State, labels: Signs, value: float) -> None:
        super().__init__(task, state, labels, None)
        self._value = value
        self._here = np.inf

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Switch pairs; settled when no switch lowers the objective enough."""
        settled, facts = super().label_step(level)
        before, self._here = self._here, facts["objective"]
        hopeless = self._here - HOPE * (before - self._here) > self._value
        return settled or hopeless, facts


def labeled_by(task: BinaryTask, w: Floats) -> tuple[State, Signs]:
    """Give the scores of weights, and the labels that suit them best."""
    state = State(w, np.empty(0))
    task.score_all(state)
    return state, task.best_labels(state.scores)
