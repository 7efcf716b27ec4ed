"""Compiled passes over the beliefs of many classes; self-contained for numba's cache."""

import numpy as np

from semisvm.compiling import compiled


@compiled
def answer(p, slopes, rows, step, moved, start, stop):
    """Compute how beliefs answer a step of the scores at fixed prices, up to the factor -1/T.

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
    """Subtract from the slopes of the scores what the answers take, at moving prices."""
    m = p.shape[1]
    for k in range(start, stop):
        i = rows[k]
        mean = 0.0
        for y in range(m):
            mean += p[k, y] * prices[y]
        for y in range(m):
            answered = moved[k, y] - p[k, y] * (prices[y] - mean)
            out[i, y] -= softness * slopes[k, y] * answered


@compiled
def divergence(p, costs, scale, mass, rows, start, stop):
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
