r"""Features by nearest neighbours: one per training row, of which each row has a few.

A training row has only its own feature, so its weight is its output. A new row has the features
of the k training rows x_j nearest to it, ::

    phi_j(x) ~ 1 / ||x - x_j||^2,     which sum to one,

so its output is an average of theirs, and equals that of a training row at the same place. A
linear function of these features can take any values on the training rows, with n weights for
n rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs import Floats
from semisvm.graphs import Neighbors

NEIGHBORS = "neighbors"


@dataclass(frozen=True)
class LocalMap:
    """Features of rows by their nearest training rows.

    Attributes
    ----------
    neighbors : Neighbors
        Search among the training rows.
    rows : matrix of shape (n, d)
        The training rows.
    """

    neighbors: Neighbors
    rows: Any

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.rows.shape[0])

    @property
    def pivots(self) -> NDArray[np.intp]:
        """All training rows."""
        return np.arange(self.rank)

    def features(self) -> Any:
        """Return the features of the training rows, CSR of shape (rank, rank)."""
        return sparse.eye_array(self.rank, format="csr")

    def expansion(self, coef: Floats) -> Floats:
        """Return the weights of the training rows, which those of the features are."""
        return coef

    def similarities(self, X: Any) -> Any:
        """Compute how much each training row counts for rows, CSR of shape (n, rank)."""
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        """Compute the features of rows, CSR of shape (n, rank)."""
        distances, index = self.neighbors.kneighbors(X)
        nearest = distances.min(axis=1, keepdims=True)
        # relative to the nearest, whose distance may be zero
        ratio = np.divide(nearest, distances, out=np.ones_like(distances), where=distances > 0.0)
        weights = ratio**2
        weights /= weights.sum(axis=1, keepdims=True)
        ends = np.arange(0, weights.size + 1, weights.shape[1])
        shape = (len(weights), self.rank)
        return sparse.csr_array((weights.ravel(), index.ravel(), ends), shape=shape)
