"""The seam between solvers and data: what a design matrix must answer, and nothing more."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.workers import Bounds, Workers, balanced_blocks

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class RowList:
    """Rows of a design, ascending, with the blocks in which threads take them.

    Attributes
    ----------
    index : array of shape (k,)
    blocks : pairs (start, stop) of positions in ``index``
    """

    index: Index
    blocks: Bounds

    def __len__(self) -> int:
        return len(self.index)


def read_only(a: NDArray[Any]) -> NDArray[Any]:
    """Give a view that cannot be written to.

    Users' arrays may or may not be writable (memory maps are not); numba compiles each
    kind anew. Kernels never write to the data, so all of it is passed as read-only.
    """
    view = a.view()
    view.flags.writeable = False
    return view


class Design(ABC):
    """A data matrix with ``n_rows`` rows and a constant feature behind its columns.

    Weight vectors ``w`` have ``n_weights`` = columns + 1 entries, in the design's own
    order of columns (see `encode`). Vectors over rows (scores, slopes, curvatures) have
    ``n_rows`` entries of which a method reads or writes only those of its row list, so a
    subset of rows needs no copy of the data.

    Sums are accumulated in float64, one partial sum a thread, added in a fixed order:
    a given number of threads gives the same bits every time.
    """

    n_rows: int
    n_weights: int
    all_rows: RowList

    _kernels: ModuleType
    _arrays: tuple[NDArray[Any], ...]

    def __init__(self, n_rows: int, n_columns: int, bias: float, workers: Workers) -> None:
        self.n_rows = n_rows
        self.n_weights = n_columns + 1
        self.bias = bias
        self._workers = workers
        self._partial = np.empty((workers.n_threads - 1, self.n_weights))
        self.all_rows = self.rows(np.arange(n_rows))

    @abstractmethod
    def _work(self, index: Index) -> NDArray[Any]:
        """Count the entries of each listed row."""

    def rows(self, index: Index) -> RowList:
        """Prepare a list of rows (ascending) for the methods below."""
        index = np.ascontiguousarray(index, dtype=np.intp)
        return RowList(index, balanced_blocks(self._work(index), self._workers.n_threads))

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Give the weight vector of a coefficient vector in the user's order of columns."""
        w = np.zeros(self.n_weights)
        w[:-1] = coef
        w[-1] = intercept / self.bias if self.bias else 0.0
        return w

    def decode(self, w: Floats) -> tuple[Floats, float]:
        """Give coefficients in the user's order and the intercept; inverse of `encode`."""
        return w[:-1].copy(), float(w[-1] * self.bias)

    def scores(self, w: Floats, rows: RowList, out: Floats) -> Floats:
        """Write x_i . w to ``out[i]`` for the listed rows."""

        def task(_: int, start: int, stop: int) -> None:
            self._kernels.scores(*self._arrays, w, self.bias, rows.index, start, stop, out)

        self._workers.run(task, rows.blocks)
        return out

    def pull_back(self, v: Floats, rows: RowList, out: Floats) -> Floats:
        """Write the sum of v_i x_i over the listed rows to ``out``."""
        return self._accumulate("pull_back", (v,), rows, out)

    def curvature(self, p: Floats, c: Floats, rows: RowList, out: Floats) -> Floats:
        """Write the sum of c_i (x_i . p) x_i over the listed rows to ``out``, in one pass."""
        return self._accumulate("curvature", (p, c), rows, out)

    def column_scales(self, c: Floats, rows: RowList, out: Floats) -> Floats:
        """Write the sum of c_i x_i**2 over the listed rows, column by column, to ``out``."""
        return self._accumulate("column_scales", (c,), rows, out)

    def _accumulate(
        self, name: str, vectors: tuple[Floats, ...], rows: RowList, out: Floats
    ) -> Floats:
        kernel = getattr(self._kernels, name)
        out[:] = 0.0

        def task(k: int, start: int, stop: int) -> None:
            into = out
            if k:
                into = self._partial[k - 1]
                into[:] = 0.0
            kernel(*self._arrays, *vectors, self.bias, rows.index, start, stop, into)

        self._workers.run(task, rows.blocks)
        for k in range(1, len(rows.blocks)):
            out += self._partial[k - 1]
        return out
