"""Compiled parts of the search for neighbours; self-contained for numba's cache."""

import numpy as np

from semisvm.compiling import compiled


@compiled
def _insert(values, index, value, j):
    """Put a row into a list of the nearest ones, in order of value and number."""
    at = values.shape[0]
    while at > 0 and (value < values[at - 1] or (value == values[at - 1] and j < index[at - 1])):
        at -= 1
        if at + 1 < values.shape[0]:
            values[at + 1] = values[at]
            index[at + 1] = index[at]
    if at < values.shape[0]:
        values[at] = value
        index[at] = j


@compiled
def keep(products, half, first, second, values, index):
    """Keep the nearest rows that a tile of inner products shows, for its rows and columns.

    Half the squared distances are ``half[i] + half[j] - products``. A tile on the diagonal
    counts above it only.
    """
    last = values.shape[1] - 1
    for a in range(products.shape[0]):
        i = first + a
        for b in range(a + 1 if first == second else 0, products.shape[1]):
            j = second + b
            value = half[i] + half[j] - products[a, b]
            if value <= values[i, last]:
                _insert(values[i], index[i], value, j)
            if value <= values[j, last]:
                _insert(values[j], index[j], value, i)


@compiled
def merge(values, index, more_values, more_index):
    """Add the lists of another thread, which saw other pairs."""
    for i in range(values.shape[0]):
        for a in range(values.shape[1]):
            if more_index[i, a] >= 0:
                _insert(values[i], index[i], more_values[i, a], more_index[i, a])


@compiled
def order(X, rows, candidates, squares, index):
    """Compute squared distances of rows to their candidates, and list the nearest in order."""
    for a in range(rows.shape[0]):
        i = rows[a]
        squares[i, :] = np.inf
        index[i, :] = -1
        for b in range(candidates.shape[1]):
            j = candidates[a, b]
            if j < 0:
                continue
            total = 0.0
            for c in range(X.shape[1]):
                apart = X[i, c] - X[j, c]
                total += apart * apart
            _insert(squares[i], index[i], total, j)
