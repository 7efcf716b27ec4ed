r"""A two-class problem with unlabelled rows, as the methods see it.

The objective of the linear family, with l labelled and u unlabelled rows, is ::

    J(w, y') = reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i) + lam/(2u) sum_j l(y'_j o_j)

where a fixed number of the y'_j is positive. Everything that depends on which rows are
labelled lives here; solvers see costs, label steps see scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from semisvm.designs import Design, Floats, Index
from semisvm.designs.workers import ROW_WORK
from semisvm.homotopy import Recorder
from semisvm.labels import binary_beliefs, mean_soft_cost, top_labels
from semisvm.losses import Loss, Signs
from semisvm.vectors import add, dot, gather, scatter
from semisvm.weights import BinaryProblem, Linearization, State, minimize
from semisvm.weights.free_energy import soften
from semisvm.weights.problems import MAX_CHANGED
from semisvm.weights.stiff_rows import StiffRows, stiff_rows

# Error of the mean belief: far below one row, and a pass of exponentials cheaper than less.
BELIEF_TOL = 1e-10


@dataclass(frozen=True)
class BinaryTask:
    """Data and fixed parameters of one fit.

    Attributes
    ----------
    design : Design
    labeled, unlabeled : arrays of row indices
    positive : bool array of shape (l,)
        Whether each labelled row has the second class.
    weight : array of shape (l,)
        Weights of the labelled rows, summing to one.
    n_positive : int
        Unlabelled rows to be labelled positive.
    loss : Loss
    reg : float
    recorder : Recorder
    """

    design: Design
    labeled: Index
    unlabeled: Index
    positive: Signs
    weight: Floats
    n_positive: int
    loss: Loss
    reg: float
    recorder: Recorder

    @cached_property
    def stiff(self) -> StiffRows | None:
        """The labelled rows, if they are so few that each weighs much."""
        return stiff_rows(self.design, self.labeled, self.weight, self.reg)

    @property
    def positive_share(self) -> float:
        """Share r of positives that the labels of the unlabelled rows have."""
        return self.n_positive / len(self.unlabeled)

    @property
    def rarer_share(self) -> float:
        """Share of the rarer class that the labels of the unlabelled rows have."""
        return min(self.positive_share, 1.0 - self.positive_share)

    def supervised(self) -> BinaryProblem:
        """Give the weight step of the labelled rows alone."""
        a, b = np.zeros(self.design.n_rows), np.zeros(self.design.n_rows)
        self._set_labeled_costs(a, b)
        rows = self.design.rows(self.labeled)
        return BinaryProblem(self.design, rows, self.loss, a, b, self.reg, self.stiff)

    def semisupervised(self, p: Floats | Signs, q: Floats | Signs, lam: float) -> BinaryProblem:
        """Give the weight step for labels or beliefs p, q = 1 - p of the unlabelled rows."""
        a, b = np.empty(self.design.n_rows), np.empty(self.design.n_rows)

        each = lam / len(self.unlabeled)
        # compiled code computes with numbers, but branches on truth values
        u, v = (x.view(np.uint8) if x.dtype == np.bool_ else x for x in (p, q))

        def fill(start: int, stop: int) -> None:
            scatter(u, v, each, self.unlabeled, a, b, start, stop)

        self._by_block(fill)
        self._set_labeled_costs(a, b)
        return BinaryProblem(
            self.design, self.design.all_rows, self.loss, a, b, self.reg, self.stiff
        )

    def beliefs_of(self, problem: BinaryProblem, lam: float) -> tuple[Floats, Floats]:
        """Give the beliefs that a weight step was made of."""
        p, q = np.empty(len(self.unlabeled)), np.empty(len(self.unlabeled))
        a, b, all_of_it = problem.positive, problem.negative, len(self.unlabeled) / lam

        def fill(start: int, stop: int) -> None:
            gather(a, b, all_of_it, self.unlabeled, p, q, start, stop)

        self._by_block(fill)
        return p, q

    def _by_block(self, part: Callable[[int, int], Any]) -> list[Any]:
        """Let threads share a pass over the unlabelled rows."""
        return self.design.workers.share(part, len(self.unlabeled), ROW_WORK)

    def _set_labeled_costs(self, a: Floats, b: Floats) -> None:
        a[self.labeled] = np.where(self.positive, self.weight, 0.0)
        b[self.labeled] = np.where(self.positive, 0.0, self.weight)

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights

    def start(self, w: Floats, tol: float, **options: Any) -> State:
        """Fit the labelled rows from ``w``; only their scores are valid afterwards."""
        problem = self.supervised()
        return minimize(problem, State.at(w, problem), tol=tol, **options)

    def score_all(self, state: State) -> None:
        """Compute the scores of all rows afresh."""
        state.scores = self.scores(state.w)

    def scores(self, w: Floats) -> Floats:
        """Give the scores of all rows."""
        return self.design.scores(w, self.design.all_rows, np.empty(self.design.n_rows))

    def objective(self, w: Floats, scores: Floats, lam: float, labels: Signs) -> float:
        """Give J at hard labels of the unlabelled rows."""
        signed = np.where(self.positive, 1.0, -1.0) * scores[self.labeled]
        fit = 0.5 * dot(self.weight, self.loss.values(signed))
        rest = sum(self._by_block(partial(self.loss.total, scores, self.unlabeled, labels)))
        return 0.5 * self.reg * dot(w, w) + fit + 0.5 * lam * rest / len(labels)

    def relabeled(
        self, state: State, before: tuple[Signs, float], labels: Signs, lam: float
    ) -> tuple[float, Floats, int] | None:
        """Let what is known of a weight step follow to other labels of a few rows.

        Parameters
        ----------
        state : State
            Weights and scores, with the objective, the gradient and the number of active
            rows that they have with the labels before.
        before : tuple of labels and lam
        labels : bool array of shape (u,)
        lam : float

        Returns
        -------
        value, gradient, n_active : float, array of shape (n_weights,), int
            As they are in a `Linearization`; or None where so many labels are others that
            it is better computed afresh.
        """
        assert state.gradient is not None
        old, ratio = before[0], lam / before[1]
        switched = np.flatnonzero(labels != old)
        # what is not of the unlabelled rows does not change with their weight
        given = self.labeled if ratio != 1.0 else self.labeled[:0]
        index = np.concatenate([given, self.unlabeled[switched]])
        rows = self.design.rows(np.sort(index))
        if rows.work > MAX_CHANGED * self.design.all_rows.work:
            return None
        scores, each = state.scores[index[len(given) :]], lam / len(labels)
        now, then = (self.loss.at_labels(scores, x[switched], each) for x in (labels, old))
        n = len(given)
        fit = self.loss.at_labels(state.scores[given], self.positive[:n], self.weight[:n])
        missing = np.empty(len(state.scores))
        missing[index] = np.concatenate([(1.0 - ratio) * fit[1], now[1] - then[1]])
        gradient = self.design.pull_back(missing, rows, np.empty(self.n_weights))
        add(gradient, ratio, state.gradient)
        add(gradient, (1.0 - ratio) * self.reg, state.w)
        value = ratio * (state.objective - 0.5 * self.reg * dot(state.w, state.w))
        value += (1.0 - ratio) * fit[0] + now[0] - then[0]
        return value, gradient, state.n_active + now[2] - then[2]

    def soft_labels(
        self, scores: Floats, lam: float, temperature: float, price: float | None = None
    ) -> tuple[Floats, Floats, float]:
        """Minimise J, less the entropy at a temperature, over beliefs of the unlabelled rows.

        Parameters
        ----------
        scores : array of shape (n_rows,)
        lam, temperature : float
        price : float, optional
            A guess of the one below.

        Returns
        -------
        p, q : arrays of shape (u,)
            Beliefs in the positive and the negative label.
        price : float
            Of a positive label, which keeps their number.
        """
        return binary_beliefs(
            self.label_gaps(scores, lam),
            temperature,
            self.positive_share,
            price=price,
            tol=BELIEF_TOL,
            workers=self.design.workers,
        )

    def answering(
        self,
        problem: BinaryProblem,
        here: Linearization,
        curvature: Floats,
        beliefs: Sequence[Floats],
        scores: Floats,
        lam: float,
        temperature: float,
    ) -> Linearization:
        """Let the labels answer to a step, as `free_energy.soften` does.

        The curvature, and the first of the beliefs p, q, are changed.
        """
        p, q = beliefs
        p *= q
        return soften(
            here,
            curvature,
            p,
            problem=problem,
            scores=scores,
            unlabeled=self.unlabeled,
            lam=lam,
            temperature=temperature,
        )

    def free_energy(
        self,
        w: Floats,
        scores: Floats,
        lam: float,
        temperature: float,
        soft_labels: tuple[Floats, Floats, float],
    ) -> float:
        """Give J, less the entropy at a temperature, where soft labels minimise it."""
        p, q, price = soft_labels
        gaps = self.label_gaps(scores, lam)
        cost = mean_soft_cost(gaps, price, temperature, p, q, self.design.workers)
        negative = np.zeros(len(p), dtype=np.bool_)
        return self.objective(w, scores, lam, negative) + 0.5 * cost

    def label_gaps(self, scores: Floats, lam: float) -> Floats:
        """Give how much more the positive label of each unlabelled row costs."""
        gaps = np.empty(len(self.unlabeled))

        fill = partial(self.loss.gaps, scores, self.unlabeled, lam, gaps)
        self._by_block(fill)
        return gaps

    def balanced_objective(self, w: Floats, scores: Floats, lam: float) -> float:
        """Give the smallest J over labels with the right count: what a method minimises."""
        return self.objective(w, scores, lam, self.best_labels(scores))

    def best_labels(self, scores: Floats) -> Signs:
        """Label the largest scores of the unlabelled rows positive, as many as prescribed."""
        return top_labels(scores[self.unlabeled], self.n_positive)

    def excess(self, scores: Floats) -> int:
        """Count how many more outputs of unlabelled rows are positive than prescribed."""
        return int(np.count_nonzero(scores[self.unlabeled] > 0.0)) - self.n_positive

    def imbalance(self, scores: Floats) -> float:
        """Give the excess or lack of positive outputs in units of the rarer class."""
        return self._relative(self.excess(scores))

    def is_balanced(self, scores: Floats, tol: float) -> bool:
        """Tell whether the outputs keep the class prior up to ``tol``, or one row."""
        excess = self.excess(scores)
        return abs(excess) <= 1 or self._relative(excess) <= tol

    def _relative(self, excess: int) -> float:
        rarer = min(self.n_positive, len(self.unlabeled) - self.n_positive)
        return abs(excess) / max(rarer, 1)

    def balancing_shift(self, scores: Floats, tol: float) -> float:
        """Give the smallest change of the intercept that makes the outputs balanced."""
        if self.is_balanced(scores, tol):
            return 0.0
        u, excess = len(self.unlabeled), self.excess(scores)
        slack = max(1, int(tol * min(self.n_positive, u - self.n_positive)))
        wanted = self.n_positive + int(np.sign(excess)) * slack
        outputs = np.sort(scores[self.unlabeled])[::-1]
        return -0.5 * float(outputs[wanted - 1] + outputs[wanted])
