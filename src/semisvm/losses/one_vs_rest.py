r"""Squared losses of many classes, each class against the rest.

With l(z) = (1 - z)^2 up to an edge and zero beyond it, ::

    xi(s, y) = 1/2 [ l(s_y) + sum_{z != y} l(-s_z) ]
"""

from functools import partial

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.losses.base import SmoothManyClassLoss

_SUMS = {"reassoc", "contract"}


def _square_costs(edge: float, S: Floats) -> Floats:
    out = np.empty_like(S, dtype=np.float64)
    _fill_costs(edge, S, out)
    return out


@compiled(fastmath=_SUMS)
def _fill_costs(edge, S, out):
    m = S.shape[1]
    for i in range(S.shape[0]):
        total = 0.0
        for y in range(m):
            s = S[i, y]
            wrong = 1.0 + s if s > -edge else 0.0
            right = 1.0 - s if s < edge else 0.0
            total += wrong * wrong
            out[i, y] = right * right - wrong * wrong
        for y in range(m):
            out[i, y] = 0.5 * (out[i, y] + total)


# Both sides of each edge are computed and one is chosen: scores are on either side at random,
# and a processor that guesses wrong loses more time.
@compiled(fastmath=_SUMS)
def _square_evaluate(edge, S, B, rows, slope):
    m = S.shape[1]
    total = 0.0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            s = S[i, y]
            below = s - 1.0 if s < edge else 0.0
            above = s + 1.0 if s > -edge else 0.0
            right = B[i, y] * below
            wrong = (cost - B[i, y]) * above
            total += right * below + wrong * above
            slope[i, y] = right + wrong
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
            s, b = S[i, y], B[i, y]
            Q[k - start, y] *= (b if s < edge else 0.0) + (cost - b if s > -edge else 0.0)


@compiled(fastmath=_SUMS)
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
            right = B[i, y] if z < edge else 0.0
            wrong = cost - B[i, y] if z > -edge else 0.0
            first += (right * (z - 1.0) + wrong * (z + 1.0)) * d
            second += (right + wrong) * d * d
    return first, second


@compiled(fastmath=_SUMS)
def _square_move(edge, S, D, t, B, rows, changed):
    m = S.shape[1]
    total = 0.0
    n_changed = 0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        n_moved = 0
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
            n_moved += gap != 0.0
        changed[n_changed] = i
        n_changed += n_moved > 0
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
        zero_or_one=True,
        move=partial(_square_move, edge),
        label_slopes=partial(_square_label_slopes, edge),
    )
