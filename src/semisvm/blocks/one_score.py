r"""Rows with one score per row, and all vectors over them.

A block answers with scalars, vectors over columns, and small tables. Only the result of a fit
leaves it as a vector over rows. Each of its vectors can be computed again from the rows and
what the driver holds: scores from weights, labels from the weights at which they were chosen
and a threshold, beliefs from weights, a price and a temperature.

Soft labels p, q = 1 - p minimise, under a fixed mean of p and at a temperature T, ::

    lam/(2u) sum_j [ p_j l(o_j) + q_j l(-o_j) ] + T/(2u) sum_j [ p_j log p_j + q_j log q_j ]

The minimum is the free energy, a function of the weights alone. Its gradient is that of the
weight step for the current beliefs. Its curvature, the reduced Hessian, is smaller: as a
score moves, so does the belief, and so does the price nu that keeps the mean. With g_j' the
derivative of lam (l(o_j) - l(-o_j)) by o_j and r_j = p_j q_j g_j', ::

    dp_j = p_j q_j (dnu - g_j' do_j) / T,        dnu = sum_j r_j do_j / sum_j p_j q_j

so the curvature in the scores is that of the weight step, plus ::

    1/(2uT) [ r r^T / sum_j p_j q_j  -  diag(r_j g_j') ]

It need not be positive: where labels are about to be decided, the free energy curves down.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.blocks import _belief_kernels as kernels
from semisvm.designs import Design, Floats, Index, RowList
from semisvm.designs.workers import ROW_WORK
from semisvm.label_steps.beliefs import WORK_PER_ROW, entropy, fill_beliefs, soft_costs
from semisvm.losses import Signs, TwoClassLoss
from semisvm.vectors import add, dot, gather, scatter

# Fraction of all work beyond which a gradient is recomputed: scattered rows are read more
# slowly than all rows in order.
MAX_CHANGED = 0.3
NOTHING = np.empty(0)


class OneScoreBlock:
    """Some rows of a two-class problem.

    Parameters
    ----------
    design : Design
        The rows.
    labeled, unlabeled : arrays of row indices, ascending
    positive : bool array of shape (l,)
        Whether each labelled row has the second class.
    weight : array of shape (l,)
        Weights of the labelled rows, which sum to one over all blocks.
    n_unlabeled : int
        Number of unlabelled rows in all blocks.
    loss : TwoClassLoss
    """

    def __init__(
        self,
        design: Design,
        labeled: Index,
        unlabeled: Index,
        positive: Signs,
        weight: Floats,
        n_unlabeled: int,
        loss: TwoClassLoss,
    ) -> None:
        self.design = design
        self.labeled = labeled
        self.unlabeled = unlabeled
        self.positive = positive
        self.weight = weight
        self.n_unlabeled = n_unlabeled
        self.loss = loss
        self.scores: Floats = NOTHING
        self.labels: Signs = np.zeros(len(unlabeled), dtype=np.bool_)
        self._step: Floats = NOTHING
        # costs of the two labels, and the rows with costs
        self._a: Floats = NOTHING
        self._b: Floats = NOTHING
        self._rows: RowList = design.all_rows
        # the labels of the last gradient
        self._solved: Signs = self.labels
        # beliefs in the two labels, those before, and the gaps between the losses of the labels
        self._p: Floats = NOTHING
        self._q: Floats = NOTHING
        self._p_before: Floats = NOTHING
        self._gaps: Floats | None = None
        # curvature of the costs at the scores; lists of the rows with one, and their union
        self._curvature: Floats | None = None
        self._active: list[Index] = []
        self._n_active = 0
        self._listed: RowList | None = None
        self._responding = False

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights

    # Weight step ---------------------------------------------------------------------------

    def score(self, w: Floats, labeled_only: bool = False) -> None:
        """Compute the scores of all rows, or of the labelled rows only."""
        design = self.design
        rows = design.rows(self.labeled) if labeled_only else design.all_rows
        self.scores = design.scores(w, rows, np.zeros(design.n_rows))
        self._scores_moved()

    def charge_given(self) -> None:
        """Set the costs of the given labels; the unlabelled rows have none."""
        n = self.design.n_rows
        self._a, self._b, self._rows = np.zeros(n), np.zeros(n), self.design.rows(self.labeled)
        self._charge_labeled()

    def charge_labels(self, lam: float) -> None:
        """Set the costs of the given and the chosen labels, with weight ``lam`` of the latter."""
        self._p = self._q = self._p_before = NOTHING
        # compiled code multiplies numbers but would branch on booleans
        self._charge(self.labels.view(np.uint8), (~self.labels).view(np.uint8), lam)
        self._solved = self.labels

    def charge_beliefs(self, lam: float) -> None:
        """Set the costs of the beliefs; from now on the costs hold the beliefs."""
        self._charge(self._p, self._q, lam)
        self._p = self._q = NOTHING

    def _charge(self, p: Any, q: Any, lam: float) -> None:
        n = self.design.n_rows
        self._drop_costs()
        self._a, self._b, self._rows = np.empty(n), np.empty(n), self.design.all_rows
        each, unlabeled, a, b = lam / self.n_unlabeled, self.unlabeled, self._a, self._b
        self._by_block(lambda start, stop: scatter(p, q, each, unlabeled, a, b, start, stop))
        self._charge_labeled()

    def _drop_costs(self) -> None:
        self._a = self._b = NOTHING

    def _charge_labeled(self) -> None:
        self._a[self.labeled] = np.where(self.positive, self.weight, 0.0)
        self._b[self.labeled] = np.where(self.positive, 0.0, self.weight)
        self._forget_curvature()

    def _by_block(self, part: Callable[[int, int], Any], work: int = ROW_WORK) -> list[Any]:
        """Share a pass over the unlabelled rows among threads."""
        return self.design.workers.share(part, len(self.unlabeled), work)

    def linearize(self) -> tuple[float, Floats, int]:
        """Compute value, gradient and curvature of the costs at the scores.

        Returns
        -------
        value : float
        gradient : array of shape (n_weights,)
            Without the regulariser.
        n_active : int
            Number of rows with curvature.
        """
        n, gradient = self.design.n_rows, np.empty(self.design.n_weights)
        slope, curvature = np.empty(n), np.empty(n)
        evaluate = partial(self._evaluate, slope, curvature)
        values, active = self.design.pull_back_found(slope, self._rows, evaluate, gradient)
        n_active = sum(len(part) for part in active)
        self._curvature, self._active, self._n_active = curvature, active, n_active
        self._listed = None
        self._responding = False
        return sum(values), gradient, n_active

    def _evaluate(self, slope: Floats, curvature: Floats, rows: Index) -> tuple[float, Index]:
        """Fill slopes and curvatures of some rows; return their value and the active ones."""
        assert self.loss.evaluate is not None
        active = np.empty_like(rows)
        value, n_active = self.loss.evaluate(
            self.scores, self._a, self._b, rows, slope, curvature, active
        )
        return value, active[:n_active]

    def _forget_curvature(self) -> None:
        self._curvature, self._listed = None, None
        self._active, self._n_active = [], 0
        self._responding = False

    def _curved(self) -> tuple[Floats, RowList]:
        """Return the curvatures and the rows with one; compute them if missing."""
        if self._curvature is None:
            self._curvature = np.empty(self.design.n_rows)
            # slopes are not needed here: the curvatures overwrite them row by row
            evaluate = partial(self._evaluate, self._curvature, self._curvature)
            self._active = [part for _, part in self.design.by_block(self._rows, evaluate)]
            self._n_active = sum(len(part) for part in self._active)
            self._listed = None
        if self._listed is None:
            everything = self._n_active == len(self._rows)
            self._listed = (
                self._rows if everything else self.design.rows(np.concatenate(self._active))
            )
            # the lists of the parts take as much memory as their union
            self._active = []
        return self._curvature, self._listed

    def curvature(self, p: Floats, out: Floats | None = None) -> Floats:
        """Multiply a vector by the curvature: sum of c_i (x_i . p) x_i."""
        out = np.empty(self.design.n_weights) if out is None else out
        return self.design.curvature(p, *self._curved(), out)

    def column_scales(self) -> Floats:
        """Compute the diagonal of the curvature, column by column."""
        curvature, rows = self._curved()
        if self._responding:
            # the response of the labels may make it negative
            curvature, rows = np.abs(curvature), self._rows
        return self.design.column_scales(curvature, rows, np.empty(self.design.n_weights))

    def labeled_curvature(self) -> Floats:
        """Return the curvatures of the labelled rows, shape (l, 1)."""
        return self._curved()[0][self.labeled, None]

    def look(self, step: Floats) -> None:
        """Compute the scores of a step of the weights."""
        # the curvature is no longer needed: free its memory before allocating more
        self._forget_curvature()
        self._step = self.design.scores(step, self._rows, np.zeros(self.design.n_rows))

    def along(self, times: Sequence[float]) -> list[tuple[float, float]]:
        """Compute the first two derivatives of the value along the step, at several lengths."""
        assert self.loss.along is not None
        look = partial(self.loss.along, self.scores, self._step, self._a, self._b)

        def at(t: float) -> tuple[float, float]:
            parts = self.design.by_block(self._rows, lambda rows: look(rows, t))
            first, second = np.sum(parts, axis=0).tolist()
            return first, second

        return [at(t) for t in times]

    def move(self, t: float) -> None:
        """Move along the step."""
        add(self.scores, t, self._step)
        self._scores_moved()

    def advance(self, t: float) -> tuple[float, int, Floats | None] | None:
        """Move along the step; return the value, and what the curvature does not predict.

        Returns
        -------
        value : float
        n_active : int
        gradient : array of shape (n_weights,), or None for zero
            To be added to the prediction of the curvature.

        None if so many rows changed that recomputing is cheaper.
        """
        move = self.loss.move
        if move is None:
            self.move(t)
            return None

        def part(rows: Index) -> tuple[float, int, Index]:
            changed = np.empty_like(rows)
            value, n_active, k = move(self.scores, self._step, t, self._a, self._b, rows, changed)
            return value, n_active, changed[:k].copy()

        parts = self.design.by_block(self._rows, part)
        self._scores_moved()
        changed = self.design.rows(np.concatenate([found for _, _, found in parts]))
        if changed.work > MAX_CHANGED * self._rows.work:
            return None
        gradient = None
        if len(changed):
            gradient = self.design.pull_back(self._step, changed, np.empty(self.design.n_weights))
        return sum(found[0] for found in parts), sum(found[1] for found in parts), gradient

    def shift(self, amount: float) -> None:
        """Add a constant to all scores."""
        self.scores += amount
        self._scores_moved()

    def charged(self) -> tuple[RowList, Floats, Floats]:
        """Return the rows with costs, and the costs, for a solver in this process."""
        return self._rows, self._a, self._b

    def take_scores(self, scores: Floats) -> None:
        """Set scores that a solver in this process has computed."""
        self.scores = scores
        self._scores_moved()

    def _scores_moved(self) -> None:
        self._forget_curvature()
        self._gaps = None

    # Hard labels ---------------------------------------------------------------------------

    def outputs(self, low: float = -np.inf, high: float = np.inf) -> Floats:
        """Return the scores of the unlabelled rows, optionally only from ``low`` to ``high``."""
        found = self.scores[self.unlabeled]
        if low == -np.inf and high == np.inf:
            return found
        return found[(found >= low) & (found <= high)]

    def output_range(self) -> tuple[float, float]:
        """Return the smallest and the largest score of the unlabelled rows."""
        found = self.scores[self.unlabeled]
        return (float(found.min()), float(found.max())) if len(found) else (np.inf, -np.inf)

    def count_above(self, values: Sequence[float]) -> list[int]:
        """Count, for each of some values, the unlabelled rows with a larger score."""
        found = self.scores[self.unlabeled]
        return [int(np.count_nonzero(found > value)) for value in values]

    def count_at(self, value: float) -> int:
        """Count the unlabelled rows with exactly this score."""
        return int(np.count_nonzero(self.scores[self.unlabeled] == value))

    def extremes(self, k: int) -> tuple[tuple[Floats, Index], tuple[Floats, Index]]:
        """Find the rows that are the first candidates for a switch.

        Returns
        -------
        lowest : scores and positions of the k lowest rows that are labelled positive
        highest : the same for the k highest rows that are labelled negative
        """
        found = self.scores[self.unlabeled]
        down, up = np.flatnonzero(self.labels), np.flatnonzero(~self.labels)
        down = down[_smallest(found[down], k)]
        up = up[_smallest(-found[up], k)]
        return (found[down], down), (found[up], up)

    def cut(self, threshold: float, n_tied: int) -> int:
        """Label the rows above a threshold positive, and the first ``n_tied`` rows at it.

        Returns
        -------
        switched : int
            Number of rows that were not positive before.
        """
        labels = self._cut(threshold, n_tied)
        switched = int(np.count_nonzero(labels & ~self.labels))
        if switched or np.any(labels != self.labels):
            self.labels = labels
        return switched

    def _cut(self, threshold: float, n_tied: int) -> Signs:
        found = self.scores[self.unlabeled]
        labels = found > threshold
        if n_tied:
            labels[np.flatnonzero(found == threshold)[:n_tied]] = True
        return labels

    def switch(self, down: Index, up: Index) -> None:
        """Label the rows at some positions negative and those at others positive."""
        labels = self.labels.copy()
        labels[down], labels[up] = False, True
        self.labels = labels

    def losses(self) -> tuple[float, float]:
        """Return half the weighted losses of the given labels, and the losses of the chosen."""
        return self._fit(), self._total(self.labels)

    def losses_of_cut(self, threshold: float, n_tied: int) -> tuple[float, float]:
        """Return the same losses as if the labels were chosen by a threshold."""
        return self._fit(), self._total(self._cut(threshold, n_tied))

    def _fit(self) -> float:
        signed = np.where(self.positive, 1.0, -1.0) * self.scores[self.labeled]
        return 0.5 * float(dot(self.weight, self.loss.values(signed)))

    def _total(self, labels: Signs) -> float:
        total = partial(self.loss.total, self.scores, self.unlabeled, labels)
        return float(sum(self._by_block(total)))

    def follow_labels(
        self, ratio: float, lam: float
    ) -> tuple[float, float, Floats | None, int] | None:
        """Return how value and gradient change with the chosen labels and their weight.

        Parameters
        ----------
        ratio : float
            Weight of the unlabelled rows, divided by the weight before.
        lam : float
            Weight of the unlabelled rows.

        Returns
        -------
        fit : float
            Value of the labelled rows; 0 if the ratio is 1, where it is not needed.
        change : float
            Change of the value by the switched labels.
        gradient : array of shape (n_weights,), or None for zero
            To be added to ``ratio`` times the gradient before.
        n_active : int
            Change of the number of rows with curvature.

        None if so many labels changed that recomputing is cheaper.
        """
        switched = np.flatnonzero(self.labels != self._solved)
        # the part of the labelled rows does not scale with the weight
        given = self.labeled if ratio != 1.0 else self.labeled[:0]
        index = np.concatenate([given, self.unlabeled[switched]])
        rows = self.design.rows(np.sort(index))
        if rows.work > MAX_CHANGED * self.design.all_rows.work:
            return None
        scores, each, n = self.scores, lam / self.n_unlabeled, len(given)
        at = partial(self.loss.at_labels, scores[index[n:]])
        now, then = (at(labels[switched], each) for labels in (self.labels, self._solved))
        fit = self.loss.at_labels(scores[given], self.positive[:n], self.weight[:n])
        self._solved = self.labels
        missing = np.empty(len(scores))
        missing[index] = np.concatenate([(1.0 - ratio) * fit[1], now[1] - then[1]])
        gradient = self.design.pull_back(missing, rows, np.empty(self.design.n_weights))
        return fit[0], now[0] - then[0], gradient, now[2] - then[2]

    # Soft labels ---------------------------------------------------------------------------

    def soften(
        self, price: float, temperature: float, lam: float, keep: bool = False
    ) -> tuple[float, float, float]:
        """Set the beliefs at a price and a temperature.

        With ``keep`` the beliefs before are kept for `follow_beliefs`.

        Returns
        -------
        mean, slope, bend : float
            Sum of the beliefs, divided by the number of unlabelled rows in all blocks, and its
            first two derivatives by price / temperature.
        """
        u = len(self.unlabeled)
        if keep:
            self._p_before, self._p = self._p, NOTHING
        if len(self._p) != u:
            self._p, self._q = np.empty(u), np.empty(u)
        each = np.full(1, 1.0 / self.n_unlabeled)
        fill = partial(fill_beliefs, self._gaps_at(lam), price, temperature, each)
        p, q = self._p, self._q
        parts = self._by_block(lambda start, stop: fill(p, q, start, stop), WORK_PER_ROW)
        mean, slope, bend = np.sum(parts, axis=0).tolist()
        return mean, slope, bend

    def _gaps_at(self, lam: float) -> Floats:
        """Return, per unlabelled row, the cost of the positive minus the negative label."""
        if self._gaps is None:
            self._gaps = np.empty(len(self.unlabeled))
            self._by_block(partial(self.loss.gaps, self.scores, self.unlabeled, lam, self._gaps))
        return self._gaps

    def gap_range(self, lam: float) -> tuple[float, float]:
        """Return the smallest and the largest gap between the losses of the labels."""
        gaps = self._gaps_at(lam)
        return (float(gaps.min()), float(gaps.max())) if len(gaps) else (np.inf, -np.inf)

    def gap_spread(self, lam: float) -> tuple[int, float, float]:
        """Return the number of gaps, their mean and their standard deviation."""
        gaps = self._gaps_at(lam)
        return (len(gaps), float(gaps.mean()), float(gaps.std())) if len(gaps) else (0, 0.0, 0.0)

    def soft_losses(
        self, price: float, temperature: float, lam: float
    ) -> tuple[float, float, float]:
        """Compute the parts of the free energy.

        Returns
        -------
        fit : float
            Half the weighted losses of the given labels.
        negative : float
            Losses of the unlabelled rows if all were negative.
        rest : float
            Sum of p g + T (p log p + q log q), with the gaps g of the losses.
        """
        negative = np.zeros(len(self.unlabeled), dtype=np.bool_)
        part = partial(soft_costs, self._gaps_at(lam), price, temperature, self._p, self._q)
        rest = float(sum(self._by_block(part, WORK_PER_ROW)))
        self._gaps = None
        return self._fit(), self._total(negative), rest

    def restore_beliefs(self, lam: float) -> None:
        """Recover the beliefs from the costs, and free the costs."""
        self._take_beliefs(lam)
        self._drop_costs()

    def _take_beliefs(self, lam: float) -> None:
        u = len(self.unlabeled)
        p, q = self._p, self._q = np.empty(u), np.empty(u)
        a, b, all_of_it = self._a, self._b, self.n_unlabeled / lam
        unlabeled = self.unlabeled
        self._by_block(lambda start, stop: gather(a, b, all_of_it, unlabeled, p, q, start, stop))

    def entropy(self) -> float:
        """Sum the entropies of the beliefs."""
        return float(sum(self._by_block(partial(entropy, self._p, self._q), WORK_PER_ROW)))

    def divergence(self, lam: float) -> float:
        """Sum the divergences of the beliefs from those in the costs, and free the costs."""
        scale = self.n_unlabeled / lam
        part = partial(
            kernels.divergence, self._p, self._q, self._a, self._b, scale, self.unlabeled
        )
        total = float(sum(self._by_block(part, WORK_PER_ROW)))
        self._drop_costs()
        return total

    def follow_beliefs(self, lam: float) -> tuple[bool, Floats | None]:
        """Return how the gradient changes from the kept beliefs to the current ones.

        Returns
        -------
        followed : bool
            False if so many beliefs changed that recomputing is cheaper.
        gradient : array of shape (n_weights,), or None for zero
            To be added to the gradient before.
        """
        before, self._p_before, self._gaps = self._p_before, NOTHING, None
        if self.loss.gap_slopes is None:
            return False, None
        slopes, changed = np.empty(self.design.n_rows), np.empty_like(self.unlabeled)
        self._by_block(partial(self.loss.gap_slopes, self.scores, self.unlabeled, lam, slopes))
        scale = 0.5 / self.n_unlabeled
        part = partial(kernels.change, before, self._p, self.unlabeled, scale, slopes, changed)
        rows = self.design.rows(_joined(changed, self._by_block(lambda a, b: (a, part(a, b)))))
        if rows.work > MAX_CHANGED * self.design.all_rows.work:
            return False, None
        if not len(rows):
            return True, None
        return True, self.design.pull_back(slopes, rows, np.empty(self.design.n_weights))

    def respond(self, temperature: float, lam: float, charged: bool) -> tuple[float, Floats | None]:
        """Turn the curvature into the diagonal part of the reduced Hessian.

        Parameters
        ----------
        temperature, lam : float
        charged : bool
            Whether the beliefs are those in the costs, or those that `soften` set.

        Returns
        -------
        total : float
            Sum of p q.
        together : array of shape (n_weights,), or None for zero
            Sum of r_i x_i. With both sums over all blocks, the rest of the reduced Hessian is
            1/(2uT total) times the outer product of this vector with itself.
        """
        if self.loss.gap_slopes is None:
            return 0.0, None
        if charged:
            self._take_beliefs(lam)
        pq = self._p
        pq *= self._q
        self._p = self._q = NOTHING
        self._gaps = None
        total = float(pq.sum())
        if not total > kernels.DECIDED:
            return total, None
        curvature, _ = self._curved()
        self._responding = True
        softness = 0.5 / (self.n_unlabeled * temperature)
        slopes, responding = np.empty(self.design.n_rows), np.empty_like(self.unlabeled)
        self._by_block(partial(self.loss.gap_slopes, self.scores, self.unlabeled, lam, slopes))
        part = partial(kernels.respond, pq, softness, self.unlabeled, slopes, curvature, responding)
        rows = self.design.rows(_joined(responding, self._by_block(lambda a, b: (a, part(a, b)))))
        return total, self.design.pull_back(slopes, rows, np.empty(self.design.n_weights))

    # Results of a fit, and the labelled rows -------------------------------------------------

    def predictions(self) -> NDArray[np.intp]:
        """Return 1 for unlabelled rows with a positive score, 0 for the others."""
        return (self.scores[self.unlabeled] > 0.0).astype(np.intp)

    def chosen_labels(self) -> Signs:
        """Return the chosen labels of the unlabelled rows."""
        return self.labels

    def beliefs(self) -> Floats:
        """Return the beliefs in the positive label."""
        return self._p

    def labeled_rows(self) -> Any:
        """Return the labelled rows as a matrix: they are few, and the driver needs them."""
        return self.design.matrix(self.labeled)


def _joined(listed: Index, parts: list[tuple[int, int]]) -> Index:
    """Close the gaps between the parts (start, end) of a list, in place."""
    n = 0
    for start, end in parts:
        listed[n : n + end - start] = listed[start:end]
        n += end - start
    return listed[:n]


def _smallest(values: Floats, k: int) -> Index:
    """Return the positions of the k smallest values, in order; ties by position."""
    if k < len(values):
        edge = np.partition(values, k - 1)[k - 1]
        some = np.flatnonzero(values <= edge)
        return some[np.argsort(values[some], kind="stable")][:k]
    return np.argsort(values, kind="stable")
