r"""A problem with m classes and unlabelled rows, as the methods see it.

The objective, with l labelled and u unlabelled rows, is ::

    J(W, y') = reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + lam/u sum_j xi(s_j, y'_j)

where the number of rows per class among the y'_j is fixed. Evidence adds e_j(y'_j) to the loss of
an unlabelled row, as in `TwoClassTask`. Rows with weights count as often as
these give, in the sums and in the class counts: see `RowWeights`. It is the counterpart of
`TwoClassTask` with one score per class.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from semisvm.designs import Design, Floats, Index
from semisvm.designs.vectors import dot
from semisvm.label_steps.entropic import spread
from semisvm.label_steps.transportation import transport
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.partial import prior_counts
from semisvm.labels.weights import UNIT_WEIGHT, Counts, number_of
from semisvm.losses import Loss, ManyClassLoss, SmoothManyClassLoss
from semisvm.solvers import Linearization, State, minimize
from semisvm.solvers.crammer_singer import (
    PASSES_PER_STEP,
    TIGHTEST_TOL,
    MarginProblem,
    MarginState,
    minimize_margin,
)
from semisvm.solvers.trace import Recorder
from semisvm.solvers.woodbury import LabeledPreconditioner
from semisvm.tasks.driver import Codes
from semisvm.tasks.many_beliefs import ManyScoreBlock, ManyScoreRows
from semisvm.tasks.weight_steps import RowsProblem, RowsTask, SoftLabels


@dataclass(frozen=True)
class ManyClassTask(RowsTask):
    """Data and fixed parameters of one fit.

    Attributes
    ----------
    rows : ManyScoreRows
    counts : array of shape (m,)
        Number of unlabelled rows per class, by mass.
    loss : ManyClassLoss
    hierarchy : Hierarchy
    reg : float
    recorder : Recorder
    prior : array of shape (m,), optional
        Class shares, of which ``counts`` are rounded.
    whole : ManyClassTask, optional
        The task of all rows, if this one has a sample of them.
    """

    rows: ManyScoreRows
    counts: Counts
    loss: ManyClassLoss
    hierarchy: Hierarchy
    reg: float
    recorder: Recorder
    prior: Floats | None = None
    whole: "ManyClassTask | None" = None

    @classmethod
    def of(
        cls,
        design: Design,
        labeled: Index,
        unlabeled: Index,
        codes: Codes,
        weight: Floats,
        *,
        counts: Counts,
        loss: Loss,
        hierarchy: Hierarchy,
        reg: float,
        recorder: Recorder,
        mass: Floats = UNIT_WEIGHT,
        prior: Floats | None = None,
        evidence: Floats | None = None,
    ) -> "ManyClassTask":
        """Put the rows of one design in one block.

        Parameters
        ----------
        design : Design
        labeled, unlabeled : arrays of row indices, ascending
        codes : int array of shape (l,)
            Classes of the labelled rows.
        weight : array of shape (l,)
            Weights of the labelled rows, summing to one.
        counts, loss, hierarchy, reg, recorder
        mass : array of shape (u,) or (1,)
            For how many rows each unlabelled row counts.
        prior : array of shape (m,), optional
        evidence : array of shape (u, m), optional
            What evidence adds to the costs of labels.
        """
        assert loss.many is not None
        u = number_of(mass, len(unlabeled))
        block = ManyScoreBlock(
            design, labeled, unlabeled, codes, weight, u, loss.many, hierarchy, mass, evidence
        )
        return cls(ManyScoreRows([block]), counts, loss.many, hierarchy, reg, recorder, prior)

    def _of_sample(self, rows: ManyScoreRows) -> "ManyClassTask":
        n, shares = rows.n_unlabeled, self.counts / self.rows.n_unlabeled_of_all
        whole = np.issubdtype(self.counts.dtype, np.integer)
        return replace(self, rows=rows, counts=prior_counts(shares, n) if whole else shares * n)

    @property
    def shares(self) -> Floats:
        """Class shares that means must have, shape (m,); they need not be numbers of rows."""
        shares = self.counts / self.n_unlabeled if self.prior is None else self.prior
        return np.asarray(shares)

    @property
    def smooth(self) -> bool:
        """Whether Newton's method solves the weight step."""
        return isinstance(self.loss, SmoothManyClassLoss)

    @property
    def zero_or_one(self) -> bool:
        """Whether a labelled row has curvature 0 or its weight, for every class."""
        loss = self.loss
        return isinstance(loss, SmoothManyClassLoss) and loss.zero_or_one and self.hierarchy.flat

    @property
    def n_columns(self) -> int:
        """Number of columns of weights."""
        return self.hierarchy.n_nodes

    # Weight step ---------------------------------------------------------------------------

    def problem_of(
        self, rows: ManyScoreRows, labeled_preconditioner: LabeledPreconditioner | None
    ) -> RowsProblem:
        """Return the weight step of a smooth loss, for the current costs of some rows."""
        loss = self.loss
        apart = isinstance(loss, SmoothManyClassLoss) and loss.separable and self.hierarchy.flat
        n_systems = rows.n_classes if apart else 1
        return RowsProblem(rows, self.reg, labeled_preconditioner, n_systems=n_systems)

    def labeled_alone(self, design: Design) -> ManyScoreRows:
        """Return the labelled rows as rows of another design, which holds them in order."""
        every, none = np.arange(design.n_rows), np.arange(0)
        given = (self.rows.labeled_codes(), self.rows.labeled_weight(), 0)
        block = ManyScoreBlock(design, every, none, *given, self.loss, self.hierarchy)
        return ManyScoreRows([block])

    def solve(
        self,
        state: State,
        tol: float,
        start: Linearization | None = None,
        *,
        max_iter: int = 200,
        **options: Any,
    ) -> State:
        """Fit the weights to the current costs of the rows, starting from a state."""
        if self.smooth:
            return minimize(
                self.problem(), state, tol=tol, start=start, max_iter=max_iter, **options
            )
        block = self.rows.single_shard()
        margin = MarginProblem(block.design, block.rows, block.costs, self.hierarchy, self.reg)
        if not isinstance(state, MarginState):
            state = MarginState.start(margin, state.w)
        passes, tol = PASSES_PER_STEP * max_iter, max(tol, TIGHTEST_TOL)
        minimize_margin(margin, state, tol=tol, max_iter=passes, **options)
        block.take_scores(state.scores)
        return state

    def start(self, w: Floats, tol: float, **options: Any) -> State:
        """Fit the labelled rows from ``w``; only their scores are valid afterwards."""
        state = State(w.copy())
        self.rows.all.score_labeled(state.w)
        self.rows.all.set_given_costs()
        return self.solve(state, tol, **options)

    def from_weights(self, w: Floats) -> State:
        """Return a state with these weights, and score all rows."""
        self.rows.all.score(w)
        return State(w)

    def class_scores(self, w: Floats, rows: Index) -> Floats:
        """Score the classes of some rows, shape (r, m); needs a single shard."""
        design = self.rows.single_shard().design
        nodes = np.zeros((design.n_rows, self.hierarchy.n_nodes))
        W = w.reshape(design.n_weights, self.hierarchy.n_nodes)
        design.scores_many(W, design.rows(rows), nodes)
        return self.hierarchy.class_scores(nodes[rows])

    # Labels --------------------------------------------------------------------------------

    @cached_property
    def used(self) -> Index:
        """Classes with a count above zero."""
        return np.flatnonzero(self.counts)

    def assign(self, prices: Floats | None) -> tuple[Floats, float, float]:
        """Find the labels of least cost under the counts, and store them in the rows' table.

        Parameters
        ----------
        prices : array of shape (m,), optional
            Where to start, for instance the prices of the last call.

        Returns
        -------
        prices : array of shape (m,)
            They certify the optimum.
        cost : float
            Cost of the labels found.
        before : float
            Cost of the labels chosen so far.
        """
        used, nu = self.used, np.zeros(len(self.counts))
        table = self.rows.table(used)
        nu[used] = transport(table, self._used_counts, None if prices is None else prices[used])
        if len(used) < len(nu):
            empty = np.flatnonzero(self.counts == 0)
            nu[empty] = self.rows.all.cheapest_moves(nu, empty)
        return nu, *self.rows.all.table_cost()

    @property
    def _used_counts(self) -> Counts:
        return self.counts[self.used]

    def soften(self, soft: SoftLabels) -> None:
        """Minimise J minus the entropy, at a temperature, over beliefs of the unlabelled rows.

        The blocks hold the beliefs, ``soft`` the prices (-inf for classes without rows) and the
        minimum.
        """
        used, nu = self.used, np.full(len(self.counts), -np.inf)
        wanted = self._used_counts if soft.sums is None else soft.sums[used]
        table = SoftTable(self, soft.lam)
        start = None if soft.price is None else soft.price[used]
        nu[used], soft.value, _ = spread(table, wanted, soft.temperature, start)
        soft.price = nu
        self.rows.all.adopt_beliefs()

    def free_energy(self, w: Floats, soft: SoftLabels) -> float:
        """Compute J minus the entropy, at the soft labels that minimise it."""
        return 0.5 * self.reg * dot(w, w) + self.rows.all.fit() + soft.value / self.n_unlabeled

    def objective(self, w: Floats, lam: float, fit: float, label_cost: float) -> float:
        """Compute J, given the losses of the labelled and of the unlabelled rows."""
        return 0.5 * self.reg * dot(w, w) + fit + lam / self.n_unlabeled * label_cost

    def imbalance(self) -> float:
        """Return the relative difference between predicted and required class counts.

        For two classes it is relative to the rarer class, as in `TwoClassTask`; for more, to
        all unlabelled rows, since the rarest of many classes may have none.
        """
        found = self.rows.all.predicted_counts()
        whole = self.counts.min() if len(self.counts) == 2 else self.n_unlabeled
        return float(np.abs(found - self.counts).sum()) / (2 * max(float(whole), 1.0))


class SoftTable:
    """The weighted costs of the classes in use, in the form the entropic step needs."""

    def __init__(self, task: ManyClassTask, factor: float) -> None:
        self._blocks = task.rows.all
        self._table = task.rows.table(task.used)
        self._counts = task.counts[task.used]
        self._factor = factor

    def gibbs(self, prices: Floats, temperature: float) -> tuple[float, Floats]:
        """Set the beliefs at prices; return the sum of the soft minima and the column sums."""
        return self._blocks.gibbs(prices, temperature, self._factor)

    def second_moments(self) -> Floats:
        """Sum over rows the outer product of the beliefs with themselves."""
        return self._blocks.second_moments()

    def cost_range(self) -> float:
        """Return the largest difference between two costs."""
        low, high = self._blocks.cost_range()
        return self._factor * (high - low)

    def exact_prices(self) -> Floats:
        """Return the prices of the exact label step for the counts."""
        return self._factor * transport(self._table, self._counts, None)
