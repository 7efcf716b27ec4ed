r"""Pointwise losses over scores; they never see the data matrix.

A row with score o carries a cost ``a`` for its distance from +1 and a cost ``b`` for its
distance from -1, and contributes ::

    a/2 l(o) + b/2 l(-o)

Hard labels have one of the two costs at zero; the soft labels of annealing have both, so
that a row is read once however its label is split.

Labels and sides of the margin change from row to row as if by chance, so that branches on them
are predicted badly: the kernels compute with them instead.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semisvm.compiling import compiled
from semisvm.designs.base import Floats, Index

Signs = NDArray[np.bool_]


Move = Callable[[Floats, Floats, float, Floats, Floats, Index, Index], tuple[float, int, int]]


@dataclass(frozen=True)
class Loss:
    """A loss as functions, each one pass over the rows of a list.

    Attributes
    ----------
    name : str
        What users write as ``loss=``.
    values : o -> l(o)
        Pointwise, on any array of scores.
    evaluate : (o, a, b, rows, slope, curvature, active) -> total, n_active
        Fill slope and curvature of the listed rows with respect to o, and list the rows
        where either is not zero; return the value and their number. Slope and curvature
        may be one array, which then holds the curvature: fill it last.
    along : (o, step, a, b, rows, t) -> (first, second)
        Derivatives of the total at ``o + t step`` with respect to t.
    quadratic : bool
        Whether the curvature is the same everywhere, so that one linear system does.
    move : (o, step, t, a, b, rows, changed) -> total, n_active, n_changed, optional
        Add t step to o. A row whose curvature is the same all the way has the slope that
        the curvature predicts; list the others, and put what is missing into their step.
        Saves passes over the data where curvature is piecewise constant; other losses
        leave it out.
    total_kernel, gaps_kernel : optional
        What `total` and `gaps` do, in one pass; without them they go through ``values``.
    gap_slopes : (o, rows, scale, out, start, stop) -> None, optional
        Fill out[i] with the derivative of scale (l(o_i) - l(-o_i)) by o_i, for the listed
        rows at positions start..stop. With it annealing knows how labels answer to a step.
    """

    name: str
    values: Callable[[Floats], Floats]
    evaluate: Callable[[Floats, Floats, Floats, Index, Floats, Floats, Index], tuple[float, int]]
    along: Callable[[Floats, Floats, Floats, Floats, Index, float], tuple[float, float]]
    quadratic: bool = False
    move: Move | None = None
    total_kernel: Callable[[Floats, Index, NDArray[np.uint8], int, int], float] | None = None
    gaps_kernel: Callable[[Floats, Index, float, Floats, int, int], None] | None = None
    gap_slopes: Callable[[Floats, Index, float, Floats, int, int], None] | None = None

    def at_labels(
        self, o: Floats, labels: Signs, cost: Floats | float
    ) -> tuple[float, Floats, int]:
        """Give the value, the slopes and the number of active rows at hard labels."""
        a, b = np.where(labels, cost, 0.0), np.where(labels, 0.0, cost)
        slope, curvature = np.empty(len(o)), np.empty(len(o))
        rows = np.arange(len(o))
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


@compiled
def _squared_hinge_total(o, rows, labels, start, stop):
    total = 0.0
    for k in range(start, stop):
        short = max(1.0 - (2.0 * labels[k] - 1.0) * o[rows[k]], 0.0)
        total += short * short
    return total


@compiled
def _squared_hinge_gaps(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        z = o[rows[k]]
        below = max(1.0 - z, 0.0)
        above = max(1.0 + z, 0.0)
        out[k] = scale * (below * below - above * above)


@compiled
def _squared_hinge_gap_slopes(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        z = o[rows[k]]
        out[rows[k]] = 2.0 * scale * (min(z - 1.0, 0.0) - max(z + 1.0, 0.0))


@compiled
def _squared_hinge_evaluate(o, a, b, rows, slope, curvature, active):
    total = 0.0
    n_active = 0
    for i in rows:
        below = min(o[i] - 1.0, 0.0)
        above = max(o[i] + 1.0, 0.0)
        total += a[i] * below * below + b[i] * above * above
        slope[i] = a[i] * below + b[i] * above
        curvature[i] = (a[i] if o[i] < 1.0 else 0.0) + (b[i] if o[i] > -1.0 else 0.0)
        active[n_active] = i
        n_active += curvature[i] != 0.0
    return 0.5 * total, n_active


@compiled
def _squared_hinge_along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        first += (a[i] * min(z - 1.0, 0.0) + b[i] * max(z + 1.0, 0.0)) * s
        second += ((a[i] if z < 1.0 else 0.0) + (b[i] if z > -1.0 else 0.0)) * s * s
    return first, second


@compiled
def _squared_hinge_move(o, step, t, a, b, rows, changed):
    total = 0.0
    n_active = 0
    n_changed = 0
    for i in rows:
        before = o[i]
        after = before + t * step[i]
        o[i] = after
        below = min(after - 1.0, 0.0)
        above = max(after + 1.0, 0.0)
        total += a[i] * below * below + b[i] * above * above
        n_active += (a[i] * below != 0.0) | (b[i] * above != 0.0)
        if ((after < 1.0) != (before < 1.0)) | ((after > -1.0) != (before > -1.0)):
            # the slope, less what it would be on the old side
            rest = a[i] * (below - (after - 1.0 if before < 1.0 else 0.0))
            rest += b[i] * (above - (after + 1.0 if before > -1.0 else 0.0))
            step[i] = rest
            changed[n_changed] = i
            n_changed += rest != 0.0
    return 0.5 * total, n_active, n_changed


@compiled
def _squared_total(o, rows, labels, start, stop):
    total = 0.0
    for k in range(start, stop):
        short = 1.0 - (2.0 * labels[k] - 1.0) * o[rows[k]]
        total += short * short
    return total


@compiled
def _squared_gaps(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        out[k] = -4.0 * scale * o[rows[k]]


@compiled
def _squared_gap_slopes(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        out[rows[k]] = -4.0 * scale


@compiled
def _squared_evaluate(o, a, b, rows, slope, curvature, active):
    total = 0.0
    n_active = 0
    for i in rows:
        below = 1.0 - o[i]
        above = 1.0 + o[i]
        total += a[i] * below * below + b[i] * above * above
        slope[i] = b[i] * above - a[i] * below
        curvature[i] = a[i] + b[i]
        active[n_active] = i
        n_active += curvature[i] != 0.0
    return 0.5 * total, n_active


@compiled
def _squared_along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        first += (a[i] * (z - 1.0) + b[i] * (z + 1.0)) * s
        second += (a[i] + b[i]) * s * s
    return first, second


@compiled
def _squared_move(o, step, t, a, b, rows, changed):
    total = 0.0
    n_active = 0
    for i in rows:
        o[i] += t * step[i]
        total += a[i] * (o[i] - 1.0) ** 2 + b[i] * (o[i] + 1.0) ** 2
        n_active += a[i] + b[i] != 0.0
    return 0.5 * total, n_active, 0


def _squared_hinge_values(o: Floats) -> Floats:
    return np.square(np.maximum(1.0 - o, 0.0))


def _squared_values(o: Floats) -> Floats:
    return np.square(1.0 - o)


SQUARED_HINGE = Loss(
    "squared_hinge",
    _squared_hinge_values,
    _squared_hinge_evaluate,
    _squared_hinge_along,
    move=_squared_hinge_move,
    total_kernel=_squared_hinge_total,
    gaps_kernel=_squared_hinge_gaps,
    gap_slopes=_squared_hinge_gap_slopes,
)
"""l(o) = max(0, 1 - o)**2, the loss of the l2-SVM."""

SQUARED = Loss(
    "squared",
    _squared_values,
    _squared_evaluate,
    _squared_along,
    quadratic=True,
    move=_squared_move,
    total_kernel=_squared_total,
    gaps_kernel=_squared_gaps,
    gap_slopes=_squared_gap_slopes,
)
"""l(o) = (1 - o)**2, which makes the weight step regularised least squares."""

LOSSES = {loss.name: loss for loss in (SQUARED_HINGE, SQUARED)}
