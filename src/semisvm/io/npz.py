"""Matrices of numpy and scipy: ``.npz`` with X sparse or dense, ``.npy`` with X dense."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from semisvm.io.errors import DataError
from semisvm.io.labels import Labels, array_labels, load_array
from semisvm.io.opening import open_bytes
from semisvm.io.options import Options
from semisvm.io.table import MatrixData
from semisvm.naming import listing

COMPANION = "y.npy"
SPARSE_KEYS = {"format", "data", "shape"}


def read_npz(
    path: str | Path, options: Options, *, with_labels: bool = True
) -> Iterator[MatrixData]:
    """Read X, and labels from the key ``y`` or from ``y.npy`` beside the file.

    Nothing is unpickled. -1 and NaN are unlabelled unless the options say otherwise.
    """
    X, y = _load(path)
    if X.shape[0] == 0:
        raise DataError("the matrix has no rows.", path)
    if options.n_features is not None and X.shape[1] != options.n_features:
        raise DataError(
            f"the matrix has {X.shape[1]} columns, but the model knows {options.n_features}.", path
        )
    labels = _labels(path, y, options, X.shape[0]) if with_labels else None
    step = options.chunk_rows or X.shape[0]
    for start in range(0, X.shape[0], step):
        stop = start + step
        part = None if labels is None else labels[start:stop]
        yield MatrixData(X[start:stop], part, str(path))


def _load(path: str | Path) -> tuple[Any, Any]:
    try:
        # numpy leaves a file open that it fails to read, so it is opened here
        with open_bytes(path) as stream:
            if stream.read(6) == b"\x93NUMPY":
                return _checked(load_array(path), path), None
            stream.seek(0)
            return _load_arrays(stream, path)
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"this file cannot be read as .npz ({error}).", path) from error


def _load_arrays(stream: BinaryIO, path: str | Path) -> tuple[Any, Any]:
    with np.load(stream, allow_pickle=False) as arrays:
        y = arrays.get("y")
        if set(arrays) >= SPARSE_KEYS:
            stream.seek(0)
            return _checked_sparse(sparse.load_npz(stream), path), y
        if "X" not in arrays:
            raise DataError(
                "there is neither a sparse matrix of scipy.sparse.save_npz nor an array 'X'; "
                f"the arrays are {listing(arrays)}.",
                path,
            )
        return _checked(arrays["X"], path), y


def _checked(X: Any, path: str | Path) -> Any:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError(
            f"X must be a matrix of numbers, but has shape {X.shape} and type {X.dtype}.", path
        )
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)


def _checked_sparse(X: Any, path: str | Path) -> Any:
    rows = sparse.csr_matrix(X)
    rows.check_format(full_check=True)
    rows.sum_duplicates()
    return _checked(rows, path)


def _labels(path: str | Path, y: Any, options: Options, n_rows: int) -> Labels | None:
    beside = Path(path).parent / COMPANION
    source: str | Path = path
    if y is None and beside.is_file() and Path(path).name != COMPANION:
        y, source = load_array(beside), beside
    if y is None:
        return None
    if len(y) != n_rows:
        raise DataError(f"there are {len(y)} labels for {n_rows} rows.", source)
    return array_labels(np.asarray(y), options.unlabeled, source)
