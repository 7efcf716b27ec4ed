"""Compiled passes over the labels of a block: hard labels, soft labels of two and of many classes.

The file is self-contained for numba's cache.
"""

import numpy as np

from semisvm.compiling import compiled


@compiled
def crossing(scores, rows, labels, start, stop):
    """Return the number of positive labels, their lowest score, and the highest of the others."""
    n_positive = 0
    lowest, highest = np.inf, -np.inf
    for k in range(start, stop):
        score = scores[rows[k]]
        positive = labels[k]
        n_positive += positive
        # selects, not branches: labels are hard to predict
        lowest = min(lowest, score if positive else np.inf)
        highest = max(highest, -np.inf if positive else score)
    return n_positive, lowest, highest


@compiled
def largest(scores, rows, out):
    """Fill out with the class of the largest score of each listed row; the first of equal ones."""
    for k in range(rows.shape[0]):
        i = rows[k]
        best = 0
        high = scores[i, 0]
        for y in range(1, scores.shape[1]):
            if scores[i, y] > high:
                high = scores[i, y]
                best = y
        out[k] = best


@compiled
def count_above(scores, rows, value, start, stop):
    """Count the rows with a score above a value."""
    n = 0
    for k in range(start, stop):
        n += scores[rows[k]] > value
    return n


@compiled
def gather_within(scores, rows, low, high, found, start, stop):
    """List the scores from ``low`` to ``high`` in order; return the end of the list."""
    end = start
    for k in range(start, stop):
        score = scores[rows[k]]
        found[end] = score
        end += (score >= low) & (score <= high)
    return end


@compiled
def cut(scores, rows, threshold, labels, start, stop):
    """Label the rows above a threshold or at it; count those at it."""
    at = 0
    for k in range(start, stop):
        score = scores[rows[k]]
        labels[k] = score >= threshold
        at += score == threshold
    return at


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


@compiled
def respond_to_step(p, slopes, rows, step, moved, start, stop):
    """Compute how beliefs respond to a step of the scores at fixed prices, up to the factor -1/T.

    Parameters
    ----------
    p, slopes : arrays of shape (u, m)
        Beliefs, and the slope of each label's cost by the score of its class.
    rows : array of shape (u,)
    step : array of shape (n, m)
        Step of the scores of all rows.
    moved : array of shape (u, m)
        Filled with (diag p - p p^T) (slopes * step), row by row.
    start, stop : int

    Returns
    -------
    array of shape (m,)
        Sums over the rows.
    """
    m = p.shape[1]
    sums = np.zeros(m)
    for k in range(start, stop):
        i = rows[k]
        mean = 0.0
        for y in range(m):
            moved[k, y] = slopes[k, y] * step[i, y]
            mean += p[k, y] * moved[k, y]
        for y in range(m):
            moved[k, y] = p[k, y] * (moved[k, y] - mean)
            sums[y] += moved[k, y]
    return sums


@compiled
def subtract(p, slopes, rows, moved, prices, softness, out, start, stop):
    """Subtract the response of the beliefs from the slopes of the scores, at moving prices."""
    m = p.shape[1]
    for k in range(start, stop):
        i = rows[k]
        mean = 0.0
        for y in range(m):
            mean += p[k, y] * prices[y]
        for y in range(m):
            response = moved[k, y] - p[k, y] * (prices[y] - mean)
            out[i, y] -= softness * slopes[k, y] * response


@compiled
def divergence_many(p, costs, scale, mass, rows, start, stop):
    """Sum the Kullback-Leibler divergences of beliefs from those in the costs.

    Costs are masses times beliefs, divided by the scale; a single mass holds for all rows.
    """
    tiny = 1e-300
    m = p.shape[1]
    equal = mass.shape[0] == 1
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        v = mass[0] if equal else mass[k]
        if v == 0.0:
            continue
        for y in range(m):
            old = scale * costs[i, y] / v
            more = p[k, y] - old
            if abs(more) <= 1e-4 * old:
                # p log(p / old) - p + old, whose last two terms sum to zero over the row;
                # logarithms would lose digits here, and are slow
                total += v * 0.5 * more * more / (old + tiny)
            else:
                if p[k, y] > 0.0:
                    total += v * p[k, y] * np.log(p[k, y] / max(old, tiny))
                total -= v * more
    return total
