"""Rows with one score per row, and all vectors over them: scores, hard labels and soft labels.

The results of a block are scalars, vectors over columns, and small tables. Only the result of a
fit leaves it as a vector over rows. Each of its vectors can be computed again from the rows and
what the driver holds: scores from weights, labels from the weights at which they were chosen
and a threshold, beliefs from weights, a price and a temperature.

Hard labels are set by a threshold or by switching pairs; the gradient follows a few changes of
labels without a pass over all rows.

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

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats, Index
from semisvm.designs.vectors import dot, gather
from semisvm.label_steps.beliefs import WORK_PER_ROW, entropy, fill_beliefs, soft_costs
from semisvm.labels.weights import of_rows
from semisvm.losses import Signs
from semisvm.tasks import _kernels as kernels
from semisvm.tasks.operations import concatenated, operation, totals, vectors
from semisvm.tasks.scored_rows import MAX_CHANGED, NOTHING, ScoredRows

# Number of cells in which equal rows are counted, a power of two. The number of rows of which the
# leverages are added has an error of at most sqrt(2 / N_CELLS).
N_CELLS = 2**13
CELL = np.uint64(N_CELLS - 1)


class HardLabeledRows(ScoredRows):
    """Rows whose unlabelled ones get their label from a threshold, or by switched pairs."""

    @operation(reads="scores", join=concatenated)
    def outputs(self, low: float = -np.inf, high: float = np.inf) -> Floats:
        """Return the scores of the unlabelled rows, optionally only from ``low`` to ``high``."""
        if low == -np.inf and high == np.inf:
            return self.scores[self.unlabeled]
        found = np.empty(len(self.unlabeled))
        part = partial(kernels.gather_within, self.scores, self.unlabeled, low, high, found)
        parts = self._by_block(lambda start, stop: found[start : part(start, stop)])
        return np.concatenate(parts) if parts else found

    @operation(reads="scores")
    def few_outputs(self, low: float, high: float, most: float) -> tuple[int, int, Floats | None]:
        """Return the scores of the unlabelled rows in a range, if they are few.

        Returns
        -------
        above, within : int
            Number of scores above the range, and in it.
        found : array of shape (within,), or None if these are more than ``most``
        """
        found = self.outputs(low, high)
        return self._number_above(high), len(found), found if len(found) <= most else None

    @operation(reads="scores", combine=(min, max))
    def output_range(self) -> tuple[float, float]:
        """Return the smallest and the largest score of the unlabelled rows."""
        found = self.outputs()
        return (float(found.min()), float(found.max())) if len(found) else (np.inf, -np.inf)

    @operation(reads="scores")
    def weighed_outputs(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Return scores from ``low`` to ``high`` of the unlabelled rows that count, and masses."""
        scores = self.scores[self.unlabeled]
        inside = np.flatnonzero((scores >= low) & (scores <= high) & (self.mass > 0.0))
        return scores[inside], np.broadcast_to(of_rows(self.mass, inside), inside.shape)

    @operation(reads="scores", combine=totals)
    def count_above(self, values: Sequence[float]) -> Sequence[float]:
        """Count, for each of some values, the unlabelled rows with a larger score, by mass."""
        if self.has_weights:
            found = self.outputs()
            return [float(np.sum(self.mass[found > value])) for value in values]
        return [self._number_above(value) for value in values]

    def _number_above(self, value: float) -> int:
        part = partial(kernels.count_above, self.scores, self.unlabeled, value)
        return sum(self._by_block(part))

    @operation(reads="scores")
    def count_at(self, value: float) -> int:
        """Count the unlabelled rows with exactly this score."""
        return int(np.count_nonzero(self.outputs() == value))

    @operation(reads="scores labels", combine=(sum, min, max), follows=(ScoredRows.advance,))
    def crossing(self) -> tuple[int, float, float]:
        """Return how the chosen labels suit the scores.

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

    @operation(reads="scores labels")
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
        part = partial(kernels.cut, self.scores, self.unlabeled, threshold, labels)
        if sum(self._by_block(part)) > n_tied:
            labels[np.flatnonzero(self.outputs() == threshold)[n_tied:]] = False
        return labels

    @operation(reads="labels", changes="labels")
    def switch(self, down: Index, up: Index) -> None:
        """Label the rows at some positions negative and those at others positive."""
        labels = self.labels.copy()
        labels[down], labels[up] = False, True
        self.labels = labels

    @operation(reads="scores labels", combine=(sum, sum), follows=(cut,))
    def losses(self) -> tuple[float, float]:
        """Return half the weighted losses of the given labels, and the losses of the chosen."""
        return self._fit(), self._total(self.labels)

    @operation(reads="scores", combine=(sum, sum))
    def losses_of_cut(self, threshold: float, n_tied: int) -> tuple[float, float]:
        """Return the same losses as if the labels were chosen by a threshold."""
        return self._fit(), self._total(self._cut(threshold, n_tied))

    def _fit(self) -> float:
        signed = np.where(self.positive, 1.0, -1.0) * self.scores[self.labeled]
        return 0.5 * float(dot(self.weight, self.loss.values(signed)))

    def _total(self, labels: Signs) -> float:
        if self.has_weights:
            found = self.outputs()
            return float(dot(self.mass, self.loss.values(np.where(labels, found, -found))))
        total = partial(self.loss.total, self.scores, self.unlabeled, labels)
        return float(sum(self._by_block(total)))

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
        """Return how value and gradient change with the chosen labels and their weight.

        Parameters
        ----------
        ratio : float
            Weight of the unlabelled rows, divided by the weight before.
        lam : float
            Weight of the unlabelled rows.
        onto : array of shape (n_weights,), optional
            Vector to which the gradient below is added, and which is returned in its place.

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
    return np.asarray(np.bincount(cells, values, N_CELLS), dtype=np.float64)


def _pooled(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Return number, mean and standard deviation of what some blocks have together."""
    if len(parts) == 1:
        return parts[0]
    n, mean, deviation = np.array(parts, dtype=np.float64).T
    centre = np.sum(n * mean) / n.sum()
    spread = np.sum(n * (deviation**2 + (mean - centre) ** 2)) / n.sum()
    return float(n.sum()), float(centre), float(np.sqrt(spread))


def _smallest(values: Floats, k: int) -> Index:
    """Return the positions of the k smallest values, in order; ties by position."""
    if k < len(values):
        edge = np.partition(values, k - 1)[k - 1]
        some = np.flatnonzero(values <= edge)
        return some[np.argsort(values[some], kind="stable")][:k]
    return np.argsort(values, kind="stable")


class OneScoreBlock(HardLabeledRows):
    """Some rows of a two-class problem: the weight step, hard labels, and soft labels."""

    @operation(reads="beliefs", sets="beliefs before")
    def keep_beliefs(self) -> None:
        """Keep the beliefs for `follow_beliefs`; the next ones are others."""
        self._p_before, self._p, self._q = self._p, NOTHING, NOTHING

    @operation(reads="scores gaps", sets="beliefs", changes="gaps", combine=(sum, sum, sum))
    def soften(self, price: float, temperature: float, lam: float) -> tuple[float, float, float]:
        """Set the beliefs at a price and a temperature.

        Returns
        -------
        mean, slope, bend : float
            Sum of the beliefs, divided by the number of unlabelled rows in all blocks, and its
            first two derivatives by price / temperature. Here and below, rows count by their
            mass.
        """
        u = len(self.unlabeled)
        if len(self._p) != u:
            self._p, self._q = np.empty(u), np.empty(u)
        each = self.mass / self.n_unlabeled
        fill = partial(fill_beliefs, self._gaps_at(lam), price, temperature, each)
        p, q = self._p, self._q
        parts = self._by_block(lambda start, stop: fill(p, q, start, stop), WORK_PER_ROW)
        mean, slope, bend = totals(parts)
        return mean, slope, bend

    def _gaps_at(self, lam: float) -> Floats:
        """Return, per unlabelled row, the cost of the positive minus the negative label."""
        if self._gaps is None:
            self._gaps = np.empty(len(self.unlabeled))
            self._by_block(partial(self.loss.gaps, self.scores, self.unlabeled, lam, self._gaps))
        return self._gaps

    @operation(reads="scores gaps", changes="gaps", combine=(min, max))
    def gap_range(self, lam: float) -> tuple[float, float]:
        """Return the smallest and the largest gap between the losses of the labels."""
        gaps = self._gaps_at(lam)
        return (float(gaps.min()), float(gaps.max())) if len(gaps) else (np.inf, -np.inf)

    @operation(reads="scores gaps", changes="gaps", combine=_pooled)
    def gap_spread(self, lam: float) -> tuple[float, float, float]:
        """Return the number of gaps, their mean and their standard deviation."""
        gaps = self._gaps_at(lam)
        total = float(self.mass.sum()) if self.has_weights else float(len(gaps))
        if not total > 0.0:
            return 0.0, 0.0, 0.0
        if not self.has_weights:
            return total, float(gaps.mean()), float(gaps.std())
        mean = dot(self.mass, gaps) / total
        return total, mean, float(np.sqrt(dot(self.mass, (gaps - mean) ** 2) / total))

    @operation(reads="scores gaps beliefs", sets="gaps", combine=(sum, sum, sum))
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
        part = partial(
            soft_costs, self._gaps_at(lam), price, temperature, self.mass, self._p, self._q
        )
        rest = float(sum(self._by_block(part, WORK_PER_ROW)))
        self._gaps = None
        return self._fit(), self._total(negative), rest

    @operation(reads="costs spared", sets="beliefs costs spared")
    def restore_beliefs(self, lam: float) -> None:
        """Recover the beliefs from the costs, and free the costs."""
        self._p, self._q = self._charged_beliefs(lam)
        self._drop_costs()

    def _charged_beliefs(self, lam: float) -> tuple[Floats, Floats]:
        """Return the beliefs in the costs, by position; zeros in rows without mass."""
        u = len(self.unlabeled)
        p, q = np.empty(u), np.empty(u)
        (a, b), mass, unlabeled = self._costs(), self.mass, self.unlabeled
        scale = np.divide(self.n_unlabeled / lam, mass, out=np.zeros_like(mass), where=mass > 0.0)
        self._by_block(lambda start, stop: gather(a, b, scale, unlabeled, p, q, start, stop))
        return p, q

    @operation(reads="beliefs", combine=sum)
    def entropy(self) -> float:
        """Return the share of these rows in the mean entropy of the beliefs."""
        part = partial(entropy, self.mass, self._p, self._q)
        return float(sum(self._by_block(part, WORK_PER_ROW))) / self.n_unlabeled

    @operation(reads="beliefs costs spared", sets="costs spared", combine=sum)
    def divergence(self, lam: float) -> float:
        """Free the costs; return the share in the beliefs' mean divergence from those in them."""
        known = (*self._costs(), self.n_unlabeled / lam, self.mass, self.unlabeled)
        part = partial(kernels.divergence, self._p, self._q, *known)
        total = float(sum(self._by_block(part, WORK_PER_ROW)))
        self._drop_costs()
        return total / self.n_unlabeled

    @operation(reads="scores beliefs before", sets="before gaps", combine=(sum, vectors))
    def follow_beliefs(
        self, lam: float, onto: Floats | None = None
    ) -> tuple[int, Floats | None] | None:
        """Return how the gradient changes from the kept beliefs to the current ones.

        Parameters
        ----------
        lam : float
        onto : array of shape (n_weights,), optional
            Vector to which the gradient below is added, and which is returned in its place.

        Returns
        -------
        n_changed : int
            Number of rows whose beliefs changed.
        gradient : array of shape (n_weights,), or None for zero
            To be added to the gradient before.

        None if so many beliefs changed that recomputing is cheaper.
        """
        before, self._p_before, self._gaps = self._p_before, NOTHING, None
        if self.loss.gap_slopes is None:
            return None
        slopes, changed = np.empty(self.design.n_rows), np.empty_like(self.unlabeled)
        self._by_block(partial(self.loss.gap_slopes, self.scores, self.unlabeled, lam, slopes))
        scale = 0.5 / self.n_unlabeled * self.mass
        part = partial(kernels.change, before, self._p, self.unlabeled, scale, slopes, changed)
        rows = self.design.rows(_joined(changed, self._by_block(lambda a, b: (a, part(a, b)))))
        if rows.work > MAX_CHANGED * self.design.all_rows.work:
            return None
        if not len(rows):
            return 0, None
        change = self.design.pull_back(slopes, rows, np.empty(self.design.n_weights))
        if onto is not None:
            onto += change
            change = onto
        return len(rows), change

    @operation(
        reads="scores costs spared curvature beliefs",
        changes="curvature beliefs gaps spared",
        combine=(sum, vectors),
        frees="step",
    )
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
        self._gaps = None
        curvature = self._curvatures()
        if not charged:
            self._spare()
        self.design.free_sums()
        slopes = np.empty(self.design.n_rows)
        total, listed = self._lower(curvature, slopes, temperature, lam, charged)
        self._p = self._q = NOTHING
        if listed is None:
            return total, None
        self._responding = True
        rows = self.design.rows(listed)
        return total, self.design.pull_back(slopes, rows, np.empty(self.design.n_weights))

    def _lower(
        self, curvature: Floats, slopes: Floats, temperature: float, lam: float, charged: bool
    ) -> tuple[float, Index | None]:
        """Lower the curvature, and fill the slopes with r; return sum p q and the rows with r.

        If all labels are decided, nothing changes and there is no list.
        """
        gap_slopes, unlabeled = self.loss.gap_slopes, self.unlabeled
        assert gap_slopes is not None
        if charged and self.has_weights:
            self._p, self._q = self._charged_beliefs(lam)
            charged = False
        # costs are beliefs times this; those of the labelled rows add nothing to the sum
        scale = self.n_unlabeled / lam if charged else 1.0
        p, q = self._costs() if charged else (self._p, self._q)
        total = scale * scale * float(dot(p * self.mass if self.has_weights else p, q))
        if not total > kernels.DECIDED:
            return total, None
        listed = np.empty_like(unlabeled)
        softness = 0.5 / (self.n_unlabeled * temperature)
        self._by_block(partial(gap_slopes, self.scores, unlabeled, lam, slopes))
        beliefs = (p, q, scale, charged, unlabeled, self.mass)
        part = partial(kernels.respond, *beliefs, softness, slopes, curvature, listed)
        return total, _joined(listed, self._by_block(lambda a, b: (a, part(a, b))))

    @operation(reads="scores", combine=sum, follows=(ScoredRows.advance, soft_losses))
    def count_positive(self) -> float:
        """Count the unlabelled rows with a positive score, by mass."""
        return self.count_above((0.0,))[0]

    @operation(reads="scores", join=concatenated)
    def predictions(self) -> NDArray[np.intp]:
        """Return 1 for unlabelled rows with a positive score, 0 for the others."""
        return (self.outputs() > 0.0).astype(np.intp)

    @operation(reads="labels", join=concatenated)
    def chosen_labels(self) -> Signs:
        """Return the chosen labels of the unlabelled rows."""
        return self.labels

    @operation(reads="beliefs", join=concatenated)
    def beliefs(self) -> Floats:
        """Return the beliefs in the positive label."""
        return self._p


def _joined(listed: Index, parts: list[tuple[int, int]]) -> Index:
    """Close the gaps between the parts (start, end) of a list, in place."""
    n = 0
    for start, end in parts:
        listed[n : n + end - start] = listed[start:end]
        n += end - start
    return listed[:n]
