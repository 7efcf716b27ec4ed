"""Compiled passes over the soft labels of a block; self-contained for numba's cache."""

import numpy as np

from semisvm.compiling import compiled

# Rows whose p q is below this are decided and do not respond.
DECIDED = 1e-12


@compiled
def respond(
    p, q, scale, by_row, rows, mass, softness, gap_slopes, curvature, responding, start, stop
):
    """Lower the curvatures, turn the slopes of the gaps into r, and list the responding rows.

    The beliefs are ``scale`` times p and q, by row or by position. A single mass holds for all
    rows. Return the end of the list, which begins at ``start``.
    """
    equal = mass.shape[0] == 1
    end = start
    for k in range(start, stop):
        i = rows[k]
        at = np.uint64(i) if by_row else np.uint64(k)
        pq = (scale * p[at]) * (scale * q[at])
        r = (mass[0] if equal else mass[k]) * pq * gap_slopes[i]
        curvature[i] -= softness * r * gap_slopes[i]
        gap_slopes[i] = r
        responding[end] = i
        end += pq > DECIDED
    return end


@compiled
def change(before, after, rows, scale, gap_slopes, changed, start, stop):
    """Turn the slopes of the gaps into changes of the slopes, and list the changed rows.

    A single scale holds for all rows.
    """
    equal = scale.shape[0] == 1
    end = start
    for k in range(start, stop):
        more = after[k] - before[k]
        gap_slopes[rows[k]] *= (scale[0] if equal else scale[k]) * more
        changed[end] = rows[k]
        end += abs(more) > DECIDED
    return end


@compiled
def divergence(p, q, a, b, scale, mass, rows, start, stop):
    """Sum the Kullback-Leibler divergences of (p, q) from the beliefs in the costs.

    Costs are masses times beliefs, divided by the scale; a single mass holds for all rows.
    """
    tiny = 1e-300
    equal = mass.shape[0] == 1
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        v = mass[0] if equal else mass[k]
        if v == 0.0:
            continue
        p_old = scale * a[i] / v
        q_old = scale * b[i] / v
        more = p[k] - p_old
        if abs(more) <= 1e-4 * min(p_old, q_old):
            # logarithms would lose digits here, and are slow
            total += v * 0.5 * more * more / (p_old * q_old + tiny)
        else:
            total += v * p[k] * np.log(max(p[k], tiny) / max(p_old, tiny))
            total += v * q[k] * np.log(max(q[k], tiny) / max(q_old, tiny))
    return total
