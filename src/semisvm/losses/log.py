r"""The logistic loss: maxent, whose scores are log-probabilities.

For many classes xi(s, y) = log sum_z exp(s_z) - s_y. For two classes the weight vectors are
opposite, so one score o = s_1 - s_0 is enough. Its loss is l(o) = 2 log(1 + exp(-o)), and its
regulariser has half the strength, because each of the two scores has half of o.
"""

import numpy as np
from scipy.special import softmax

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.losses.base import Loss, SmoothManyClassLoss, TwoClassLoss


def _values(o: Floats) -> Floats:
    return 2.0 * np.logaddexp(0.0, -o)


@compiled
def _evaluate(o, a, b, rows, slope, curvature, active):
    total = 0.0
    n_active = 0
    for i in rows:
        e = np.exp(-abs(o[i]))
        large = 1.0 / (1.0 + e)
        small = e * large
        up = large if o[i] > 0.0 else small
        down = small if o[i] > 0.0 else large
        both = a[i] + b[i]
        total += a[i] * max(-o[i], 0.0) + b[i] * max(o[i], 0.0) + both * np.log1p(e)
        slope[i] = b[i] * up - a[i] * down
        curvature[i] = both * large * small
        active[n_active] = i
        n_active += both != 0.0
    return total, n_active


@compiled
def _along(o, step, a, b, rows, t):
    first = 0.0
    second = 0.0
    for i in rows:
        s = step[i]
        z = o[i] + t * s
        e = np.exp(-abs(z))
        large = 1.0 / (1.0 + e)
        small = e * large
        up = large if z > 0.0 else small
        down = small if z > 0.0 else large
        first += (b[i] * up - a[i] * down) * s
        second += (a[i] + b[i]) * large * small * s * s
    return first, second


@compiled
def _gaps(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        out[k] = -2.0 * scale * o[rows[k]]


@compiled
def _gap_slopes(o, rows, scale, out, start, stop):
    for k in range(start, stop):
        out[rows[k]] = -2.0 * scale


def _many_costs(S: Floats) -> Floats:
    top = S.max(axis=1, keepdims=True)
    return top + np.log(np.exp(S - top).sum(axis=1, keepdims=True)) - S


def probabilities(S: Floats) -> Floats:
    """Compute the softmax of scores (n, m), the probabilities of the maxent model."""
    # not from the costs, whose digits are lost where scores are large
    return np.asarray(softmax(S, axis=1))


@compiled
def _softmax(S, D, t, i, p):
    """Fill p with the softmax of S[i] + t D[i]; return the log of its normaliser."""
    m = p.shape[0]
    top = -np.inf
    for y in range(m):
        p[y] = S[i, y] + t * D[i, y]
        top = max(top, p[y])
    total = 0.0
    for y in range(m):
        p[y] = np.exp(p[y] - top)
        total += p[y]
    for y in range(m):
        p[y] /= total
    return top + np.log(total)


@compiled
def _many_evaluate(S, B, rows, slope):
    m = S.shape[1]
    p = np.empty(m)
    total = 0.0
    for i in rows:
        normaliser = _softmax(S, S, 0.0, i, p)
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
            total += B[i, y] * (normaliser - S[i, y])
        for y in range(m):
            slope[i, y] = cost * p[y] - B[i, y]
    return total


@compiled
def _many_apply(S, B, rows, start, stop, Q):
    m = S.shape[1]
    p = np.empty(m)
    for k in range(start, stop):
        i = rows[k]
        _softmax(S, S, 0.0, i, p)
        cost = 0.0
        mean = 0.0
        for y in range(m):
            cost += B[i, y]
            mean += p[y] * Q[k - start, y]
        for y in range(m):
            Q[k - start, y] = cost * p[y] * (Q[k - start, y] - mean)


@compiled
def _many_along(S, D, B, rows, t):
    m = S.shape[1]
    p = np.empty(m)
    first = 0.0
    second = 0.0
    for i in rows:
        _softmax(S, D, t, i, p)
        cost = 0.0
        mean = 0.0
        square = 0.0
        for y in range(m):
            d = D[i, y]
            cost += B[i, y]
            first -= B[i, y] * d
            mean += p[y] * d
            square += p[y] * d * d
        first += cost * mean
        second += cost * (square - mean * mean)
    return first, second


@compiled
def _many_label_slopes(S, rows, scale, out, start, stop):
    out[start:stop] = -scale


LOG = Loss(
    "log",
    default_reg=1e-4,
    two=TwoClassLoss(
        values=_values, evaluate=_evaluate, along=_along, gaps_kernel=_gaps, gap_slopes=_gap_slopes
    ),
    many=SmoothManyClassLoss(
        costs=_many_costs,
        evaluate=_many_evaluate,
        apply=_many_apply,
        along=_many_along,
        label_slopes=_many_label_slopes,
    ),
    reg_of_two=0.5,
)
