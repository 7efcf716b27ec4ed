r"""The Laplacian of a graph, which measures how rough a function on the rows is.

With edge weights W and degrees D, the normalised Laplacian is L = I - D^-1/2 W D^-1/2, and ::

    f^T L f = 1/2 sum_ij W_ij (f_i / sqrt(D_i) - f_j / sqrt(D_j))^2

is small for functions that change little along edges. Its eigenvalues are between 0 and 2;
powers of L penalise rapidly changing functions more. The weights are a Gaussian as wide as the
mean edge of the neighbour graph, so they do not depend on the scale of X.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs.base import Floats
from semisvm.maps.neighbors import undirected


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
