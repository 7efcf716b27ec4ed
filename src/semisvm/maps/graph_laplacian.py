r"""The Laplacian of a graph of neighbours, and features by it.

The Laplacian measures how rough a function on the rows is.

With edge weights W and degrees D, the normalised Laplacian is L = I - D^-1/2 W D^-1/2, and ::

    f^T L f = 1/2 sum_ij W_ij (f_i / sqrt(D_i) - f_j / sqrt(D_j))^2

is small for functions that change little along edges. Its eigenvalues are between 0 and 2;
powers of L penalise rapidly changing functions more. The weights are a Gaussian as wide as the
mean edge of the neighbour graph, so they do not depend on the scale of X.

On the training rows the function f may take any values; a Laplacian machine chooses them so that
they are smooth on the graph. Without its label, a row x of the fit satisfies (L^p f)_x = 0, the
first-order condition of f^T L^p f. With s_j = W_xj / sqrt(D_x D_j) that is ::

    f_x = sum_j s_j h_j,        h = f + L f + ... + L^(p-1) f

over the rows j that x is joined to. A new row gets its value from the same equation. Its edges
are those that it would have in the graph: to its own neighbours, and to the rows that it would be
a neighbour of; h of these rows is that of the fit. The regularisation reg/2 ||f - b||^2 draws f_x
towards the intercept b, ::

    f_x = c sum_j s_j h_j + (1 - c) b,      c = mu / (mu + n reg)

A row that is far from all its neighbours has a value near zero by this equation, whatever its
neighbours are. Instead it gets an average of the labelled rows, by a Gaussian around it, as in
supervised learning.

So there are two features per training row: the first is one at that row and zero at all others,
with weight f_j, and the second is s_j at new rows, with weight h_j.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs import Floats, Index
from semisvm.designs.validation import in_kind, is_sparse, take_rows
from semisvm.maps.distances import moved, squared_distances
from semisvm.maps.latent import LatentMap, fit_latent
from semisvm.maps.neighbors import Neighbors, fit_neighbors, neighbor_graph, undirected

NEIGHBORS = "neighbors"
SAME_PLACE = 1e-6
"""Distance of equal rows, relative to the mean edge: more than rounding makes of zero."""
OUTSIDE = 0.01
"""A degree below this share of the median is that of a row outside the data.

All its neighbours are then farther than about three mean edges."""


def similarities(directed: Any) -> Any:
    """Compute the edge weights W, symmetric CSR of shape (n, n).

    Parameters
    ----------
    directed : CSR of shape (n, n)
        Distances of each row to its neighbours.
    """
    weights = undirected(directed)
    weights.data = edge_weights(weights.data, edge_width(directed))
    return weights


def edge_width(directed: Any) -> float:
    """Return the width of the Gaussian: the mean distance of neighbours."""
    return float(directed.data.mean()) or 1.0


def edge_weights(distances: Floats, width: float) -> Floats:
    """Compute the weights of edges from their lengths."""
    weights = np.exp(-0.5 * np.square(distances / width))
    # the edge of an isolated row may be so long that its weight underflows
    return np.maximum(weights, np.finfo(np.float64).tiny)


def normalized_laplacian(directed: Any) -> Any:
    """Compute L of the graph of nearest neighbours, CSR of shape (n, n).

    Parameters
    ----------
    directed : CSR of shape (n, n)
        Distances of each row to its neighbours.
    """
    weights = similarities(directed)
    scale = sparse.diags_array(1.0 / np.sqrt(np.asarray(weights.sum(axis=1)).ravel()))
    return sparse.csr_array(sparse.eye_array(weights.shape[0]) - scale @ weights @ scale)


@dataclass(frozen=True)
class Roughness:
    """The quadratic form weight/2 f^T L^power f of functions on the rows.

    Attributes
    ----------
    laplacian : CSR of shape (n, n)
    power : int
    weight : float
    """

    laplacian: Any
    power: int
    weight: float

    def slopes(self, f: Floats) -> Floats:
        """Compute weight L^power f, the gradient, for f of shape (n,) or (n, k)."""
        for _ in range(self.power):
            f = self.laplacian @ f
        return self.weight * f


@dataclass(frozen=True)
class LocalMap:
    """Features of rows by a graph of the training rows.

    Attributes
    ----------
    neighbors : Neighbors
        Search among the training rows.
    rows : matrix of shape (n, d)
        The training rows.
    graph : CSR of shape (n, n), or None
        Distances of each training row to its neighbours. Older model files have none: a new row
        then has one feature per training row, the share ~ 1 / ||x - x_j||^2 of each of its
        neighbours, so its output is an average of theirs.
    labeled : int array of shape (l,), or None
        The labelled training rows.
    view : LatentMap or None
        Where neighbours are found: ``rows`` are features of this map. None is the rows as they are.
    """

    neighbors: Neighbors
    rows: Any
    graph: Any = None
    labeled: Index | None = None
    view: LatentMap | None = None

    @classmethod
    def fit(
        cls,
        X: Any,
        n_neighbors: int,
        n_jobs: int | None = None,
        n_components: int | None = None,
    ) -> "LocalMap":
        """Build the graph of training rows, as they are or along so many latent directions."""
        view, rows = (None, X) if n_components is None else fit_latent(X, n_components)
        neighbors = fit_neighbors(rows, n_neighbors)
        return cls(neighbors, rows, neighbor_graph(neighbors, n_jobs), view=view)

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows that it takes."""
        return int(self.rows.shape[1] if self.view is None else len(self.view.directions))

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.rows.shape[0]) * (1 if self.graph is None else 2)

    @property
    def pivots(self) -> NDArray[np.intp]:
        """The training row of each feature."""
        return np.arange(self.rank) % self.rows.shape[0]

    def features(self) -> Any:
        """Return the features of the training rows for a fit, CSR of shape (n, n)."""
        return sparse.eye_array(self.rows.shape[0], format="csr")

    def laplacian(self) -> Any:
        """Compute the normalised Laplacian of the graph, CSR of shape (n, n)."""
        return normalized_laplacian(self.graph)

    def extended(
        self, coef: Floats, intercept: Floats, *, power: int, share: float
    ) -> tuple[Floats, Floats]:
        """Return weights of all features and intercepts for those of `features`.

        Parameters
        ----------
        coef : array of shape (m, n)
        intercept : array of shape (m,)
        power : int
            p.
        share : float
            c.
        """
        f = coef + intercept[:, None]
        laplacian, term = self.laplacian(), f.T
        h = term
        for _ in range(power - 1):
            term = laplacian @ term
            h = h + term
        rest = (1.0 - share) * intercept
        return np.hstack([f - rest[:, None], share * h.T]), rest

    def expansion(self, coef: Floats) -> Floats:
        """Return the weights of the training rows, which those of the features are."""
        return coef

    def similarities(self, X: Any) -> Any:
        """Compute how much each training row counts for rows, CSR of shape (n, rank)."""
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        """Compute the features of rows, CSR of shape (m, rank)."""
        X = X if self.view is None else self.view.transform(X)
        if self.graph is None:
            return self._shares(X)
        n, m = self.rows.shape[0], X.shape[0]
        new, old, distances = self.neighbors.edges(X, self._reach)
        weights = edge_weights(distances, self._width)
        degrees = np.bincount(new, weights, minlength=m)
        # two roots: the product of the degrees of isolated rows underflows
        passed = weights / (np.sqrt(degrees[new]) * np.sqrt(self._degrees[old]))
        same = distances <= SAME_PLACE * self._width
        n_same = np.bincount(new[same], minlength=m)
        passed[n_same[new] > 0] = 0.0
        outside = np.flatnonzero((n_same == 0) & (degrees < self._low))
        above, labeled, parts = self._by_labels(X, outside, 1.0 - degrees[outside] / self._low)
        found = sparse.csr_array(
            (
                np.concatenate([1.0 / n_same[new[same]], parts, passed]),
                (
                    np.concatenate([new[same], above, new]),
                    np.concatenate([old[same], labeled, n + old]),
                ),
            ),
            shape=(m, self.rank),
        )
        found.eliminate_zeros()
        return found

    def _by_labels(self, X: Any, rows: Index, share: Floats) -> tuple[Index, Index, Floats]:
        """Compute the features of rows outside the data: shares of the labelled rows."""
        if self.labeled is None or not len(rows):
            nothing = np.empty(0, dtype=np.intp)
            return nothing, nothing, np.empty(0)
        dense = not is_sparse(self.neighbors.rows)
        part = moved(in_kind(take_rows(X, rows), dense), self.neighbors.centre)
        known = take_rows(self.neighbors.rows, self.labeled)
        squares = squared_distances(part, known, tol=np.inf)
        squares -= squares.min(axis=1, keepdims=True)
        weights = np.exp(-0.5 * squares / self._width**2)
        weights *= (share / weights.sum(axis=1))[:, None]
        count = len(self.labeled)
        return np.repeat(rows, count), np.tile(self.labeled, len(rows)), weights.ravel()

    def _shares(self, X: Any) -> Any:
        distances, index = self.neighbors.kneighbors(X)
        nearest = distances.min(axis=1, keepdims=True)
        # relative to the nearest, whose distance may be zero
        ratio = np.divide(nearest, distances, out=np.ones_like(distances), where=distances > 0.0)
        weights = ratio**2
        weights /= weights.sum(axis=1, keepdims=True)
        ends = np.arange(0, weights.size + 1, weights.shape[1])
        shape = (len(weights), self.rank)
        return sparse.csr_array((weights.ravel(), index.ravel(), ends), shape=shape)

    @cached_property
    def _width(self) -> float:
        return edge_width(self.graph)

    @cached_property
    def _reach(self) -> Floats:
        """Distance of each training row to its last neighbour."""
        return np.asarray(self.graph.data).reshape(self.rows.shape[0], -1).max(axis=1)

    @cached_property
    def _degrees(self) -> Floats:
        return np.asarray(similarities(self.graph).sum(axis=1)).ravel()

    @cached_property
    def _low(self) -> float:
        return OUTSIDE * float(np.median(self._degrees))
