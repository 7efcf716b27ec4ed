"""The steps of annealing for two classes, and the start of its path as a rival of its end."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.creeping import Creeping
from semisvm.estimators.task import BinaryTask
from semisvm.estimators.transductive import Switching
from semisvm.homotopy import Level
from semisvm.labels import binary_beliefs, mean_entropy, mean_kl
from semisvm.losses import Signs
from semisvm.weights import State, minimize

# Points of the path whose share of positive outputs misses the prior by more than this
# share of the rarer class are not returned where there is a better balanced one.
BALANCED = 0.2
# The start is given up when it would have to gain more than so many times its last gain to
# come below the end of the path; each round gains about 0.7 of the one before.
HOPE = 2.0
# Error of the mean belief: far below one row, and a pass of exponentials cheaper than less.
BELIEF_TOL = 1e-10


class Annealing:
    """The method's two steps at a temperature, and the best point of the path."""

    def __init__(self, task: BinaryTask, state: State, lam: float, entropy_tol: float) -> None:
        self.task = task
        self.lam = lam
        self.entropy_tol = entropy_tol
        self.state = state
        self.price: float | None = None
        self.entropy = np.inf
        self.temperature = np.inf
        self.best = state.w.copy()
        self._best_key = (np.inf, np.inf)
        self.facts: dict[str, float] = {}
        self._creeping = Creeping()
        self._before = state.w

    def beliefs(self, scores: Floats, temperature: float) -> tuple[Floats, Floats]:
        """Give p and 1 - p of the unlabelled rows at a temperature."""
        p, q, self.price = binary_beliefs(
            self.task.label_gaps(scores, self.lam),
            temperature,
            self.task.positive_share,
            price=self.price,
            tol=BELIEF_TOL,
            workers=self.task.design.workers,
        )
        return p, q

    def cold(self) -> bool:
        """Tell whether the labels have hardened."""
        return self.entropy < self.entropy_tol

    def enter(self, level: Level) -> None:
        """Let the beliefs feel the new temperature."""
        self.temperature = level.value
        self.p, self.q = self.beliefs(self.state.scores, level.value)
        self._creeping.forget()

    def weight_step(self, level: Level) -> State:
        """Train on both labels of every row, weighted by the beliefs."""
        self._before = self.state.w.copy()
        problem = self.task.semisupervised(self.p, self.q, self.lam)
        # the costs of the rows are the beliefs; both at a time would take memory
        del self.p, self.q
        minimize(problem, self.state, tol=level.tol)
        self.p, self.q = self.task.beliefs_of(problem, self.lam)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Renew the beliefs; settled when they hardly move."""
        scores, divergence = self.state.scores, 0.0
        if self.state.n_iter > 0:
            p, q = self.beliefs(scores, level.value)
            divergence = mean_kl(p, q, self.p, self.q, self.task.design.workers)
            self.p, self.q = p, q
        if self.state.n_iter > 0 or not self.facts:
            # weights that did not move are the same point of the path
            objective = self.task.balanced_objective(self.state.w, scores, self.lam)
            self.facts = {"objective": objective, "imbalance": self.task.imbalance(scores)}
            self._remember(**self.facts)
        facts = {**self.facts, "divergence": divergence}
        settled = divergence < self.entropy_tol
        if not settled:
            move = self.state.w - self._before
            ahead = self._creeping.ahead(move)
            if ahead:
                self._skip(ahead * move, level.value)
        if settled:
            # only the end of a level asks for it, and logarithms are slow
            self.entropy = facts["entropy"] = mean_entropy(self.p, self.q, self.task.design.workers)
        return settled, facts

    def _skip(self, step: Floats, temperature: float) -> None:
        """Go ahead by a step if that lowers the free energy."""
        task, state, price = self.task, self.state, self.price
        here = task.free_energy(state.w, state.scores, self.lam, self.p, self.q, temperature)
        trial = State(state.w + step, np.empty(0))
        task.score_all(trial)
        # beliefs are cheaper to compute again than to keep
        del self.p, self.q
        self.p, self.q = self.beliefs(trial.scores, temperature)
        there = task.free_energy(trial.w, trial.scores, self.lam, self.p, self.q, temperature)
        if there < here:
            state.w, state.scores = trial.w, trial.scores
        else:
            del self.p, self.q
            self.price = price
            self.p, self.q = self.beliefs(state.scores, temperature)

    def let_go(self) -> None:
        """Keep nothing of the path but its best point and what beliefs are computed from."""
        self.p = self.q = self._before = np.empty(0)
        self.state = State(np.empty(0), np.empty(0))
        self._creeping.forget()

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
