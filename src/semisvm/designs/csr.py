"""Sparse rows: in memory, and on the disk.

In memory the columns are renumbered by frequency, and merged if that pays. On the disk they were
numbered when the rows were written.
"""

from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs import _csr_kernels
from semisvm.designs import _csr_kernels as _gram_kernels
from semisvm.designs.base import Design, Floats, Index, RowList, RowOperator, read_only
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.workers import Workers

# Renumbering costs about three passes over the data; it pays if a weight vector does not fit
# in the first-level cache and the data are large enough for passes to matter. On 120,000 entries
# of 8 classes a fit takes 0.92 of the time.
RENUMBER_MIN_COLUMNS = 4_096
RENUMBER_MIN_ENTRIES = 50_000
# Largest copy of the indices, and of the values, in bytes. Where data are large their memory
# matters more: with 100,000 rows of text a fit takes 7% longer without the copy of the indices, a
# quarter of the size of X.
RENUMBER_MAX_BYTES = 8 << 20
# Columns that a single row has are merged if that saves this part of the columns.
MERGED_SHARE = 0.1
# Products with the curvature keep the two numbers of a column side by side if each is used by
# this many entries on average: they must be put there and taken out. The limit is an estimate;
# measured are 22 entries per column (TSVM on 20 newsgroups, 0.99 of the time) and 176 (0.95).
WORK_PER_PAIR = 16
# Rows that a product with many columns takes at a time, or more.
LEAST_CHUNK = 256
# Multiplications of one call for inner products of rows: some tenths of a second.
PRODUCTS_PER_CALL = 100_000_000
BY_ROW = -1


class CsrDesign(Design):
    """CSR arrays, float64 or float32, int32 or int64 indices, used as they are.

    Text has few frequent and many rare words in alphabetical order, so a product over a
    row jumps all over the weight vector. With ``renumber`` the design keeps its own copy
    of the column indices, in 16 bits where they fit, in which frequent columns come
    first: most accesses then hit the cache. Columns without entries, of which a part of a
    corpus has many, get no weight: in a regularised fit it would be zero. Large data get no
    such copy.

    Text also has many words that occur in a single row: a third of the words of 3,000 articles.
    With ``merge`` those of a row become one column, whose value is the length of theirs. That is a
    rotation: inner products of rows stay the same, and so do scores and the length of the weights
    that a fit finds. It takes a copy of the values too.

    Parameters
    ----------
    X : CSR matrix or array
    bias : float
    workers : Workers
    renumber : bool
        Whether many passes over most of the rows will follow.
    merge : bool
        Whether the fit regularises the length of the weights, so that columns may be rotated.
    """

    def __init__(
        self, X: Any, bias: float, workers: Workers, renumber: bool = True, merge: bool = False
    ) -> None:
        n_rows, n_columns = X.shape
        self._kernels = _csr_kernels
        indptr, indices = _unsigned(X.indptr), _unsigned(X.indices)
        self._arrays = (read_only(indptr), read_only(indices), read_only(X.data))
        self._order: Index | None = None
        self._merged: Merged | None = None
        self.workers = workers
        if renumber and worth_renumbering(n_columns, len(X.data)):
            self._renumber(n_columns, merge and X.data.nbytes <= RENUMBER_MAX_BYTES)
        n_used = n_columns if self._order is None else len(self._order)
        n_merged = 0 if self._merged is None else self._merged.n_columns
        super().__init__(n_rows, n_used + n_merged, bias, workers)
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
        """Write the sum of x_i (outer) H_i (x_i P) over the listed rows to ``out``."""
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
        # signals are handled between the calls
        step = max(1, PRODUCTS_PER_CALL * len(rows) // max(1, rows.work * len(others)))

        def task(_: int, start: int, stop: int) -> None:
            for first in range(start, stop, step):
                part = (rows.index, first, min(first + step, stop), ends, where, values)
                _gram_kernels.products(*self._arrays, self.bias, *part, out)

        self.workers.run(task, rows.pieces)
        return out

    def _total_work(self, index: Index) -> NDArray[np.int64]:
        total = np.empty(len(index), dtype=np.int64)
        _csr_kernels.total_work(self._arrays[0], index, total)
        return total

    def _renumber(self, n_columns: int, merge: bool) -> None:
        """Put frequent columns first, in a copy of the indices; merge columns of single rows."""
        indptr, indices, data = self._arrays
        counts = np.zeros(n_columns, dtype=np.int64)
        _csr_kernels.count_columns(indices, 0, len(indices), counts)
        order = _by_frequency(counts)
        rank = np.zeros(n_columns, dtype=_index_type(n_columns))
        rank[order] = np.arange(len(order), dtype=rank.dtype)
        n_single = int(np.count_nonzero(counts == 1))
        n_shared = len(order) - n_single
        # rows have some of them in common, or there is little to merge
        if merge and n_single > 1.5 * MERGED_SHARE * len(order):
            n_merged = _csr_kernels.count_merged(indptr, indices, rank, n_shared)
            if n_single - n_merged >= MERGED_SHARE * len(order):
                self._order = order[:n_shared]
                self._merge(rank, n_shared, n_single, n_merged)
                return
        self._order = order
        out = np.empty(len(indices), dtype=rank.dtype)
        n, k = len(indices), self.workers.n_threads
        cuts = [n * i // k for i in range(k + 1)]
        self.workers.run(
            lambda _, start, stop: _csr_kernels.renumber(indices, rank, start, stop, out),
            tuple(pairwise(cuts)),
        )
        self._arrays = (indptr, read_only(out), data)

    def _merge(self, rank: NDArray[Any], n_shared: int, n_single: int, n_merged: int) -> None:
        """Make the columns from rank ``n_shared`` on, of a single entry each, one per row."""
        indptr, indices, data = self._arrays
        size = len(indices) - n_single + n_merged
        new = (np.empty_like(indptr), np.empty(size, rank.dtype), np.empty(size, data.dtype))
        found = Merged(
            np.empty(n_single, np.intp), np.empty(n_single, np.intp), np.empty(n_single), n_merged
        )
        _csr_kernels.merge(indptr, indices, data, rank, n_shared, *new, *found[:3])
        self._arrays = (read_only(new[0]), read_only(new[1]), read_only(new[2]))
        self._merged = found

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Return the weight vector for coefficients in the user's order of columns.

        What no row of the data sees is left out: coefficients of columns without entries, and of
        merged columns all but their part along the row.
        """
        if self._order is None:
            return super().encode(coef, intercept)
        own, merged = coef[self._order], self._merged
        if merged is not None:
            parts = merged.share * coef[merged.columns]
            own = np.append(own, np.bincount(merged.into, parts, minlength=merged.n_columns))
        return super().encode(own, intercept)

    def decode(self, w: Floats) -> tuple[Floats, float]:
        """Return coefficients in the user's order and the intercept; inverse of `encode`.

        Columns without entries have coefficient zero.
        """
        own, intercept = super().decode(w)
        if self._order is None:
            return own, intercept
        coef, merged = np.zeros(self.n_columns), self._merged
        n = len(self._order)
        coef[self._order] = own[:n]
        if merged is not None:
            coef[merged.columns] = merged.share * own[n:][merged.into]
        return coef, intercept


class Merged(NamedTuple):
    """Columns that a single row has, and the columns they are merged into.

    Attributes
    ----------
    columns : array of shape (k,)
        The user's columns.
    into : array of shape (k,)
        Number of the merged column, from zero on.
    share : array of shape (k,)
        Coefficient of the column for a weight of one.
    n_columns : int
        Number of merged columns.
    """

    columns: Index
    into: Index
    share: Floats
    n_columns: int


def _by_frequency(counts: NDArray[np.int64]) -> Index:
    """Return the columns with entries, the most frequent first, in order where equally frequent."""
    most = int(counts.max(initial=0))
    ranks = most - counts
    if most < 2**16:
        # numbers of 16 bits are sorted without comparisons, in a tenth of the time
        ranks = ranks.astype(np.uint16)
    return np.argsort(ranks, kind="stable")[: np.count_nonzero(counts)]


def _unsigned(a: NDArray[Any]) -> NDArray[Any]:
    """View signed integers as unsigned ones, for which kernels need no check of the sign."""
    return a.view(np.uint32 if a.dtype.itemsize == 4 else np.uint64)


def _index_type(n_columns: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if n_columns <= 2**16 else np.uint32


def worth_renumbering(n_columns: int, n_entries: int) -> bool:
    """Return whether a renumbered copy of the indices pays and takes little memory."""
    if n_columns < RENUMBER_MIN_COLUMNS or n_columns > 2**32:
        return False
    copy_bytes = n_entries * np.dtype(_index_type(n_columns)).itemsize
    return n_entries >= RENUMBER_MIN_ENTRIES and copy_bytes <= RENUMBER_MAX_BYTES


class StoredCsrDesign(CsrDesign):
    """CSR arrays that are memory maps, used as they are.

    Frequent columns already come first, in 16 bits where they fit, so there is neither a copy
    of the values nor one of the indices: the design itself takes one vector over rows.
    """

    def __init__(self, X: RowsOnDisk, bias: float, workers: Workers) -> None:
        self._kernels = _csr_kernels
        self._order, self._merged = X.order, None
        self._arrays = (read_only(_unsigned(X.indptr)), read_only(X.indices), read_only(X.values))
        Design.__init__(self, *X.shape, bias, workers)
