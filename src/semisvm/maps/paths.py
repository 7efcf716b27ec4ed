r"""Distances along paths through the data: short in dense regions, long across gaps.

On the graph of nearest neighbours with edge lengths d_e (their mean is one), ::

    D_ij = 1/rho log(1 + min over paths from i to j of sum_e (exp(rho d_e) - 1))

A small rho gives the length of the shortest path, a large one the longest edge that no path
can avoid. Multidimensional scaling turns the distances into features: with V and Lambda the
leading eigenvectors and eigenvalues of B = -1/2 H D^2 H (H centres), the rows of
V Lambda^1/2 have nearly these distances; they are scaled to mean length one. Paths to a new
row go through its neighbours; its features are 1/2 Lambda^-1/2 V^T (mean of D^2 - its squared
distances), with the same scale.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from sklearn.metrics import pairwise_distances

from semisvm.designs import Floats
from semisvm.maps.neighbors import Neighbors, fit_neighbors, neighbor_graph, undirected

LONGEST = 600.0
"""The largest rho d_e: sums of exponentials of more would overflow."""


@dataclass(frozen=True)
class PathMap:
    """Features of rows from their distances along paths through the training rows.

    Attributes
    ----------
    neighbors : Neighbors
        Search among the training rows.
    rows : matrix of shape (n, d)
        The training rows.
    unit : float
        Mean edge length.
    rho : float
    lengths : array of shape (n, n)
        Minimal sums of exp(rho d_e) - 1 between training rows.
    centre : array of shape (n,)
        Means of the squared distances.
    vectors : array of shape (n, rank)
        V Lambda^-1/2, scaled.
    """

    neighbors: Neighbors
    rows: Any
    unit: float
    rho: float
    lengths: Floats
    centre: Floats
    vectors: Floats

    @property
    def rank(self) -> int:
        """Number of features."""
        return self.vectors.shape[1]

    @property
    def pivots(self) -> NDArray[np.intp]:
        """All training rows: every one is needed for a new row."""
        return np.arange(len(self.vectors))

    def transform(self, X: Any) -> Floats:
        """Compute the features of rows, shape (n, rank)."""
        distances, index = self.neighbors.kneighbors(X)
        first = _stretched(self.rho * distances / self.unit)
        out = np.empty((len(first), self.rank))
        for i in range(len(first)):
            sums = (first[i][:, None] + self.lengths[index[i]]).min(axis=0)
            squared = (np.log1p(sums) / self.rho) ** 2
            out[i] = 0.5 * (self.centre - squared) @ self.vectors
        return out


def fit_paths(
    X: Any, *, n_neighbors: int, rho: float, share: float, n_jobs: int | None = None
) -> tuple[PathMap, Floats]:
    """Build the map of training rows; return it and their features.

    Parameters
    ----------
    X : matrix of shape (n, d)
    n_neighbors : int
    rho : float
    share : float
        Fraction of the variance that the features may leave out.
    n_jobs : int, optional
        Number of threads of the search for neighbours.
    """
    n = X.shape[0]
    neighbors = fit_neighbors(X, n_neighbors)
    graph = neighbor_graph(neighbors, n_jobs)
    if not graph.data.any():
        raise ValueError(
            "all rows of X are equal, so there is nothing to separate. Check the columns of X."
        )
    graph = _connected(undirected(graph), neighbors.rows)
    unit = float(graph.data.mean())
    graph.data = _stretched(rho * graph.data / unit)
    lengths = dijkstra(graph, directed=False)
    squared = (np.log1p(lengths) / rho) ** 2
    centre = squared.mean(axis=0)
    B = -0.5 * (squared - centre - centre[:, None] + centre.mean())
    values, vectors = eigh(B)
    kept = _leading(values, share)
    # rows of length one on average, so that reg means the same for all data
    size = float(np.sqrt(values[kept].sum() / n))
    features = np.ascontiguousarray(vectors[:, kept] * (np.sqrt(values[kept]) / size))
    back = vectors[:, kept] / (np.sqrt(values[kept]) * size)
    return PathMap(neighbors, X, unit, rho, lengths, centre, back), features


def _stretched(lengths: Floats) -> Floats:
    """Compute exp(rho d_e) - 1 of edges; those of outliers are cut."""
    return np.expm1(np.minimum(lengths, LONGEST))


def _leading(values: Floats, share: float) -> NDArray[np.intp]:
    """Choose the largest eigenvalues; the others make up at most ``share`` of the sum."""
    order = np.argsort(-values)
    positive = np.maximum(values[order], 0.0)
    total = positive.sum()
    enough = int(np.searchsorted(np.cumsum(positive), (1.0 - share) * total)) + 1
    return order[: min(enough, int(np.count_nonzero(positive > 1e-12 * total)))]


def _connected(graph: Any, X: Any) -> Any:
    """Join the parts of a graph by the shortest edges between them."""
    parts, label = connected_components(graph, directed=False)
    if parts == 1:
        return graph
    between = np.zeros((parts, parts))
    ends = {}
    for a in range(parts):
        for b in range(a + 1, parts):
            rows, columns = np.flatnonzero(label == a), np.flatnonzero(label == b)
            distances = pairwise_distances(X[rows], X[columns])
            i, j = np.unravel_index(distances.argmin(), distances.shape)
            between[a, b] = max(float(distances[i, j]), 1e-300)
            ends[a, b] = (rows[i], columns[j])
    tree = minimum_spanning_tree(sparse.csr_matrix(between)).tocoo()
    bridges = [ends[a, b] for a, b in zip(tree.row.tolist(), tree.col.tolist(), strict=True)]
    first, second = np.array(bridges).T
    extra = sparse.csr_matrix((tree.data, (first, second)), shape=graph.shape)
    return graph.maximum(extra.maximum(extra.T)).tocsr()
