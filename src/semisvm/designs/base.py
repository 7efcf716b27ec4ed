"""The interface between solvers and data: the products that a design must compute."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.workers import (
    LATE_SHARE,
    ROW_WORK,
    VECTOR_WORK,
    Bounds,
    Workers,
    balanced_blocks,
)

Floats = NDArray[np.float64]
# whole numbers; those of rows are of the type `row_type`
Index = NDArray[Any]
T = TypeVar("T")
RowOperator = Callable[[Index, int, int, Floats], None]

# Each block of a sum over rows has its own output to clear and to add; more blocks than
# threads are worth it only if reading the rows takes much longer than that.
WORK_PER_OUTPUT = 30


@dataclass(frozen=True)
class RowList:
    """Rows of a design, ascending, with the blocks that threads process.

    Attributes
    ----------
    index : array of shape (k,)
    blocks : pairs (start, stop) of positions in ``index``
        One per thread.
    pieces : pairs (start, stop) of positions in ``index``
        The same work with smaller blocks at the end, which even out unequal threads.
    work : int
        Number of entries that a pass over the rows reads.
    """

    index: Index
    blocks: Bounds
    pieces: Bounds
    work: int

    def __len__(self) -> int:
        return len(self.index)


def row_type(n_rows: int) -> type[np.integer[Any]]:
    """Return the type of row numbers: 32 bits if they fit, since a fit has several lists of rows.

    It is unsigned, so that kernels need not check for negative indices.
    """
    return np.uint32 if n_rows <= 2**32 else np.intp


def read_only(a: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view.

    Users' arrays may or may not be writable (memory maps are not), and numba compiles each
    kind separately. Kernels never write to the data, so all of it is passed as read-only.
    """
    view = a.view()
    view.flags.writeable = False
    return view


class Design(ABC):
    """A data matrix with ``n_rows`` rows and a constant feature after its columns.

    Weight vectors ``w`` have ``n_weights`` entries, one per column that the design uses, in its
    own order (see `encode`), and one for the constant feature. Vectors over rows (scores,
    slopes, curvatures) have ``n_rows`` entries of which a method reads or writes only those of
    its row list, so a subset of rows needs no copy of the data.

    Sums are accumulated in float64, one partial sum per block, added in a fixed order:
    a given number of threads gives the same bits every time.

    ``rows_read`` counts the rows that all products so far have read, however many columns
    of weights a product has: reading takes most of the time of a fit.
    """

    n_rows: int
    n_columns: int
    n_weights: int
    all_rows: RowList

    _kernels: ModuleType
    _arrays: tuple[Any, ...]

    def __init__(self, n_rows: int, n_columns: int, bias: float, workers: Workers) -> None:
        self.n_rows = n_rows
        self.n_columns = n_columns
        self.n_weights = n_columns + 1
        self.bias = bias
        self.workers = workers
        # a list, since a design of some of the rows counts as this one
        self._reads = [0]
        self._partial = np.empty(0)
        self.all_rows = self.rows(np.arange(n_rows, dtype=row_type(n_rows)))

    def alone(self) -> Self:
        """Return the same rows for a fit with one thread, next to which others may read them."""
        other = copy(self)
        other.workers, other._reads = Workers(), [0]
        other.free_sums()
        other.all_rows = other.rows(self.all_rows.index)
        return other

    def only(self, index: Index) -> Self:
        """Return the design with some of its rows as ``all_rows``, for a fit to these.

        Nothing is copied: rows keep their numbers, and vectors over rows their length, of which
        nothing but the entries of these rows is touched.
        """
        self.free_sums()
        other = copy(self)
        other.all_rows = self.rows(index)
        return other

    @property
    def rows_read(self) -> int:
        """Number of rows that all products so far have read."""
        return self._reads[0]

    @rows_read.setter
    def rows_read(self, value: int) -> None:
        self._reads[0] = value

    def count_in(self, reads: list[int]) -> None:
        """Count the rows that are read in a counter of several designs."""
        self._reads = reads

    def passes(self) -> float:
        """Return the number of rows read so far, divided by the number of rows."""
        return self.rows_read / self.n_rows

    def counters(self) -> dict[str, Callable[[], float]]:
        """Return what the trace counts of the reading of rows, by name."""
        return {"passes": self.passes}

    @abstractmethod
    def _total_work(self, index: Index) -> NDArray[np.int64]:
        """Return the cumulative number of entries of the listed rows."""

    def sweep(self, kernels: ModuleType, W: Floats, order: Index, *arguments: Any) -> None:
        """Run a sequential kernel of a solver over the rows, in a given order.

        For solvers in which each row depends on the rows before it, so that blocks of rows
        cannot share the work. The module has one kernel per layout, ``csr`` and ``dense``,
        which takes the arrays, the bias, the weights, the order and then the arguments. A
        design without such a layout cannot serve these solvers.
        """
        raise TypeError(
            f"{type(self).__name__} cannot be read row by row in order; use a loss other than "
            "'hinge' and 'crammer_singer', or CSR or dense data."
        )

    def matrix(self, index: Index) -> Any:
        """Return the listed rows as a matrix, for solvers that need all of it at once.

        Columns are in the design's own order, without the constant feature. A design whose
        data are not in this process has no such matrix and cannot serve these solvers.
        """
        raise TypeError(
            f"{type(self).__name__} cannot return its rows as a matrix; use another method, or "
            "CSR or dense data."
        )

    def row_numbers(self, index: Index) -> Index:
        """Return row numbers in the type that kernels take, without a copy if they have it."""
        return np.ascontiguousarray(index, dtype=row_type(self.n_rows))

    def rows(self, index: Index) -> RowList:
        """Prepare a list of rows (ascending) for the methods below."""
        index = self.row_numbers(index)
        total, n_threads = self._total_work(index), self.workers.n_threads
        return RowList(
            index,
            balanced_blocks(total, n_threads),
            balanced_blocks(total, n_threads, LATE_SHARE),
            int(total[-1]) if len(index) else 0,
        )

    def by_block(
        self, rows: RowList, part: Callable[[Index], Any], work_each: int = ROW_WORK
    ) -> list[Any]:
        """Call ``part`` on blocks of the row list, shared by threads; return results in order."""
        index = rows.index
        return self.workers.share(
            lambda start, stop: part(index[start:stop]), len(index), work_each
        )

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Return the weight vector for coefficients in the user's order of columns."""
        w = np.zeros(self.n_weights)
        w[:-1] = coef
        w[-1] = intercept / self.bias if self.bias else 0.0
        return w

    def decode(self, w: Floats) -> tuple[Floats, float]:
        """Return coefficients in the user's order and the intercept; inverse of `encode`."""
        return w[:-1].copy(), float(w[-1] * self.bias)

    def scores(self, w: Floats, rows: RowList, out: Floats) -> Floats:
        """Write x_i . w to ``out[i]`` for the listed rows."""

        def task(_: int, start: int, stop: int) -> None:
            self._kernels.scores(*self._arrays, w, self.bias, rows.index, start, stop, out)

        self._run_blocks(task, rows)
        return out

    def pull_back(self, v: Floats, rows: RowList, out: Floats, *, add: bool = False) -> Floats:
        """Write the sum of v_i x_i over the listed rows to ``out``, or add it."""
        return self._accumulate("pull_back", (v,), rows, out, add)

    def pull_back_found(
        self, v: Floats, rows: RowList, find: Callable[[Index], tuple[T, Index]], out: Floats
    ) -> tuple[list[T], list[Index]]:
        """Write the sum of v_i x_i to ``out``, over the listed rows that ``find`` selects.

        Parameters
        ----------
        v : array of shape (n_rows,)
        rows : RowList
        find : index -> anything, index
            Called once per block of the rows; fills v for them, and returns the rows to
            include.
        out : array of shape (n_weights,)

        Returns
        -------
        parts : list
            The first results of ``find``, in the order of the rows.
        found : list of index arrays
            The second results.
        """
        parts: dict[int, tuple[T, Index]] = {}

        def task(start: int, stop: int, into: Floats) -> None:
            _, found = parts[start] = find(rows.index[start:stop])
            self._kernels.pull_back(*self._arrays, v, self.bias, found, 0, len(found), into)

        self._sum_blocks(task, rows, out)
        ordered = [parts[start] for start in sorted(parts)]
        found = [index for _, index in ordered]
        n_found = sum(len(index) for index in found)
        self.rows_read += n_found - len(rows)
        if n_found == len(rows):
            found = [rows.index]
        return [part for part, _ in ordered], found

    def curvature(self, p: Floats, c: Floats, rows: RowList, out: Floats) -> Floats:
        """Write the sum of c_i (x_i . p) x_i over the listed rows to ``out``, in one pass."""
        return self._accumulate("curvature", (p, c), rows, out)

    def column_scales(self, c: Floats, rows: RowList, out: Floats) -> Floats:
        """Write the sum of c_i x_i**2 over the listed rows, column by column, to ``out``."""
        return self._accumulate("column_scales", (c,), rows, out)

    def scores_many(self, W: Floats, rows: RowList, out: Floats) -> Floats:
        """Write x_i W to ``out[i]`` for the listed rows, one column after the other."""
        column = np.empty(self.n_rows)
        for k in range(W.shape[1]):
            self.scores(np.ascontiguousarray(W[:, k]), rows, column)
            out[rows.index, k] = column[rows.index]
        return out

    def pull_back_many(self, V: Floats, rows: RowList, out: Floats, *, add: bool = False) -> Floats:
        """Write the sum of x_i (outer) v_i over the listed rows to ``out``, or add it."""
        for k in range(V.shape[1]):
            column = np.ascontiguousarray(out[:, k]) if add else np.empty(self.n_weights)
            v = np.ascontiguousarray(V[:, k])
            out[:, k] = self.pull_back(v, rows, column, add=add)
        return out

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
        S = self.scores_many(P, rows, np.empty((self.n_rows, P.shape[1])))
        Q = S[rows.index]
        operator(rows.index, 0, len(rows), Q)
        S[rows.index] = Q
        return self.pull_back_many(S, rows, out)

    def few_scores(self, W: Floats, rows: RowList) -> Floats:
        """Compute x_i W for a few rows, one row of the result per listed row."""
        return self.scores_many(W, rows, np.empty((self.n_rows, W.shape[1])))[rows.index]

    def add_few(self, V: Floats, rows: RowList, out: Floats) -> Floats:
        """Add the sum of x_i (outer) V_k over a few rows i = rows.index[k] to ``out``."""
        values = np.empty((self.n_rows, V.shape[1]))
        values[rows.index] = V
        out += self.pull_back_many(values, rows, np.empty_like(out))
        return out

    def few_rows(self, rows: RowList) -> Floats:
        """Return a few rows as a dense array, with the constant feature, shape (k, n_weights)."""
        out = np.zeros((len(rows), self.n_weights))
        for k, row in enumerate(out):
            one = self.rows(rows.index[k : k + 1])
            self.add_few(np.ones((1, 1)), one, row.reshape(-1, 1))
        return out

    def products(self, rows: RowList, others: RowList) -> Floats:
        """Compute the inner products of rows with others, with the constant feature.

        The lists may be in any order.

        Returns
        -------
        products : array of shape (len(rows), len(others))
        """
        products = np.empty((len(rows), len(others)))
        for k, row in enumerate(self.few_rows(rows)):
            products[k] = self.few_scores(row.reshape(-1, 1), others)[:, 0]
        return products

    def gram(self, rows: RowList) -> Floats:
        """Compute the inner products of a few rows with each other."""
        return self.products(rows, rows)

    def _accumulate(
        self,
        name: str,
        vectors: tuple[Floats, ...],
        rows: RowList,
        out: Floats,
        add: bool = False,
    ) -> Floats:
        kernel = getattr(self._kernels, name)

        def task(start: int, stop: int, into: Floats) -> None:
            kernel(*self._arrays, *vectors, self.bias, rows.index, start, stop, into)

        return self._sum_blocks(task, rows, out, add)

    def _run_blocks(self, task: Callable[[int, int, int], None], rows: RowList) -> None:
        """Let threads read the rows, each block for itself."""
        self.rows_read += len(rows)
        self.workers.run(task, rows.pieces)

    def _sum_blocks(
        self,
        task: Callable[[int, int, Floats], None],
        rows: RowList,
        out: Floats,
        onto: bool = False,
    ) -> Floats:
        """Let each block add to its own output, and sum the outputs in order.

        The output of the first block is ``out``, which is cleared before unless the sum is to be
        added to what is there.
        """
        self.rows_read += len(rows)
        blocks = self._blocks_for(rows, out.size)
        partial = self._partial_sums(len(blocks) - 1, out.shape)

        def block(k: int, start: int, stop: int) -> None:
            into = partial[k - 1] if k else out
            if k or not onto:
                into[...] = 0.0
            task(start, stop, into)

        def add(start: int, stop: int) -> None:
            for k in range(1, len(blocks)):
                out[start:stop] += partial[k - 1, start:stop]

        self.workers.run(block, blocks)
        if len(blocks) > 1:
            self.workers.share(add, len(out), VECTOR_WORK * (out.size // len(out)))
        return out

    @staticmethod
    def _blocks_for(rows: RowList, size: int) -> Bounds:
        """Choose the blocks of a sum over rows whose output has so many entries."""
        return rows.pieces if rows.work > WORK_PER_OUTPUT * size else rows.blocks

    def free_sums(self) -> None:
        """Free the memory for partial sums: no more products follow for a while."""
        self._partial = np.empty(0)

    def _partial_sums(self, n_blocks: int, shape: tuple[int, ...]) -> Floats:
        """Return memory for partial sums, reused from call to call."""
        size = n_blocks * math.prod(shape)
        if len(self._partial) < size:
            # the old memory is free before the new is taken
            self.free_sums()
            self._partial = np.empty(size)
        return self._partial[:size].reshape(n_blocks, *shape)


def decoded(design: Any, w: Floats) -> tuple[Floats, Floats]:
    """Return coefficients (k, d) and intercepts (k,) of flat weights with k columns.

    Parameters
    ----------
    design : Design or DistributedRows
        Translates weight vectors.
    w : array of shape (n_weights * k,)
    """
    columns = w.reshape(design.n_weights, -1).T
    pairs = [design.decode(np.ascontiguousarray(column)) for column in columns]
    return np.array([coef for coef, _ in pairs]), np.array([b for _, b in pairs])
