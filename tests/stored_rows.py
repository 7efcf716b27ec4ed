"""Sparse rows, in memory and on the disk."""

import numpy as np
from scipy import sparse

from semisvm import open_rows, write_rows


def problem(n=300, d=40, m=2, density=0.2, seed=0):
    """Sparse rows of m classes, of which 40 have labels."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density, format="csr", random_state=seed)
    X.data -= 0.4
    y = np.asarray(X @ rng.normal(size=(d, m))).argmax(axis=1)
    y[40:] = -1
    return X, y


def stored(folder, X, y=None, **options):
    write_rows(folder / "a.rows", X, y, **options)
    return open_rows(folder / "a.rows")


def same(A, B):
    if sparse.issparse(A):
        return A.shape == B.shape and A.dtype == B.dtype and (A != B).nnz == 0
    return A.dtype == B.dtype and np.array_equal(A, B)
