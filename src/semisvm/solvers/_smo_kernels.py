"""Compiled steps of pairwise ascent; self-contained for numba's cache."""

import numpy as np

from semisvm.compiling import compiled

# Fraction of the largest diagonal entry below which the curvature of a pair counts as zero.
FLAT = 1e-12


@compiled
def _move(gradient, step, rising, falling, beta, lower, upper):
    """Update the gradient for a step; return the coordinate that gains most by rising.

    Also return the largest and the smallest of -gradient among the coordinates that can rise
    and fall. One pass does both, since steps are short and many.
    """
    best, highest, lowest = -1, -np.inf, np.inf
    for k in range(gradient.shape[0]):
        g = gradient[k] + step * (rising[k] - falling[k])
        gradient[k] = g
        if beta[k] < upper[k] and -g > highest:
            highest = -g
            best = k
        if beta[k] > lower[k] and -g < lowest:
            lowest = -g
    return best, highest, lowest


@compiled
def _partner(column, i, highest, diagonal, floor, beta, gradient, lower):
    """Find the coordinate that gains most by falling while i rises."""
    best, most = -1, 0.0
    for k in range(beta.shape[0]):
        gap = highest + gradient[k]
        if gap > 0.0 and beta[k] > lower[k]:
            curvature = max(diagonal[i] + diagonal[k] - 2.0 * column[k], floor)
            # compare before the division, which is expensive
            if gap * gap > most * curvature:
                most = gap * gap / curvature
                best = k
    return best


@compiled
def _row(G, at, i, rows, known):
    """Return the products of coordinate i with all others, gathered when first needed."""
    row = rows[i]
    if not known[i]:
        known[i] = True
        whole = G[at[i]]
        for k in range(at.shape[0]):
            row[k] = whole[at[k]]
    return row


@compiled
def ascend(G, at, lower, upper, beta, gradient, violation, max_steps):
    """Move pairs of coordinates until none violates by more; return the number of steps.

    Coordinate k is row and column ``at[k]`` of G. Few of its rows are needed.
    """
    n = at.shape[0]
    rows, known, diagonal = np.empty((n, n)), np.zeros(n, dtype=np.bool_), np.empty(n)
    for k in range(n):
        diagonal[k] = G[at[k], at[k]]
    floor = FLAT * max(diagonal.max(), 1e-300)
    i, highest, lowest = _move(gradient, 0.0, diagonal, diagonal, beta, lower, upper)
    steps = 0
    while highest - lowest > violation and steps < max_steps:
        rising = _row(G, at, i, rows, known)
        j = _partner(rising, i, highest, diagonal, floor, beta, gradient, lower)
        falling = _row(G, at, j, rows, known)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * rising[j], floor)
        room_above, room_below = upper[i] - beta[i], beta[j] - lower[j]
        step = min((gradient[j] - gradient[i]) / curvature, room_above, room_below)
        # bounds are reached exactly
        beta[i] = upper[i] if step == room_above else beta[i] + step
        beta[j] = lower[j] if step == room_below else beta[j] - step
        i, highest, lowest = _move(gradient, step, rising, falling, beta, lower, upper)
        steps += 1
    return steps
