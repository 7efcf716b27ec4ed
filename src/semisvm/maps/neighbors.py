"""The graph of nearest neighbours: each row is joined to the rows nearest to it.

Among dense rows with many columns they are found by `nearest_rows`. Half the squared distance of
two rows is ||x||^2/2 + ||z||^2/2 - x . z. All inner products are computed in single precision, tile
by tile and each pair once, and a few more candidates than neighbours are kept per row. Their
distances are then computed in double precision.

Rounding in single precision changes x . z by at most (d + 4) u ||x|| ||z||, u = 2^-24, and the
sum by less than 4 u (||x||^2 + ||z||^2). So every row that is not a candidate is at least as far
as the last candidate seems to be, minus this error. Where that does not prove that the nearest
candidates are the nearest rows, the row is searched again in double precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KDTree, NearestNeighbors

from semisvm.compiling import compiled
from semisvm.designs import Workers, thread_count
from semisvm.designs.base import Floats, Index
from semisvm.designs.costs import Size
from semisvm.designs.validation import in_kind, is_sparse, row_squares
from semisvm.designs.workers import Bounds
from semisvm.maps.distances import centre_of, moved, squared_distances

TILE = 512
"""Rows and columns of a tile: its products and rows fit into the cache."""
MORE = 8
"""Number of candidates beyond the neighbours, so that rounding rarely matters."""
SINGLE = 0.5 * float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)


@compiled
def _insert(values, index, value, j):
    """Put a row into a list of the nearest ones, in order of value and number."""
    at = values.shape[0]
    while at > 0 and (value < values[at - 1] or (value == values[at - 1] and j < index[at - 1])):
        at -= 1
        if at + 1 < values.shape[0]:
            values[at + 1] = values[at]
            index[at + 1] = index[at]
    if at < values.shape[0]:
        values[at] = value
        index[at] = j


@compiled
def _keep(products, half, first, second, values, index):
    """Keep the nearest rows that a tile of inner products shows, for its rows and columns.

    Half the squared distances are ``half[i] + half[j] - products``. A tile on the diagonal
    counts above it only.
    """
    last = values.shape[1] - 1
    for a in range(products.shape[0]):
        i = first + a
        for b in range(a + 1 if first == second else 0, products.shape[1]):
            j = second + b
            value = half[i] + half[j] - products[a, b]
            if value <= values[i, last]:
                _insert(values[i], index[i], value, j)
            if value <= values[j, last]:
                _insert(values[j], index[j], value, i)


@compiled
def _merge(values, index, more_values, more_index):
    """Add the lists of another thread, which saw other pairs."""
    for i in range(values.shape[0]):
        for a in range(values.shape[1]):
            if more_index[i, a] >= 0:
                _insert(values[i], index[i], more_values[i, a], more_index[i, a])


@compiled
def _order(X, rows, candidates, squares, index):
    """Compute squared distances of rows to their candidates, and list the nearest in order."""
    for a in range(rows.shape[0]):
        i = rows[a]
        squares[i, :] = np.inf
        index[i, :] = -1
        for b in range(candidates.shape[1]):
            j = candidates[a, b]
            if j < 0:
                continue
            total = 0.0
            for c in range(X.shape[1]):
                apart = X[i, c] - X[j, c]
                total += apart * apart
            _insert(squares[i], index[i], total, j)


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
        _merge(values, index, more_values, more_index)
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
            _keep(left @ right.T, self.half, first, second, values, index)


NEXT_TO_NOTHING = 1e-9
"""Length of an edge between equal rows, relative to the longest edge."""
ROWS = 4_096
"""Number of new rows searched at a time, which bounds the memory."""
TREES = 15
"""Number of columns up to which a tree (scikit-learn) finds neighbours faster than products."""
PAIRS = 1 << 22
"""Number of distances between new and training rows computed at a time."""
FEW = 256
"""Number of new rows up to which all distances are computed faster than a tree is searched."""
NEARLY_EQUAL = 1e-6
"""Squared distance relative to the squared length below which two rows are subtracted."""
TIE = 1e-9
"""Relative difference of squared distances that is rounding."""


@dataclass(frozen=True)
class Neighbors:
    """A search for neighbours among rows.

    Attributes
    ----------
    rows : matrix of shape (n, d)
        In double precision, and centred if that makes distances more exact. Sparse ones that
        an array can hold as well are an array.
    centre : array of shape (d,), optional
        What was subtracted from them.
    search : NearestNeighbors
        Fitted to these rows.
    """

    rows: Any
    centre: Floats | None
    search: Any

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours per row."""
        return int(self.search.n_neighbors)

    def kneighbors(self, X: Any) -> tuple[Floats, Index]:
        """Return the distances and positions of the neighbours of new rows, dense or sparse."""
        dense = not is_sparse(self.rows)
        parts = (in_kind(X[low : low + ROWS], dense) for low in range(0, X.shape[0], ROWS))
        found = [self.search.kneighbors(moved(part, self.centre)) for part in parts]
        distances, index = zip(*found, strict=True)
        return np.concatenate(distances), np.concatenate(index)

    def edges(self, X: Any, reach: Floats) -> tuple[Index, Index, Floats]:
        """Return the edges that each new row would have if it were added to the graph.

        They lead to its own neighbours, and to the rows that it would be a neighbour of.

        Parameters
        ----------
        X : matrix of shape (m, d)
        reach : array of shape (n,)
            Distance of each training row to its last neighbour.

        Returns
        -------
        new, old, distances : arrays of shape (e,)
            Ordered by new row.
        """
        dense = not is_sparse(self.rows)
        by_tree = dense and self.rows.shape[1] <= TREES and X.shape[0] > FEW
        size = ROWS if by_tree else min(ROWS, max(1, PAIRS // self.rows.shape[0]))
        find = self._edges_by_tree if by_tree else self._edges_by_products
        found = []
        for low in range(0, X.shape[0], size):
            part = moved(in_kind(X[low : low + size], dense), self.centre)
            new, old, squares = find(part, reach)
            found.append((new + low, old, np.sqrt(squares)))
        new, old, distances = zip(*found, strict=True)
        return np.concatenate(new), np.concatenate(old), np.concatenate(distances)

    def _edges_by_products(self, part: Any, reach: Floats) -> tuple[Index, Index, Floats]:
        squares = squared_distances(part, self.rows, tol=np.inf)
        last = np.partition(squares, self.n_neighbors - 1, axis=1)[:, self.n_neighbors - 1, None]
        joined = squares < (1.0 - TIE) * last
        places = self.n_neighbors - np.count_nonzero(joined, axis=1)
        tied = ~joined & (squares <= (1.0 + TIE) * last)
        crowded = np.count_nonzero(tied, axis=1) > places
        # equally near rows are taken in the order of their numbers
        tied[crowded] &= np.cumsum(tied[crowded], axis=1) <= places[crowded, None]
        joined |= tied
        joined |= squares < (1.0 - TIE) * reach**2
        new, old = np.nonzero(joined)
        return new, old, self._exactly(part, new, old, squares[joined])

    def _edges_by_tree(self, part: Floats, reach: Floats) -> tuple[Index, Index, Floats]:
        n = len(self.rows)
        own = self.search.kneighbors(part, return_distance=False)
        found = KDTree(part).query_radius(self.rows, (1.0 - TIE) * reach)
        of = np.repeat(np.arange(n), [len(rows) for rows in found])
        pairs = np.concatenate(
            [
                (np.arange(len(part))[:, None] * n + own).ravel(),
                np.concatenate(found).astype(np.intp) * n + of,
            ]
        )
        new, old = np.divmod(np.unique(pairs), n)
        return new, old, row_squares(part[new] - self.rows[old])

    def _exactly(self, part: Any, new: Index, old: Index, squares: Floats) -> Floats:
        """Compute squared distances anew where rounding could hide that two rows are equal."""
        lengths = row_squares(part)[new]
        near = np.flatnonzero(squares <= NEARLY_EQUAL * lengths)
        size = max(1, PAIRS // self.rows.shape[1])
        for low in range(0, len(near), size):
            at = near[low : low + size]
            squares[at] = row_squares(part[new[at]] - self.rows[old[at]])
        return squares


def fit_neighbors(X: Any, n_neighbors: int) -> Neighbors:
    """Prepare the search for neighbours, at most one fewer than there are rows.

    Parameters
    ----------
    X : matrix of shape (n, d)
        Two or more rows.
    n_neighbors : int
    """
    # neighbours in an array are found much faster
    X = in_kind(X, dense=Size.of(X, 1).suits_array)
    centre = centre_of(X)
    rows = moved(X, centre)
    search = NearestNeighbors(n_neighbors=min(n_neighbors, X.shape[0] - 1)).fit(rows)
    return Neighbors(rows, centre, search)


def neighbor_graph(neighbors: Neighbors, n_jobs: int | None = None) -> Any:
    """Compute the distances of each row to its neighbours, CSR of shape (n, n).

    Equal rows have stored entries of zero.
    """
    rows, k = neighbors.rows, neighbors.n_neighbors
    if is_sparse(rows) or rows.shape[1] <= TREES:
        return neighbors.search.kneighbors_graph(mode="distance")
    with Workers(thread_count(n_jobs)) as workers:
        distances, index = nearest_rows(rows, k, workers)
    ends = np.arange(0, distances.size + 1, k)
    return sparse.csr_matrix((distances.ravel(), index.ravel(), ends), shape=(len(rows),) * 2)


def undirected(graph: Any) -> Any:
    """Join two rows if either is a neighbour of the other.

    A sparse matrix drops zeros when it is combined with another, so edges of length zero get
    a tiny length.
    """
    graph = graph.copy()
    longest = float(graph.data.max()) or 1.0
    graph.data = np.maximum(graph.data, NEXT_TO_NOTHING * longest)
    return graph.maximum(graph.T).tocsr()
