r"""A problem of m classes with unlabelled rows, as the methods see it.

The objective, with l labelled and u unlabelled rows, is ::

    J(W, y') = reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + lam/u sum_j xi(s_j, y'_j)

where the number of rows of every class among the y'_j is fixed. It is the sibling of
`BinaryTask` for one score a class.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Design, Floats, Index, RowList
from semisvm.estimators.creeping import Creeping
from semisvm.hierarchy import Hierarchy
from semisvm.homotopy import Level, Recorder
from semisvm.labels import (
    LabelStep,
    entropic,
    exact,
    greedy,
    mean_entropy_of,
    mean_kl_of,
    switching,
)
from semisvm.labels.result import chosen_cost
from semisvm.multi_losses import MultiLoss, SmoothMultiLoss
from semisvm.vectors import dot
from semisvm.weights import MultiProblem, State, minimize
from semisvm.weights.crammer_singer import MarginProblem, MarginState, minimize_margin
from semisvm.weights.stiff_rows import StiffRows, stiff_rows

# Dual ascent converges linearly: beyond this the margin loss is not worth the passes.
TIGHTEST_MARGIN_TOL = 1e-4
# A pass of dual ascent costs a fraction of a Newton step, and more of them are needed.
PASSES_PER_STEP = 100

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class MultiTask:
    """Data and fixed parameters of one fit.

    Attributes
    ----------
    design : Design
    labeled, unlabeled : arrays of row indices
    codes : int array of shape (l,)
        Classes of the labelled rows.
    weight : array of shape (l,)
        Weights of the labelled rows, summing to one.
    counts : int array of shape (m,)
        Unlabelled rows of every class.
    loss : MultiLoss
    hierarchy : Hierarchy
    reg : float
    recorder : Recorder
    """

    design: Design
    labeled: Index
    unlabeled: Index
    codes: Codes
    weight: Floats
    counts: NDArray[np.intp]
    loss: MultiLoss
    hierarchy: Hierarchy
    reg: float
    recorder: Recorder

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights * self.hierarchy.n_nodes

    def solve(
        self,
        costs: Floats,
        state: State,
        tol: float,
        rows: Index | None = None,
        *,
        max_iter: int = 200,
        **options: Any,
    ) -> State:
        """Fit the weights to costs (n_rows, m) of all rows, or of a list, from a state."""
        if isinstance(self.loss, SmoothMultiLoss):
            problem = self.problem(costs, rows)
            return minimize(problem, state, tol=tol, max_iter=max_iter, **options)
        costs = self.loss.scale * costs
        margin = MarginProblem(self.design, self._listed(rows), costs, self.hierarchy, self.reg)
        if not isinstance(state, MarginState):
            state = MarginState.start(margin, state.w)
        passes = PASSES_PER_STEP * max_iter
        tol = max(tol, TIGHTEST_MARGIN_TOL)
        return minimize_margin(margin, state, tol=tol, max_iter=passes, **options)

    def problem(self, costs: Floats, rows: Index | None = None) -> MultiProblem:
        """Give the weight step of a smooth loss for costs (n_rows, m)."""
        assert isinstance(self.loss, SmoothMultiLoss)
        return MultiProblem(
            self.design,
            self._listed(rows),
            self.loss,
            costs,
            self.hierarchy,
            self.reg,
            self.stiff,
        )

    @cached_property
    def stiff(self) -> StiffRows | None:
        """The labelled rows, if they are so few that each weighs much."""
        return stiff_rows(self.design, self.labeled, self.weight, self.reg)

    def _listed(self, rows: Index | None) -> RowList:
        return self.design.all_rows if rows is None else self.design.rows(rows)

    def labeled_costs(self) -> Floats:
        """Give the costs of the given labels."""
        costs = np.zeros((self.design.n_rows, len(self.counts)))
        costs[self.labeled, self.codes] = self.weight
        return costs

    def hard_costs(self, labels: Codes, lam: float) -> Floats:
        """Give the costs of hard labels of the unlabelled rows, and of the given ones."""
        costs = self.labeled_costs()
        costs[self.unlabeled, labels] = lam / len(self.unlabeled)
        return costs

    def soft_costs(self, beliefs: Floats, lam: float) -> Floats:
        """Give the costs of beliefs (u, m) of the unlabelled rows, and of the given labels."""
        costs = self.labeled_costs()
        costs[self.unlabeled] = beliefs * (lam / len(self.unlabeled))
        return costs

    def start(self, w: Floats, tol: float, **options: Any) -> State:
        """Fit the labelled rows from ``w``; only their scores are valid afterwards."""
        state = State(w, self.scores(w, self.labeled))
        return self.solve(self.labeled_costs(), state, tol, self.labeled, **options)

    def scores(self, w: Floats, rows: Index | None = None) -> Floats:
        """Give the class scores of all rows, or of a list, and zeros elsewhere."""
        nodes = np.zeros((self.design.n_rows, self.hierarchy.n_nodes))
        W = w.reshape(self.design.n_weights, self.hierarchy.n_nodes)
        return self.hierarchy.class_scores(self.design.scores_many(W, self._listed(rows), nodes))

    def score_all(self, state: State) -> None:
        """Compute the scores of all rows afresh."""
        state.scores = self.scores(state.w)

    def label_costs(self, scores: Floats) -> Floats:
        """Give xi(s_j, y) for the unlabelled rows."""
        return self.loss.costs(scores[self.unlabeled])

    def objective(self, state: State, lam: float, label_cost: float) -> float:
        """Give J where the labels of the unlabelled rows cost so much in all."""
        given = self.loss.costs(state.scores[self.labeled])
        fit = dot(self.weight, given[np.arange(len(self.codes)), self.codes])
        rest = lam / len(self.unlabeled) * label_cost
        return 0.5 * self.reg * dot(state.w, state.w) + fit + rest

    def imbalance(self, scores: Floats) -> float:
        """Give by how many rows predicted and wanted counts differ, as a share.

        Of two classes it is the share of the rarer one, as in `BinaryTask`; of more that of
        all unlabelled rows, since the rarest of many may have none.
        """
        found = np.bincount(scores[self.unlabeled].argmax(axis=1), minlength=len(self.counts))
        whole = self.counts.min() if len(self.counts) == 2 else len(self.unlabeled)
        return float(np.abs(found - self.counts).sum()) / (2 * max(int(whole), 1))


def _exact(costs: Floats, counts: NDArray[np.intp], last: LabelStep) -> LabelStep:
    return exact(costs, counts, last.prices)


def _switching(
    costs: Floats, counts: NDArray[np.intp], last: LabelStep, max_pairs: int | None = None
) -> LabelStep:
    return switching(costs, counts, last.labels, max_pairs=max_pairs)


LABEL_STEPS = {"exact": _exact, "switching": _switching}


class Assigning:
    """Hard labels: retrain, and assign the unlabelled rows anew under the counts."""

    def __init__(
        self, task: MultiTask, state: State, label_step: str, max_pairs: int | None = None
    ) -> None:
        self.task = task
        self.state = state
        self._choose = choose = LABEL_STEPS[label_step]
        if max_pairs is not None:
            self._choose = partial(_switching, max_pairs=max_pairs)
        first = greedy(state.scores[task.unlabeled], task.counts)
        self.step = choose(task.label_costs(state.scores), task.counts, first)
        self._lowest = np.inf

    def enter(self, level: Level) -> None:
        """Compute the scores afresh before the level that gives the answer."""
        self._lowest = np.inf
        if level.last:
            self.task.score_all(self.state)

    def weight_step(self, level: Level) -> State:
        """Retrain from the last weights."""
        costs = self.task.hard_costs(self.step.labels, level.value)
        self.state = self.task.solve(costs, self.state, level.tol)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Assign labels; settled when no assignment is cheaper."""
        task, scores = self.task, self.state.scores
        costs = task.label_costs(scores)
        before = chosen_cost(costs, self.step.labels)
        new = self._choose(costs, task.counts, self.step)
        # labels of equal cost are left alone, so ties cannot cycle
        gained = new.cost < before - 1e-12 * abs(before)
        changed = int(np.count_nonzero(new.labels != self.step.labels)) if gained else 0
        if gained:
            self.step = new
        objective = task.objective(self.state, level.value, min(before, new.cost))
        # weights that are only nearly optimal may send labels round in circles
        stalled = objective >= self._lowest
        self._lowest = min(objective, self._lowest)
        facts = {
            "objective": objective,
            "switched": changed,
            "imbalance": task.imbalance(scores),
        }
        return changed == 0 or stalled, facts


class Cooling:
    """Soft labels at a temperature, and the best point of the path."""

    def __init__(self, task: MultiTask, state: State, lam: float, entropy_tol: float) -> None:
        self.task = task
        self.state = state
        self.lam = lam
        self.entropy_tol = entropy_tol
        self.entropy = np.inf
        self.temperature = np.inf
        self.best = state
        self._lowest = np.inf
        self._prices: Floats | None = None
        self._hard_prices: Floats | None = None
        self._creeping = Creeping()
        self._before = state.w

    def beliefs(self, scores: Floats) -> Floats:
        """Give the beliefs (u, m) at the temperature of the level."""
        # the temperature is that of the whole loss
        costs = self.lam / self.task.loss.scale * self.task.label_costs(scores)
        step = entropic(costs, self.task.counts, self.temperature, self._prices)
        self._prices = step.prices
        assert step.beliefs is not None
        return step.beliefs

    def cold(self) -> bool:
        """Tell whether the labels have hardened."""
        return self.entropy < self.entropy_tol

    def enter(self, level: Level) -> None:
        """Let the beliefs feel the new temperature."""
        self.temperature = level.value
        self.p = self.beliefs(self.state.scores)
        self._creeping.forget()

    def weight_step(self, level: Level) -> State:
        """Train on all labels of every row, weighted by the beliefs."""
        self._before = self.state.w.copy()
        costs = self.task.soft_costs(self.p, self.lam)
        self.state = self.task.solve(costs, self.state, level.tol)
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Renew the beliefs; settled when they hardly move."""
        task, state, divergence = self.task, self.state, 0.0
        if state.n_iter > 0:
            p = self.beliefs(state.scores)
            divergence = mean_kl_of(p, self.p)
            self.p = p
        self.entropy = mean_entropy_of(self.p)
        hard = exact(task.label_costs(state.scores), task.counts, self._hard_prices)
        self._hard_prices = hard.prices
        objective = task.objective(state, self.lam, hard.cost)
        if objective < self._lowest:
            self._lowest, self.best = objective, state.copy()
        facts = {
            "objective": objective,
            "entropy": self.entropy,
            "divergence": divergence,
            "imbalance": task.imbalance(state.scores),
        }
        # beliefs cannot settle on weights that are not found: the next level may be easier
        settled = divergence < self.entropy_tol or not state.converged
        # weights that are made of duals cannot be moved without them
        if not settled and not isinstance(state, MarginState):
            move = state.w - self._before
            ahead = self._creeping.ahead(move)
            if ahead:
                self._skip(ahead * move)
        return settled, facts

    def _skip(self, step: Floats) -> None:
        """Go ahead by a step if that lowers the free energy."""
        state, p, prices = self.state, self.p, self._prices
        here = self._free_energy(state, p)
        trial = State(state.w + step, np.empty(0))
        self.task.score_all(trial)
        self.p = self.beliefs(trial.scores)
        if self._free_energy(trial, self.p) < here:
            state.w, state.scores = trial.w, trial.scores
        else:
            self.p, self._prices = p, prices

    def _free_energy(self, state: State, p: Floats) -> float:
        """Give J at beliefs (u, m), less the entropy."""
        task = self.task
        cost = dot(p.ravel(), task.label_costs(state.scores).ravel())
        entropy = self.temperature * task.loss.scale * mean_entropy_of(p)
        return task.objective(state, self.lam, cost) - entropy
