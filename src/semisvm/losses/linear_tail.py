"""Losses that are zero, then quadratic, then linear as the margin falls; and the hinge.

Between an edge e and a tail f < e the loss is a parabola; below f it goes on as a straight line,
so a row far on the wrong side pulls no harder than one at f::

    l(z) = 0                              z >= e
           c (e - z)^2                    f <= z <= e
           c (e - f) (2 (e - z) - (e - f))     z <= f

With many classes it is applied to each class against the rest, ::

    xi(s, y) = 1/2 [ l(s_y) + sum_{z != y} l(-s_z) ]

`HUBER` is Huber's loss for classification: the squared hinge, linear below -1. A row on the wrong
side of the opposite margin pulls no harder than one at that margin, so a wrong label does less
harm. scikit-learn calls it "modified_huber".

`ROUNDED_HINGE` is the hinge max(0, 1 - z) with its corner rounded between 1/2 and 3/2. The parabola
meets both straight lines with their slopes, so Newton's method applies.

`HINGE` is max(0, 1 - o) itself, for two classes. `CRAMMER_SINGER` is its form for more, the margin
loss of Crammer and Singer, ::

    xi(s, y) = max_z [ (z != y) + s_z ] - s_y

Neither is smooth: `solvers.crammer_singer` solves the weight step in the dual, that of the hinge
with scores -o/2 and o/2.
"""

from functools import partial

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.losses.base import Loss, ManyClassLoss, SmoothManyClassLoss, TwoClassLoss


def _values(e: float, f: float, c: float, z: Floats) -> Floats:
    short = np.maximum(e - z, 0.0)
    inside = np.minimum(short, e - f)
    return np.asarray(c * inside * (2.0 * short - inside))


@compiled
def _value(e, f, c, z):
    short = max(e - z, 0.0)
    inside = min(short, e - f)
    return c * inside * (2.0 * short - inside)


@compiled
def _slope(e, f, c, z):
    return -2.0 * c * min(max(e - z, 0.0), e - f)


@compiled
def _curvature(e, f, c, z):
    return 2.0 * c if (z < e) & (z > f) else 0.0


@compiled
def _slope_of_row(e, f, c, z, a, b):
    return 0.5 * (a * _slope(e, f, c, z) - b * _slope(e, f, c, -z))


@compiled
def _curvature_of_row(e, f, c, z, a, b):
    return 0.5 * (a * _curvature(e, f, c, z) + b * _curvature(e, f, c, -z))


@compiled
def _total(e, f, c, o, rows, labels, start, stop):
    total = 0.0
    for k in range(start, stop):
        total += _value(e, f, c, (2.0 * labels[k] - 1.0) * o[rows[k]])
    return total


@compiled
def _gaps(e, f, c, o, rows, scale, out, start, stop):
    for k in range(start, stop):
        z = o[rows[k]]
        out[k] = scale * (_value(e, f, c, z) - _value(e, f, c, -z))


@compiled
def _gap_slopes(e, f, c, o, rows, scale, out, start, stop):
    for k in range(start, stop):
        z = o[rows[k]]
        out[rows[k]] = scale * (_slope(e, f, c, z) + _slope(e, f, c, -z))


@compiled
def _evaluate(e, f, c, o, a, b, rows, slope, curvature, active):
    total = 0.0
    n_active = 0
    for i in rows:
        z = o[i]
        total += a[i] * _value(e, f, c, z) + b[i] * _value(e, f, c, -z)
        pull = _slope_of_row(e, f, c, z, a[i], b[i])
        bend = _curvature_of_row(e, f, c, z, a[i], b[i])
        slope[i] = pull
        curvature[i] = bend
        active[n_active] = i
        n_active += (pull != 0.0) | (bend != 0.0)
    return 0.5 * total, n_active


@compiled
def _along(e, f, c, o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        first += _slope_of_row(e, f, c, z, a[i], b[i]) * s
        second += _curvature_of_row(e, f, c, z, a[i], b[i]) * s * s
    return first, second


@compiled
def _move(e, f, c, o, step, t, a, b, rows, changed):
    total = 0.0
    n_active = 0
    n_changed = 0
    for i in rows:
        before = o[i]
        after = before + t * step[i]
        o[i] = after
        total += a[i] * _value(e, f, c, after) + b[i] * _value(e, f, c, -after)
        pull = _slope_of_row(e, f, c, after, a[i], b[i])
        bend = _curvature_of_row(e, f, c, after, a[i], b[i])
        n_active += (pull != 0.0) | (bend != 0.0)
        if _piece(e, f, after) != _piece(e, f, before):
            bent = _curvature_of_row(e, f, c, before, a[i], b[i]) * (after - before)
            rest = pull - (_slope_of_row(e, f, c, before, a[i], b[i]) + bent)
            step[i] = rest
            changed[n_changed] = i
            n_changed += rest != 0.0
    return 0.5 * total, n_active, n_changed


@compiled
def _piece(e, f, z):
    """Return the pieces of l(z) and l(-z) on which a score lies, as one number."""
    return (z < e) + 2 * (z > f) + 4 * (-z < e) + 8 * (-z > f)


def two_class_loss(edge: float, tail: float, scale: float) -> TwoClassLoss:
    """Return the loss of one score."""
    e, f, c = edge, tail, scale
    return TwoClassLoss(
        values=partial(_values, e, f, c),
        evaluate=partial(_evaluate, e, f, c),
        along=partial(_along, e, f, c),
        move=partial(_move, e, f, c),
        total_kernel=partial(_total, e, f, c),
        gaps_kernel=partial(_gaps, e, f, c),
        gap_slopes=partial(_gap_slopes, e, f, c),
    )


def _many_costs(e: float, f: float, c: float, S: Floats) -> Floats:
    wrong, right = _values(e, f, c, -S), _values(e, f, c, S)
    return np.asarray(0.5 * (wrong.sum(axis=1, keepdims=True) - wrong + right))


@compiled
def _cost_of(B, i):
    cost = 0.0
    for y in range(B.shape[1]):
        cost += B[i, y]
    return cost


@compiled
def _many_evaluate(e, f, c, S, B, rows, slope):
    total = 0.0
    for i in rows:
        cost = _cost_of(B, i)
        for y in range(S.shape[1]):
            z, own, rest = S[i, y], B[i, y], cost - B[i, y]
            total += own * _value(e, f, c, z) + rest * _value(e, f, c, -z)
            slope[i, y] = _slope_of_row(e, f, c, z, own, rest)
    return 0.5 * total


@compiled
def _many_apply(e, f, c, S, B, rows, start, stop, Q):
    for k in range(start, stop):
        i = rows[k]
        cost = _cost_of(B, i)
        for y in range(S.shape[1]):
            Q[k - start, y] *= _curvature_of_row(e, f, c, S[i, y], B[i, y], cost - B[i, y])


@compiled
def _many_along(e, f, c, S, D, B, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        cost = _cost_of(B, i)
        for y in range(S.shape[1]):
            d, own, rest = D[i, y], B[i, y], cost - B[i, y]
            z = S[i, y] + t * d
            first += _slope_of_row(e, f, c, z, own, rest) * d
            second += _curvature_of_row(e, f, c, z, own, rest) * d * d
    return first, second


@compiled
def _many_move(e, f, c, S, D, t, B, rows, changed):
    total = 0.0
    n_changed = 0
    for i in rows:
        cost = _cost_of(B, i)
        moved = False
        for y in range(S.shape[1]):
            own, rest, before = B[i, y], cost - B[i, y], S[i, y]
            after = before + t * D[i, y]
            S[i, y] = after
            total += own * _value(e, f, c, after) + rest * _value(e, f, c, -after)
            gap = 0.0
            if _piece(e, f, after) != _piece(e, f, before):
                bent = _curvature_of_row(e, f, c, before, own, rest) * (after - before)
                gap = _slope_of_row(e, f, c, after, own, rest) - bent
                gap -= _slope_of_row(e, f, c, before, own, rest)
            D[i, y] = gap
            moved |= gap != 0.0
        changed[n_changed] = i
        n_changed += moved
    return 0.5 * total, n_changed


@compiled
def _many_label_slopes(e, f, c, S, rows, scale, out, start, stop):
    for k in range(start, stop):
        for y in range(S.shape[1]):
            z = S[rows[k], y]
            out[k, y] = 0.5 * scale * (_slope(e, f, c, z) + _slope(e, f, c, -z))


def many_class_loss(edge: float, tail: float, scale: float) -> SmoothManyClassLoss:
    """Return the loss of one score per class: the sum over classes, each against the rest."""
    e, f, c = edge, tail, scale
    return SmoothManyClassLoss(
        costs=partial(_many_costs, e, f, c),
        evaluate=partial(_many_evaluate, e, f, c),
        apply=partial(_many_apply, e, f, c),
        along=partial(_many_along, e, f, c),
        separable=True,
        move=partial(_many_move, e, f, c),
        label_slopes=partial(_many_label_slopes, e, f, c),
    )


def _hinge_values(o: Floats) -> Floats:
    return np.maximum(1.0 - o, 0.0)


HINGE = Loss("hinge", two=TwoClassLoss(_hinge_values), margin_of_two=1.0)


def margin_costs(S: Floats) -> Floats:
    """Compute the margin loss for all rows and classes.

    Parameters
    ----------
    S : array of shape (n, m)

    Returns
    -------
    array of shape (n, m)
    """
    rival = np.full_like(S, -np.inf)
    if S.shape[1] > 1:
        best = S.argmax(axis=1)[:, None]
        rival[:] = np.take_along_axis(S, best, axis=1)
        second = np.partition(S, -2, axis=1)[:, -2:-1]
        np.put_along_axis(rival, best, second, axis=1)
    return np.maximum(0.0, 1.0 + rival - S)


CRAMMER_SINGER = Loss(
    "crammer_singer",
    default_reg=1e-4,
    many=ManyClassLoss(margin_costs),
    margin_of_two=1.0,
    margin_of_many=1.0,
)


HUBER_EDGE, HUBER_TAIL, HUBER_SCALE = 1.0, -1.0, 1.0

HUBER = Loss(
    "huber",
    two=two_class_loss(HUBER_EDGE, HUBER_TAIL, HUBER_SCALE),
    many=many_class_loss(HUBER_EDGE, HUBER_TAIL, HUBER_SCALE),
    margin_of_two=HUBER_EDGE,
    margin_of_many=2.0 * HUBER_EDGE,
)


HALF_WIDTH = 0.5
ROUNDED_EDGE, ROUNDED_TAIL = 1.0 + HALF_WIDTH, 1.0 - HALF_WIDTH
ROUNDED_SCALE = 1.0 / (4.0 * HALF_WIDTH)

ROUNDED_HINGE = Loss(
    "rounded_hinge",
    two=two_class_loss(ROUNDED_EDGE, ROUNDED_TAIL, ROUNDED_SCALE),
    many=many_class_loss(ROUNDED_EDGE, ROUNDED_TAIL, ROUNDED_SCALE),
    margin_of_two=ROUNDED_EDGE,
    margin_of_many=2.0 * ROUNDED_EDGE,
)
