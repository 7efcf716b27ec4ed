r"""Weight steps as data: what is minimised, in the form that `newton.minimize` works on.

Every problem is ::

    min_w f(w) = reg/2 ||w||^2 + sum over rows of a convex loss of the row's scores

Weights are one flat vector; scores are linear in them. A problem answers three questions,
each by passes over its rows: value, gradient and curvature at given scores; the scores of
a step; and the derivatives of f along a step. Where few rows have changed their slope in
another way than their curvature says, a gradient follows from the one before, and only
these rows are read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import numpy as np

from semisvm.designs import Design, Floats, Index, RowList
from semisvm.designs.workers import Workers
from semisvm.hierarchy import Hierarchy
from semisvm.losses import Loss
from semisvm.multi_losses import SmoothMultiLoss
from semisvm.vectors import add
from semisvm.weights.conjugate_gradients import Operator
from semisvm.weights.stiff_rows import Inverse, StiffRows

# Share of all work beyond which a gradient is computed afresh: a list of rows that are far
# apart is read more slowly than all of them.
MAX_CHANGED = 0.3


@dataclass(frozen=True)
class Linearization:
    """A problem at given scores.

    Attributes
    ----------
    value : float
        Of the loss, without the regulariser.
    gradient : array of shape (n_weights,)
        Of all of f.
    exact : bool
        Whether the gradient was computed afresh, or follows from one before.
    product : (p, out) -> curvature times p
    scales : () -> diagonal of the curvature
    inverse : () -> preconditioner, or None
    n_active : int
        Rows with curvature.

    The last three are to be asked for before the scores move on.
    """

    value: float
    gradient: Floats
    exact: bool
    product: Callable[[Floats, Floats], Floats]
    scales: Callable[[], Floats]
    inverse: Callable[[], Operator | None]
    n_active: int


class Problem(Protocol):
    """What the Newton solver needs of a problem."""

    @property
    def reg(self) -> float:
        """Strength of the regularisation."""
        ...

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        ...

    @property
    def workers(self) -> Workers:
        """Threads of the fit."""
        ...

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is the same everywhere."""
        ...

    def scores(self, w: Floats) -> Floats:
        """Give the scores of weights, or of a step of the weights."""
        ...

    def linearize(self, w: Floats, scores: Floats) -> Linearization:
        """Give value, gradient and curvature at weights and their scores."""
        ...

    def move(
        self, w: Floats, scores: Floats, step_scores: Floats, t: float, predicted: Floats
    ) -> Linearization:
        """Add t times the scores of a step, and linearize there.

        Parameters
        ----------
        w : array of shape (n_weights,)
            After the step.
        scores, step_scores : arrays
            Both are changed.
        t : float
        predicted : array of shape (n_weights,)
            What the gradient is if the curvature is the same all the way; is changed.
        """
        ...

    def along(self, scores: Floats, step_scores: Floats, t: float) -> tuple[float, float]:
        """Give the first two derivatives of the loss at ``scores + t step_scores``."""
        ...


def moved_afresh(
    problem: Problem, w: Floats, scores: Floats, step_scores: Floats, t: float
) -> Linearization:
    """Add t times the scores of a step, and compute everything anew there."""
    add(scores.reshape(-1), t, step_scores.reshape(-1))
    return problem.linearize(w, scores)


@dataclass(frozen=True)
class BinaryProblem:
    """One score a row, with a cost for either label.

    Attributes
    ----------
    design : Design
    rows : RowList
        Rows that carry a cost; no other row is read.
    loss : Loss
    positive, negative : arrays of shape (n_rows,)
        Costs a and b of ``a/2 l(o) + b/2 l(-o)``.
    reg : float
    stiff : StiffRows, optional
        Rows that weigh much more than the others.
    """

    design: Design
    rows: RowList
    loss: Loss
    positive: Floats
    negative: Floats
    reg: float
    stiff: StiffRows | None = None

    @property
    def workers(self) -> Workers:
        """Threads of the fit."""
        return self.design.workers

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is the same everywhere."""
        return self.loss.quadratic

    def scores(self, w: Floats) -> Floats:
        """Give X w on the rows of the problem, and zero elsewhere."""
        return self.design.scores(w, self.rows, np.zeros(self.design.n_rows))

    def linearize(self, w: Floats, scores: Floats) -> Linearization:
        """Give value, gradient and curvature; the latter over the active rows only."""
        slope, curvature = np.empty(len(scores)), np.empty(len(scores))
        return self.linearize_into(slope, curvature, w, scores)

    def linearize_into(
        self, slope: Floats, curvature: Floats, w: Floats, scores: Floats
    ) -> Linearization:
        """Linearize, and fill slopes and curvatures of the rows; the product reads the latter."""
        evaluate = partial(self._evaluate, scores, slope, curvature)
        gradient = np.empty(self.n_weights)
        values, active = self.design.pull_back_found(slope, self.rows, evaluate, gradient)
        add(gradient, self.reg, w)
        n_active = sum(len(part) for part in active)
        return self._at(sum(values), gradient, n_active, lambda: (curvature, active), exact=True)

    def move(
        self, w: Floats, scores: Floats, step_scores: Floats, t: float, predicted: Floats
    ) -> Linearization:
        """Add t times the scores of a step, and linearize there by the rows that change sides."""
        a, b, move = self.positive, self.negative, self.loss.move
        if move is None:
            return moved_afresh(self, w, scores, step_scores, t)

        def part(rows: Index) -> tuple[float, int, Index]:
            changed = np.empty_like(rows)
            value, n_active, k = move(scores, step_scores, t, a, b, rows, changed)
            return value, n_active, changed[:k].copy()

        parts = self.design.by_block(self.rows, part)
        return self._following(w, scores, parts, step_scores, predicted)

    def following(
        self,
        scores: Floats,
        value: float,
        gradient: Floats,
        n_active: int,
        curvature: Floats | None = None,
    ) -> Linearization:
        """Linearize where all but the curvature is known; fill an array with it at once."""

        @cache
        def curve() -> tuple[Floats, list[Index]]:
            into = np.empty(len(scores)) if curvature is None else curvature
            # nobody asks for the slopes: the curvatures overwrite them, row by row
            evaluate = partial(self._evaluate, scores, into, into)
            return into, [active for _, active in self.design.by_block(self.rows, evaluate)]

        if curvature is not None:
            curve()
        return self._at(value, gradient, n_active, curve, exact=False)

    def _following(
        self,
        w: Floats,
        scores: Floats,
        parts: list[tuple[float, int, Index]],
        rest: Floats,
        predicted: Floats,
    ) -> Linearization:
        """Linearize where only the slopes of some rows are not as predicted."""
        changed = self.design.rows(np.concatenate([part[2] for part in parts]))
        if changed.work > MAX_CHANGED * self.rows.work:
            return self.linearize(w, scores)
        if len(changed):
            predicted += self.design.pull_back(rest, changed, np.empty(self.n_weights))
        value, n_active = sum(part[0] for part in parts), sum(part[1] for part in parts)
        return self.following(scores, value, predicted, n_active)

    def _evaluate(
        self, scores: Floats, slope: Floats, curvature: Floats, rows: Index
    ) -> tuple[float, Index]:
        """Fill slopes and curvatures of a block of rows; give its value and active rows."""
        active = np.empty_like(rows)
        value, n_active = self.loss.evaluate(
            scores, self.positive, self.negative, rows, slope, curvature, active
        )
        return value, active[:n_active]

    def _at(
        self,
        value: float,
        gradient: Floats,
        n_active: int,
        curve: Callable[[], tuple[Floats, list[Index]]],
        *,
        exact: bool,
    ) -> Linearization:
        """Put a linearization together; its curvature is listed when it is asked for."""
        design = self.design

        @cache
        def curved() -> tuple[Floats, RowList]:
            curvature, active = curve()
            rows = self.rows if n_active == len(self.rows) else design.rows(np.concatenate(active))
            # the lists of the blocks take as much memory as that of all of them
            active.clear()
            return curvature, rows

        def inverse() -> Inverse | None:
            if self.stiff is None:
                return None
            return self.stiff.inverse(curved()[0][self.stiff.rows.index, None], self.reg)

        return Linearization(
            value,
            gradient,
            exact=exact,
            product=lambda p, out: design.curvature(p, *curved(), out),
            scales=lambda: design.column_scales(*curved(), np.empty(self.n_weights)),
            inverse=inverse,
            n_active=n_active,
        )

    def along(self, scores: Floats, step_scores: Floats, t: float) -> tuple[float, float]:
        """Give the first two derivatives of the loss at ``scores + t step_scores``."""
        a, b = self.positive, self.negative

        def part(rows: Index) -> tuple[float, float]:
            return self.loss.along(scores, step_scores, a, b, rows, t)

        first, second = np.sum(self.design.by_block(self.rows, part), axis=0).tolist()
        return first, second


@dataclass(frozen=True)
class MultiProblem:
    """One score a class and row.

    Weights are a matrix with one column a node of the class hierarchy, flattened; without
    a hierarchy nodes are classes. The score of a class sums the nodes on its path.

    Attributes
    ----------
    design : Design
    rows : RowList
        Rows that carry a cost; no other row is read.
    loss : SmoothMultiLoss
    costs : array of shape (n_rows, m)
        Cost of every class, by row.
    hierarchy : Hierarchy
    reg : float
    stiff : StiffRows, optional
        Rows that weigh much more than the others.
    """

    design: Design
    rows: RowList
    loss: SmoothMultiLoss
    costs: Floats
    hierarchy: Hierarchy
    reg: float
    stiff: StiffRows | None = None

    quadratic = False

    @property
    def workers(self) -> Workers:
        """Threads of the fit."""
        return self.design.workers

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights * self.hierarchy.n_nodes

    def _matrix(self, w: Floats) -> Floats:
        return w.reshape(self.design.n_weights, self.hierarchy.n_nodes)

    def scores(self, w: Floats) -> Floats:
        """Give the class scores of the rows of the problem, and zero elsewhere."""
        nodes = np.zeros((self.design.n_rows, self.hierarchy.n_nodes))
        self.design.scores_many(self._matrix(w), self.rows, nodes)
        return self.hierarchy.class_scores(nodes)

    def linearize(self, w: Floats, scores: Floats) -> Linearization:
        """Give value, gradient and curvature."""
        design, hierarchy = self.design, self.hierarchy
        slope = np.zeros_like(scores)
        values = design.by_block(
            self.rows,
            lambda rows: self.loss.evaluate(scores, self.costs, rows, slope),
            work_each=scores.shape[1],
        )
        shape = (design.n_weights, hierarchy.n_nodes)
        gradient = design.pull_back_many(hierarchy.node_slopes(slope), self.rows, np.empty(shape))
        add(gradient.reshape(-1), self.reg, w)
        operator = hierarchy.between(partial(self.loss.apply, scores, self.costs))

        def product(p: Floats, out: Floats) -> Floats:
            into = out.reshape(shape)
            design.curvature_many(p.reshape(shape), operator, self.rows, into)
            return out

        return Linearization(
            sum(values),
            gradient.ravel(),
            exact=True,
            product=product,
            scales=partial(self._scales, shape),
            inverse=partial(self._inverse, scores),
            n_active=len(self.rows),
        )

    def move(
        self, w: Floats, scores: Floats, step_scores: Floats, t: float, predicted: Floats
    ) -> Linearization:
        """Add t times the scores of a step, and linearize there."""
        return moved_afresh(self, w, scores, step_scores, t)

    def _inverse(self, scores: Floats) -> Inverse | None:
        """Precondition by the diagonal blocks of the stiff rows' curvature, node by node."""
        if self.stiff is None:
            return None
        index, m = self.stiff.rows.index, scores.shape[1]
        diagonal = np.empty((len(index), m))
        for y in range(m):
            column = np.zeros((len(index), m))
            column[:, y] = 1.0
            self.loss.apply(scores, self.costs, index, 0, len(index), column)
            diagonal[:, y] = column[:, y]
        return self.stiff.inverse(self.hierarchy.node_slopes(diagonal), self.reg)

    def _scales(self, shape: tuple[int, int]) -> Floats:
        """Bound the diagonal of the curvature by that of least squares."""
        total = self.costs.sum(axis=1)
        scale = self.design.column_scales(total, self.rows, np.empty(shape[0]))
        return np.repeat(scale, shape[1])

    def along(self, scores: Floats, step_scores: Floats, t: float) -> tuple[float, float]:
        """Give the first two derivatives of the loss at ``scores + t step_scores``."""

        def part(rows: Index) -> tuple[float, float]:
            return self.loss.along(scores, step_scores, self.costs, rows, t)

        parts = self.design.by_block(self.rows, part, work_each=scores.shape[1])
        first, second = np.sum(parts, axis=0).tolist()
        return first, second
