"""Sparse rows in memory, with columns renumbered by frequency if that pays."""

from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs import _csr_kernels, _gram_kernels
from semisvm.designs.base import Design, Floats, Index, RowList, RowOperator, read_only
from semisvm.designs.workers import Workers

# Renumbering costs about three passes over the data; it pays if a weight vector does not fit
# in the first-level cache and the data are large enough for passes to matter.
RENUMBER_MIN_COLUMNS = 4_096
RENUMBER_MIN_ENTRIES = 50_000
# Largest copy of the indices, in bytes. Where data are large their memory matters more: with
# 100,000 rows of text a fit takes 7% longer without the copy, a quarter of the size of X.
RENUMBER_MAX_BYTES = 8 << 20
# Products with the curvature keep the two numbers of a column side by side if each is used by
# this many entries on average: they must be put there and taken out. The limit is an estimate;
# measured are 22 entries per column (TSVM on 20 newsgroups, 0.99 of the time) and 176 (0.95).
WORK_PER_PAIR = 16
# Rows that a product with many columns takes at a time, or more.
LEAST_CHUNK = 256
BY_ROW = -1


class CsrDesign(Design):
    """CSR arrays, float64 or float32, int32 or int64 indices, used as they are.

    Text has few frequent and many rare words in alphabetical order, so a product over a
    row jumps all over the weight vector. With ``renumber`` the design keeps its own copy
    of the column indices, in 16 bits where they fit, in which frequent columns come
    first: most accesses then hit the cache. Columns without entries, of which a part of a
    corpus has many, get no weight: in a regularised fit it would be zero. Large data get no
    such copy. The values are never copied.
    """

    def __init__(self, X: Any, bias: float, workers: Workers, renumber: bool = True) -> None:
        n_rows, n_columns = X.shape
        self._kernels = _csr_kernels
        indptr, indices = _unsigned(X.indptr), _unsigned(X.indices)
        self._order: Index | None = None
        self.workers = workers
        if renumber and worth_renumbering(n_columns, len(X.data)):
            indices = self._renumbered(read_only(indices), n_columns)
        self._arrays = (read_only(indptr), read_only(indices), read_only(X.data))
        n_used = n_columns if self._order is None else len(self._order)
        super().__init__(n_rows, n_used, bias, workers)
        self.n_columns = n_columns

    def sweep(self, kernels: ModuleType, W: Floats, order: Index, *arguments: Any) -> None:
        """Run a sequential kernel of a solver over the rows, in a given order."""
        self.rows_read += len(order)
        kernels.csr(*self._arrays, self.bias, W, order, *arguments)

    def matrix(self, index: Index) -> Any:
        """Return the listed rows as a CSR matrix, columns in the design's own order."""
        self.rows_read += len(index)
        indptr, indices, data = self._arrays
        begins = indptr[index].astype(np.int64)
        counts = indptr[index + 1].astype(np.int64) - begins
        ends = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(begins - ends[:-1], counts) + np.arange(ends[-1])
        shape = (len(index), self.n_weights - 1)
        return sparse.csr_matrix((data[at], indices[at].astype(np.int64), ends), shape)

    def curvature(self, p: Floats, c: Floats, rows: RowList, out: Floats) -> Floats:
        """Write the sum of c_i (x_i . p) x_i over the listed rows to ``out``, in one pass."""
        if rows.work < WORK_PER_PAIR * len(p):
            return super().curvature(p, c, rows, out)

        # one block per thread: smaller ones balance the threads better, but each has its own
        # pairs to fill and to add up, which took 5% longer on 100,000 texts
        blocks = rows.blocks
        pairs = self._partial_sums(len(blocks), (len(p), 2))

        def block(k: int, start: int, stop: int) -> None:
            self._kernels.pair(p, pairs[k])
            part = (c, self.bias, rows.index, start, stop)
            self._kernels.curvature_paired(*self._arrays, pairs[k], *part)

        self.rows_read += len(rows)
        self.workers.run(block, blocks)
        self.workers.share(partial(self._kernels.unpair, pairs, out), len(out))
        return out

    def scores_many(self, W: Floats, rows: RowList, out: Floats) -> Floats:
        """Write x_i W, all columns in one pass, to ``out[i]`` for the listed rows."""

        def task(_: int, start: int, stop: int) -> None:
            self._kernels.scores_many(
                *self._arrays, W, self.bias, rows.index, start, stop, BY_ROW, out
            )

        self._run_blocks(task, rows)
        return out

    def pull_back_many(self, V: Floats, rows: RowList, out: Floats, *, add: bool = False) -> Floats:
        """Write the sum of x_i (outer) v_i over the listed rows to ``out``, or add it."""

        def task(start: int, stop: int, into: Floats) -> None:
            self._kernels.pull_back_many(
                *self._arrays, V, self.bias, rows.index, start, stop, BY_ROW, into
            )

        return self._sum_blocks(task, rows, out, add)

    def curvature_many(
        self, P: Floats, operator: RowOperator, rows: RowList, out: Floats
    ) -> Floats:
        """Write the sum of x_i (outer) H_i (x_i P) over the listed rows to ``out``.

        Parameters
        ----------
        P : array of shape (n_weights, k)
        operator : (index, start, stop, Q) -> None
            Replaces Q[j - start] by H_i Q[j - start] for the rows i = index[j].
        rows : RowList
        out : array of shape (n_weights, k)
        """
        kernels = self._kernels

        def task(start: int, stop: int, into: Floats) -> None:
            # long chunks: the cache holds the frequent rows of P or of the sums, not of both.
            # Changing between them every 256 rows took up to half as long again. The numbers of
            # a chunk take no more memory than the sums.
            length = max(1, min(max(LEAST_CHUNK, len(P)), stop - start))
            Q = np.empty((length, P.shape[1]))
            for low in range(start, stop, length):
                part = (rows.index, low, min(low + length, stop))
                kernels.scores_many(*self._arrays, P, self.bias, *part, low, Q)
                operator(*part, Q)
                kernels.pull_back_many(*self._arrays, Q, self.bias, *part, low, into)

        return self._sum_blocks(task, rows, out)

    def few_scores(self, W: Floats, rows: RowList) -> Floats:
        """Compute x_i W for a few rows, one row of the result per listed row."""
        self.rows_read += len(rows)
        out = np.empty((len(rows), W.shape[1]))
        part = (rows.index, 0, len(rows), 0)
        self._kernels.scores_many(*self._arrays, W, self.bias, *part, out)
        return out

    def add_few(self, V: Floats, rows: RowList, out: Floats) -> Floats:
        """Add the sum of x_i (outer) V_k over a few rows i = rows.index[k] to ``out``."""
        self.rows_read += len(rows)
        part = (rows.index, 0, len(rows), 0)
        self._kernels.pull_back_many(*self._arrays, V, self.bias, *part, out)
        return out

    def products(self, rows: RowList, others: RowList) -> Floats:
        """Compute the inner products of rows with others, with the constant feature."""
        self.rows_read += len(rows) + len(others)
        size = others.work - len(others)
        ends = np.zeros(self.n_weights, dtype=np.int64)
        where, values = np.empty(size, dtype=np.uint32), np.empty(size)
        _gram_kernels.by_column(*self._arrays, others.index, ends, where, values)
        out = np.empty((len(rows), len(others)))

        def task(_: int, start: int, stop: int) -> None:
            part = (rows.index, start, stop, ends, where, values)
            _gram_kernels.products(*self._arrays, self.bias, *part, out)

        self.workers.run(task, rows.pieces)
        return out

    def _total_work(self, index: Index) -> NDArray[np.int64]:
        total = np.empty(len(index), dtype=np.int64)
        _csr_kernels.total_work(self._arrays[0], index, total)
        return total

    def _renumbered(self, indices: NDArray[Any], n_columns: int) -> NDArray[Any]:
        counts = np.zeros(n_columns, dtype=np.int64)
        _csr_kernels.count_columns(indices, 0, len(indices), counts)
        self._order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        rank = np.zeros(n_columns, dtype=_index_type(n_columns))
        rank[self._order] = np.arange(len(self._order), dtype=rank.dtype)
        out = np.empty(len(indices), dtype=rank.dtype)
        n, k = len(indices), self.workers.n_threads
        cuts = [n * i // k for i in range(k + 1)]
        self.workers.run(
            lambda _, start, stop: _csr_kernels.renumber(indices, rank, start, stop, out),
            tuple(pairwise(cuts)),
        )
        return out

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Return the weight vector for coefficients in the user's order of columns.

        Coefficients of columns without entries are left out.
        """
        return super().encode(coef if self._order is None else coef[self._order], intercept)

    def decode(self, w: Floats) -> tuple[Floats, float]:
        """Return coefficients in the user's order and the intercept; inverse of `encode`.

        Columns without entries have coefficient zero.
        """
        own, intercept = super().decode(w)
        if self._order is None:
            return own, intercept
        coef = np.zeros(self.n_columns)
        coef[self._order] = own
        return coef, intercept


def _unsigned(a: NDArray[Any]) -> NDArray[Any]:
    """View signed integers as unsigned ones, for which kernels need no check of the sign."""
    return a.view(np.uint32 if a.dtype.itemsize == 4 else np.uint64)


def _index_type(n_columns: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if n_columns <= 2**16 else np.uint32


def worth_renumbering(n_columns: int, n_entries: int) -> bool:
    """Tell whether a renumbered copy of the indices pays and takes little memory."""
    if n_columns < RENUMBER_MIN_COLUMNS or n_columns > 2**32:
        return False
    copy_bytes = n_entries * np.dtype(_index_type(n_columns)).itemsize
    return n_entries >= RENUMBER_MIN_ENTRIES and copy_bytes <= RENUMBER_MAX_BYTES
