"""Compiled 1-norm distances of rows to centres; self-contained for numba's cache.

Centres are transposed, one column per centre, so that the inner loop runs over adjacent
memory and needs no horizontal sum.
"""

import numpy as np

from semisvm.compiling import compiled

_ONE = np.uint64(1)


@compiled
def dense(X, centers, start, stop, out):
    """out_ic = sum_j |x_ij - c_jc| for the rows start..stop."""
    n_centers = centers.shape[1]
    for i in range(start, stop):
        total = out[i - start]
        total[:] = 0.0
        for j in range(X.shape[1]):
            x = X[i, j]
            for c in range(n_centers):
                total[c] += abs(x - centers[j, c])


@compiled
def csr(indptr, indices, data, centers, norms, start, stop, out):
    """Compute the same for sparse rows: norms of the centres, corrected at the row's entries."""
    n_centers = centers.shape[1]
    for i in range(start, stop):
        total = out[i - start]
        total[:] = norms
        p = np.uint64(indptr[i])
        end = np.uint64(indptr[i + 1])
        while p < end:
            x = data[p]
            center = centers[indices[p]]
            for c in range(n_centers):
                total[c] += abs(x - center[c]) - abs(center[c])
            p += _ONE
        for c in range(n_centers):
            # rounding may make the distance of a row to itself negative
            total[c] = max(total[c], 0.0)
