"""Compiled passes over the hard labels of a block; self-contained for numba's cache."""

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
