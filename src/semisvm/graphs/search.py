r"""The nearest rows of every row, among dense rows with many columns.

Half the squared distance of two rows is ||x||^2/2 + ||z||^2/2 - x . z. All inner products are
computed in single precision, tile by tile and each pair once, and a few more candidates than
neighbours are kept per row. Their distances are then computed in double precision.

Rounding in single precision changes x . z by at most (d + 4) u ||x|| ||z||, u = 2^-24, and the
sum by less than 4 u (||x||^2 + ||z||^2). So every row that is not a candidate is at least as far
as the last candidate seems to be, minus this error. Where that does not prove that the nearest
candidates are the nearest rows, the row is searched again in double precision.
"""

from dataclasses import dataclass

import numpy as np

from semisvm.designs import Workers
from semisvm.designs.base import Floats, Index
from semisvm.designs.workers import Bounds
from semisvm.euclidean import squared_distances
from semisvm.graphs import _search_kernels as kernels
from semisvm.rows import row_squares

TILE = 512
"""Rows and columns of a tile: its products and rows fit into the cache."""
MORE = 8
"""Number of candidates beyond the neighbours, so that rounding rarely matters."""
SINGLE = 0.5 * float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)


def nearest_rows(X: Floats, k: int, workers: Workers) -> tuple[Floats, Index]:
    """Find the k nearest other rows of each row; nearest first, equally near ones by number.

    Parameters
    ----------
    X : array of shape (n, d)
        More than k rows. Their squared lengths are finite.
    k : int
    workers : Workers
        Their number does not change the result.

    Returns
    -------
    distances, index : arrays of shape (n, k)
    """
    n = len(X)
    squares = row_squares(X)
    longest = float(np.sqrt(squares.max(initial=0.0))) or 1.0
    values, index = _candidates(X, squares, longest, min(k + MORE, n - 1), workers)
    found, positions = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
    workers.share(lambda a, b: _order(X, np.arange(a, b), index[a:b], found, positions), n, n)
    lengths = np.sqrt(squares) / longest
    error = SINGLE * ((X.shape[1] + 4) * lengths + 4.0 * (lengths**2 + 1.0)) + X.shape[1] * TINY
    # a row with all others as candidates needs no proof
    proven = 0.5 * found[:, -1] / longest**2 <= values[:, -1] - error
    doubtful = np.flatnonzero(~proven) if index.shape[1] < n - 1 else np.empty(0, dtype=np.intp)
    for low in range(0, len(doubtful), TILE):
        rows = doubtful[low : low + TILE]
        _order(X, rows, _in_double(X, rows, index.shape[1]), found, positions)
    return np.sqrt(found), positions


def _order(X: Floats, rows: Index, candidates: Index, squares: Floats, index: Index) -> None:
    kernels.order(X, rows, candidates, squares, index)


def _in_double(X: Floats, rows: Index, count: int) -> Index:
    """Return the candidates of rows by distances in double precision."""
    apart = squared_distances(X[rows], X, tol=np.inf)
    apart[np.arange(len(rows)), rows] = np.inf
    return np.argpartition(apart, count - 1, axis=1)[:, :count].astype(np.intp)


def _candidates(
    X: Floats, squares: Floats, longest: float, count: int, workers: Workers
) -> tuple[Floats, Index]:
    """Return half the squared distances to the candidates of each row, and the candidates.

    Rows are divided by the length of the longest one, so that single precision suffices.
    """
    tiles = range(0, len(X), TILE)
    pairs = [(a, b) for a in tiles for b in tiles if a <= b]
    scan = _Scan(X, (0.5 / longest**2 * squares).astype(np.float32), longest, count, pairs)
    size = -(-len(pairs) // workers.n_threads)
    parts: Bounds = tuple((a, min(a + size, len(pairs))) for a in range(0, len(pairs), size))
    lists = [scan.empty() for _ in parts]
    workers.run(lambda part, a, b: scan(*lists[part], a, b), parts)
    (values, index), *others = lists
    for more_values, more_index in others:
        kernels.merge(values, index, more_values, more_index)
    return values.astype(np.float64), index


@dataclass(frozen=True)
class _Scan:
    """Go through pairs of tiles."""

    X: Floats
    half: np.ndarray
    longest: float
    count: int
    pairs: list[tuple[int, int]]

    def empty(self) -> tuple[np.ndarray, Index]:
        """Return lists without candidates."""
        shape = (len(self.X), self.count)
        return np.full(shape, np.inf, dtype=np.float32), np.full(shape, -1, dtype=np.intp)

    def _tile(self, first: int) -> np.ndarray:
        return (self.X[first : first + TILE] / self.longest).astype(np.float32)

    def __call__(self, values: np.ndarray, index: Index, start: int, stop: int) -> None:
        """Add the candidates of some pairs of tiles to lists."""
        here, left = -1, np.empty((0, 0), dtype=np.float32)
        for first, second in self.pairs[start:stop]:
            if first != here:
                here, left = first, self._tile(first)
            right = left if second == first else self._tile(second)
            kernels.keep(left @ right.T, self.half, first, second, values, index)
