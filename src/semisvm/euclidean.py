r"""Euclidean distances from inner products, which rounding must not spoil.

By ||x - z||^2 = ||x||^2 - 2 x . z + ||z||^2 distances of many rows are a product of matrices,
with an error of about eps (||x||^2 + ||z||^2): far from the origin it is larger than the
distances. Two remedies cost nothing where they are not needed:

- rows are moved, all by the same vector, which changes no distance. Dense rows are moved by
  their mean. Of sparse ones only those columns are moved in which every row has an entry,
  so that they stay as sparse; only these can take all of the rows far from the origin;
- pairs that are still much nearer to each other than to the origin are subtracted.
"""

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs.base import Floats
from semisvm.rows import is_sparse, row_squares

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Error of a squared distance as a share of the squared lengths of both rows."""
COMMON = 0.999
"""Share of the squared lengths of rows that is common to all where they are worth moving."""
ENTRIES = 1 << 20
"""Entries of pairs of rows that are subtracted at a time."""


def centre_of(X: Any) -> Floats | None:
    """Return what to subtract from rows before distances are taken; None if it would not help.

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
    """Return rows minus a centre, sparse ones as sparse as before."""
    if centre is None:
        return X
    if not is_sparse(X):
        return X - centre
    n, columns = X.shape[0], np.flatnonzero(centre)
    entries = (np.tile(centre[columns], n), np.tile(columns, n), len(columns) * np.arange(n + 1))
    return X - type(X)(entries, shape=X.shape)


def squared_distances(X: Any, Z: Any, *, tol: float, far: float = np.inf) -> Floats:
    """Return ||x_i - z_j||^2 of all pairs of rows, shape (n, k).

    Parameters
    ----------
    X, Z : arrays or CSR matrices of shapes (n, d) and (k, d)
        Both of the same kind, in double precision.
    tol : float
        Largest error that does not matter.
    far : float
        Beyond it no error matters.
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
