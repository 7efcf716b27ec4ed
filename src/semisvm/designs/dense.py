"""Dense rows in memory."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import _dense_kernels
from semisvm.designs.base import Design, Floats, Index, RowList, RowOperator, read_only
from semisvm.designs.workers import Workers

# Trailing zeros of rows are skipped if that saves at least this fraction of all entries. The
# lengths of 50,000 rows with ten columns cost a tenth of the time for the scores.
SAVED = 0.1
# Products with k columns take a chunk of the rows at a time, of at most so many entries: it stays
# in the cache. BLAS copies the factors of a product of more than a million multiplications, and of
# two thin ones that takes as long as the product.
CHUNK_ENTRIES = 1 << 17
CHUNK_PRODUCTS = 900_000
LEAST_CHUNK = 32


def in_silence() -> np.errstate:
    """Return a context for products: the solver checks for values out of range."""
    return np.errstate(over="ignore", invalid="ignore")


class DenseDesign(Design):
    """A dense array, float64 or float32, used as it is if it is C-contiguous.

    Rows may end in zeros, as in the triangular factor of a kernel matrix: half of its entries,
    if its rank is the number of rows. They are counted when the design is made, and products
    with one column do not read them.

    Products with many columns at a time are matrix products, computed by BLAS.
    """

    def __init__(self, X: NDArray[Any], bias: float, workers: Workers) -> None:
        self._kernels = _dense_kernels
        self._X = read_only(np.ascontiguousarray(X))
        self._lengths = row_lengths(self._X)
        self._arrays = (self._X, self._lengths)
        self._few: tuple[RowList | None, NDArray[Any]] = (None, self._X[:0])
        super().__init__(X.shape[0], X.shape[1], bias, workers)

    def sweep(self, kernels: ModuleType, W: Floats, order: Index, *arguments: Any) -> None:
        """Run a sequential kernel of a solver over the rows, in a given order."""
        self.rows_read += len(order)
        kernels.dense(*self._arrays, self.bias, W, order, *arguments)

    def matrix(self, index: Index) -> Any:
        """Return the listed rows as an array."""
        self.rows_read += len(index)
        return self._X[index]

    def _total_work(self, index: Index) -> NDArray[np.int64]:
        if self._lengths is None:
            return np.arange(1, len(index) + 1) * (self._X.shape[1] + 1)
        return np.cumsum(self._lengths[index] + 1)

    def _chunks(self, n_columns: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Divide positions into chunks for a product with so many columns."""
        d = max(self._X.shape[1], 1)
        length = max(LEAST_CHUNK, min(CHUNK_ENTRIES // d, CHUNK_PRODUCTS // (d * n_columns)))
        for low in range(start, stop, length):
            yield low, min(low + length, stop)

    def _at(self, rows: RowList, low: int, high: int) -> Any:
        """Return where some of the listed rows are, as a slice if these are all rows."""
        every = rows is self.all_rows and len(rows) == self.n_rows
        return slice(low, high) if every else rows.index[low:high]

    def _chunk(self, rows: RowList, low: int, high: int) -> NDArray[Any]:
        """Return some of the listed rows in double precision, as a view if possible."""
        return self._X[self._at(rows, low, high)].astype(np.float64, copy=False)

    def scores_many(self, W: Floats, rows: RowList, out: Floats) -> Floats:
        """Write x_i W, all columns in one pass, to ``out[i]`` for the listed rows."""
        offset = self.bias * W[-1]

        def task(_: int, start: int, stop: int) -> None:
            with in_silence():
                for low, high in self._chunks(W.shape[1], start, stop):
                    scores = self._chunk(rows, low, high) @ W[:-1]
                    scores += offset
                    out[self._at(rows, low, high)] = scores

        self._run_blocks(task, rows)
        return out

    def pull_back_many(self, V: Floats, rows: RowList, out: Floats, *, add: bool = False) -> Floats:
        """Write the sum of x_i (outer) v_i over the listed rows to ``out``, or add it."""

        def task(start: int, stop: int, into: Floats) -> None:
            with in_silence():
                for low, high in self._chunks(V.shape[1], start, stop):
                    self._add(self._chunk(rows, low, high), V[self._at(rows, low, high)], into)

        return self._sum_blocks(task, rows, out, add)

    def curvature_many(
        self, P: Floats, operator: RowOperator, rows: RowList, out: Floats
    ) -> Floats:
        """Write the sum of x_i (outer) H_i (x_i P) over the listed rows to ``out``."""
        offset = self.bias * P[-1]

        def task(start: int, stop: int, into: Floats) -> None:
            with in_silence():
                for low, high in self._chunks(P.shape[1], start, stop):
                    chunk = self._chunk(rows, low, high)
                    Q = chunk @ P[:-1]
                    Q += offset
                    operator(rows.index, low, high, Q)
                    self._add(chunk, Q, into)

        return self._sum_blocks(task, rows, out)

    def few_scores(self, W: Floats, rows: RowList) -> Floats:
        """Compute x_i W for a few rows, one row of the result per listed row."""
        few = self._few_rows(rows)
        if W.shape[1] > 1:
            with in_silence():
                return few @ W[:-1] + self.bias * W[-1]
        out, every = np.empty((len(few), 1)), self.row_numbers(np.arange(len(few)))
        self._kernels.scores(few, None, W[:, 0], self.bias, every, 0, len(few), out[:, 0])
        return out

    def add_few(self, V: Floats, rows: RowList, out: Floats) -> Floats:
        """Add the sum of x_i (outer) V_k over a few rows i = rows.index[k] to ``out``."""
        few = self._few_rows(rows)
        if V.shape[1] > 1:
            with in_silence():
                self._add(few, V, out)
        else:
            every = self.row_numbers(np.arange(len(few)))
            self._kernels.pull_back(few, None, V[:, 0], self.bias, every, 0, len(few), out[:, 0])
        return out

    def _few_rows(self, rows: RowList) -> NDArray[Any]:
        """Return a few rows, and keep them: a preconditioner needs the same rows repeatedly."""
        self.rows_read += len(rows)
        last, kept = self._few
        if last is not rows:
            kept = self._chunk(rows, 0, len(rows))
            self._few = (rows, kept)
        return kept

    def _add(self, chunk: NDArray[Any], V: Floats, into: Floats) -> None:
        into[:-1] += chunk.T @ V
        # a product is faster than a sum over short rows
        into[-1] += np.full(len(V), self.bias) @ V

    def products(self, rows: RowList, others: RowList) -> Floats:
        """Compute the inner products of rows with others, with the constant feature."""
        self.rows_read += len(rows) + len(others)
        X = self._chunk(rows, 0, len(rows))
        Z = X if rows is others else self._chunk(others, 0, len(others))
        with in_silence():
            products: Floats = X @ Z.T
        products += self.bias * self.bias
        return products


def row_lengths(X: NDArray[Any]) -> Index | None:
    """Count the entries of each row before its trailing zeros; None if these are few."""
    lengths = np.empty(len(X), dtype=np.intp)
    _dense_kernels.count_leading(X, lengths)
    return read_only(lengths) if lengths.sum() <= (1.0 - SAVED) * X.size else None
