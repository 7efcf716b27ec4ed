"""Matrices of numpy and scipy: ``.npz`` with X sparse or dense, ``.npy`` with X dense.

``.npy`` files are also written piece by piece.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.disk_header import HEAD_BYTES, ArrayFact, array_head
from semisvm.tables.arrays import is_npy, load_array, load_arrays
from semisvm.tables.errors import DataError
from semisvm.tables.labels import Labels, array_labels
from semisvm.tables.options import Options, too_wide
from semisvm.tables.table import MatrixData
from semisvm.tables.writing import explained, sync
from semisvm.text import listing

ARRAY_PIECE = 1 << 20
"""Entries that are changed at a time, in the last step."""


class ArrayFile:
    """A ``.npy`` file that grows.

    Parameters
    ----------
    folder : Path
    name : str
    dtype : dtype
    path : str or Path
        What the user calls the folder.
    width : int, optional
        Number of columns of a matrix; by default it is a vector.
    """

    def __init__(
        self, folder: Path, name: str, dtype: Any, path: str | Path, width: int | None = None
    ) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.file = folder / f"{name}.npy"
        self._path, self._width = path, width
        self._length = self._crc = 0
        with explained(path):
            self._stream: BinaryIO = open(self.file, "wb")  # noqa: SIM115
            self._stream.write(bytes(HEAD_BYTES))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of what is there."""
        return (self._length,) if self._width is None else (self._length, self._width)

    def add(self, values: NDArray[Any]) -> None:
        """Append values, or rows of them."""
        part = np.ascontiguousarray(values, dtype=self.dtype)
        content = part.reshape(-1).view(np.uint8).data
        self._crc = zlib.crc32(content, self._crc)
        with explained(self._path):
            self._stream.write(content)
        self._length += len(part)

    def stop(self) -> None:
        """Close the file, complete or not."""
        with suppress(OSError):
            self._stream.close()

    def close(self) -> ArrayFact:
        """Complete the file; return its entry in the header."""
        with explained(self._path), self._stream as stream:
            stream.seek(0)
            stream.write(array_head(self.dtype, self.shape))
            sync(stream, self._path)
        return self._fact()

    def _fact(self) -> ArrayFact:
        return ArrayFact(self.dtype.name, list(self.shape), self._crc)

    def discard(self) -> None:
        """Remove the file."""
        self.stop()
        self.file.unlink(missing_ok=True)

    def mapped(self, mode: Any = "r") -> NDArray[Any]:
        """Map what is there."""
        if not self._stream.closed:
            self._stream.flush()
        if self._length == 0:
            return np.empty(self.shape, dtype=self.dtype)
        return np.memmap(self.file, self.dtype, mode, HEAD_BYTES, self.shape)

    def change(self, new: Callable[[slice, NDArray[Any]], NDArray[Any]]) -> ArrayFact:
        """Replace all values after `close`, some at a time."""
        array, crc = self.mapped("r+"), 0
        with explained(self._path):
            for part in pieces_of(len(array), ARRAY_PIECE // max(self._width or 1, 1)):
                array[part] = new(part, array[part])
                crc = zlib.crc32(np.ascontiguousarray(array[part]).view(np.uint8).data, crc)
            if isinstance(array, np.memmap):
                array.flush()
        self._crc = crc
        return self._fact()


def pieces_of(n: int, step: int = ARRAY_PIECE) -> Iterator[slice]:
    """Yield slices that cover n entries."""
    step = max(step, 1)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


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

    Nothing is unpickled. -1 and NaN are unlabelled unless the options define other markers.
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
