r"""Squared losses of many classes, each class against the rest.

With l(z) = (1 - z)^2 up to an edge and zero beyond it, ::

    xi(s, y) = 1/2 [ l(s_y) + sum_{z != y} l(-s_z) ]
"""

from functools import partial

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.losses.base import SmoothManyClassLoss


def _square_costs(edge: float, S: Floats) -> Floats:
    wrong = np.where(-edge < S, np.square(1.0 + S), 0.0)
    right = np.where(edge > S, np.square(1.0 - S), 0.0)
    return 0.5 * (wrong.sum(axis=1, keepdims=True) - wrong + right)


@compiled
def _square_evaluate(edge, S, B, rows, slope):
    m = S.shape[1]
    total = 0.0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            s = 0.0
            below = 1.0 - S[i, y]
            if S[i, y] < edge:
                total += B[i, y] * below * below
                s -= B[i, y] * below
            above = 1.0 + S[i, y]
            if S[i, y] > -edge:
                rest = cost - B[i, y]
                total += rest * above * above
                s += rest * above
            slope[i, y] = s
    return 0.5 * total


@compiled
def _square_apply(edge, S, B, rows, start, stop, Q):
    m = S.shape[1]
    for k in range(start, stop):
        i = rows[k]
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            c = 0.0
            if S[i, y] < edge:
                c += B[i, y]
            if S[i, y] > -edge:
                c += cost - B[i, y]
            Q[k - start, y] *= c


@compiled
def _square_along(edge, S, D, B, rows, t):
    m = S.shape[1]
    first = 0.0
    second = 0.0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            d = D[i, y]
            z = S[i, y] + t * d
            if z < edge:
                first += B[i, y] * (z - 1.0) * d
                second += B[i, y] * d * d
            if z > -edge:
                rest = cost - B[i, y]
                first += rest * (z + 1.0) * d
                second += rest * d * d
    return first, second


@compiled
def _square_move(edge, S, D, t, B, rows, changed):
    m = S.shape[1]
    total = 0.0
    n_changed = 0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        moved = False
        for y in range(m):
            before = S[i, y]
            after = before + t * D[i, y]
            S[i, y] = after
            rest = cost - B[i, y]
            below = after - 1.0 if after < edge else 0.0
            above = after + 1.0 if after > -edge else 0.0
            total += B[i, y] * below * below + rest * above * above
            # the slope minus what it would be on the old side
            gap = B[i, y] * (below - (after - 1.0 if before < edge else 0.0))
            gap += rest * (above - (after + 1.0 if before > -edge else 0.0))
            D[i, y] = gap
            moved |= gap != 0.0
        changed[n_changed] = i
        n_changed += moved
    return 0.5 * total, n_changed


@compiled
def _square_label_slopes(edge, S, rows, scale, out, start, stop):
    for k in range(start, stop):
        for y in range(S.shape[1]):
            z = S[rows[k], y]
            slope = 0.0
            if z < edge:
                slope += z - 1.0
            if z > -edge:
                slope -= z + 1.0
            out[k, y] = scale * slope


def one_vs_rest(edge: float) -> SmoothManyClassLoss:
    """Return the sum over classes of a squared loss up to an edge, which may be infinite."""
    return SmoothManyClassLoss(
        costs=partial(_square_costs, edge),
        evaluate=partial(_square_evaluate, edge),
        apply=partial(_square_apply, edge),
        along=partial(_square_along, edge),
        separable=True,
        move=partial(_square_move, edge),
        label_slopes=partial(_square_label_slopes, edge),
    )
