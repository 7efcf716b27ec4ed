"""Matrices of numpy and scipy: ``.npz`` with X sparse or dense, ``.npy`` with X dense."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.io.arrays import is_npy, load_array, load_arrays
from semisvm.io.errors import DataError
from semisvm.io.labels import Labels, array_labels
from semisvm.io.options import Options
from semisvm.io.table import MatrixData
from semisvm.io.widths import too_wide
from semisvm.naming import listing

COMPANION = "y.npy"
SPARSE_KEYS = {"format", "data", "shape"}
KEYS = SPARSE_KEYS | {"indices", "indptr", "offsets", "row", "col", "coords", "X"}
COMPRESSED: dict[str, Any] = {
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "bsr": sparse.bsr_matrix,
}


def read_npz(
    path: str | Path, options: Options, *, with_labels: bool = True
) -> Iterator[MatrixData]:
    """Read X, and labels from the key ``y`` or from ``y.npy`` beside the file.

    Nothing is unpickled. -1 and NaN are unlabelled unless the options say otherwise.
    """
    X, y = _load(path, options, with_labels)
    if X.shape[0] == 0:
        raise DataError("the matrix has no rows.", path)
    if options.n_features is not None and X.shape[1] != options.n_features:
        raise DataError(
            f"the matrix has {X.shape[1]} columns, but the model expects {options.n_features}.",
            path,
        )
    labels, words = _labels(path, y, options, X.shape[0]) if with_labels else (None, {})
    step = options.chunk_rows or X.shape[0]
    for start in range(0, X.shape[0], step):
        stop = start + step
        part = None if labels is None else labels[start:stop]
        yield MatrixData(X[start:stop], part, str(path), missing_words=words)


def _load(path: str | Path, options: Options, with_labels: bool) -> tuple[Any, NDArray[Any] | None]:
    if is_npy(path):
        return _dense(load_array(path), path), None
    arrays, names = load_arrays(path, KEYS | {"y"} if with_labels else KEYS)
    y = arrays.get("y")
    if arrays.keys() >= SPARSE_KEYS:
        return _sparse(arrays, path, options), y
    if "X" not in arrays:
        raise DataError(
            "there is neither a sparse matrix of scipy.sparse.save_npz nor an array 'X'; "
            f"the arrays are {listing(names)}.",
            path,
        )
    return _dense(arrays["X"], path), y


def _dense(X: NDArray[Any], path: str | Path) -> NDArray[Any]:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError(
            f"X must be a matrix of numbers, but has shape {X.shape} and type {X.dtype}.", path
        )
    return _floats(X)


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in (np.float64, np.float32):
        return values
    with np.errstate(over="ignore"):  # of longer floats; what is infinite is refused later
        return values.astype(np.float64)


def _sparse(arrays: Mapping[str, NDArray[Any]], path: str | Path, options: Options) -> Any:
    """Make a matrix of what `scipy.sparse.save_npz` wrote; its indices are checked."""
    data = arrays["data"]
    if data.dtype.kind not in "fiub":
        raise DataError(f"X must be a matrix of numbers, but has the type {data.dtype}.", path)
    shape = _shape(arrays["shape"], path)
    for axis, size in enumerate(shape):
        wrong = too_wide(size, data.size, options.max_columns if axis else None)
        if wrong is not None:
            wrong = wrong if axis else f"{size:,} rows, but {data.size:,} values."
            raise DataError(f"the matrix says that it has {wrong}", path)
    try:
        made = _made(arrays, _floats(data), shape)
        rows = sparse.csr_matrix(made)
        rows.check_format(full_check=True)
        rows.sum_duplicates()
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError) as error:
        raise DataError(f"the sparse matrix cannot be read ({error}).", path) from error
    return rows


def _shape(values: NDArray[Any], path: str | Path) -> tuple[int, int]:
    if values.shape != (2,) or values.dtype.kind not in "iu" or values.min() < 0:
        raise DataError(f"the shape of the sparse matrix is {values.tolist()!r}.", path)
    n_rows, n_columns = values.tolist()
    return n_rows, n_columns


def _made(arrays: Mapping[str, NDArray[Any]], data: NDArray[Any], shape: tuple[int, int]) -> Any:
    form = str(arrays["format"].astype(str).item())
    if form in COMPRESSED:
        indices, indptr = _whole(arrays, "indices"), _whole(arrays, "indptr")
        made = COMPRESSED[form]((data, indices, indptr), shape=shape)
        made.check_format(full_check=True)
        return made
    if form == "dia":
        return sparse.dia_matrix((data, _whole(arrays, "offsets")), shape=shape)
    if form == "coo":
        two = _whole(arrays, "coords") if "coords" in arrays else None
        row, col = (_whole(arrays, "row"), _whole(arrays, "col")) if two is None else two
        return sparse.coo_matrix((data, (row, col)), shape=shape)
    raise ValueError(f"its format is {form!r}")


def _whole(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if arrays[name].dtype.kind not in "iu":
        raise ValueError(f"{name!r} are not whole numbers")
    return arrays[name]


def _labels(
    path: str | Path, y: NDArray[Any] | None, options: Options, n_rows: int
) -> tuple[Labels | None, dict[str, int]]:
    beside = Path(path).parent / COMPANION
    source: str | Path = path
    if y is None and beside.is_file() and Path(path).name != COMPANION:
        y, source = load_array(beside), beside
    if y is None:
        return None, {}
    if y.ndim == 1 and len(y) != n_rows:
        hint = "" if source is path else f" If they are not those of {path}, move one of the files."
        raise DataError(f"there are {len(y)} labels for {n_rows} rows.{hint}", source)
    return array_labels(y, options, source)
