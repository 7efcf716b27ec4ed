"""Rows with one score per row: the weight step, with every vector over rows that it needs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from semisvm.designs import Design, Floats, Index, RowList
from semisvm.designs.vectors import scatter
from semisvm.designs.workers import ROW_WORK
from semisvm.labels.weights import UNIT_WEIGHT
from semisvm.losses import Signs, TwoClassLoss
from semisvm.tasks.driver import MAX_CHANGED, Block
from semisvm.tasks.operations import concatenated, operation, tables, totals, vectors
from semisvm.tasks.samples import places_of

NOTHING = np.empty(0)


class ScoredRows(Block):
    """Some rows of a two-class problem.

    Parameters
    ----------
    design, labeled, unlabeled, weight, n_unlabeled, mass, evidence
        See `Block`.
    positive : bool array of shape (l,)
        Whether each labelled row has the second class.
    loss : TwoClassLoss
    """

    # Hints that save a pass, `_scored` and `_ranks`, are no part of the state: never wrong.
    # Products free half of the costs ("spared"), which follow from the others only up to rounding.
    STATE: ClassVar = {
        "sample": ("unlabeled", "mass", "evidence", "n_unlabeled"),
        "scores": ("scores",),
        "step": ("_step",),
        "costs": ("_each", "_hard", "_rows"),
        "spared": ("_a", "_b"),
        "curvature": ("_curvature", "_active", "_n_active", "_listed", "_responding"),
        "labels": ("labels",),
        "solved": ("_solved",),
        "beliefs": ("_p", "_q"),
        "before": ("_p_before",),
        "gaps": ("_gaps",),
    }

    def __init__(
        self,
        design: Design,
        labeled: Index,
        unlabeled: Index,
        positive: Signs,
        weight: Floats,
        n_unlabeled: int,
        loss: TwoClassLoss,
        mass: Floats = UNIT_WEIGHT,
        evidence: Floats | None = None,
    ) -> None:
        self.positive = positive
        self.loss = loss
        super().__init__(design, labeled, unlabeled, weight, n_unlabeled, mass, evidence)

    def _clear(self) -> None:
        # the rows with costs
        self._rows: RowList = self.design.all_rows
        self.scores: Floats = NOTHING
        # the weights of which these are the scores, unless they were moved since
        self._scored: Floats | None = None
        self.labels: Signs = np.zeros(len(self.unlabeled), dtype=np.bool_)
        self._step: Floats = NOTHING
        # costs of the two labels, their sum in an unlabelled row of mass one, and the labels if
        # they are hard
        self._a: Floats = NOTHING
        self._b: Floats = NOTHING
        self._each: float | None = None
        self._hard: Signs | None = None
        # the labels of the last gradient
        self._solved: Signs = self.labels
        # beliefs in the two labels, those before, and the gaps between the losses of the labels
        self._p: Floats = NOTHING
        self._q: Floats = NOTHING
        self._p_before: Floats = NOTHING
        self._gaps: Floats | None = None
        # what orders the rows for a threshold where there is evidence, at the scores
        self._ranks: Floats | None = None
        # curvature of the costs at the scores; lists of the rows with one, and their union
        self._curvature: Floats | None = None
        self._active: list[Index] = []
        self._n_active = 0
        self._listed: RowList | None = None
        self._responding = False

    @property
    def codes(self) -> Index:
        """Classes of the labelled rows."""
        return self.positive.astype(np.intp)

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights

    @operation(sets="scores curvature gaps", takes_vector=True, weights="given")
    def score(self, w: Floats) -> None:
        """Compute the scores of all rows."""
        if self._scored is None or not np.array_equal(w, self._scored):
            self.take_scores(self._scores(w, self.design.all_rows))
            self._scored = w.copy()
        else:
            # what else an operation sets must not depend on what was there before
            self._forget_curvature()
            self._gaps = None

    @operation(sets="scores curvature gaps", takes_vector=True, weights="unknown")
    def score_labeled(self, w: Floats) -> None:
        """Compute the scores of the labelled rows only."""
        self.take_scores(self._scores(w, self.design.rows(self.labeled)))

    def _scores(self, w: Floats, rows: RowList) -> Floats:
        return self.design.scores(w, rows, np.zeros(self.design.n_rows))

    @operation(sets="costs spared curvature")
    def set_given_costs(self) -> None:
        """Set the costs of the given labels; the unlabelled rows have none."""
        n = self.design.n_rows
        self._a, self._b, self._rows = np.zeros(n), np.zeros(n), self.design.rows(self.labeled)
        self._each = self._hard = None
        self._charge_labeled()
        self._forget_curvature()

    @operation(reads="labels", sets="costs spared curvature beliefs before solved")
    def set_label_costs(self, lam: float) -> None:
        """Set the costs of the given and the chosen labels, with weight ``lam`` of the latter."""
        self._p = self._q = self._p_before = NOTHING
        self._charge(lam, self.labels)
        self._fill(*_both(self.labels))
        self._solved = self.labels

    @operation(reads="beliefs", sets="costs spared curvature beliefs")
    def set_belief_costs(self, lam: float) -> None:
        """Set the costs of the beliefs; from now on the costs hold the beliefs."""
        self._charge(lam)
        self._fill(self._p, self._q)
        self._p = self._q = NOTHING

    def _charge(self, lam: float, hard: Signs | None = None) -> None:
        self._drop_costs()
        self._rows, self._each, self._hard = self.design.all_rows, lam / self.n_unlabeled, hard
        self._forget_curvature()

    def _fill(self, p: Any, q: Any) -> None:
        """Compute the costs of the two labels."""
        assert self._each is not None
        n, each, unlabeled = self.design.n_rows, self._each * self.mass, self.unlabeled
        a, b = self._a, self._b = np.empty(n), np.empty(n)
        self._by_block(lambda start, stop: scatter(p, q, each, unlabeled, a, b, start, stop))
        self._charge_labeled()

    def _drop_costs(self) -> None:
        self._a = self._b = NOTHING
        self._hard = None

    def _costs(self) -> tuple[Floats, Floats]:
        """Return the costs of the two labels; compute what was freed."""
        if self._hard is not None and not len(self._a):
            self._fill(*_both(self._hard))
        elif len(self._b) < len(self._a):
            assert self._each is not None
            self._b = self._each - self._a
            if self.has_weights:
                self._b[self.unlabeled] = self._each * self.mass - self._a[self.unlabeled]
            self._b[self.labeled] = np.where(self.positive, 0.0, self.weight)
        return self._a, self._b

    def _spare(self) -> None:
        """Free the costs that follow from what is left: products need the most memory of all."""
        # the scores are about to move
        self._scored = None
        if self.is_sample:
            # it takes longer to compute a vector over all rows than its memory is worth
            return
        if self._each is not None:
            self._b = NOTHING
        if self._hard is not None:
            self._a = NOTHING

    @operation(sets="costs spared curvature step")
    def release(self) -> None:
        """Free what only a weight step needs; the next one sets the costs again."""
        self._step = NOTHING
        self._drop_costs()
        self._each, self._rows = None, self.design.all_rows
        self._forget_curvature()
        self.design.free_sums()

    def _charge_labeled(self) -> None:
        self._a[self.labeled] = np.where(self.positive, self.weight, 0.0)
        self._b[self.labeled] = np.where(self.positive, 0.0, self.weight)

    def _by_block(self, part: Callable[[int, int], Any], work: int = ROW_WORK) -> list[Any]:
        """Share a pass over the unlabelled rows among threads."""
        return self.design.workers.share(part, len(self.unlabeled), work)

    @operation(reads="scores costs spared", sets="curvature step", combine=(sum, vectors, sum))
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
        # the next step is another one: free the memory of the last before allocating more
        self._step, self._listed = NOTHING, None
        self.design.free_sums()
        slope, curvature = np.empty(n), np.empty(n) if self._curvature is None else self._curvature
        evaluate = partial(self._evaluate, self._costs(), slope, curvature)
        values, active = self.design.pull_back_found(slope, self._rows, evaluate, gradient)
        n_active = sum(len(part) for part in active)
        self._curvature, self._active, self._n_active = curvature, active, n_active
        self._responding = False
        return sum(values), gradient, n_active

    def _evaluate(
        self, costs: tuple[Floats, Floats], slope: Floats, curvature: Floats, rows: Index
    ) -> tuple[float, Index]:
        """Fill slopes and curvatures of some rows; return their value and the active ones."""
        assert self.loss.evaluate is not None
        active = np.empty_like(rows)
        value, n_active = self.loss.evaluate(self.scores, *costs, rows, slope, curvature, active)
        return value, active[:n_active]

    def _forget_curvature(self) -> None:
        self._curvature, self._listed = None, None
        self._active, self._n_active = [], 0
        self._responding = False

    def _curvatures(self) -> Floats:
        """Return the curvatures; compute them if missing."""
        if self._curvature is None:
            # no move follows the products of a step but that along the next one
            self._step = NOTHING
            self._curvature = np.empty(self.design.n_rows)
            # slopes are not needed here: the curvatures overwrite them row by row
            evaluate = partial(self._evaluate, self._costs(), self._curvature, self._curvature)
            self._active = [part for _, part in self.design.by_block(self._rows, evaluate)]
            self._n_active = sum(len(part) for part in self._active)
            self._listed = None
        return self._curvature

    def _active_rows(self) -> RowList:
        """Return the rows with a curvature, which has been computed."""
        if self._listed is None:
            everything = self._n_active == len(self._rows)
            self._listed = (
                self._rows if everything else self.design.rows(np.concatenate(self._active))
            )
            # the lists of the parts take as much memory as their union
            self._active = []
        return self._listed

    @operation(
        reads="scores costs spared curvature",
        sets="spared",
        combine=vectors,
        takes_vector=True,
        idempotent=True,
        frees="step",
    )
    def curvature(self, p: Floats, out: Floats | None = None) -> Floats:
        """Multiply a vector by the curvature: sum of c_i (x_i . p) x_i."""
        out = np.empty(self.design.n_weights) if out is None else out
        curvature = self._curvatures()
        self._spare()
        return self.design.curvature(p, curvature, self._active_rows(), out)

    @operation(reads="sample scores costs spared curvature", changes="curvature", frees="step")
    def sample_curvature(self, spans: Index, factor: float) -> None:
        """Have a sample of the rows stand for all of them in the curvature; see `Block`."""
        curvature, some = self._curvatures(), self.unlabeled[places_of(spans)]
        curvature[some] *= factor
        rows = np.sort(np.concatenate([self.labeled, some]))
        self._active = [rows[curvature[rows] != 0.0]]
        self._n_active, self._listed = len(self._active[0]), None

    @operation(reads="scores costs spared curvature", combine=vectors, frees="step")
    def column_scales(self) -> Floats:
        """Compute the diagonal of the curvature, column by column."""
        curvature, rows = self._curvatures(), self._active_rows()
        if self._responding:
            # the response of the labels may make it negative
            curvature, rows = np.abs(curvature), self._rows
        return self.design.column_scales(curvature, rows, np.empty(self.design.n_weights))

    @operation(reads="costs", sets="step curvature", takes_vector=True, weights="step")
    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step of the weights."""
        # the curvature is no longer needed: free its memory before allocating more
        self._forget_curvature()
        self.design.free_sums()
        self._step = self._scores(step, self._rows)

    @operation(reads="scores step costs spared", combine=tables)
    def along(self, times: Sequence[float]) -> list[tuple[float, float]]:
        """Compute the first two derivatives of the value along the step, at several lengths."""
        assert self.loss.along is not None
        set_direction = partial(self.loss.along, self.scores, self._step, *self._costs())

        def at(t: float) -> tuple[float, float]:
            parts = self.design.by_block(self._rows, lambda rows: set_direction(rows, t))
            first, second = totals(parts)
            return first, second

        return [at(t) for t in times]

    @operation(reads="scores step", sets="curvature gaps", changes="scores", weights="moved")
    def move(self, t: float) -> None:
        """Move along the step."""
        self._add_step(self.scores, t, self._step)
        self._scores_moved()

    @operation(
        reads="scores step costs spared",
        sets="curvature gaps",
        changes="scores",
        combine=(sum, sum, vectors),
        weights="moved",
        frees="step",
    )
    def advance(
        self, t: float, onto: Floats | None = None
    ) -> tuple[float, int, Floats | None] | None:
        """Move along the step; see `Block`."""
        move = self.loss.move
        if move is None:
            self.move(t)
            return None

        costs = self._costs()

        def part(rows: Index) -> tuple[float, int, Index]:
            changed = np.empty_like(rows)
            value, n_active, k = move(self.scores, self._step, t, *costs, rows, changed)
            return value, n_active, changed[:k].copy()

        parts = self.design.by_block(self._rows, part)
        self._scores_moved()
        changed = self.design.rows(np.concatenate([found for _, _, found in parts]))
        if changed.work > MAX_CHANGED * self._rows.work:
            return None
        gradient = None
        if len(changed):
            gradient = self._pull_back(self._step, changed, onto)
        return sum(found[0] for found in parts), sum(found[1] for found in parts), gradient

    @operation(reads="scores", join=concatenated, follows=(linearize, advance))
    def labeled_curvature(self) -> Floats:
        """Return the curvatures of the labelled rows, shape (l, 1)."""
        assert self.loss.evaluate is not None
        # their costs are the same whatever the labels of the other rows are
        a, b = np.where(self.positive, self.weight, 0.0), np.where(self.positive, 0.0, self.weight)
        rows, found = np.arange(len(a), dtype=self.labeled.dtype), np.empty(len(a))
        self.loss.evaluate(self.scores[self.labeled], a, b, rows, found, found, np.empty_like(rows))
        return found[:, None]

    def _pull_back(self, v: Floats, rows: RowList, onto: Floats | None = None) -> Floats:
        """Sum v_i x_i over the listed rows, onto a vector if there is one."""
        out = np.empty(self.n_weights) if onto is None else onto
        return self.design.pull_back(v, rows, out, add=onto is not None)

    @operation(reads="scores", sets="curvature gaps", changes="scores", weights="unknown")
    def shift(self, amount: float) -> None:
        """Add a constant to all scores."""
        self.scores += amount
        self._scores_moved()

    def charged(self) -> tuple[RowList, Floats, Floats]:
        """Return the rows with costs, and the costs, for a solver in this process."""
        return self._rows, *self._costs()

    def take_scores(self, scores: Floats) -> None:
        """Set scores that a solver in this process has computed."""
        self.scores = scores
        self._scores_moved()

    def _scores_moved(self) -> None:
        self._scored = self._ranks = None
        self._forget_curvature()
        self._gaps = None


def _both(labels: Signs) -> tuple[Any, Any]:
    """Return whether labels are positive, and whether negative, as numbers.

    Compiled code multiplies numbers but would branch on booleans.
    """
    return labels.view(np.uint8), (~labels).view(np.uint8)
