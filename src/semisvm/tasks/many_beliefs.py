r"""Soft labels of rows with one score per class, and the driver's view of such rows.

Beliefs p_jy minimise, at a temperature T and under the class counts sum_j p_jy = n_y, ::

    lam/u sum_jy p_jy xi(s_j, y) + T/u sum_jy p_jy log p_jy

Evidence adds a constant to xi(s_j, y), which is infinite for a label that the row cannot have.
The minimum is the free energy, a function of the weights alone. Its gradient is that of the
weight step for the current beliefs. Its curvature, the reduced Hessian, is smaller: as scores
move, so do the beliefs, and so do the prices nu_y that keep the counts. The losses here have
the form xi(s, y) = c(s) + g(s_y). With C_j = diag(p_j) - p_j p_j^T and the slopes
G_j = diag(lam g'(s_jy)), a step ds_j of the scores moves ::

    dp_j = -1/T C_j (G_j ds_j - dnu),      (sum_j C_j) dnu = sum_j C_j G_j ds_j

so the curvature in the scores is that of the weight step, minus ::

    1/(uT) G_j C_j (G_j ds_j - dnu)

per row. A product therefore takes two operations: the sums on the right of the system for dnu,
m numbers per block, and then the rest. As for two classes it need not be positive.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from semisvm.designs import Floats, Index
from semisvm.label_steps.beliefs import WORK_PER_ROW, entropy_of, gibbs
from semisvm.label_steps.entropic import second_moments
from semisvm.label_steps.transportation import Labels, balance_gathered
from semisvm.labels.weights import Counts, of_rows
from semisvm.tasks import _kernels as kernels
from semisvm.tasks.driver import Rows
from semisvm.tasks.many_scores import NO_SCORES, ManyScoredRows
from semisvm.tasks.operations import operation, vectors


class ManyScoreBlock(ManyScoredRows):
    """Some rows with one score per class: the weight step, hard labels, and soft labels."""

    # how the beliefs respond: the slopes of the costs, the step's scores, the responses, 1/(uT)
    _slopes: Floats
    _moved: Floats
    _softness: float

    def _clear(self) -> None:
        super()._clear()
        self._slopes = self._moved = NO_SCORES
        self._softness = 0.0

    @operation(reads="table", sets="beliefs", combine=(sum, sum))
    def gibbs(self, prices: Floats, temperature: float, factor: float) -> tuple[float, Floats]:
        """Set the beliefs of the table's classes at prices.

        Parameters
        ----------
        prices : array of shape (m,)
        temperature : float
        factor : float
            Factor of the costs.

        Returns
        -------
        value : float
            Sum of the soft minima of the rows.
        sums : array of shape (m,)
            Sums of the beliefs.
        """
        costs, sums = self._table.costs, np.empty(len(prices))
        if self._p.shape != costs.shape:
            self._p = np.empty_like(costs)
        return gibbs(costs, factor, prices, temperature, self.mass, self._p, sums), sums

    @operation(reads="beliefs", combine=sum, follows=(gibbs,))
    def second_moments(self) -> Floats:
        """Sum over rows the outer product of the beliefs with themselves."""
        return second_moments(self._p, self.mass)

    @operation(reads="table", combine=(min, max))
    def cost_range(self) -> tuple[float, float]:
        """Return the smallest and the largest finite cost of the table."""
        costs = self._table.costs
        if self.has_evidence:
            costs = costs[np.isfinite(costs)]
        return (float(costs.min()), float(costs.max())) if costs.size else (np.inf, -np.inf)

    @operation(reads="table beliefs", changes="beliefs")
    def adopt_beliefs(self) -> None:
        """Set the beliefs of classes that are not in the table to zero."""
        if len(self._used) < self.n_classes:
            p = np.zeros((len(self._p), self.n_classes))
            p[:, self._used] = self._p
            self._p = p

    @operation(reads="costs", sets="beliefs")
    def restore_beliefs(self, lam: float) -> None:
        """Recover the beliefs from the costs."""
        mass = self.mass
        scale = np.divide(self.n_unlabeled / lam, mass, out=np.zeros_like(mass), where=mass > 0.0)
        self._p = self.costs[self.unlabeled] * scale[:, None]

    @operation(reads="beliefs", combine=sum)
    def entropy(self) -> float:
        """Return the share of these rows in the mean entropy of the beliefs."""
        return float(entropy_of(self._p, self.mass)) / self.n_unlabeled

    @operation(reads="beliefs costs", combine=sum)
    def divergence(self, lam: float) -> float:
        """Return the share in the beliefs' mean divergence from those in the costs."""
        scale = self.n_unlabeled / lam
        part = partial(
            kernels.divergence_many, self._p, self.costs, scale, self.mass, self.unlabeled
        )
        return float(sum(self._by_part(part))) / self.n_unlabeled

    # How beliefs respond -------------------------------------------------------------------

    @operation(reads="scores beliefs", sets="curved response", combine=sum)
    def respond(self, temperature: float, lam: float) -> Floats | None:
        """Prepare products with the reduced Hessian at the beliefs.

        Returns
        -------
        array of shape (m, m), or None if the loss has no slopes of the gaps
            Sum of C_j = diag(p_j) - p_j p_j^T, by mass.
        """
        self._some = None
        if self._smooth.label_slopes is None:
            return None
        self._slopes = np.empty_like(self._p)
        self._softness = 1.0 / (self.n_unlabeled * temperature)
        fill = partial(self._smooth.label_slopes, self.scores, self.unlabeled, lam, self._slopes)
        self._by_part(fill)
        sums = self._p.sum(axis=0) if not self.has_weights else self.mass @ self._p
        return np.diag(sums) - second_moments(self._p, self.mass)

    @operation(
        reads="costs beliefs response curved", sets="step moved", combine=sum, takes_vector=True
    )
    def respond_to_step(self, p: Floats) -> Floats:
        """Compute the scores of a step; return the sum of C_j G_j ds_j, by class."""
        some, (beliefs, slopes, unlabeled, mass) = self._some, self._respondents()
        self._step = self._scores(p, self._rows if some is None else some.rows)
        if self._moved.shape != beliefs.shape:
            self._moved = np.empty_like(beliefs)
        part = partial(kernels.respond_to_step, beliefs, slopes, unlabeled, self._step, self._moved)
        sums: Floats = np.sum(self._by_part(part, len(unlabeled)), axis=0)
        sums = mass @ self._moved if self.has_weights else sums
        return sums if some is None else some.factor * sums

    def _respondents(self) -> tuple[Floats, Floats, Index, Floats]:
        """Return beliefs, slopes, numbers and masses of the rows that products take."""
        if self._some is None:
            return self._p, self._slopes, self.unlabeled, self.mass
        at = self._some.places
        return self._p[at], self._slopes[at], self.unlabeled[at], of_rows(self.mass, at)

    @operation(
        reads="scores costs beliefs response curved step moved", sets="step", combine=vectors
    )
    def reduced_curvature(self, prices: Floats, out: Floats | None = None) -> Floats:
        """Multiply the step of `respond_to_step` by the reduced Hessian, as prices move."""
        out = np.empty(self.n_weights) if out is None else out
        some, (beliefs, slopes, unlabeled, mass) = self._some, self._respondents()
        rows = self._rows if some is None else some.rows
        slope, index = self._step, rows.index
        apply = partial(self._smooth.apply, self.scores, self.costs)
        # in the order of the rows, which are all rows of the design or some of them
        own = slope if len(index) == len(slope) else slope[index]
        self.design.workers.share(
            lambda start, stop: apply(index, start, stop, own[start:stop]),
            len(index),
            self.n_classes,
        )
        if own is not slope:
            slope[index] = own
        part = partial(
            kernels.subtract,
            beliefs,
            slopes * mass[:, None] if self.has_weights else slopes,
            unlabeled,
            self._moved,
            prices,
            self._softness,
            slope,
        )
        self._by_part(part, len(unlabeled))
        if some is not None:
            slope[index] *= some.each[:, None]
        self._step = NO_SCORES
        node_slopes = self.hierarchy.node_slopes(slope)
        self.design.pull_back_many(node_slopes, rows, out.reshape(self._shape))
        return out

    def _by_part(self, part: Callable[[int, int], Any], n_rows: int | None = None) -> list[Any]:
        """Call ``part(start, stop)`` on parts of the unlabelled rows, shared by threads."""
        work, n = WORK_PER_ROW * self.n_classes, len(self.unlabeled) if n_rows is None else n_rows
        return self.design.workers.share(part, n, work)


class ManyScoreRows(Rows[ManyScoreBlock]):
    """The rows of a problem with one score per class."""

    kind = ManyScoreBlock
    # they are long, and little memory compared with the scores of all rows
    _keeps_vectors = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.blocks[0].n_classes

    def table(self, used: Index) -> "Table":
        """Prepare a label step among some classes."""
        return Table(self, self.each(ManyScoreBlock.open_table, used))


class Table:
    """The costs of labels over all blocks, in the form the exact and entropic steps need.

    Parameters
    ----------
    rows : ManyScoreRows
    sizes : sequence of int
        Number of rows per block.
    """

    def __init__(self, rows: ManyScoreRows, sizes: Sequence[int]) -> None:
        self._rows = rows
        self.has_weights = rows.has_weights
        self._sizes = sizes
        self.n_rows = sum(sizes)

    def sample(self, step: int) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row."""
        begins = np.cumsum([0, *self._sizes[:-1]])
        each = [(step, int(-first % step)) for first in begins]
        return self._rows.with_each(ManyScoreBlock.sample, each)

    def assign(self, prices: Floats) -> Counts:
        """Assign each row its cheapest class at the prices; sum the masses per class."""
        return self._rows.all.assign(prices)

    def balance(self, prices: Floats, excess: Counts, reach: float) -> bool:
        """Move rows along shortest paths until no class has an excess.

        A single block moves its own rows. With several, the rows within reach are gathered.
        """
        if len(self._sizes) == 1:
            [found] = self._rows.each(ManyScoreBlock.balance, prices, excess, reach)
            done, prices[:], excess[:] = found
            return bool(done)
        parts = self._rows.each(ManyScoreBlock.near, prices, reach)
        done, labels = balance_gathered(parts, prices, excess, reach)
        each = [(part.rows, new) for part, new in zip(parts, labels, strict=True)]
        self._rows.with_each(ManyScoreBlock.relabel, each)
        return done
