"""Compiled kernels for inner products of sparse rows; self-contained for numba's cache.

The rows on one side are listed column by column, so each entry of a row on the other side meets
exactly the entries that it is multiplied with.
"""

import numpy as np

from semisvm.compiling import compiled

_ONE = np.uint64(1)


@compiled
def by_column(indptr, indices, data, rows, ends, where, values):
    """List the entries of the rows by column: their positions in the list, and their values.

    ``ends`` holds zeros, one more than there are columns; afterwards column c is at
    ``ends[c]..ends[c + 1]``.
    """
    for i in rows:
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            ends[np.uint64(indices[j]) + _ONE] += 1
    # each count becomes the place of the column's first entry, and moves on to its end below
    total = 0
    for c in range(1, ends.shape[0]):
        count = ends[c]
        ends[c] = total
        total += count
    for k in range(rows.shape[0]):
        i = rows[k]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            column = np.uint64(indices[j]) + _ONE
            at = ends[column]
            where[at] = k
            values[at] = data[j]
            ends[column] = at + 1


@compiled
def products(indptr, indices, data, bias, rows, start, stop, ends, where, values, out):
    """out[k] = inner products of the row at position k with all rows listed by column."""
    for k in range(start, stop):
        i = rows[k]
        out[k, :] = bias * bias
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            c = np.uint64(indices[j])
            x = np.float64(data[j])
            for at in range(np.uint64(ends[c]), np.uint64(ends[c + _ONE])):
                out[k, np.uint64(where[at])] += x * values[at]
