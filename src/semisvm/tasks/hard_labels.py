"""Rows with one score per row whose unlabelled ones have hard labels.

Labels are set by a threshold or by switching pairs; the gradient follows a few changes of labels
without a pass over all rows. `HardLabeledRows.leave_out` computes the scores that unlabelled rows
would have as new rows.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats, Index
from semisvm.designs.vectors import dot
from semisvm.labels.weights import of_rows
from semisvm.losses import Signs
from semisvm.tasks import _kernels as kernels
from semisvm.tasks.operations import concatenated, operation, totals, vectors
from semisvm.tasks.scored_rows import ScoredRows

# Number of cells in which equal rows are counted, a power of two. The number of rows of which the
# leverages are added has an error of at most sqrt(2 / N_CELLS).
N_CELLS = 2**13
CELL = np.uint64(N_CELLS - 1)


class HardLabeledRows(ScoredRows):
    """Rows whose unlabelled ones get their label from a threshold, or by switched pairs.

    The threshold is one of the scores, or, ``by_cost``, of how much cheaper the positive label is.
    Without evidence both orders are the same, and the scores serve for both.
    """

    def _values(self, by_cost: bool) -> Floats:
        """Return what orders the unlabelled rows, largest first, shape (n,)."""
        if self.evidence is None or not by_cost:
            return self.scores
        if self._ranks is None:
            gaps = np.empty(len(self.unlabeled))
            self._by_block(partial(self.loss.gaps, self.scores, self.unlabeled, -1.0, gaps))
            gaps -= self.evidence
            self._ranks = np.zeros(self.design.n_rows)
            self._ranks[self.unlabeled] = gaps
        return self._ranks

    @operation(reads="scores", join=concatenated)
    def outputs(self, low: float = -np.inf, high: float = np.inf, by_cost: bool = False) -> Floats:
        """Return the scores of the unlabelled rows, optionally only from ``low`` to ``high``."""
        values = self._values(by_cost)
        if low == -np.inf and high == np.inf:
            return values[self.unlabeled]
        found = np.empty(len(self.unlabeled))
        part = partial(kernels.gather_within, values, self.unlabeled, low, high, found)
        parts = self._by_block(lambda start, stop: found[start : part(start, stop)])
        return np.concatenate(parts) if parts else found

    @operation(reads="scores")
    def few_outputs(
        self, low: float, high: float, most: float, by_cost: bool = False
    ) -> tuple[int, int, Floats | None]:
        """Return the scores of the unlabelled rows in a range, if they are few.

        Returns
        -------
        above, within : int
            Number of scores above the range, and in it.
        found : array of shape (within,), or None if these are more than ``most``
        """
        found = self.outputs(low, high, by_cost)
        return self._number_above(high, by_cost), len(found), found if len(found) <= most else None

    @operation(reads="scores", combine=(min, max))
    def output_range(self, by_cost: bool = False) -> tuple[float, float]:
        """Return the smallest and the largest finite score of the unlabelled rows."""
        found = self.outputs(by_cost=by_cost)
        if self.has_evidence:
            # a row that may have one label only is at infinity
            found = found[np.isfinite(found)]
        return (float(found.min()), float(found.max())) if len(found) else (np.inf, -np.inf)

    @operation(reads="scores")
    def weighed_outputs(
        self, low: float, high: float, by_cost: bool = False
    ) -> tuple[Floats, Floats]:
        """Return scores from ``low`` to ``high`` of the unlabelled rows that count, and masses."""
        scores = self._values(by_cost)[self.unlabeled]
        inside = np.flatnonzero((scores >= low) & (scores <= high) & (self.mass > 0.0))
        return scores[inside], np.broadcast_to(of_rows(self.mass, inside), inside.shape)

    @operation(reads="scores", combine=totals)
    def count_above(self, values: Sequence[float], by_cost: bool = False) -> Sequence[float]:
        """Count, for each of some values, the unlabelled rows with a larger score, by mass."""
        if self.has_weights:
            found = self.outputs(by_cost=by_cost)
            return [float(np.sum(self.mass[found > value])) for value in values]
        return [self._number_above(value, by_cost) for value in values]

    def _number_above(self, value: float, by_cost: bool) -> int:
        part = partial(kernels.count_above, self._values(by_cost), self.unlabeled, value)
        return sum(self._by_block(part))

    @operation(reads="scores")
    def count_at(self, value: float, by_cost: bool = False) -> int:
        """Count the unlabelled rows with exactly this score."""
        return int(np.count_nonzero(self.outputs(by_cost=by_cost) == value))

    @operation(reads="scores labels", combine=(sum, min, max), follows=(ScoredRows.advance,))
    def crossing(self) -> tuple[int, float, float]:
        """Return how the chosen labels suit the scores, or the costs.

        Returns
        -------
        n_positive : int
            Number of rows labelled positive.
        lowest : float
            Their lowest score.
        highest : float
            The highest score of the rows labelled negative. Only rows with scores from the
            lowest to the highest may have to switch.
        """
        part = partial(kernels.crossing, self._values(True), self.unlabeled, self.labels)
        found = self._by_block(part)
        if not found:
            return 0, np.inf, -np.inf
        n_positive, lowest, highest = zip(*found, strict=True)
        return sum(n_positive), min(lowest), max(highest)

    @operation(reads="scores labels")
    def extremes(self, k: int) -> tuple[tuple[Floats, Index], tuple[Floats, Index]]:
        """Find the rows that are the first candidates for a switch.

        Returns
        -------
        lowest : scores and positions of the k lowest rows that are labelled positive
        highest : the same for the k highest rows that are labelled negative
        """
        found = self.outputs(by_cost=True)
        down, up = np.flatnonzero(self.labels), np.flatnonzero(~self.labels)
        down = down[_smallest(found[down], k)]
        up = up[_smallest(-found[up], k)]
        return (found[down], down), (found[up], up)

    @operation(reads="scores", sets="labels", combine=sum)
    def cut(self, threshold: float, n_tied: int) -> int:
        """Label the rows above a threshold positive, and the first ``n_tied`` rows at it.

        Returns
        -------
        changed : int
            Number of rows that had the other label before.
        """
        labels = self._cut(threshold, n_tied)
        changed = int(np.count_nonzero(labels != self.labels))
        if changed:
            self.labels = labels
        return changed

    def _cut(self, threshold: float, n_tied: int) -> Signs:
        labels = np.empty(len(self.unlabeled), dtype=np.bool_)
        part = partial(kernels.cut, self._values(True), self.unlabeled, threshold, labels)
        if sum(self._by_block(part)) > n_tied:
            labels[np.flatnonzero(self.outputs(by_cost=True) == threshold)[n_tied:]] = False
        return labels

    @operation(reads="labels", changes="labels")
    def switch(self, down: Index, up: Index) -> None:
        """Label the rows at some positions negative and those at others positive."""
        labels = self.labels.copy()
        labels[down], labels[up] = False, True
        self.labels = labels

    @operation(reads="scores labels", combine=(sum, sum), follows=(cut,))
    def losses(self) -> tuple[float, float]:
        """Return half the weighted losses of the given labels, and the costs of the chosen."""
        return self._fit(), self._total(self.labels)

    @operation(reads="scores", combine=(sum, sum))
    def losses_of_cut(self, threshold: float, n_tied: int) -> tuple[float, float]:
        """Return the same losses as if the labels were chosen by a threshold."""
        return self._fit(), self._total(self._cut(threshold, n_tied))

    def _fit(self) -> float:
        signed = np.where(self.positive, 1.0, -1.0) * self.scores[self.labeled]
        return 0.5 * float(dot(self.weight, self.loss.values(signed)))

    @operation(reads="labels", combine=sum)
    def evidence_cost(self) -> float:
        """Sum what evidence adds to the costs of the chosen labels."""
        return self._against(self.labels)

    def _total(self, labels: Signs) -> float:
        """Sum the costs of labels: their losses, and what evidence adds."""
        if self.has_weights:
            found = self.outputs()
            losses = float(dot(self.mass, self.loss.values(np.where(labels, found, -found))))
            return losses + self._against(labels)
        total = partial(self.loss.total, self.scores, self.unlabeled, labels)
        return float(sum(self._by_block(total))) + self._against(labels)

    def _against(self, labels: Signs) -> float:
        if self.evidence is None:
            return 0.0
        # the cheaper label costs nothing
        cost = np.maximum(np.where(labels, self.evidence, -self.evidence), 0.0)
        return float(dot(self.mass, cost) if self.has_weights else cost.sum())

    @operation(reads="scores costs spared", combine=sum, takes_vector=True)
    def copies(self, random: Floats) -> Floats:
        """Count the unlabelled rows that push their own scores, by mass, in cells of equal rows.

        Rows of different content rarely share a cell, unless there are many more rows than cells.
        With so many, what a row adds to its own score no longer depends on its copies.

        Parameters
        ----------
        random : array of shape (n_weights,)
            By the product with it, rows with equal content are equal, in any block and order.

        Returns
        -------
        counts : array of shape (N_CELLS,)
        """
        index, mass = self._pushing()
        return _summed(self.content(random, index) & CELL, mass)

    @operation(
        reads="scores costs spared curvature",
        changes="curvature",
        frees="step",
        combine=(vectors, sum),
        takes_vector=True,
    )
    def probe(self, random: Floats, copies: Floats) -> tuple[Floats, Floats]:
        """Sum half of the unlabelled rows that push their own scores, each with a random sign.

        The half and the signs follow from the content of a row: equal rows have equal ones, and
        the sum of those that are n rows is divided by the root of n. In products with the
        curvature, one row of each n is left out, and the other half stands for it.

        Parameters
        ----------
        random : array of shape (n_weights,)
        copies : array of shape (N_CELLS,)
            Those of `copies`, of all blocks.

        Returns
        -------
        total : array of shape (n_weights,)
        signs : array of shape (N_CELLS,)
            Sums of the factors of the rows. The sum of their squares is, on average, for how many
            rows the half counts.
        """
        index, mass = self._pushing()
        content = self.content(random, index)
        half = (content & np.uint64(2**40)) == 0
        negative = (content & np.uint64(2**41)) > 0
        cell = np.bitwise_and(content, CELL, out=content)
        n = copies[cell]
        change = np.maximum(n, 1.0)
        np.divide(1.0, change, out=change)
        change[half] *= -1.0
        change += 1.0
        self._curvatures()[index] *= change
        factor = np.divide(mass, np.sqrt(n, out=n), out=change)
        factor[negative] *= -1.0
        factor[~half] = 0.0
        signs = _summed(cell, factor)
        values = np.zeros(self.design.n_rows)
        values[index] = factor
        return self._pull_back(values, self.design.rows(index[half])), signs

    def _pushing(self) -> tuple[Index, Floats]:
        """Return the unlabelled rows that push their own scores, and their masses."""
        found = np.flatnonzero(self._push())
        return self.unlabeled[found], np.broadcast_to(of_rows(self.mass, found), found.shape)

    def content(self, random: Floats, index: Index) -> NDArray[np.uint64]:
        """Return 64 bits for each of some rows, which are equal for rows of equal content."""
        scores = self._scores(random, self.design.rows(index))[index]
        scores += 0.0  # zero has no sign
        bits = scores.view(np.uint64)
        # the last digits depend on the order of sums: round to 31 of 52
        bits += np.uint64(2**20)
        bits >>= np.uint64(21)
        return mixed(bits)

    @operation(
        reads="scores costs spared",
        sets="curvature gaps",
        changes="scores",
        weights="unknown",
    )
    def leave_out(self, leverage: float) -> None:
        """Turn the scores of the unlabelled rows into those that they would have as new rows.

        See `TwoClassTask.leave_out`. A row that counts for several loses one of them.
        """
        push = self._push()
        push *= leverage
        self.scores[self.unlabeled] += push
        self.take_scores(self.scores)

    def _push(self) -> Floats:
        """Return the slopes of the costs of the unlabelled rows, of one row each."""
        slope = np.empty(self.design.n_rows)
        self._evaluate(self._costs(), slope, np.empty(len(slope)), self.unlabeled)
        found = slope[self.unlabeled]
        if self.has_weights:
            found[self.mass == 0.0] = 0.0
            found /= np.maximum(self.mass, np.finfo(float).tiny)
        return found

    @operation(reads="labels", sets="solved")
    def mark_labels(self) -> None:
        """Take the chosen labels for those of the last gradient."""
        self._solved = self.labels

    @operation(reads="scores labels solved", changes="solved", combine=(sum, sum, vectors, sum))
    def follow_labels(
        self, ratio: float, lam: float, onto: Floats | None = None
    ) -> tuple[float, float, Floats | None, int] | None:
        """Return how value and gradient change with the labels; see `Block`."""
        found = self._to_follow(ratio)
        if found is None:
            return None
        given, switched, index, rows = found
        scores, n = self.scores, len(given)
        each = lam / self.n_unlabeled * of_rows(self.mass, switched)
        at = partial(self.loss.at_labels, scores[index[n:]])
        now, then = (at(labels[switched], each) for labels in (self.labels, self._solved))
        fit = (0.0, given.astype(np.float64), 0)
        if n:
            fit = self.loss.at_labels(scores[given], self.positive, self.weight)
        self._solved = self.labels
        missing = np.empty(len(scores))
        missing[index] = np.concatenate([(1.0 - ratio) * fit[1], now[1] - then[1]])
        gradient = self._pull_back(missing, rows, onto)
        return fit[0], now[0] - then[0], gradient, now[2] - then[2]


def mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix bits in place, so that each depends on all of them (the last steps of splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


def _summed(cells: NDArray[np.uint64], values: Floats) -> Floats:
    """Return the sum of the values in each cell."""
    # numpy 2.0 counts no unsigned numbers
    return np.asarray(np.bincount(cells.view(np.int64), values, N_CELLS), dtype=np.float64)


def _smallest(values: Floats, k: int) -> Index:
    """Return the positions of the k smallest values, in order; ties by position."""
    if k < len(values):
        edge = np.partition(values, k - 1)[k - 1]
        some = np.flatnonzero(values <= edge)
        return some[np.argsort(values[some], kind="stable")][:k]
    return np.argsort(values, kind="stable")
