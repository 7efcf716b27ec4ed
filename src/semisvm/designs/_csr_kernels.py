"""Compiled kernels over CSR arrays; self-contained for numba's cache.

Each kernel walks positions ``start..stop`` of a row list and releases the GIL. Column
indices and loop bounds are unsigned, so that no kernel checks for negative indices. Dot
products keep four partial sums: a single sum would wait for the latency of each addition.

``bias`` is the constant value of the implicit last feature (0 without intercept); the
vectors ``w``, ``p`` and ``out`` have one entry for it after the columns.

The kernels for inner products of two sets of sparse rows list the rows on one side column by
column, so each entry of a row on the other side meets exactly the entries that it is multiplied
with.
"""

import numpy as np

from semisvm.compiling import compiled

_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@compiled
def _row_dot(indices, data, w, lo, hi):
    """Compute the dot product of the stored entries lo..hi with w; the compiler inlines it."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    quads = hi - ((hi - lo) & _THREE)
    j = lo
    while j < quads:
        s0 += data[j] * w[indices[j]]
        s1 += data[j + _ONE] * w[indices[j + _ONE]]
        s2 += data[j + _TWO] * w[indices[j + _TWO]]
        s3 += data[j + _THREE] * w[indices[j + _THREE]]
        j += _FOUR
    while j < hi:
        s0 += data[j] * w[indices[j]]
        j += _ONE
    return (s0 + s1) + (s2 + s3)


@compiled
def scores(indptr, indices, data, w, bias, rows, start, stop, out):
    """out_i = x_i . w for the listed rows."""
    offset = bias * w[w.shape[0] - 1]
    for k in range(start, stop):
        i = rows[k]
        lo = np.uint64(indptr[i])
        hi = np.uint64(indptr[i + 1])
        out[i] = _row_dot(indices, data, w, lo, hi) + offset


@compiled
def pull_back(indptr, indices, data, v, bias, rows, start, stop, out):
    """Out += sum of v_i x_i over the listed rows."""
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        vi = v[i]
        total += vi
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[indices[j]] += vi * data[j]
    out[out.shape[0] - 1] += bias * total


@compiled
def curvature(indptr, indices, data, p, c, bias, rows, start, stop, out):
    """Out += sum of c_i (x_i . p) x_i over the listed rows, each row read once."""
    offset = bias * p[p.shape[0] - 1]
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        lo = np.uint64(indptr[i])
        hi = np.uint64(indptr[i + 1])
        q = c[i] * (_row_dot(indices, data, p, lo, hi) + offset)
        total += q
        for j in range(lo, hi):
            out[indices[j]] += q * data[j]
    out[out.shape[0] - 1] += bias * total


@compiled
def curvature_paired(indptr, indices, data, pairs, c, bias, rows, start, stop):
    """Add to the second column of pairs what `curvature` adds for the first.

    A column's two numbers are in one line of the cache: what the dot product has fetched, the
    sum need not fetch again.
    """
    last = pairs.shape[0] - 1
    offset = bias * pairs[last, 0]
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        lo = np.uint64(indptr[i])
        hi = np.uint64(indptr[i + 1])
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        quads = hi - ((hi - lo) & _THREE)
        j = lo
        while j < quads:
            s0 += data[j] * pairs[indices[j], 0]
            s1 += data[j + _ONE] * pairs[indices[j + _ONE], 0]
            s2 += data[j + _TWO] * pairs[indices[j + _TWO], 0]
            s3 += data[j + _THREE] * pairs[indices[j + _THREE], 0]
            j += _FOUR
        while j < hi:
            s0 += data[j] * pairs[indices[j], 0]
            j += _ONE
        q = c[i] * ((s0 + s1) + (s2 + s3) + offset)
        total += q
        for entry in range(lo, hi):
            pairs[indices[entry], 1] += q * data[entry]
    pairs[last, 1] += bias * total


@compiled
def pair(p, pairs):
    """Put p in the first column of pairs and zero in the second."""
    for j in range(p.shape[0]):
        pairs[j, 0] = p[j]
        pairs[j, 1] = 0.0


@compiled
def unpair(pairs, out, start, stop):
    """Add the second columns of several pairs, in order."""
    for j in range(start, stop):
        total = pairs[0, j, 1]
        for k in range(1, pairs.shape[0]):
            total += pairs[k, j, 1]
        out[j] = total


@compiled
def column_scales(indptr, indices, data, c, bias, rows, start, stop, out):
    """Out += sum of c_i x_i**2 over the listed rows: the diagonal of the curvature."""
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        ci = c[i]
        total += ci
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = np.float64(data[j])
            out[indices[j]] += ci * x * x
    out[out.shape[0] - 1] += bias * bias * total


@compiled
def total_work(indptr, rows, out):
    """out_k = number of stored entries of the first k + 1 rows, and one more per row.

    An empty row is not free.
    """
    total = np.int64(0)
    for k in range(rows.shape[0]):
        i = rows[k]
        total += np.int64(indptr[i + 1]) - np.int64(indptr[i]) + 1
        out[k] = total


@compiled
def count_columns(indices, start, stop, out):
    """out_j += number of stored entries in column j."""
    for k in range(np.uint64(start), np.uint64(stop)):
        out[indices[k]] += 1


@compiled
def renumber(indices, rank, start, stop, out):
    """out_k = rank of column indices_k."""
    for k in range(np.uint64(start), np.uint64(stop)):
        out[k] = rank[indices[k]]


@compiled
def count_merged(indptr, indices, rank, n_shared):
    """Count the rows with an entry in a column of at least a certain rank."""
    found = 0
    for i in range(indptr.shape[0] - 1):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if rank[indices[k]] >= n_shared:
                found += 1
                break
    return found


@compiled
def merge(indptr, indices, data, rank, n_shared, starts, new, values, columns, into, share):
    """Copy the rows, with one entry in place of those in columns of at least a certain rank.

    Such columns have a single entry each. The new one is as long as they are together. List the
    columns, which new column they are in, and their parts of it.
    """
    end = np.uint64(0)
    n_listed = 0
    n_merged = 0
    starts[0] = 0
    for i in range(indptr.shape[0] - 1):
        first = n_listed
        squares = 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            column = rank[indices[k]]
            if column < n_shared:
                new[end] = column
                values[end] = data[k]
                end += _ONE
            else:
                columns[n_listed] = indices[k]
                into[n_listed] = n_merged
                share[n_listed] = data[k]
                squares += np.float64(data[k]) * data[k]
                n_listed += 1
        if n_listed > first:
            new[end] = n_shared + n_merged
            values[end] = np.sqrt(squares)
            # as stored, which may be rounded
            scale = values[end] / squares if squares > 0.0 else 0.0
            for k in range(first, n_listed):
                share[k] *= scale
            n_merged += 1
            end += _ONE
        starts[i + 1] = end


@compiled
def _four_scores(indices, data, W, bias, lo, hi, y, out):
    """Compute the dot products of the stored entries lo..hi with columns y..y+3 of W."""
    last = W.shape[0] - 1
    s0 = bias * W[last, y]
    s1 = bias * W[last, y + _ONE]
    s2 = bias * W[last, y + _TWO]
    s3 = bias * W[last, y + _THREE]
    for j in range(lo, hi):
        x = np.float64(data[j])
        column = indices[j]
        s0 += x * W[column, y]
        s1 += x * W[column, y + _ONE]
        s2 += x * W[column, y + _TWO]
        s3 += x * W[column, y + _THREE]
    out[y] = s0
    out[y + _ONE] = s1
    out[y + _TWO] = s2
    out[y + _THREE] = s3


@compiled
def scores_many(indptr, indices, data, W, bias, rows, start, stop, offset, out):
    """out_i = x_i W for the listed rows: all columns of W in one pass over the row.

    Rows of ``out`` are rows of the data, or, with an offset >= 0, positions minus the offset.
    Four entries at a time read and write ``out`` once instead of four times. A vectorised loop
    over few columns takes longer to enter than to run: four to eight are kept in registers
    instead, in one or two overlapping groups of four.
    """
    n_columns = W.shape[1]
    last = W.shape[0] - 1
    for k in range(start, stop):
        i = rows[k]
        at = i if offset < 0 else k - offset
        lo = np.uint64(indptr[i])
        hi = np.uint64(indptr[i + 1])
        if 4 <= n_columns <= 8:
            _four_scores(indices, data, W, bias, lo, hi, np.uint64(0), out[at])
            if n_columns > 4:
                _four_scores(indices, data, W, bias, lo, hi, np.uint64(n_columns - 4), out[at])
            continue
        for y in range(n_columns):
            out[at, y] = bias * W[last, y]
        quads = hi - ((hi - lo) & _THREE)
        j = lo
        while j < quads:
            x0, c0 = np.float64(data[j]), indices[j]
            x1, c1 = np.float64(data[j + _ONE]), indices[j + _ONE]
            x2, c2 = np.float64(data[j + _TWO]), indices[j + _TWO]
            x3, c3 = np.float64(data[j + _THREE]), indices[j + _THREE]
            for y in range(n_columns):
                out[at, y] += (x0 * W[c0, y] + x1 * W[c1, y]) + (x2 * W[c2, y] + x3 * W[c3, y])
            j += _FOUR
        while j < hi:
            x, column = np.float64(data[j]), indices[j]
            for y in range(n_columns):
                out[at, y] += x * W[column, y]
            j += _ONE


@compiled
def pull_back_many(indptr, indices, data, V, bias, rows, start, stop, offset, out):
    """Out += sum of x_i (outer) v_i over the listed rows; V is indexed as above."""
    n_columns = V.shape[1]
    last = out.shape[0] - 1
    for k in range(start, stop):
        i = rows[k]
        at = i if offset < 0 else k - offset
        for y in range(n_columns):
            out[last, y] += bias * V[at, y]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = np.float64(data[j])
            column = indices[j]
            for y in range(n_columns):
                out[column, y] += x * V[at, y]


_UNIT = np.uint64(1)


@compiled
def by_column(indptr, indices, data, rows, ends, where, values):
    """List the entries of the rows by column: their positions in the list, and their values.

    ``ends`` holds zeros, one more than there are columns; afterwards column c is at
    ``ends[c]..ends[c + 1]``.
    """
    for k in range(rows.shape[0]):
        i = rows[k]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            ends[np.uint64(indices[j]) + _UNIT] += 1
    # each count becomes the place of the column's first entry, and moves on to its end below
    total = 0
    for c in range(1, ends.shape[0]):
        count = ends[c]
        ends[c] = total
        total += count
    for k in range(rows.shape[0]):
        i = rows[k]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            column = np.uint64(indices[j]) + _UNIT
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
            for at in range(np.uint64(ends[c]), np.uint64(ends[c + _UNIT])):
                out[k, np.uint64(where[at])] += x * values[at]
