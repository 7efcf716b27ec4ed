"""Dense rows in memory."""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import _dense_kernels
from semisvm.designs.base import Design, Floats, Index, RowList, read_only
from semisvm.designs.workers import Workers


class DenseDesign(Design):
    """A dense array, float64 or float32, used as it is where it is C-contiguous."""

    def __init__(self, X: NDArray[Any], bias: float, workers: Workers) -> None:
        self._kernels = _dense_kernels
        self._arrays = (read_only(np.ascontiguousarray(X)),)
        super().__init__(X.shape[0], X.shape[1], bias, workers)

    def sweep(self, kernels: ModuleType, *arguments: Any) -> None:
        """Run a sequential kernel that a solver brings along over the data."""
        kernels.dense(*self._arrays, self.bias, *arguments)

    def gram(self, rows: RowList) -> Floats:
        """Give the inner products of a few rows, with the constant feature."""
        # BLAS: ten times as fast, and no other thread waits for the cores here
        X = self._arrays[0][rows.index].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            products: Floats = X @ X.T
        products += self.bias * self.bias
        return products

    def _work(self, index: Index) -> NDArray[Any]:
        return np.full(len(index), self._arrays[0].shape[1] + 1, dtype=np.int64)
