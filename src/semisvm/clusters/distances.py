"""1-norm distances of rows to centres, sparse or dense, block by block."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.clusters import _distance_kernels as kernels
from semisvm.designs.base import Floats, Index, read_only

BLOCK = 1 << 17
"""Number of distances held at a time when only the nearest centre is needed."""


def distances(X: Any, centers: Floats) -> Floats:
    """Compute the distances of all rows to all centres.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        C-contiguous, or without duplicate entries.
    centers : array of shape (k, d)

    Returns
    -------
    distances : array of shape (n, k)
    """
    out = np.empty((X.shape[0], len(centers)))
    _filler(X, centers)(0, X.shape[0], out)
    return out


def nearest(X: Any, centers: Floats, labels: Index | None = None) -> tuple[Index, Floats]:
    """Find the nearest centre of each row, and its distance.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    centers : array of shape (k, d)
    labels : int array of shape (n,), optional
        The current centre of each row, which it keeps unless another one is nearer. Without
        it the first of equally near centres is taken.

    Returns
    -------
    labels : int array of shape (n,)
    distances : array of shape (n,)
    """
    n, k = X.shape[0], len(centers)
    found, length = np.empty(n, dtype=np.intp), np.empty(n)
    fill = _filler(X, centers)
    block = np.empty((min(n, max(1, BLOCK // k)), k))
    for start, stop in _blocks(n, len(block)):
        here = block[: stop - start]
        fill(start, stop, here)
        found[start:stop] = here.argmin(axis=1)
        length[start:stop] = here.min(axis=1)
        if labels is not None:
            own = labels[start:stop]
            kept = here[np.arange(len(own)), own] <= length[start:stop]
            found[start:stop][kept] = own[kept]
    return found, length


def _blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + size, n)) for start in range(0, n, size))


def _filler(X: Any, centers: Floats) -> Callable[[int, int, Floats], None]:
    """Return a function that writes the distances of the rows start..stop."""
    columns = read_only(np.ascontiguousarray(centers.T))
    thin: bool = sparse.issparse(X)
    if not thin:
        rows = read_only(X)
        return lambda start, stop, out: kernels.dense(rows, columns, start, stop, out)
    norms = np.abs(centers).sum(axis=1)
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    indptr = X.indptr.astype(np.int64, copy=False)
    arrays = (read_only(indptr), read_only(X.indices.view(unsigned)), read_only(X.data))
    return lambda start, stop, out: kernels.csr(*arrays, columns, norms, start, stop, out)
