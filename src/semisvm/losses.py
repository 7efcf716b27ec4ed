r"""Pointwise losses over scores; they never see the data matrix.

A row with score o carries a cost ``a`` for its distance from +1 and a cost ``b`` for its
distance from -1, and contributes ::

    a/2 l(o) + b/2 l(-o)

Hard labels have one of the two costs at zero; the soft labels of annealing have both, so
that a row is read once however its label is split.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np

from semisvm.designs.base import Floats, Index


@dataclass(frozen=True)
class Loss:
    """A loss as three functions, each one pass over the rows of a list.

    Attributes
    ----------
    name : str
        What users write as ``loss=``.
    values : o -> l(o)
        Pointwise, on any array of scores.
    evaluate : (o, a, b, rows, slope, curvature) -> total
        Fill slope and curvature of the listed rows with respect to o; return the value.
    along : (o, step, a, b, rows, t) -> (first, second)
        Derivatives of the total at ``o + t step`` with respect to t.
    quadratic : bool
        Whether the curvature is the same everywhere, so that one linear system does.
    """

    name: str
    values: Callable[[Floats], Floats]
    evaluate: Callable[[Floats, Floats, Floats, Index, Floats, Floats], float]
    along: Callable[[Floats, Floats, Floats, Floats, Index, float], tuple[float, float]]
    quadratic: bool = False


@numba.njit(nogil=True, cache=True)
def _squared_hinge_evaluate(o, a, b, rows, slope, curvature):
    total = 0.0
    for i in rows:
        s = 0.0
        c = 0.0
        below = 1.0 - o[i]
        if below > 0.0:
            total += a[i] * below * below
            s -= a[i] * below
            c += a[i]
        above = 1.0 + o[i]
        if above > 0.0:
            total += b[i] * above * above
            s += b[i] * above
            c += b[i]
        slope[i] = s
        curvature[i] = c
    return 0.5 * total


@numba.njit(nogil=True, cache=True)
def _squared_hinge_along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        if z < 1.0:
            first += a[i] * (z - 1.0) * s
            second += a[i] * s * s
        if z > -1.0:
            first += b[i] * (z + 1.0) * s
            second += b[i] * s * s
    return first, second


@numba.njit(nogil=True, cache=True)
def _squared_evaluate(o, a, b, rows, slope, curvature):
    total = 0.0
    for i in rows:
        below = 1.0 - o[i]
        above = 1.0 + o[i]
        total += a[i] * below * below + b[i] * above * above
        slope[i] = b[i] * above - a[i] * below
        curvature[i] = a[i] + b[i]
    return 0.5 * total


@numba.njit(nogil=True, cache=True)
def _squared_along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        first += (a[i] * (z - 1.0) + b[i] * (z + 1.0)) * s
        second += (a[i] + b[i]) * s * s
    return first, second


def _squared_hinge_values(o: Floats) -> Floats:
    return np.square(np.maximum(1.0 - o, 0.0))


def _squared_values(o: Floats) -> Floats:
    return np.square(1.0 - o)


SQUARED_HINGE = Loss(
    "squared_hinge", _squared_hinge_values, _squared_hinge_evaluate, _squared_hinge_along
)
"""l(o) = max(0, 1 - o)**2, the loss of the l2-SVM."""

SQUARED = Loss("squared", _squared_values, _squared_evaluate, _squared_along, quadratic=True)
"""l(o) = (1 - o)**2, which makes the weight step regularised least squares."""

LOSSES = {loss.name: loss for loss in (SQUARED_HINGE, SQUARED)}
