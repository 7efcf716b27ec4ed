r"""What a loss is: functions of scores and costs.

With two classes a row has one score o, a cost ``a`` for its distance from +1 and a cost ``b``
for its distance from -1. It contributes ::

    a/2 l(o) + b/2 l(-o)

With a hard label one of the two costs is zero; with soft labels both are positive, so a row is
read only once however its label is split.

With many classes a row has scores s_1..s_m, and a cost B_y for each class it may belong to: one
for a hard label, several for soft labels. It contributes sum_y B_y xi(s, y).

Labels and sides of the margin change at random from row to row, so branches on them would be
mispredicted: the kernels use arithmetic instead.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats, Index, row_type

Signs = NDArray[np.bool_]

Evaluate = Callable[[Floats, Floats, Floats, Index, Floats, Floats, Index], tuple[float, int]]
Along = Callable[[Floats, Floats, Floats, Floats, Index, float], tuple[float, float]]
Move = Callable[[Floats, Floats, float, Floats, Floats, Index, Index], tuple[float, int, int]]


@dataclass(frozen=True)
class TwoClassLoss:
    """A loss of one score, as functions; each is one pass over a list of rows.

    A loss without ``evaluate`` and ``along`` is not smooth: its weight step has its own solver.

    Attributes
    ----------
    values : o -> l(o)
        Pointwise, on any array of scores.
    evaluate : (o, a, b, rows, slope, curvature, active) -> total, n_active
        Fill slope and curvature of the listed rows with respect to o, and list the active
        rows, where either is not zero; return the value and their number. Slope and curvature
        may be the same array, which then holds the curvature: fill it last.
    along : (o, step, a, b, rows, t) -> (first, second)
        Derivatives of the total at ``o + t step`` with respect to t.
    quadratic : bool
        Whether the curvature is constant, so that one linear system is enough.
    zero_or_one : bool
        Whether l''/2 is 0 or 1 everywhere.
    move : (o, step, t, a, b, rows, changed) -> total, n_active, n_changed, optional
        Add t step to o. A row whose curvature is constant along the step has the slope that
        the curvature predicts; list the others, and put the difference into their step.
        This saves passes over the data if the curvature is piecewise constant; other losses
        leave it out.
    total_kernel, gaps_kernel : optional
        `total` and `gaps` in one pass; without them ``values`` is used.
    gap_slopes : (o, rows, scale, out, start, stop) -> None, optional
        Fill out[i] with the derivative of scale (l(o_i) - l(-o_i)) by o_i, for the listed
        rows at positions start..stop. Annealing needs it for how labels respond.
    """

    values: Callable[[Floats], Floats]
    evaluate: Evaluate | None = None
    along: Along | None = None
    quadratic: bool = False
    zero_or_one: bool = False
    move: Move | None = None
    total_kernel: Callable[[Floats, Index, NDArray[np.uint8], int, int], float] | None = None
    gaps_kernel: Callable[[Floats, Index, float, Floats, int, int], None] | None = None
    gap_slopes: Callable[[Floats, Index, float, Floats, int, int], None] | None = None

    @property
    def smooth(self) -> bool:
        """Whether the Newton solver can minimise it."""
        return self.evaluate is not None

    def at_labels(
        self, o: Floats, labels: Signs, cost: Floats | float
    ) -> tuple[float, Floats, int]:
        """Return the value, the slopes and the number of active rows at hard labels."""
        assert self.evaluate is not None
        a, b = np.where(labels, cost, 0.0), np.where(labels, 0.0, cost)
        slope, curvature = np.empty(len(o)), np.empty(len(o))
        rows = np.arange(len(o), dtype=row_type(len(o)))
        value, n_active = self.evaluate(o, a, b, rows, slope, curvature, np.empty_like(rows))
        return value, slope, n_active

    def total(self, o: Floats, rows: Index, labels: Signs, start: int, stop: int) -> float:
        """Sum l(o), or l(-o) where the label is not positive, over positions start..stop."""
        if self.total_kernel is not None:
            return self.total_kernel(o, rows, labels.view(np.uint8), start, stop)
        z = o[rows[start:stop]]
        return float(np.sum(self.values(np.where(labels[start:stop], z, -z))))

    def gaps(
        self, o: Floats, rows: Index, scale: float, out: Floats, start: int, stop: int
    ) -> None:
        """Fill positions start..stop of out with scale (l(o) - l(-o)) of the listed rows."""
        if self.gaps_kernel is not None:
            self.gaps_kernel(o, rows, scale, out, start, stop)
            return
        z = o[rows[start:stop]]
        out[start:stop] = scale * (self.values(z) - self.values(-z))


@dataclass(frozen=True)
class ManyClassLoss:
    """A loss of one score per class.

    Attributes
    ----------
    costs : scores -> array of shape (n, m)
        xi(s_i, y) for all rows and classes: the costs of the label steps.
    """

    costs: Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class SmoothManyClassLoss(ManyClassLoss):
    """A loss with the derivatives that the Newton solver needs.

    Attributes
    ----------
    evaluate : (S, B, rows, slope) -> total
        Fill the slopes of the listed rows with respect to their scores.
    apply : (S, B, rows, start, stop, Q) -> None
        Multiply Q[k - start] by the second derivatives of row rows[k].
    along : (S, D, B, rows, t) -> (first, second)
        Derivatives of the total at ``S + t D`` with respect to t.
    separable : bool
        Whether the loss is a sum over classes of functions of one score each, given the costs.
    zero_or_one : bool
        Whether it is separable, and the second derivative by a score is 0 or 1 everywhere.
    move : (S, D, t, B, rows, changed) -> total, n_changed, optional
        Add t D to S. A row whose curvature is constant along the step has the slopes that the
        curvature predicts; list the others, and put the differences into their rows of D. As
        for two classes, only losses with a piecewise constant curvature have it.
    label_slopes : (S, rows, scale, out, start, stop) -> None, optional
        If xi(s, y) = c(s) + g(s_y), fill out[k, y] with scale g'(S[i, y]), for the listed rows
        i = rows[k] at positions start..stop. Annealing needs it for how labels respond.
    """

    evaluate: Callable[[Floats, Floats, Index, Floats], float]
    apply: Callable[[Floats, Floats, Index, int, int, Floats], None]
    along: Callable[[Floats, Floats, Floats, Index, float], tuple[float, float]]
    separable: bool = False
    zero_or_one: bool = False
    move: Callable[[Floats, Floats, float, Floats, Index, Index], tuple[float, int]] | None = None
    label_slopes: Callable[[Floats, Index, float, Floats, int, int], None] | None = None


@dataclass(frozen=True)
class Loss:
    """Everything that a value of ``loss=`` stands for.

    Attributes
    ----------
    name : str
    two : TwoClassLoss, optional
        For two classes, with one score.
    many : ManyClassLoss, optional
        For one score per class.
    default_reg : float
        Value for ``reg=None``, which suits rows of length one; docs/many_classes.md has the
        measurements.
    reg_of_two : float
        Strength of the regularisation of the one score, relative to ``reg``.
    margin_of_two, margin_of_many : float, optional
        Margin beyond which a row costs nothing; None for a loss without one.
    """

    name: str
    two: TwoClassLoss | None = None
    many: ManyClassLoss | None = None
    default_reg: float = 1e-3
    reg_of_two: float = 1.0
    margin_of_two: float | None = None
    margin_of_many: float | None = None

    @property
    def smooth(self) -> bool:
        """Whether the Newton solver can minimise its forms."""
        two = self.two is None or self.two.smooth
        return two and (self.many is None or isinstance(self.many, SmoothManyClassLoss))
