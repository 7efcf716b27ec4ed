r"""Distances of rows: Euclidean, from inner products, and by the 1-norm.

By ||x - z||^2 = ||x||^2 - 2 x . z + ||z||^2 the distances of many rows are a matrix product,
with an error of about eps (||x||^2 + ||z||^2). Far from the origin the error exceeds the
distances. Two remedies cost nothing if they are not needed:

- all rows are moved by the same vector, which changes no distance. Dense rows are moved by
  their mean. Sparse rows are moved only in columns where every row has an entry, so they stay
  equally sparse; only such columns can take all rows far from the origin;
- pairs that are still much nearer to each other than to the origin are subtracted directly.

The 1-norm is compiled. Centres are transposed, one column per centre, so that the inner loop runs
over adjacent memory and needs no horizontal sum.
"""

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.designs.validation import is_sparse, row_squares

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Error of a squared distance, relative to the squared lengths of both rows."""
COMMON = 0.999
"""Rows are moved if their mean makes up more than this share of their squared lengths."""
ENTRIES = 1 << 20
"""Number of entries of row pairs subtracted at a time."""
_ONE = np.uint64(1)


def centre_of(X: Any) -> Floats | None:
    """Return what to subtract from rows before computing distances; None if it would not help.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)

    Returns
    -------
    centre : array of shape (d,), optional
        Zero in the columns of sparse rows that must not be moved.
    """
    centre = _means(X)
    return centre if centre @ centre > COMMON * row_squares(X).mean() else None


def _means(X: Any) -> Floats:
    if not is_sparse(X):
        return np.asarray(X.mean(axis=0, dtype=np.float64))
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    return np.where(full, np.asarray(X.mean(axis=0, dtype=np.float64)).ravel(), 0.0)


def moved(X: Any, centre: Floats | None) -> Any:
    """Return rows minus a centre; sparse rows stay equally sparse."""
    if centre is None:
        return X
    if not is_sparse(X):
        return X - centre
    n, columns = X.shape[0], np.flatnonzero(centre)
    entries = (np.tile(centre[columns], n), np.tile(columns, n), len(columns) * np.arange(n + 1))
    return X - type(X)(entries, shape=X.shape)


def squared_distances(X: Any, Z: Any, *, tol: float, far: float = np.inf) -> Floats:
    """Compute ||x_i - z_j||^2 for all pairs of rows, shape (n, k).

    Parameters
    ----------
    X, Z : arrays or CSR matrices of shapes (n, d) and (k, d)
        Both of the same kind, in double precision.
    tol : float
        Largest acceptable error.
    far : float
        Beyond this squared distance any error is acceptable.
    """
    x, z = row_squares(X), row_squares(Z)
    if _error(x.max(initial=0.0), z.max(initial=0.0)) <= tol:
        return _expanded(X, Z, x, z)
    centre = _means(Z)
    near_x, near_z = moved(X, centre), moved(Z, centre)
    x, z = row_squares(near_x), row_squares(near_z)
    values, error = _expanded(near_x, near_z, x, z), _error(x[:, None], z)
    i, j = np.nonzero((error > tol) & (values - error <= far))
    size = max(1, ENTRIES // X.shape[1])
    for low in range(0, len(i), size):
        a, b = i[low : low + size], j[low : low + size]
        values[a, b] = row_squares(X[a] - Z[b])
    return values


def _error(x: Any, z: Any) -> Any:
    return ROUNDING * (x + z)


def _expanded(X: Any, Z: Any, x: Floats, z: Floats) -> Floats:
    values = np.asarray(safe_sparse_dot(X, Z.T, dense_output=True), dtype=np.float64)
    values *= -2.0
    values += x[:, None]
    values += z
    return np.maximum(values, 0.0, out=values)


@compiled
def dense_1_norms(X, centers, start, stop, out):
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
def csr_1_norms(indptr, indices, data, centers, norms, start, stop, out):
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
