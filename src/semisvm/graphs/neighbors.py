"""The graph of nearest neighbours: each row is joined to the rows nearest to it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from semisvm.costs import Size
from semisvm.designs import Workers, thread_count
from semisvm.designs.base import Floats, Index
from semisvm.euclidean import centre_of, moved
from semisvm.graphs.search import nearest_rows
from semisvm.rows import in_kind, is_sparse

NEXT_TO_NOTHING = 1e-9
"""Length of an edge between equal rows, relative to the longest edge."""
ROWS = 4_096
"""Number of new rows searched at a time, which bounds the memory."""
TREES = 15
"""Number of columns up to which a tree (scikit-learn) finds neighbours faster than products."""


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
