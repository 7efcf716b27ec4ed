"""The graph of nearest neighbours: every row is joined to the rows that are near."""

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

NEXT_TO_NOTHING = 1e-9
"""Length of an edge between rows at the same place, relative to the longest edge."""


def fit_neighbors(X: Any, n_neighbors: int) -> Any:
    """Prepare the search for neighbours; few rows have fewer of them.

    Parameters
    ----------
    X : matrix of shape (n, d)
        Two or more rows.
    n_neighbors : int
    """
    return NearestNeighbors(n_neighbors=min(n_neighbors, X.shape[0] - 1)).fit(X)


def neighbor_graph(neighbors: Any) -> Any:
    """Give the distances of every row to its neighbours, CSR of shape (n, n).

    Rows at the same place have stored entries of zero.
    """
    return neighbors.kneighbors_graph(mode="distance")


def undirected(graph: Any) -> Any:
    """Join two rows if either is a neighbour of the other.

    A sparse matrix drops zeros when it is combined with another, so edges without a length
    get one that is next to nothing.
    """
    graph = graph.copy()
    longest = float(graph.data.max()) or 1.0
    graph.data = np.maximum(graph.data, NEXT_TO_NOTHING * longest)
    return graph.maximum(graph.T).tocsr()
