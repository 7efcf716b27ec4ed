"""Rows with one score per row, and all vectors over them: scores, hard labels and soft labels.

The results of a block are scalars, vectors over columns, and small tables. Only the result of a
fit leaves it as a vector over rows. Each of its vectors can be computed again from the rows and
what the driver holds: scores from weights, labels from the weights at which they were chosen
and a threshold, beliefs from weights, a price and a temperature.

`scored_rows` has the weight step, `hard_labels` the hard labels.

Soft labels p, q = 1 - p minimise, under a fixed mean of p and at a temperature T, ::

    lam/(2u) sum_j [ p_j l(o_j) + q_j l(-o_j) ] + T/(2u) sum_j [ p_j log p_j + q_j log q_j ]

The minimum is the free energy, a function of the weights alone. Its gradient is that of the
weight step for the current beliefs. Its curvature, the reduced Hessian, is smaller: as a
score moves, so does the belief, and so does the price nu that keeps the mean. With g_j' the
derivative of lam (l(o_j) - l(-o_j)) by o_j and r_j = p_j q_j g_j', ::

    dp_j = p_j q_j (dnu - g_j' do_j) / T,        dnu = sum_j r_j do_j / sum_j p_j q_j

so the curvature in the scores is that of the weight step, plus ::

    1/(2uT) [ r r^T / sum_j p_j q_j  -  diag(r_j g_j') ]

Evidence adds a constant to a gap, so that it changes beliefs and labels but no derivative. A gap
is infinite where a row may have one label only.

It need not be positive: where labels are about to be decided, the free energy curves down.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats, Index
from semisvm.designs.vectors import add, dot, gather
from semisvm.label_steps.beliefs import WORK_PER_ROW, entropy, fill_beliefs, soft_costs
from semisvm.labels.weights import of_rows
from semisvm.losses import Signs
from semisvm.tasks import _kernels as kernels
from semisvm.tasks.driver import MAX_CHANGED
from semisvm.tasks.hard_labels import HardLabeledRows
from semisvm.tasks.operations import concatenated, operation, totals, vectors
from semisvm.tasks.scored_rows import NOTHING, ScoredRows


def _pooled(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Return number, mean and standard deviation of what some blocks have together."""
    if len(parts) == 1:
        return parts[0]
    n, mean, deviation = np.array(parts, dtype=np.float64).T
    centre = np.sum(n * mean) / n.sum()
    spread = np.sum(n * (deviation**2 + (mean - centre) ** 2)) / n.sum()
    return float(n.sum()), float(centre), float(np.sqrt(spread))


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
            if self.evidence is not None:
                add(self._gaps, lam, self.evidence)
        return self._gaps

    @operation(reads="sample", combine=(sum, sum))
    def forced(self) -> tuple[float, float]:
        """Count the rows that must be negative, and those that must be positive, by mass."""
        if self.evidence is None:
            return 0.0, 0.0
        mass = np.broadcast_to(self.mass, self.evidence.shape)
        return float(mass[self.evidence == np.inf].sum()), float(
            mass[self.evidence == -np.inf].sum()
        )

    def _open_gaps(self, lam: float) -> tuple[Floats, Floats]:
        """Return the gaps of the rows that may have both labels, and their masses."""
        gaps = self._gaps_at(lam)
        if self.evidence is None:
            return gaps, self.mass
        both = np.flatnonzero(np.isfinite(self.evidence))
        return gaps[both], of_rows(self.mass, both)

    @operation(reads="scores gaps", changes="gaps", combine=(min, max))
    def gap_range(self, lam: float) -> tuple[float, float]:
        """Return the smallest and the largest finite gap between the costs of the labels."""
        gaps, _ = self._open_gaps(lam)
        return (float(gaps.min()), float(gaps.max())) if len(gaps) else (np.inf, -np.inf)

    @operation(reads="scores gaps", changes="gaps", combine=_pooled)
    def gap_spread(self, lam: float) -> tuple[float, float, float]:
        """Return the number of finite gaps, their mean and their standard deviation."""
        gaps, mass = self._open_gaps(lam)
        total = float(mass.sum()) if self.has_weights else float(len(gaps))
        if not total > 0.0:
            return 0.0, 0.0, 0.0
        if not self.has_weights:
            return total, float(gaps.mean()), float(gaps.std())
        mean = dot(mass, gaps) / total
        return total, mean, float(np.sqrt(dot(mass, (gaps - mean) ** 2) / total))

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
            Costs of the unlabelled rows if all were negative, but for those that must not be.
        rest : float
            Sum of p g + T (p log p + q log q), with the gaps g of the costs.
        """
        negative = np.zeros(len(self.unlabeled), dtype=np.bool_)
        if self.evidence is not None:
            negative = self.evidence == -np.inf
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
        if charged and (self.has_weights or self.is_sample):
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
