"""Rows with one score per class, and all vectors over them.

The counterpart of `one_score`: labels follow from the weights at which they were chosen and
the prices of the classes; beliefs from weights, prices and a temperature.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from semisvm.designs import Design, Floats, Index, RowList
from semisvm.designs.base import RowOperator
from semisvm.designs.vectors import dot
from semisvm.label_steps.transportation import (
    CostTable,
    Labels,
    Near,
    cheapest_moves,
    chosen_cost,
)
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.weights import UNIT_WEIGHT, Counts, of_rows
from semisvm.losses import ManyClassLoss, SmoothManyClassLoss
from semisvm.tasks import _kernels as _label_kernels
from semisvm.tasks.driver import MAX_CHANGED, Block, Codes
from semisvm.tasks.operations import (
    concatenated,
    least,
    operation,
    tables,
    totals,
    vectors,
)
from semisvm.tasks.samples import places_of

NO_SCORES = np.empty((0, 0))


def _samples(parts: Sequence[tuple[Floats, Labels, Floats]]) -> tuple[Floats, Labels, Floats]:
    """Join samples of the tables of several blocks."""
    if len(parts) == 1:
        return parts[0]
    costs, labels = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    mass = np.concatenate([np.broadcast_to(mass, len(own)) for _, own, mass in parts])
    return costs, labels, mass


class Curved(NamedTuple):
    """The rows that products with the curvature take, if these are not all.

    Attributes
    ----------
    rows : RowList
        The labelled rows, and a sample of the unlabelled ones.
    each : array of shape (k,)
        For how many rows each of them stands.
    places : array
        Positions of the sample among the unlabelled rows.
    factor : float
        For how many rows each row of the sample stands.
    """

    rows: RowList
    each: Floats
    places: Index
    factor: float


class ManyScoredRows(Block):
    """Some rows of a problem with one score per class.

    Parameters
    ----------
    design, labeled, unlabeled, weight, n_unlabeled, mass, evidence
        See `Block`.
    codes : int array of shape (l,)
        Classes of the labelled rows.
    loss : ManyClassLoss
    hierarchy : Hierarchy
        Weights are a flattened matrix with one column per node; the score of a class is the
        sum over the nodes on its path. Without a hierarchy the nodes are the classes.
    """

    STATE: ClassVar = {
        "sample": ("unlabeled", "mass", "evidence", "n_unlabeled"),
        "scores": ("scores", "_label_costs"),
        "step": ("_step",),
        "costs": ("costs", "_rows"),
        "labels": ("labels",),
        "solved": ("_solved",),
        "curved": ("_some",),
        "table": ("_table", "_used"),
        "beliefs": ("_p",),
        "response": ("_slopes", "_softness"),
        "moved": ("_moved",),
    }

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
        evidence: Floats | None = None,
    ) -> None:
        self._codes = codes
        self.loss = loss
        self.hierarchy = hierarchy
        super().__init__(design, labeled, unlabeled, weight, n_unlabeled, mass, evidence)

    def _clear(self) -> None:
        # the rows with costs
        self._rows: RowList = self.design.all_rows
        self.scores: Floats = NO_SCORES
        self.labels: Codes = np.zeros(len(self.unlabeled), dtype=np.intp)
        self.costs: Floats = NO_SCORES
        # the labels of the last gradient
        self._solved: Codes = self.labels
        self._step: Floats = NO_SCORES
        # the rows that products with the curvature take, and for how many rows each stands
        self._some: Curved | None = None
        self._p: Floats = NO_SCORES
        # costs of all classes for the unlabelled rows, at the scores
        self._label_costs: Floats | None = None
        # the same for the classes that a label step may use, with the labels it found
        self._table = CostTable(NO_SCORES)
        self._used: Index = np.empty(0, dtype=np.intp)

    @property
    def codes(self) -> Codes:
        """Classes of the labelled rows."""
        return self._codes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.hierarchy.paths.shape[1]

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights * self.hierarchy.n_nodes

    @property
    def _shape(self) -> tuple[int, int]:
        return self.design.n_weights, self.hierarchy.n_nodes

    # Weight step ---------------------------------------------------------------------------

    @operation(sets="scores", takes_vector=True, weights="given")
    def score(self, w: Floats) -> None:
        """Compute the scores of all rows."""
        self.take_scores(self._scores(w, self.design.all_rows))

    @operation(sets="scores", takes_vector=True, weights="unknown")
    def score_labeled(self, w: Floats) -> None:
        """Compute the scores of the labelled rows only."""
        self.take_scores(self._scores(w, self.design.rows(self.labeled)))

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

    @operation(sets="costs curved")
    def set_given_costs(self) -> None:
        """Set the costs of the given labels; the unlabelled rows have none."""
        self.costs, self._rows = self._given_costs(), self.design.rows(self.labeled)
        self._some = None

    @operation(reads="labels", sets="costs curved solved")
    def set_label_costs(self, lam: float) -> None:
        """Set the costs of the given and the chosen labels, with weight ``lam`` of the latter."""
        self.costs, self._rows = self._given_costs(), self.design.all_rows
        self.costs[self.unlabeled, self.labels] = lam / self.n_unlabeled * self.mass
        self._solved, self._some = self.labels, None

    @operation(reads="beliefs", sets="costs curved")
    def set_belief_costs(self, lam: float) -> None:
        """Set the costs of the given labels and of the beliefs, with weight ``lam``."""
        self.costs, self._rows = self._given_costs(), self.design.all_rows
        self._some = None
        self.costs[self.unlabeled] = self._p * (lam / self.n_unlabeled * self.mass)[:, None]

    @operation(sets="costs curved step")
    def release(self) -> None:
        """Free what only a weight step needs; the next one sets the costs again."""
        self._some = None
        self.costs = self._step = NO_SCORES
        self._rows = self.design.all_rows
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

    @operation(reads="scores costs", sets="curved", combine=(sum, vectors, sum))
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
        self._some = None
        slope, evaluate = np.zeros(self.scores.shape), self._smooth.evaluate
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

    @operation(reads="sample", sets="curved")
    def sample_curvature(self, spans: Index, factor: float) -> None:
        """Have a sample of the rows stand for all of them in the curvature; see `Block`."""
        places = places_of(spans)
        index = np.concatenate([self.labeled, self.unlabeled[places]])
        each = np.repeat([1.0, factor], [len(self.labeled), len(places)])
        order = np.argsort(index)
        self._some = Curved(self.design.rows(index[order]), each[order], places, factor)

    def _curved_rows(self) -> tuple[RowList, RowOperator]:
        """Return the rows that products with the curvature take, and what is applied to them."""
        apply: RowOperator = partial(self._smooth.apply, self.scores, self.costs)
        if self._some is None:
            return self._rows, apply
        rows, each = self._some.rows, self._some.each

        def weighed(index: Index, start: int, stop: int, Q: Floats) -> None:
            apply(index, start, stop, Q)
            Q[: stop - start] *= each[start:stop, None]

        return rows, weighed

    @operation(reads="scores costs curved", combine=vectors, takes_vector=True)
    def curvature(self, p: Floats, out: Floats | None = None) -> Floats:
        """Multiply a vector by the curvature: sum of x_i (outer) H_i (x_i P)."""
        out = np.empty(p.shape) if out is None else out
        rows, apply = self._curved_rows()
        P, into = p.reshape(self._shape), out.reshape(self._shape)
        self.design.curvature_many(P, self.hierarchy.between(apply), rows, into)
        return out

    @operation(reads="costs curved", combine=vectors)
    def column_scales(self) -> Floats:
        """Bound the diagonal of the curvature by that of least squares."""
        rows, scale = self._rows, np.empty(self.design.n_weights)
        if self._some is None:
            total = self.costs.sum(axis=1)
        else:
            rows, total = self._some.rows, np.zeros(self.design.n_rows)
            total[rows.index] = self.costs[rows.index].sum(axis=1) * self._some.each
        self.design.column_scales(total, rows, scale)
        return np.repeat(scale, self.hierarchy.n_nodes)

    @operation(reads="costs", sets="step", takes_vector=True, weights="step")
    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step of the weights."""
        self._step = self._scores(step, self._rows)

    @operation(reads="scores step costs", combine=tables)
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

    @operation(reads="scores step", changes="scores", weights="moved")
    def move(self, t: float) -> None:
        """Move along the step."""
        self._add_step(self.scores, t, self._step)
        self._label_costs = None

    @operation(
        reads="scores step costs",
        changes="scores",
        combine=(sum, sum, vectors),
        weights="moved",
        frees="step",
    )
    def advance(
        self, t: float, onto: Floats | None = None
    ) -> tuple[float, int, Floats | None] | None:
        """Move along the step; see `Block`."""
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

    @operation(reads="scores", join=concatenated, follows=(linearize, advance))
    def labeled_curvature(self) -> Floats:
        """Return the diagonal of each labelled row's curvature, by node, shape (l, k)."""
        n, m = len(self.labeled), self.n_classes
        index, diagonal = np.arange(n, dtype=self.labeled.dtype), np.ones((n, m))
        # their costs are the same whatever the labels of the other rows are
        costs = np.zeros((n, m))
        costs[index, self.codes] = self.weight
        apply = partial(self._smooth.apply, self.scores[self.labeled], costs, index, 0, n)
        if self._smooth.separable:
            apply(diagonal)
            return self.hierarchy.node_slopes(diagonal)
        for y in range(m):
            column = np.zeros((n, m))
            column[:, y] = 1.0
            apply(column)
            diagonal[:, y] = column[:, y]
        return self.hierarchy.node_slopes(diagonal)

    # Hard labels ---------------------------------------------------------------------------

    def label_costs(self) -> Floats:
        """Return the costs of labels of the unlabelled rows, xi(s_j, y) and evidence, (u, m)."""
        if self._label_costs is None:
            self._label_costs = self.loss.costs(self.scores[self.unlabeled])
            if self.evidence is not None:
                self._label_costs += self.evidence
        return self._label_costs

    @operation(combine=max)
    def forbids(self) -> bool:
        """Return whether some rows may not have every class."""
        evidence = self._whole[3]
        return evidence is not None and not bool(np.isfinite(evidence).all())

    @operation(reads="scores", sets="table")
    def open_table(self, used: Index) -> int:
        """Prepare a label step among some classes; return the number of rows."""
        costs, self._used = self.label_costs(), used
        some = costs if len(used) == self.n_classes else costs[:, used]
        self._table = CostTable(np.ascontiguousarray(some), self.mass)
        return len(costs)

    @operation(reads="table", join=_samples)
    def sample(self, step: int, first: int) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row of the table."""
        return self._table.sample(step, first)

    @operation(reads="table", changes="table", combine=sum)
    def assign(self, prices: Floats) -> Counts:
        """Assign each row of the table its cheapest class at the prices; sum masses per class."""
        return self._table.assign(prices)

    @operation(reads="table", changes="table")
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

    @operation(reads="table")
    def near(self, prices: Floats, reach: float) -> Near:
        """Return the rows of the table that a move within reach may concern."""
        return self._table.near(prices, reach)

    @operation(reads="table", changes="table")
    def relabel(self, rows: Labels, labels: Labels) -> None:
        """Set the labels of some rows of the table."""
        self._table.relabel(rows, labels)

    @operation(reads="scores table labels", combine=(sum, sum))
    def table_cost(self) -> tuple[float, float]:
        """Return the cost of the labels in the table, and of the chosen labels."""
        costs, found = self.label_costs(), self._used[self._table.labels]
        return chosen_cost(costs, found, self.mass), chosen_cost(costs, self.labels, self.mass)

    @operation(reads="scores table", combine=least)
    def cheapest_moves(self, prices: Floats, classes: Index) -> Floats:
        """Return, for each of some classes, the least cost of moving a row there at the prices."""
        found = self._used[self._table.labels]
        return cheapest_moves(self.label_costs(), found, prices, classes)

    @operation(reads="table", sets="labels", combine=sum)
    def adopt_table(self) -> int:
        """Choose the labels in the table; count those that change."""
        found = self._used[self._table.labels].astype(np.intp, copy=False)
        changed = int(np.count_nonzero(found != self.labels))
        self.labels = found
        return changed

    def take_labels(self, labels: Codes) -> None:
        """Set labels that a label step in this process has chosen."""
        self.labels = labels

    @operation(reads="scores labels", combine=(sum, sum))
    def losses(self) -> tuple[float, float]:
        """Return the weighted losses of the given labels, and the costs of the chosen."""
        return self.fit(), chosen_cost(self.label_costs(), self.labels, self.mass)

    @operation(reads="labels", combine=sum)
    def evidence_cost(self) -> float:
        """Sum what evidence adds to the costs of the chosen labels."""
        return 0.0 if self.evidence is None else chosen_cost(self.evidence, self.labels, self.mass)

    @operation(reads="scores", combine=sum, follows=(table_cost,))
    def fit(self) -> float:
        """Sum the weighted losses of the given labels."""
        given = self.loss.costs(self.scores[self.labeled])
        return float(dot(self.weight, given[np.arange(len(self.codes)), self.codes]))

    @operation(reads="scores labels solved", changes="solved", combine=(sum, sum, vectors, sum))
    def follow_labels(
        self, ratio: float, lam: float, onto: Floats | None = None
    ) -> tuple[float, float, Floats | None, int] | None:
        """Return how value and gradient change with the labels; see `Block`."""
        found = self._to_follow(ratio)
        if found is None:
            return None
        given, switched, _, rows = found
        # value and slopes are linear in the costs
        costs, missing = np.zeros(self.scores.shape), np.zeros(self.scores.shape)
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
        if not len(rows):
            return 0.0, 0.0, None, 0
        return fit, change, self._pull_back(missing, rows, onto), 0

    @operation(reads="scores", combine=sum, follows=(table_cost,))
    def predicted_counts(self) -> Counts:
        """Count the unlabelled rows by the class of their largest score, by mass."""
        mass = np.broadcast_to(self.mass, len(self.unlabeled)) if self.has_weights else None
        return np.bincount(self.predictions(), mass, minlength=self.n_classes)

    # Results of a fit ------------------------------------------------------------------------

    @operation(reads="scores", join=concatenated)
    def predictions(self) -> Codes:
        """Return the class with the largest score, per unlabelled row."""
        found = np.empty(len(self.unlabeled), dtype=np.intp)
        _label_kernels.largest(self.scores, self.unlabeled, found)
        return found

    @operation(reads="labels", join=concatenated)
    def chosen_labels(self) -> Codes:
        """Return the chosen labels of the unlabelled rows."""
        return self.labels

    @operation(reads="beliefs", join=concatenated)
    def beliefs(self) -> Floats:
        """Return the beliefs of the unlabelled rows, (u, m)."""
        return self._p
