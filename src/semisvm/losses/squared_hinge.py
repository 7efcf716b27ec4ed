"""The squared hinge l(o) = max(0, 1 - o)^2, the loss of the l2-SVM."""

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.losses.base import Loss, TwoClassLoss
from semisvm.losses.one_vs_rest import one_vs_rest


@compiled
def _total(o, rows, labels, start, stop):
    total = 0.0
    for k in range(start, stop):
        short = max(1.0 - (2.0 * labels[k] - 1.0) * o[rows[k]], 0.0)
        total += short * short
    return total


@compiled
def _gaps(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        z = o[rows[k]]
        below = max(1.0 - z, 0.0)
        above = max(1.0 + z, 0.0)
        out[k] = scale * (below * below - above * above)


@compiled
def _gap_slopes(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        z = o[rows[k]]
        out[rows[k]] = 2.0 * scale * (min(z - 1.0, 0.0) - max(z + 1.0, 0.0))


@compiled
def _evaluate(o, a, b, rows, slope, curvature, active):
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
def _along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        first += (a[i] * min(z - 1.0, 0.0) + b[i] * max(z + 1.0, 0.0)) * s
        second += ((a[i] if z < 1.0 else 0.0) + (b[i] if z > -1.0 else 0.0)) * s * s
    return first, second


@compiled
def _move(o, step, t, a, b, rows, changed):
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
            # the slope minus what it would be on the old side
            rest = a[i] * (below - (after - 1.0 if before < 1.0 else 0.0))
            rest += b[i] * (above - (after + 1.0 if before > -1.0 else 0.0))
            step[i] = rest
            changed[n_changed] = i
            n_changed += rest != 0.0
    return 0.5 * total, n_active, n_changed


def squared_hinge(o: Floats) -> Floats:
    """Return the loss of margins o."""
    return np.square(np.maximum(1.0 - o, 0.0))


SQUARED_HINGE = Loss(
    "squared_hinge",
    two=TwoClassLoss(
        values=squared_hinge,
        evaluate=_evaluate,
        along=_along,
        zero_or_one=True,
        move=_move,
        total_kernel=_total,
        gaps_kernel=_gaps,
        gap_slopes=_gap_slopes,
    ),
    many=one_vs_rest(edge=1.0),
    margin_of_two=1.0,
    # one score per class, each with a margin of one: the best class is two above the others
    margin_of_many=2.0,
)
