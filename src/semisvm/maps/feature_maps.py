r"""Kernel feature maps: a kernel method on n rows is a linear one on n x rank numbers.

With the pivoted factor K = L L^T, L_P its rows of the pivots P (lower triangular), the
features of a row x are ::

    phi(x) = L_P^-1 k(P, x),      phi(x) . phi(z) = k(x, z) for all training rows

so prediction needs only the pivot rows. By the representer theorem the optimal weights of a
regularised method lie in the span of the features, so only the residual of the factor is
lost. That holds for the 2-norm of the weights, which no rotation of the features changes.

Other norms depend on the choice of the features. Machines with the 1-norm take the values of
the kernel themselves, phi(x) = k(A, x) with training rows A (`fit_expansion`): the weights
are those of rows, and the order of the rows does not matter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from semisvm.designs import Floats, Workers, thread_count
from semisvm.designs.validation import LARGEST_SQUARE, SCALE, in_kind, is_sparse
from semisvm.maps.cholesky import Entries, Factor, Index, pivoted_cholesky
from semisvm.maps.kernels import Kernel, make_kernel
from semisvm.validation import check_count, check_real

ROWS = 4_096
"""Number of rows mapped at a time, which bounds the memory of a prediction."""
ALL_ZERO = (
    "the kernel is zero for every row, so there are no features to fit. Use another kernel, or "
    "check whether all rows are zero."
)


class FeatureMap(Protocol):
    """What an estimator needs from a map."""

    @property
    def rank(self) -> int:
        """Number of features."""
        ...

    @property
    def pivots(self) -> NDArray[np.intp]:
        """Training rows from which the features are made."""
        ...

    def transform(self, X: Any) -> Any:
        """Compute the features of rows, dense or CSR, shape (n, rank)."""
        ...


@dataclass(frozen=True)
class ExpansionMap:
    """Values of a kernel with training rows, as features.

    Attributes
    ----------
    kernel : Kernel
    pivots : array of shape (rank,)
        Training rows from which the features are made.
    rows : matrix of shape (rank, d), or None
        Those rows; None if the kernel is precomputed.
    """

    kernel: Kernel
    pivots: NDArray[np.intp]
    rows: Any

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.pivots)

    def transform(self, X: Any) -> Floats:
        """Compute the features of rows, shape (n, rank)."""
        parts = [self._part(X[low : low + ROWS], low) for low in range(0, X.shape[0], ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, self.rank))

    def expansion(self, coef: Floats) -> Floats:
        """Return the weights of the pivots, shape (s, rank), for weights of the features."""
        return coef

    def similarities(self, X: Any) -> Floats:
        """Compute the kernel of rows and pivots, shape (n, rank)."""
        return self._values(in_kind(X, not is_sparse(self.rows)))

    def _part(self, X: Any, first: int) -> Floats:
        values = self.similarities(X)
        if not np.isfinite(values).all():
            row = first + int(np.argmin(np.isfinite(values).all(axis=1)))
            raise ValueError(
                f"Input X has values that are too large for the kernel: its value for row {row} "
                f"is not finite. {SCALE}"
            )
        return self._features(values)

    def _values(self, X: Any) -> Floats:
        """Compute the kernel of rows and pivots, shape (n, rank)."""
        return self.kernel.columns(X, self.rows, self.pivots)

    def _features(self, values: Floats) -> Floats:
        """Turn values of the kernel into features, both of shape (n, rank)."""
        return values


@dataclass(frozen=True)
class KernelMap(ExpansionMap):
    """Features of rows whose inner products are the kernel.

    Attributes
    ----------
    kernel, pivots, rows
        As of `ExpansionMap`.
    corner : array of shape (rank, rank)
        L_P, lower triangular.
    residual : float
        Fraction of the trace of the kernel matrix that the features leave out.
    """

    corner: Floats
    residual: float

    def expansion(self, coef: Floats) -> Floats:
        """Return the weights of the pivots, shape (s, rank), for weights of the features.

        A score w . phi(x) is the sum over the pivots of a_p k(p, x), with a = L_P^-T w.
        """
        return np.asarray(solve_triangular(self.corner, coef.T, lower=True, trans="T").T)

    def _features(self, values: Floats) -> Floats:
        return np.ascontiguousarray(solve_triangular(self.corner, values.T, lower=True).T)


def fit_map(
    X: Any,
    kernel: str | Callable[..., float],
    *,
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    n_components: int | None = None,
    tol: float = 1e-6,
    n_jobs: int | None = None,
) -> tuple[KernelMap, Floats]:
    """Build the map of training rows; return it and their features.

    Parameters
    ----------
    X : matrix of shape (n, d), or the kernel matrix (n, n)
    kernel : str or callable
    gamma, degree, coef0 : parameters of the kernel
    n_components : int, optional
        Maximum number of features; None leaves it to ``tol``.
    tol : float
        Fraction of the trace of the kernel matrix that the features may leave out.
    n_jobs : int, optional
        Number of threads.
    """
    known = make_kernel(kernel, X, gamma=gamma, degree=degree, coef0=coef0)

    def entries(rows: Index, index: Index) -> Floats:
        if known.precomputed:
            return np.asarray(X[np.ix_(rows, index)], dtype=np.float64)
        return known.columns(X[rows], X[index], index)

    factor = factorise(known, X, entries, n_components=n_components, tol=tol, n_jobs=n_jobs)
    if known.precomputed:
        _check_remainder(X, factor)
    pivots = factor.pivots
    rows = None if known.precomputed else X[pivots]
    return KernelMap(known, pivots, rows, factor.L[pivots], factor.residual), factor.L


def factorise(
    kernel: Kernel,
    X: Any,
    entries: Entries,
    *,
    n_components: int | None,
    tol: float,
    n_jobs: int | None,
) -> Factor:
    """Factorise the kernel matrix of training rows; see `fit_map`.

    The diagonal holds the squared lengths of the features, so the bound for rows applies.
    """
    check_real("kernel_tol", tol, at_least=0)
    most = check_count("n_components", n_components, optional=True) or X.shape[0]
    diagonal = kernel.diagonal(X)
    check_size(diagonal)
    with Workers(thread_count(n_jobs)) as workers:
        factor = pivoted_cholesky(
            diagonal, entries, tol=tol, max_rank=min(most, X.shape[0]), workers=workers
        )
    if not len(factor.pivots):
        raise ValueError(ALL_ZERO)
    return factor


def fit_expansion(
    X: Any,
    kernel: str | Callable[..., float],
    *,
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    n_components: int | None = None,
) -> tuple[ExpansionMap, Floats]:
    """Take training rows A and the features k(A, x); return the map and those of all rows.

    A has all distinct rows: equal ones would have equal features. The kernel need not be
    positive semi-definite.

    Parameters
    ----------
    X : matrix of shape (n, d), or the kernel matrix (n, n)
    kernel : str or callable
    gamma, degree, coef0 : parameters of the kernel
    n_components : int, optional
        Maximum number of rows in A. They are drawn at random by their contents, so the same
        rows are drawn in any order of X.
    """
    known = make_kernel(kernel, X, gamma=gamma, degree=degree, coef0=coef0)
    most = check_count("n_components", n_components, optional=True)
    check_size(known.diagonal(X))
    drawn = draw_rows(X, known.precomputed)
    chosen = np.sort(drawn[:most])
    found = ExpansionMap(known, chosen, None if known.precomputed else X[chosen])
    features = found.transform(X)
    if not features.any():
        raise ValueError(ALL_ZERO)
    return found, features


def draw_rows(X: Any, precomputed: bool) -> Index:
    """Order rows at random by their contents; return the first of each group of equal rows.

    The sequence of contents does not depend on the order of X, nor on whether it is sparse.
    Rows of a kernel matrix are ordered by their sorted values, which a permutation of rows and
    columns keeps, and are not grouped.

    Parameters
    ----------
    X : matrix of shape (n, d), or the kernel matrix (n, n)
    precomputed : bool
        Whether X is a kernel matrix.
    """
    if precomputed:
        keys = [_digest(np.sort(row)) for row in np.asarray(X, dtype=np.float64)]
        return np.argsort(np.array(keys), kind="stable")
    rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    columns = rows.indices.astype(np.int64)
    keys = [_digest(columns[a:b], rows.data[a:b]) for a, b in ends]
    return np.unique(np.array(keys), return_index=True)[1]


def _digest(*parts: NDArray[Any]) -> str:
    return blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()


def check_size(diagonal: Floats) -> None:
    """Raise for kernel values that are too large; the diagonal has squared lengths."""
    if diagonal.max(initial=0.0) > LARGEST_SQUARE:
        row = int(diagonal.argmax())
        raise ValueError(
            f"the kernel of row {row} with itself is {diagonal[row]:.3g}, which is too large to "
            f"compute with. Use a smaller degree or gamma. {SCALE}"
        )


def _check_remainder(K: Floats, factor: Factor) -> None:
    """Raise for an indefinite matrix that its diagonal did not reveal."""
    rest = K - factor.L @ factor.L.T
    left = np.sqrt(np.maximum(rest.diagonal(), 0.0))
    slack = 1e-8 * max(float(np.trace(K)), 1e-300)
    excess = np.abs(rest) - np.outer(left, left)
    if excess.max(initial=0.0) > slack:
        i, j = np.unravel_index(excess.argmax(), excess.shape)
        raise ValueError(
            f"the kernel matrix is not positive semi-definite: K[{i}, {j}] is too large for the "
            "diagonal. Clip its negative eigenvalues, or use another kernel."
        )
