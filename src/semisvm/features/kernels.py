"""Kernel functions: columns and the diagonal of a kernel matrix, never the whole of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import (
    cosine_similarity,
    laplacian_kernel,
    linear_kernel,
    pairwise_distances,
    polynomial_kernel,
    sigmoid_kernel,
)

from semisvm.designs import Floats
from semisvm.euclidean import centre_of, moved, squared_distances
from semisvm.rows import is_sparse, row_squares
from semisvm.validation import check_choice, check_count, check_real

NAMES = ("linear", "rbf", "poly", "sigmoid", "laplacian", "cosine")
PRECOMPUTED = "precomputed"
# By name, because pairwise_kernels imports other modules when it is called: in a fit.
FUNCTIONS = {
    "linear": linear_kernel,
    "poly": polynomial_kernel,
    "sigmoid": sigmoid_kernel,
    "laplacian": laplacian_kernel,
    "cosine": cosine_similarity,
}
USES = {"rbf": ("gamma",), "laplacian": ("gamma",), "sigmoid": ("gamma", "coef0")}
USES["poly"] = ("gamma", "degree", "coef0")
# Rows from which the average distance is taken; its standard error is then below 1 %.
DISTANCE_ROWS = 2_000
# Error of an exponent that does not show in a kernel matrix, whose diagonal is one; and where
# the exponential function is zero.
EXACT, NOTHING = 1e-12, 750.0
# Rows whose kernel with themselves a function is asked for at a time.
CHUNK = 256


@dataclass(frozen=True)
class Kernel:
    """A kernel with all of its parameters.

    Attributes
    ----------
    metric : str or callable
        A name of scikit-learn, "precomputed", or a function of two rows.
    parameters : dict
        What the metric takes, as numbers.
    """

    metric: str | Callable[..., float]
    parameters: dict[str, float]

    @property
    def precomputed(self) -> bool:
        """Whether data are kernel values."""
        return self.metric == PRECOMPUTED

    def columns(self, X: Any, chosen: Any, index: NDArray[np.intp]) -> Floats:
        """Give k(x_i, z_j) for all rows of X and the chosen rows z_j.

        Parameters
        ----------
        X : matrix of shape (n, d), or (n, n_train) of kernel values
        chosen : matrix of shape (k, d)
            Ignored where the kernel is precomputed.
        index : array of shape (k,)
            Where the chosen rows are among the training rows.
        """
        if self.precomputed:
            return np.asarray(X[:, index], dtype=np.float64)
        # in single precision the kernel matrix would not be positive semi-definite
        X, chosen = (rows.astype(np.float64, copy=False) for rows in (X, chosen))
        if self.metric == "rbf":
            return _gaussian(X, chosen, self.parameters["gamma"])
        # numbers out of range are noticed by whoever asks
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(self.metric, str):
                values = FUNCTIONS[self.metric](X, chosen, **self.parameters)
            else:
                values = _by_function(self.metric, X, chosen)
        return np.asarray(values, dtype=np.float64)

    def diagonal(self, X: Any) -> Floats:
        """Give k(x_i, x_i)."""
        if self.precomputed:
            return np.array(np.diagonal(X), dtype=np.float64)
        if self.metric in ("rbf", "laplacian"):
            return np.ones(X.shape[0])
        if isinstance(self.metric, str):
            return self._of_squares(row_squares(X))
        parts = [X[low : low + CHUNK] for low in range(0, X.shape[0], CHUNK)]
        each = [self.columns(part, part, np.arange(part.shape[0])).diagonal() for part in parts]
        return np.concatenate(each)

    def _of_squares(self, squares: Floats) -> Floats:
        """Give the diagonal of a kernel that is a function of inner products."""
        if self.metric == "linear":
            return squares
        if self.metric == "cosine":
            return (squares > 0.0).astype(np.float64)
        inner = self.parameters["gamma"] * squares + self.parameters["coef0"]
        if self.metric == "sigmoid":
            return np.asarray(np.tanh(inner))
        with np.errstate(over="ignore"):
            return np.asarray(inner ** self.parameters["degree"])


def _by_function(kernel: Callable[..., float], X: Any, chosen: Any) -> Floats:
    """Return the values of a function of two rows; rows of sparse data are matrices."""
    left, right = (
        [rows[[i]] if is_sparse(rows) else rows[i] for i in range(rows.shape[0])]
        for rows in (X, chosen)
    )
    return np.array([[kernel(x, z) for z in right] for x in left], dtype=np.float64)


def _gaussian(X: Any, chosen: Any, gamma: float) -> Floats:
    """Return exp(-gamma ||x - z||^2)."""
    values = squared_distances(X, chosen, tol=EXACT / gamma, far=NOTHING / gamma)
    with np.errstate(over="ignore"):
        values *= -gamma
    return np.exp(values, out=values)


def make_kernel(
    kernel: str | Callable[..., float],
    X: Any,
    *,
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 1.0,
) -> Kernel:
    """Check the parameters of a kernel and make numbers of them.

    Parameters
    ----------
    kernel : str or callable
    X : matrix of shape (n, d)
        The training rows, from which ``gamma`` may be taken.
    gamma : float, "scale" or "mean_distance"
        "scale" is 1 / (d var(X)); "mean_distance" makes the width of the Gaussian the
        average distance of two rows, gamma = 1 / (2 width^2).
    degree : int
    coef0 : float
    """
    if callable(kernel):
        return Kernel(kernel, {})
    check_choice("kernel", kernel, dict.fromkeys((*NAMES, PRECOMPUTED)))
    if kernel == PRECOMPUTED:
        _check_square(X)
    if kernel == "laplacian" and is_sparse(X):
        raise ValueError("kernel='laplacian' needs dense X; use 'rbf' for sparse rows.")
    found: dict[str, float] = {}
    for name in USES.get(kernel, ()):
        if name == "gamma":
            found[name] = width(gamma, X)
        elif name == "degree":
            found[name] = float(check_count("degree", degree) or 1)
        else:
            found[name] = check_real("coef0", coef0)
    return Kernel(kernel, found)


def width(gamma: float | str, X: Any) -> float:
    """Turn ``gamma`` into a number."""
    if gamma == "scale":
        variance = _variance(X)
        return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    if gamma == "mean_distance":
        distance = mean_distance(X)
        return 0.5 / distance**2 if distance > 0.0 else 1.0
    if isinstance(gamma, str):
        raise ValueError(f"gamma must be a number, 'scale' or 'mean_distance', got {gamma!r}.")
    return check_real("gamma", gamma, above=0)


def _variance(X: Any) -> float:
    """Return the variance of all values; that of sparse rows counts their zeros."""
    if not is_sparse(X):
        return float(X.var())
    size, mean = X.shape[0] * X.shape[1], float(X.sum()) / (X.shape[0] * X.shape[1])
    return float((np.square(X.data - mean).sum() + (size - X.nnz) * mean**2) / size)


def mean_distance(X: Any) -> float:
    """Give the average distance of two different rows, from a sample of them if many."""
    n = X.shape[0]
    if n > DISTANCE_ROWS:
        chosen = np.random.default_rng(0).choice(n, DISTANCE_ROWS, replace=False)
        X, n = X[np.sort(chosen)], DISTANCE_ROWS
    X = moved(X, centre_of(X))
    return float(pairwise_distances(X).sum() / max(n * (n - 1), 1))


def _check_square(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square kernel matrix of the rows, got {X.shape}."
        )
    if is_sparse(X):
        raise ValueError("kernel='precomputed' needs a dense kernel matrix; use K.toarray().")
    lack = np.abs(X - X.T)
    if lack.max(initial=0.0) > 1e-8 * max(np.abs(X).max(initial=0.0), 1e-300):
        i, j = np.unravel_index(lack.argmax(), lack.shape)
        raise ValueError(
            f"the kernel matrix is not symmetric: K[{i}, {j}] is {X[i, j]:.6g} and K[{j}, {i}] "
            f"is {X[j, i]:.6g}. Use (K + K.T) / 2 if the difference is noise."
        )
