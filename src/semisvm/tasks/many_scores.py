"""Rows with one score per class, and all vectors over them.

The counterpart of `one_score`: labels follow from the weights at which they were chosen and
the prices of the classes; beliefs from weights, prices and a temperature.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Design, Floats, Index, RowList, Workers
from semisvm.designs.vectors import add, dot
from semisvm.label_steps.result import chosen_cost
from semisvm.label_steps.transportation import CostTable, Counts, Labels, Near, cheapest_moves
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.weights import UNIT_WEIGHT, has_weights, of_rows
from semisvm.losses import ManyClassLoss, SmoothManyClassLoss
from semisvm.tasks import _kernels as _label_kernels
from semisvm.tasks.scored_rows import MAX_CHANGED
from semisvm.tasks.sums import totals

Codes = NDArray[np.intp]
NO_SCORES = np.empty((0, 0))


class ManyScoredRows:
    """Some rows of a problem with one score per class.

    Parameters
    ----------
    design : Design
        The rows.
    labeled, unlabeled : arrays of row indices, ascending
    codes : int array of shape (l,)
        Classes of the labelled rows.
    weight : array of shape (l,)
        Weights of the labelled rows, which sum to one over all blocks.
    n_unlabeled : int
        Number of unlabelled rows in all blocks, or the sum of their masses.
    loss : ManyClassLoss
    hierarchy : Hierarchy
        Weights are a flattened matrix with one column per node; the score of a class is the
        sum over the nodes on its path. Without a hierarchy the nodes are the classes.
    mass : array of shape (u,) or (1,)
        For how many rows each unlabelled row counts; see `RowWeights`.
    """

    def __init__(
        self,
        design: Design,
        labeled: Index,
        unlabeled: Index,
        codes: Codes,
        weight: Floats,
        n_unlabeled: int,
        loss: ManyClassLoss,
        hierarchy: Hierarchy,
        mass: Floats = UNIT_WEIGHT,
    ) -> None:
        self.design = design
        self.labeled = design.row_numbers(labeled)
        self.unlabeled = design.row_numbers(unlabeled)
        self.codes = codes
        self.weight = weight
        self.n_unlabeled = n_unlabeled
        self.loss = loss
        self.hierarchy = hierarchy
        self.mass = mass
        self.scores: Floats = NO_SCORES
        self.labels: Codes = np.zeros(len(unlabeled), dtype=np.intp)
        self.costs: Floats = NO_SCORES
        self._rows: RowList = design.all_rows
        # the labels of the last gradient
        self._solved: Codes = self.labels
        self._step: Floats = NO_SCORES
        self._p: Floats = NO_SCORES
        # costs of all classes for the unlabelled rows, at the scores
        self._label_costs: Floats | None = None
        # the same for the classes that a label step may use, with the labels it found
        self._table = CostTable(NO_SCORES)
        self._used: Index = np.empty(0, dtype=np.intp)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.hierarchy.paths.shape[1]

    @property
    def has_weights(self) -> bool:
        """Whether the unlabelled rows have masses of their own."""
        return has_weights(self.mass)

    @property
    def workers(self) -> Workers:
        """Threads of the block."""
        return self.design.workers

    @property
    def work(self) -> int:
        """Number of entries that a pass over the rows reads."""
        return self.design.all_rows.work

    @property
    def bias(self) -> float:
        """Value of the constant feature."""
        return self.design.bias

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights * self.hierarchy.n_nodes

    @property
    def _shape(self) -> tuple[int, int]:
        return self.design.n_weights, self.hierarchy.n_nodes

    # Weight step ---------------------------------------------------------------------------

    def score(self, w: Floats, labeled_only: bool = False) -> None:
        """Compute the scores of all rows, or of the labelled rows only."""
        rows = self.design.rows(self.labeled) if labeled_only else self.design.all_rows
        self.take_scores(self._scores(w, rows))

    def _scores(self, w: Floats, rows: RowList) -> Floats:
        nodes = np.zeros((self.design.n_rows, self.hierarchy.n_nodes))
        self.design.scores_many(w.reshape(self._shape), rows, nodes)
        return self.hierarchy.class_scores(nodes)

    def scores_of(self, w: Floats) -> Floats:
        """Compute the scores of all rows for a solver in this process."""
        return self._scores(w, self.design.all_rows)

    def take_scores(self, scores: Floats) -> None:
        """Set scores that a solver in this process has computed."""
        self.scores = scores
        self._label_costs = None

    def set_given_costs(self) -> None:
        """Set the costs of the given labels; the unlabelled rows have none."""
        self.costs, self._rows = self._given_costs(), self.design.rows(self.labeled)

    def set_label_costs(self, lam: float) -> None:
        """Set the costs of the given and the chosen labels, with weight ``lam`` of the latter."""
        self.costs, self._rows = self._given_costs(), self.design.all_rows
        self.costs[self.unlabeled, self.labels] = lam / self.n_unlabeled * self.mass
        self._solved = self.labels

    def set_belief_costs(self, lam: float) -> None:
        """Set the costs of the given labels and of the beliefs, with weight ``lam``."""
        self.costs, self._rows = self._given_costs(), self.design.all_rows
        self.costs[self.unlabeled] = self._p * (lam / self.n_unlabeled * self.mass)[:, None]

    def release(self) -> None:
        """Free what only a weight step needs: the next one is charged again."""
        self.costs = self._step = NO_SCORES
        self.design.free_sums()

    def _given_costs(self) -> Floats:
        costs = np.zeros((self.design.n_rows, self.n_classes))
        costs[self.labeled, self.codes] = self.weight
        return costs

    @property
    def rows(self) -> RowList:
        """The rows with costs."""
        return self._rows

    @property
    def _smooth(self) -> SmoothManyClassLoss:
        assert isinstance(self.loss, SmoothManyClassLoss)
        return self.loss

    def linearize(self) -> tuple[float, Floats, int]:
        """Compute value and gradient of the costs at the scores.

        Returns
        -------
        value : float
        gradient : array of shape (n_weights,)
            Without the regulariser.
        n_active : int
            Number of rows with curvature.
        """
        slope, evaluate = np.zeros_like(self.scores), self._smooth.evaluate
        values = self.design.by_block(
            self._rows,
            lambda rows: evaluate(self.scores, self.costs, rows, slope),
            work_each=self.n_classes,
        )
        return sum(values), self._pull_back(slope, self._rows), len(self._rows)

    def _pull_back(self, slope: Floats, rows: RowList, onto: Floats | None = None) -> Floats:
        """Sum x_i (outer) slope_i over the listed rows, by node, as a flat vector.

        The sum is added to a vector, if there is one.
        """
        slopes, add = self.hierarchy.node_slopes(slope), onto is not None
        out = np.empty(self.n_weights) if onto is None else onto
        self.design.pull_back_many(slopes, rows, out.reshape(self._shape), add=add)
        return out

    def curvature(self, p: Floats, out: Floats | None = None) -> Floats:
        """Multiply a vector by the curvature: sum of x_i (outer) H_i (x_i P)."""
        out = np.empty(p.shape) if out is None else out
        operator = self.hierarchy.between(partial(self._smooth.apply, self.scores, self.costs))
        P, into = p.reshape(self._shape), out.reshape(self._shape)
        self.design.curvature_many(P, operator, self._rows, into)
        return out

    def column_scales(self) -> Floats:
        """Bound the diagonal of the curvature by that of least squares."""
        total, scale = self.costs.sum(axis=1), np.empty(self.design.n_weights)
        self.design.column_scales(total, self._rows, scale)
        return np.repeat(scale, self.hierarchy.n_nodes)

    def labeled_curvature(self) -> Floats:
        """Return the diagonal of each labelled row's curvature, by node, shape (l, k)."""
        index, m = self.labeled, self.n_classes
        diagonal = np.ones((len(index), m))
        apply = partial(self._smooth.apply, self.scores, self.costs, index, 0, len(index))
        if self._smooth.separable:
            apply(diagonal)
            return self.hierarchy.node_slopes(diagonal)
        for y in range(m):
            column = np.zeros((len(index), m))
            column[:, y] = 1.0
            apply(column)
            diagonal[:, y] = column[:, y]
        return self.hierarchy.node_slopes(diagonal)

    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step of the weights."""
        self._step = self._scores(step, self._rows)

    def along(self, times: Sequence[float]) -> list[tuple[float, float]]:
        """Compute the first two derivatives of the value along the step, at several lengths."""
        set_direction = partial(self._smooth.along, self.scores, self._step, self.costs)

        def at(t: float) -> tuple[float, float]:
            parts = self.design.by_block(
                self._rows, lambda rows: set_direction(rows, t), work_each=self.n_classes
            )
            first, second = totals(parts)
            return first, second

        return [at(t) for t in times]

    def move(self, t: float) -> None:
        """Move along the step."""
        add(self.scores.reshape(-1), t, self._step.reshape(-1))
        self._label_costs = None

    def advance(
        self, t: float, onto: Floats | None = None
    ) -> tuple[float, int, Floats | None] | None:
        """Move along the step; return the value, and what the curvature does not predict.

        Parameters
        ----------
        t : float
        onto : array of shape (n_weights,), optional
            Vector to which the gradient below is added, and which is returned in its place.

        Returns
        -------
        value : float
        n_active : int
        gradient : array of shape (n_weights,), or None for zero
            To be added to the prediction of the curvature.

        None if so many rows changed that recomputing is cheaper.
        """
        move = self._smooth.move
        if move is None:
            self.move(t)
            return None

        def part(rows: Index) -> tuple[float, Index]:
            changed = np.empty_like(rows)
            value, k = move(self.scores, self._step, t, self.costs, rows, changed)
            return value, changed[:k].copy()

        parts = self.design.by_block(self._rows, part, work_each=self.n_classes)
        self._label_costs = None
        changed = self.design.rows(np.concatenate([found for _, found in parts]))
        if changed.work > MAX_CHANGED * self._rows.work:
            return None
        gradient = self._pull_back(self._step, changed, onto) if len(changed) else None
        return sum(value for value, _ in parts), len(self._rows), gradient

    # Hard labels ---------------------------------------------------------------------------

    def label_costs(self) -> Floats:
        """Return xi(s_j, y) for the unlabelled rows, (u, m)."""
        if self._label_costs is None:
            self._label_costs = self.loss.costs(self.scores[self.unlabeled])
        return self._label_costs

    def open_table(self, used: Index) -> int:
        """Prepare a label step among some classes; return the number of rows."""
        costs, self._used = self.label_costs(), used
        some = costs if len(used) == self.n_classes else costs[:, used]
        self._table = CostTable(np.ascontiguousarray(some), self.mass)
        return len(costs)

    def sample(self, step: int, first: int) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row of the table."""
        return self._table.sample(step, first)

    def assign(self, prices: Floats) -> Counts:
        """Assign each row of the table its cheapest class at the prices; sum masses per class."""
        return self._table.assign(prices)

    def balance(self, prices: Floats, excess: Counts, reach: float) -> tuple[bool, Floats, Counts]:
        """Move rows until no class has an excess; only if this block has all rows.

        Returns
        -------
        done : bool
        prices, excess : arrays of shape (m,)
            After the moves.
        """
        done = self._table.balance(prices, excess, reach)
        return done, prices, excess

    def near(self, prices: Floats, reach: float) -> Near:
        """Return the rows of the table that a move within reach may concern."""
        return self._table.near(prices, reach)

    def relabel(self, rows: Labels, labels: Labels) -> None:
        """Set the labels of some rows of the table."""
        self._table.relabel(rows, labels)

    def table_cost(self) -> tuple[float, float]:
        """Return the cost of the labels in the table, and of the chosen labels."""
        costs, found = self.label_costs(), self._used[self._table.labels]
        return chosen_cost(costs, found, self.mass), chosen_cost(costs, self.labels, self.mass)

    def cheapest_moves(self, prices: Floats, classes: Index) -> Floats:
        """Return, for each of some classes, the least cost of moving a row there at the prices."""
        found = self._used[self._table.labels]
        return cheapest_moves(self.label_costs(), found, prices, classes)

    def adopt_table(self) -> int:
        """Choose the labels in the table; count those that change."""
        found = self._used[self._table.labels].astype(np.intp, copy=False)
        changed = int(np.count_nonzero(found != self.labels))
        self.labels = found
        return changed

    def take_labels(self, labels: Codes) -> None:
        """Set labels that a label step in this process has chosen."""
        self.labels = labels

    def losses(self) -> tuple[float, float]:
        """Return the weighted losses of the given labels, and the losses of the chosen."""
        return self.fit(), chosen_cost(self.label_costs(), self.labels, self.mass)

    def fit(self) -> float:
        """Sum the weighted losses of the given labels."""
        given = self.loss.costs(self.scores[self.labeled])
        return float(dot(self.weight, given[np.arange(len(self.codes)), self.codes]))

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
            Change of the value by the labels.
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
        # value and slopes are linear in the costs
        costs, missing = np.zeros_like(self.scores), np.zeros_like(self.scores)
        free = self.unlabeled[switched]
        each = lam / self.n_unlabeled * of_rows(self.mass, switched)
        costs[free, self.labels[switched]] = each
        costs[free, self._solved[switched]] = -each
        change = self._smooth.evaluate(self.scores, costs, free, missing)
        fit = 0.0
        if len(given):
            costs[given, self.codes] = self.weight
            fit = self._smooth.evaluate(self.scores, costs, given, missing)
            missing[given] *= 1.0 - ratio
        self._solved = self.labels
        if onto is not None and ratio != 1.0:
            onto *= ratio
        if not len(index):
            return 0.0, 0.0, None, 0
        return fit, change, self._pull_back(missing, rows, onto), 0

    def predicted_counts(self) -> Counts:
        """Count the unlabelled rows by the class of their largest score, by mass."""
        mass = np.broadcast_to(self.mass, len(self.unlabeled)) if self.has_weights else None
        return np.bincount(self.predictions(), mass, minlength=self.n_classes)

    # Results of a fit ------------------------------------------------------------------------

    def predictions(self) -> Codes:
        """Return the class with the largest score, per unlabelled row."""
        found = np.empty(len(self.unlabeled), dtype=np.intp)
        _label_kernels.largest(self.scores, self.unlabeled, found)
        return found

    def chosen_labels(self) -> Codes:
        """Return the chosen labels of the unlabelled rows."""
        return self.labels

    def beliefs(self) -> Floats:
        """Return the beliefs of the unlabelled rows, (u, m)."""
        return self._p

    def labeled_rows(self) -> Any:
        """Return the labelled rows as a matrix: they are few, and the driver needs them."""
        return self.design.matrix(self.labeled)
