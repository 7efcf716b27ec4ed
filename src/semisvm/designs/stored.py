"""Sparse rows on the disk, whose columns were numbered when they were written."""

from semisvm.designs import _csr_kernels
from semisvm.designs.base import Design, read_only
from semisvm.designs.csr import CsrDesign
from semisvm.designs.workers import Workers
from semisvm.ondisk import RowsOnDisk


class StoredCsrDesign(CsrDesign):
    """CSR arrays that are memory maps, used as they are.

    Frequent columns already come first, in 16 bits where they fit, so there is neither a copy
    of the values nor one of the indices: the design itself takes one vector over rows.
    """

    def __init__(self, X: RowsOnDisk, bias: float, workers: Workers) -> None:
        self._kernels = _csr_kernels
        self._order, self._merged = X.order, None
        self._arrays = (read_only(X.indptr), read_only(X.indices), read_only(X.values))
        Design.__init__(self, *X.shape, bias, workers)
