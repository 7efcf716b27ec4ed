"""Hard labels of rows with one score: thresholds, pairs, and gradients that follow labels."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from semisvm.blocks import _label_kernels as kernels
from semisvm.blocks.scored_rows import MAX_CHANGED, ScoredRows
from semisvm.designs import Floats, Index
from semisvm.losses import Signs
from semisvm.row_weights import of_rows
from semisvm.vectors import dot


class HardLabeledRows(ScoredRows):
    """Rows whose unlabelled ones get their label from a threshold, or by switched pairs."""

    def outputs(self, low: float = -np.inf, high: float = np.inf) -> Floats:
        """Return the scores of the unlabelled rows, optionally only from ``low`` to ``high``."""
        if low == -np.inf and high == np.inf:
            return self.scores[self.unlabeled]
        found = np.empty(len(self.unlabeled))
        part = partial(kernels.gather_within, self.scores, self.unlabeled, low, high, found)
        parts = self._by_block(lambda start, stop: found[start : part(start, stop)])
        return np.concatenate(parts) if parts else found

    def few_outputs(self, low: float, high: float, most: int) -> tuple[int, int, Floats | None]:
        """Return the scores of the unlabelled rows in a range, if they are few.

        Returns
        -------
        above, within : int
            Number of scores above the range, and in it.
        found : array of shape (within,), or None if these are more than ``most``
        """
        found = self.outputs(low, high)
        return self._number_above(high), len(found), found if len(found) <= most else None

    def output_range(self) -> tuple[float, float]:
        """Return the smallest and the largest score of the unlabelled rows."""
        found = self.outputs()
        return (float(found.min()), float(found.max())) if len(found) else (np.inf, -np.inf)

    def weighed_outputs(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Return the scores of the unlabelled rows from ``low`` to ``high``, and their masses."""
        scores = self.scores[self.unlabeled]
        inside = np.flatnonzero((scores >= low) & (scores <= high))
        return scores[inside], np.broadcast_to(of_rows(self.mass, inside), inside.shape)

    def count_above(self, values: Sequence[float]) -> Sequence[float]:
        """Count, for each of some values, the unlabelled rows with a larger score, by mass."""
        if self.weighs:
            found = self.outputs()
            return [float(np.sum(self.mass[found > value])) for value in values]
        return [self._number_above(value) for value in values]

    def _number_above(self, value: float) -> int:
        part = partial(kernels.count_above, self.scores, self.unlabeled, value)
        return sum(self._by_block(part))

    def count_at(self, value: float) -> int:
        """Count the unlabelled rows with exactly this score."""
        return int(np.count_nonzero(self.outputs() == value))

    def crossing(self) -> tuple[int, float, float]:
        """Tell how the chosen labels suit the scores.

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
        part = partial(kernels.crossing, self.scores, self.unlabeled, self.labels)
        found = self._by_block(part)
        if not found:
            return 0, np.inf, -np.inf
        n_positive, lowest, highest = zip(*found, strict=True)
        return sum(n_positive), min(lowest), max(highest)

    def extremes(self, k: int) -> tuple[tuple[Floats, Index], tuple[Floats, Index]]:
        """Find the rows that are the first candidates for a switch.

        Returns
        -------
        lowest : scores and positions of the k lowest rows that are labelled positive
        highest : the same for the k highest rows that are labelled negative
        """
        found = self.outputs()
        down, up = np.flatnonzero(self.labels), np.flatnonzero(~self.labels)
        down = down[_smallest(found[down], k)]
        up = up[_smallest(-found[up], k)]
        return (found[down], down), (found[up], up)

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
        part = partial(kernels.cut, self.scores, self.unlabeled, threshold, labels)
        if sum(self._by_block(part)) > n_tied:
            labels[np.flatnonzero(self.outputs() == threshold)[n_tied:]] = False
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
        if self.weighs:
            found = self.outputs()
            return float(dot(self.mass, self.loss.values(np.where(labels, found, -found))))
        total = partial(self.loss.total, self.scores, self.unlabeled, labels)
        return float(sum(self._by_block(total)))

    def mark_labels(self) -> None:
        """Take the chosen labels for those of the last gradient."""
        self._solved = self.labels

    def follow_labels(
        self, ratio: float, lam: float, onto: Floats | None = None
    ) -> tuple[float, float, Floats | None, int] | None:
        """Return how value and gradient change with the chosen labels and their weight.

        Parameters
        ----------
        ratio : float
            Weight of the unlabelled rows, divided by the weight before.
        lam : float
            Weight of the unlabelled rows.
        onto : array of shape (n_weights,), optional
            The gradient before. It is changed to the one below added to ``ratio`` times it.

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
        scores, n = self.scores, len(given)
        each = lam / self.n_unlabeled * of_rows(self.mass, switched)
        at = partial(self.loss.at_labels, scores[index[n:]])
        now, then = (at(labels[switched], each) for labels in (self.labels, self._solved))
        fit = (0.0, given.astype(np.float64), 0)
        if n:
            fit = self.loss.at_labels(scores[given], self.positive, self.weight)
        self._solved = self.labels
        if onto is not None and ratio != 1.0:
            onto *= ratio
        missing = np.empty(len(scores))
        missing[index] = np.concatenate([(1.0 - ratio) * fit[1], now[1] - then[1]])
        gradient = self._pull_back(missing, rows, onto)
        return fit[0], now[0] - then[0], gradient, now[2] - then[2]


def _smallest(values: Floats, k: int) -> Index:
    """Return the positions of the k smallest values, in order; ties by position."""
    if k < len(values):
        edge = np.partition(values, k - 1)[k - 1]
        some = np.flatnonzero(values <= edge)
        return some[np.argsort(values[some], kind="stable")][:k]
    return np.argsort(values, kind="stable")
