"""The squared loss l(o) = (1 - o)^2, which makes the weight step regularised least squares."""

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.losses.base import Loss, TwoClassLoss
from semisvm.losses.one_vs_rest import one_vs_rest


@compiled
def _total(o, rows, labels, start, stop):
    total = 0.0
    for k in range(start, stop):
        short = 1.0 - (2.0 * labels[k] - 1.0) * o[rows[k]]
        total += short * short
    return total


@compiled
def _gaps(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        out[k] = -4.0 * scale * o[rows[k]]


@compiled
def _gap_slopes(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        out[rows[k]] = -4.0 * scale


@compiled
def _evaluate(o, a, b, rows, slope, curvature, active):
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
def _along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        first += (a[i] * (z - 1.0) + b[i] * (z + 1.0)) * s
        second += (a[i] + b[i]) * s * s
    return first, second


@compiled
def _move(o, step, t, a, b, rows, changed):
    total = 0.0
    n_active = 0
    for i in rows:
        o[i] += t * step[i]
        total += a[i] * (o[i] - 1.0) ** 2 + b[i] * (o[i] + 1.0) ** 2
        n_active += a[i] + b[i] != 0.0
    return 0.5 * total, n_active, 0


def squared(o: Floats) -> Floats:
    """Return the loss of margins o."""
    return np.square(1.0 - o)


SQUARED = Loss(
    "squared",
    two=TwoClassLoss(
        values=squared,
        evaluate=_evaluate,
        along=_along,
        quadratic=True,
        zero_or_one=True,
        move=_move,
        total_kernel=_total,
        gaps_kernel=_gaps,
        gap_slopes=_gap_slopes,
    ),
    many=one_vs_rest(edge=np.inf),
)
