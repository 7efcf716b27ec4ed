"""Validation of X: all methods that fit or predict read their rows here.

Compiled code trusts its arrays, so what scipy does not check is checked first: a column index
out of range would crash the process.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from semisvm.designs.disk import RowsOnDisk

FLOATS = (np.float64, np.float32)
LARGEST_SQUARE = 1e150
"""Largest squared length of a row.

Solvers multiply such squares with each other, as in g . H g with a gradient g as long as a row
and a Hessian H of squares, and sum over rows: fourth powers of lengths, and sums of a million
of them, must be finite. Values in single precision are never too large."""
USUAL_LENGTHS = (0.3, 3.0)
"""Root mean square lengths of rows for which the default regularisation is about right."""
BLOCK = 10_000
BLOCK_ENTRIES = 1 << 16
VARIANCE_ROWS = 500
"""Rows from which the variance of rows is computed, at most."""
IN_PARTS = (
    "X is in parts (a collection of Dask, or a list of folders of rows), but all rows are needed "
    "in one place. TransductiveSVC, AnnealedSVC and NewtonSVC fit parts where they are, and every "
    "estimator predicts them. Otherwise give X.compute(), if it fits in memory."
)
SCALE = (
    "Scale the columns first, for instance with sklearn.preprocessing.StandardScaler or "
    "MaxAbsScaler."
)


def is_sparse(X: Any) -> bool:
    """Return whether X is a scipy sparse matrix or array."""
    found: bool = sparse.issparse(X)
    return found


def is_distributed(X: Any) -> bool:
    """Return whether X is in parts: a collection of Dask, or a list of folders of rows."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(part, RowsOnDisk) for part in X)
    return type(X).__module__.split(".")[0] == "dask"


def refuse_lazy(X: Any) -> None:
    """Raise for a frame that is a query without rows yet, of polars or read by narwhals."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("a LazyFrame holds no rows yet: give its .collect() (of Dask: .compute()).")


def mean_square_length(X: Any) -> float:
    """Compute the mean squared length of rows; one for rows of zeros."""
    if hasattr(X, "mean_square_length"):
        # remote rows compute it where they are
        return float(X.mean_square_length())
    values: Any = _values(X)
    # in blocks, since integers and single precision have to be converted, and rows may be on disk
    step, total = max(1, BLOCK_ENTRIES // max(values[:1].size, 1)), 0.0
    with np.errstate(over="ignore"):
        for start in range(0, len(values), step):
            total += float(np.square(values[start : start + step], dtype=np.float64).sum())
    mean = total / max(X.shape[0], 1)
    return mean if np.isfinite(mean) and mean > 0.0 else 1.0


def has_usual_length(length: float, margin: float = 1.0) -> bool:
    """Return whether rows of a root mean square length suit the default regularisation.

    Parameters
    ----------
    length : float
    margin : float, default=1.0
        Factor by which a length may be beyond the usual ones. The regularisation is off by about
        its square.
    """
    shortest, longest = USUAL_LENGTHS
    return shortest / margin <= length <= longest * margin


def typical_variance(X: Any) -> float:
    r"""Compute the mean eigenvalue of the covariance of rows, each weighed by itself.

    With the centred inner products G of n rows it is ``sum G_ij**2 / (n sum G_ii)``; of many
    rows some are taken. A regularisation of this size damps about half of what varies. Of rows
    of length one it is near one over the number of directions in which they vary: 0.2 for a table
    of correlated columns, 0.03 for images, 0.003 for texts. One for rows that are all equal.

    Parameters
    ----------
    X : CSR matrix or array, or ndarray, of shape (n, d)
    """
    step = -(-X.shape[0] // VARIANCE_ROWS)
    G = _centred_products(X[::step])
    total = float(np.trace(G))
    with np.errstate(all="ignore"):
        found = float(np.square(G).sum() / (len(G) * total)) if total > 0.0 else 1.0
    return found if np.isfinite(found) and found > 0.0 else 1.0


def count_directions(X: Any) -> float:
    r"""Compute the number of directions in which rows vary: the variance over the typical one.

    With the eigenvalues of the covariance it is ``sum(l)**2 / sum(l**2)``: k if k of them are
    equal and the others zero. It is at most the number of rows and of columns. One for rows that
    are all equal.

    Parameters
    ----------
    X : CSR matrix or array, or ndarray, of shape (n, d)
    """
    G = _centred_products(X)
    total = float(np.trace(G))
    if not total > 0.0:
        return 1.0
    with np.errstate(all="ignore"):
        found = 1.0 / float(np.square(G / total).sum())
    return max(found, 1.0) if np.isfinite(found) else 1.0


def _centred_products(X: Any) -> NDArray[np.float64]:
    """Return the inner products of rows less their mean, shape (n, n)."""
    rows = X.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        G = np.asarray((rows @ rows.T).toarray() if is_sparse(rows) else rows @ rows.T)
        G = G - G.mean(axis=0)
        G -= G.mean(axis=1, keepdims=True)
    return np.asarray(G)


def _values(X: Any) -> Any:
    """Return the stored entries of rows: of sparse ones a vector."""
    if isinstance(X, RowsOnDisk):
        return X.values
    return X.data if is_sparse(X) else np.asarray(X)


def read_rows(
    X: Any,
    estimator: Any = None,
    *,
    reset: bool = True,
    order: str | None = "C",
    in_passes: bool = False,
) -> Any:
    """Return rows as CSR or an array, float64 or float32, that are safe for compiled code.

    Parameters
    ----------
    X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)
        It is never changed; a copy is made only if needed.
    estimator : estimator, optional
        Stores the columns of X if ``reset``, otherwise compares them with those of its fit.
    reset : bool, default=True
    order : "C" or None
        Whether dense rows must be contiguous.
    in_passes : bool, default=False
        Whether rows on the disk may stay there; else they are loaded.

    Raises
    ------
    ValueError
        If sparse arrays are inconsistent, or a value is not finite or too large.
    TypeError
        If X is in parts.
    """
    if is_distributed(X):
        raise TypeError(IN_PARTS)
    refuse_lazy(X)
    if isinstance(X, RowsOnDisk):
        if estimator is not None:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        return _stored_rows(X, in_passes)
    X = check_entries(X)
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": FLOATS,
        "ensure_all_finite": False,
        "order": order,
    }
    if estimator is None:
        X = check_array(X, input_name="X", **options)
    else:
        X = validate_data(estimator, X, reset=reset, **options)
    X = without_duplicates(X)
    check_range(X)
    return X


def _stored_rows(X: RowsOnDisk, in_passes: bool) -> Any:
    """Return rows on the disk, after a look at all of them."""
    if X.check() > (LARGEST_SQUARE / max(X.shape[1], 1)) ** 0.5:
        for part in X.parts():
            _check_squares(part)
    return X if in_passes else X.load()


def check_entries(X: Any) -> Any:
    """Return X after checking that the indices of sparse data are within its shape."""
    if not is_sparse(X):
        return X
    if X.format == "coo":
        for axis, (index, size) in enumerate(zip(X.coords, X.shape, strict=True)):
            _check_indices(index, size, len(X.data), ("row", "column")[axis])
        return X
    if X.format not in ("csr", "csc", "bsr"):
        X = X.tocsr()
    _check_compressed(X)
    return X


def _check_compressed(X: Any) -> None:
    shape, along = X.shape, ("row", "column")
    if X.format == "bsr":
        shape = tuple(n // size for n, size in zip(X.shape, X.blocksize, strict=True))
        along = ("block row", "block column")
    if X.format == "csc":
        shape, along = shape[::-1], along[::-1]
    indptr, name = X.indptr, X.format.upper()
    if indptr.ndim != 1 or len(indptr) != shape[0] + 1:
        raise ValueError(
            f"X is not a valid {name} matrix: indptr has shape {indptr.shape}, but "
            f"{shape[0]} {along[0]}s need {shape[0] + 1} entries."
        )
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if indptr[0] != 0 or len(falls):
        at = 0 if indptr[0] != 0 else int(falls[0]) + 1
        raise ValueError(
            f"X is not a valid {name} matrix: indptr must start at 0 and never fall, but "
            f"indptr[{at}] is {int(indptr[at])}."
        )
    _check_indices(X.indices, shape[1], len(X.data), along[1], used=int(indptr[-1]))


def _check_indices(
    indices: NDArray[Any], size: int, entries: int, axis: str, used: int | None = None
) -> None:
    if indices.ndim != 1 or len(indices) != entries or (used or 0) > entries:
        raise ValueError(
            f"X is not a valid sparse matrix: it has {len(indices)} {axis} indices and {entries} "
            f"values{'' if used is None else f', of which indptr uses {used}'}."
        )
    part = indices[:used]
    # as unsigned numbers, negative indices are too large
    unsigned = part.view(f"u{part.dtype.itemsize}")
    if len(part) and int(unsigned.max()) >= size:
        at = int(unsigned.argmax())
        raise ValueError(
            f"X is not a valid sparse matrix: stored entry {at} has {axis} index "
            f"{int(part[at])}, but there are {size} {axis}s."
        )


def without_duplicates(X: Any) -> Any:
    """Return sparse rows with one entry per column: duplicates are summed, in a copy."""
    if not is_sparse(X):
        return X
    used = int(X.indptr[-1])
    if used < len(X.data):
        # scipy allows arrays that are longer than needed
        X = type(X)((X.data[:used], X.indices[:used], X.indptr), shape=X.shape)
    if _in_order(X):
        return X
    tidy = X.copy()
    # scipy caches the result of its last check
    tidy.has_canonical_format = tidy.has_sorted_indices = False
    tidy.sum_duplicates()
    return X if tidy.nnz == X.nnz else tidy


def _in_order(X: Any) -> bool:
    """Return whether the columns of each row are increasing, so that there are no duplicates."""
    indices, indptr = X.indices, X.indptr
    starts = indptr[:-1][indptr[1:] > indptr[:-1]][1:]
    # columns may decrease only where one row ends and the next begins
    falls = 0
    # in blocks, since a vector over all entries is up to an eighth of X
    for at in range(1, len(indices), BLOCK_ENTRIES):
        some = indices[at : at + BLOCK_ENTRIES]
        falls += int(np.count_nonzero(some <= indices[at - 1 : at - 1 + len(some)]))
    return bool(falls == np.count_nonzero(indices[starts] <= indices[starts - 1]))


def in_kind(X: Any, dense: bool) -> Any:
    """Return rows in double precision, as an array or as CSR."""
    X = X.astype(np.float64, copy=False)
    if dense:
        return X.toarray() if is_sparse(X) else X
    return X if is_sparse(X) else sparse.csr_matrix(X)


def by_density(X: Any) -> Any:
    """Return rows in memory in the form that suits their entries, whatever form they have.

    CSR if more than half of the entries are zero, otherwise an array. Sums of the two forms differ
    in their last bits; a solver whose result may depend on these is given the same form for the
    same rows. Rows on disk or in parts stay as they are.
    """
    thin = is_sparse(X)
    if not (thin or isinstance(X, np.ndarray)):
        return X
    entries = X.count_nonzero() if thin else np.count_nonzero(X)
    if 2 * entries < X.shape[0] * X.shape[1]:
        return X if thin else sparse.csr_matrix(X)
    return X.toarray() if thin else X


def check_range(X: Any) -> None:
    """Raise, naming the first row that has NaN or infinity or whose squares are too large."""
    values: NDArray[Any] = X.data if is_sparse(X) else X
    if not values.size:
        return
    # NaN is the largest and the smallest value of its array
    largest = max(abs(float(values.max())), abs(float(values.min())))
    if largest <= (LARGEST_SQUARE / X.shape[1]) ** 0.5:
        return
    bad = ~np.isfinite(values.ravel())
    if bad.any():
        _raise_not_finite(X, values, bad)
    _check_squares(X)


def _raise_not_finite(X: Any, values: NDArray[Any], bad: NDArray[np.bool_]) -> None:
    first = int(np.argmax(bad))
    if is_sparse(X):
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        column = int(X.indices[first])
    else:
        row, column = divmod(first, X.shape[1])
    kind = "NaN" if np.isnan(values.ravel()[first]) else "infinity"
    raise ValueError(
        f"Input X contains {kind}: row {row}, column {column}; {int(bad.sum())} of the values "
        "are not finite. Impute or drop them first, for instance with "
        "sklearn.impute.SimpleImputer."
    )


def _check_squares(X: Any) -> None:
    with np.errstate(over="ignore"):
        squares = row_squares(X)
    long = squares > LARGEST_SQUARE
    if long.any():
        row = int(np.argmax(long))
        part = X[[row]]
        largest = float(np.abs(part.data if is_sparse(part) else part).max())
        raise ValueError(
            f"Input X has values that are too large: row {row} has a value of {largest:.3g}, and "
            f"the sum of the squares of a row must stay below {LARGEST_SQUARE:g}; "
            f"{int(long.sum())} of the rows exceed it. {SCALE}"
        )


def row_squares(X: Any) -> NDArray[np.float64]:
    """Return the squared lengths of rows, in double precision, shape (n,)."""
    if not is_sparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    rows = X.tocsr()
    squares = np.square(rows.data, dtype=np.float64)
    parts = sparse.csr_matrix((squares, rows.indices, rows.indptr), rows.shape)
    return np.asarray(parts.sum(axis=1), dtype=np.float64).ravel()


def project(X: Any, line: NDArray[Any]) -> NDArray[np.float64]:
    """Return the product of each row with a vector; remote rows stay where they are."""
    if hasattr(X, "project"):
        return np.asarray(X.project(line), dtype=np.float64)
    return np.asarray(X @ line, dtype=np.float64).ravel()


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return the listed rows of an array, sparse matrix, data frame, list, or remote rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "can_load"):
        # on the disk, or on a cluster
        return X.take(rows)
    if is_sparse(X):
        # other formats cannot be indexed
        return X.tocsr()[rows]
    if hasattr(X, "__array__") and not hasattr(X, "shape"):
        X = np.asarray(X)
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows.tolist()]
