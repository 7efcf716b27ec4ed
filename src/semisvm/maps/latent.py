r"""Latent directions: rows as they look along the leading singular vectors of all rows.

With V the leading right singular vectors of the rows X, labelled or not, the features are ::

    phi(x) = V^T x / ||V^T x||,      phi(x) . phi(z) = cosine of x and z along the directions

which is the latent semantic kernel (Cristianini, Shawe-Taylor and Lodhi, 2002) with rows of length
one. Labels have no part in it. Texts about one topic in different words, which share no column, are
near each other there, and directions in which rows vary little, as noise does, are left out.

The vectors are found by subspace iteration from random ones (Halko, Martinsson and Tropp, 2011), on
the side of X that is shorter: each step is a product with X and one with its transpose. The random
vectors are over the columns, so the order of the rows changes no more than rounding.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs import Floats
from semisvm.designs.validation import row_squares
from semisvm.maps.feature_maps import ALL_ZERO, check_size
from semisvm.validation import check_count

LATENT = "latent"
N_COMPONENTS = 30
"""Directions where their number is not given."""
MORE = 10
"""Random vectors beyond the number of directions."""
STEPS = 4
ALIKE = 1e-6
"""Singular values below this share of the largest are those of rounding errors."""
SHORTEST = 1e-9
"""Length along the directions, relative to that of the row, below which it is a rounding error."""


@dataclass(frozen=True)
class LatentMap:
    """Features of rows along latent directions.

    Attributes
    ----------
    directions : array of shape (d, rank)
        Orthonormal columns.
    """

    directions: Floats

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.directions.shape[1])

    @property
    def pivots(self) -> NDArray[np.intp]:
        """None: no training rows are kept."""
        return np.empty(0, dtype=np.intp)

    def transform(self, X: Any) -> Floats:
        """Compute the features of rows, shape (n, rank); those of a row of zeros are zero."""
        along = np.asarray(safe_sparse_dot(X, self.directions, dense_output=True), dtype=np.float64)
        lengths = np.maximum(np.sqrt(row_squares(along)), SHORTEST * np.sqrt(row_squares(X)))
        return np.divide(
            along, lengths[:, None], out=np.zeros_like(along), where=lengths[:, None] > 0.0
        )


def fit_latent(X: Any, n_components: int | None = None) -> tuple[LatentMap, Floats]:
    """Find the latent directions of training rows; return the map and their features.

    Parameters
    ----------
    X : matrix of shape (n, d)
    n_components : int, optional
        Number of directions, by default 30; at most the rank of X.
    """
    wanted = check_count("n_components", n_components, optional=True) or N_COMPONENTS
    check_size(row_squares(X))
    found = LatentMap(leading_directions(X, wanted))
    return found, found.transform(X)


def leading_directions(X: Any, k: int) -> Floats:
    """Compute leading right singular vectors of X, at most k, as columns (d, k).

    The entry of largest size of each is positive.
    """
    n, d = X.shape
    start = np.random.RandomState(0).standard_normal((d, min(k + MORE, n, d)))
    if n < d:
        basis = np.linalg.qr(X @ start)[0]
        for _ in range(STEPS):
            basis = np.linalg.qr(X @ (X.T @ basis))[0]
        along = X.T @ basis
    else:
        basis = np.linalg.qr(X.T @ (X @ start))[0]
        for _ in range(STEPS - 1):
            basis = np.linalg.qr(X.T @ (X @ basis))[0]
        along = X @ basis
    squares, turn = np.linalg.eigh(along.T @ along)
    kept = np.flatnonzero(squares > ALIKE**2 * squares[-1])[::-1][:k]
    if not len(kept):
        raise ValueError(ALL_ZERO)
    turn = turn[:, kept]
    found = along @ (turn / np.sqrt(squares[kept])) if n < d else basis @ turn
    largest = np.abs(found).argmax(axis=0)
    signs = np.sign(found[largest, np.arange(found.shape[1])])
    return np.ascontiguousarray(found * signs)
