"""Kernel functions: columns and the diagonal of a kernel matrix, never the whole of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs import Floats
from semisvm.designs.fingerprints import row_fingerprints
from semisvm.designs.validation import is_sparse, row_squares
from semisvm.maps.distances import centre_of, moved, squared_distances
from semisvm.validation import check_choice, check_count, check_real

NAMES = ("linear", "rbf", "poly", "sigmoid", "laplacian", "cosine")
PRECOMPUTED = "precomputed"
USES = {"rbf": ("gamma",), "laplacian": ("gamma",), "sigmoid": ("gamma", "coef0")}
USES["poly"] = ("gamma", "degree", "coef0")
# Number of rows for the average distance; its standard error is then below 1 %.
DISTANCE_ROWS = 2_000
# Odd, and far from every simple fraction of 2^64: multiples of it are well spread.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Error of an exponent that is negligible in a kernel matrix with unit diagonal; and the exponent
# beyond which the exponential function is zero.
EXACT, NOTHING = 1e-12, 750.0
# Number of rows at a time whose kernel with themselves is computed by a function.
CHUNK = 256


@dataclass(frozen=True)
class Kernel:
    """A kernel with all of its parameters.

    Attributes
    ----------
    metric : str or callable
        A name of scikit-learn, "precomputed", or a function of two rows.
    parameters : dict
        Parameters of the metric, as numbers.
    """

    metric: str | Callable[..., float]
    parameters: dict[str, float]

    @property
    def precomputed(self) -> bool:
        """Whether the data are kernel values."""
        return self.metric == PRECOMPUTED

    def columns(self, X: Any, chosen: Any, index: NDArray[np.intp]) -> Floats:
        """Compute k(x_i, z_j) for all rows of X and the chosen rows z_j.

        Parameters
        ----------
        X : matrix of shape (n, d), or (n, n_train) of kernel values
        chosen : matrix of shape (k, d)
            Ignored if the kernel is precomputed.
        index : array of shape (k,)
            Positions of the chosen rows among the training rows.
        """
        if self.precomputed:
            return np.asarray(X[:, index], dtype=np.float64)
        # in single precision the kernel matrix would not be positive semi-definite
        X, chosen = (rows.astype(np.float64, copy=False) for rows in (X, chosen))
        if self.metric == "rbf":
            return _gaussian(X, chosen, self.parameters["gamma"])
        # the caller checks for values that are not finite
        with np.errstate(over="ignore", invalid="ignore"):
            if self.metric == "laplacian":
                return np.exp(-self.parameters["gamma"] * cdist(X, chosen, "cityblock"))
            if callable(self.metric):
                return _by_function(self.metric, X, chosen)
            inner = np.asarray(safe_sparse_dot(X, chosen.T, dense_output=True), dtype=np.float64)
            if self.metric == "cosine":
                return _cosines(inner, row_squares(X), row_squares(chosen))
            return self._of_inner_products(inner)

    def diagonal(self, X: Any) -> Floats:
        """Compute k(x_i, x_i)."""
        if self.precomputed:
            return np.array(np.diagonal(X), dtype=np.float64)
        if self.metric in ("rbf", "laplacian"):
            return np.ones(X.shape[0])
        if isinstance(self.metric, str):
            squares = row_squares(X)
            if self.metric == "cosine":
                return (squares > 0.0).astype(np.float64)
            with np.errstate(over="ignore"):
                return self._of_inner_products(squares)
        parts = [X[low : low + CHUNK] for low in range(0, X.shape[0], CHUNK)]
        each = [self.columns(part, part, np.arange(part.shape[0])).diagonal() for part in parts]
        return np.concatenate(each)

    def _of_inner_products(self, inner: Floats) -> Floats:
        """Change inner products to values of the kernel, in place."""
        if self.metric == "linear":
            return inner
        inner *= self.parameters["gamma"]
        inner += self.parameters["coef0"]
        if self.metric == "sigmoid":
            return np.tanh(inner, out=inner)
        return np.power(inner, self.parameters["degree"], out=inner)


def _cosines(inner: Floats, x: Floats, z: Floats) -> Floats:
    """Divide inner products (n, k) by the lengths of the rows, which come squared."""
    lengths = np.sqrt(x)[:, None] * np.sqrt(z)
    return np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0.0)


def _by_function(kernel: Callable[..., float], X: Any, chosen: Any) -> Floats:
    """Compute a function of two rows for all pairs; sparse rows are passed as matrices."""
    left, right = (
        [rows[[i]] if is_sparse(rows) else rows[i] for i in range(rows.shape[0])]
        for rows in (X, chosen)
    )
    return np.array([[kernel(x, z) for z in right] for x in left], dtype=np.float64)


def _gaussian(X: Any, chosen: Any, gamma: float) -> Floats:
    """Compute exp(-gamma ||x - z||^2)."""
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
    """Check the parameters of a kernel and turn them into numbers.

    Parameters
    ----------
    kernel : str or callable
    X : matrix of shape (n, d)
        The training rows, from which ``gamma`` may be computed.
    gamma : float, "scale" or "mean_distance"
        "scale" is 1 / (d var(X)); "mean_distance" is 1 / (2 width^2), where width is the
        average distance between two rows.
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
    """Compute the variance of all values, including the zeros of sparse rows."""
    if not is_sparse(X):
        return float(X.var())
    size, mean = X.shape[0] * X.shape[1], float(X.sum()) / (X.shape[0] * X.shape[1])
    return float((np.square(X.data - mean).sum() + (size - X.nnz) * mean**2) / size)


def mean_distance(X: Any) -> float:
    """Compute the average distance between two different rows, from a sample if many.

    The sample depends on what is in the rows, not on their order.
    """
    n = X.shape[0]
    if n > DISTANCE_ROWS:
        X, n = X[sample_by_content(X, DISTANCE_ROWS)], DISTANCE_ROWS
    X = moved(X, centre_of(X))
    squares = squared_distances(X, X, tol=np.inf)
    np.fill_diagonal(squares, 0.0)
    return float(np.sqrt(squares).sum() / max(n * (n - 1), 1))


def sample_by_content(X: Any, size: int) -> NDArray[np.intp]:
    """Choose rows by hashes of them, so that the same ones are chosen in whatever order they come.

    Equal rows are counted, and each has another hash: a row that is there a thousand times is
    chosen as often as a thousand different ones.

    Parameters
    ----------
    X : matrix of shape (n, d)
    size : int
        At most n.
    """
    hashes = row_fingerprints(X)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    repeats = (np.arange(len(order)) - first).astype(np.uint64)
    keys = ordered + GOLDEN * repeats
    return order[np.argsort(keys, kind="stable")[:size]]


def _check_square(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square kernel matrix of the rows, got shape {X.shape}."
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
