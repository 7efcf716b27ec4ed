"""Which design suits the data."""

from typing import Any

from scipy import sparse

from semisvm.designs.base import Design
from semisvm.designs.csr import CsrDesign, StoredCsrDesign
from semisvm.designs.dense import DenseDesign
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.workers import Workers


def make_design(
    X: Any, bias: float, workers: Workers, renumber: bool = True, merge: bool = False
) -> Design:
    """Return a design for validated data.

    Parameters
    ----------
    X : CSR matrix or array, ndarray, RowsOnDisk or DistributedRows, of shape (n, d)
        float64 or float32.
    bias : float
        Value of the implicit constant feature; 0 for a model without intercept.
    workers : Workers
        The threads of this fit.
    renumber : bool
        Whether many passes over most of the rows will follow.
    merge : bool
        Whether the fit regularises the length of the weights, so that columns may be rotated.
    """
    if hasattr(X, "as_design"):
        # rows in parts are products with X themselves
        found: Design = X.as_design(bias, workers)
        return found
    if isinstance(X, RowsOnDisk):
        if X.is_sparse:
            return StoredCsrDesign(X, bias, workers)
        return DenseDesign(X.values, bias, workers)
    if sparse.issparse(X):
        return CsrDesign(X, bias, workers, renumber=renumber, merge=merge)
    return DenseDesign(X, bias, workers)
