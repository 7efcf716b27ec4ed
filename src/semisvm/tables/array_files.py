"""Matrices of numpy and scipy: ``.npz`` with X sparse or dense, ``.npy`` with X dense.

Arrays in files may come from anywhere: they are checked before memory is allocated, and nothing is
unpickled.
"""

import gzip
import io
import math
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from semisvm.tables.errors import DataError, in_short
from semisvm.tables.labels import Labels, array_labels
from semisvm.tables.opening import Options, open_bytes, too_wide
from semisvm.tables.table import MatrixData
from semisvm.text import listing

MAGIC = b"\x93NUMPY"
KINDS = "biufcUS"
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

MOST_PACKED = 1032
"""Deflate compresses nothing further than this; a member that claims more is damaged."""

PIECE = 1 << 24
MOST_HEADER = 1 << 16
"""Bytes of a header; numpy itself reads less."""


def is_npy(path: str | Path) -> bool:
    """Return whether a file, perhaps gzipped, is a ``.npy`` array."""
    with open_bytes(path) as stream:
        return stream.read(len(MAGIC)) == MAGIC


def load_array(path: str | Path) -> NDArray[Any]:
    """Load a ``.npy`` file without pickle."""
    with open_bytes(path) as stream:
        return _read(stream, _size(stream), path)


def load_arrays(
    path: str | Path, wanted: Collection[str]
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Load arrays of a ``.npz`` file without pickle.

    Parameters
    ----------
    path : str or Path
    wanted : collection of str
        Arrays to load, where they are there; others may be of any type.

    Returns
    -------
    arrays : dict of arrays
    names : list of str
        Of all arrays in the file.
    """
    with open_bytes(path) as stream, _explained(path), zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
        names = [info.filename.removesuffix(".npy") for info in infos]
        if len(set(names)) < len(names):
            raise DataError("two arrays of this file have the same name.", path)
        end = stream.seek(0, os.SEEK_END)
        found = {}
        for name, info in zip(names, infos, strict=True):
            if name in wanted:
                _check_member(info, end, path)
                with archive.open(info) as member:
                    found[name] = _read(member, info.file_size, path)
        return found, names


def _check_member(info: zipfile.ZipInfo, end: int, path: str | Path) -> None:
    if info.compress_type not in COMPRESSIONS or info.flag_bits & 1:
        raise DataError(
            f"the array {info.filename!r} is encrypted, or packed in a way that numpy does not "
            "write.",
            path,
        )
    if info.compress_size > end or info.file_size > MOST_PACKED * (info.compress_size + 1):
        raise DataError(
            f"the array {info.filename!r} would have {info.file_size:,} bytes, more than a file of "
            f"{end:,} bytes can hold: it is damaged.",
            path,
        )


def _size(stream: IO[bytes] | gzip.GzipFile) -> int | None:
    """Return the size of what a file holds; None if that is not known before it is unpacked."""
    return None if isinstance(stream, gzip.GzipFile) else os.fstat(stream.fileno()).st_size


def _read(stream: IO[bytes], size: int | None, path: str | Path) -> NDArray[Any]:
    with _explained(path):
        return read_npy(stream, size)


def read_npy(stream: IO[bytes], size: int | None, most: int = MOST_HEADER) -> NDArray[Any]:
    """Read one array, of which ``size`` is the number of bytes with its header, if known.

    The header has ``most`` bytes at most. What is wrong raises errors of many kinds.
    """
    version, length, text = read_head(stream, most)
    shape, fortran, dtype = HEADERS[version](io.BytesIO(length + text))
    needed = _bytes(shape, dtype)
    content = stream.read() if size is None else _content(stream, needed, size)
    if len(content) != needed:
        raise ValueError(f"it has {len(content):,} bytes, but its header declares {needed:,}")
    array = np.frombuffer(content, dtype=dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def read_head(stream: IO[bytes], most: int = MOST_HEADER) -> tuple[tuple[int, int], bytes, bytes]:
    """Read what is before the values of a ``.npy`` array: version, length and text of the header.

    Raises
    ------
    ValueError
        If the version is not one for numbers or text, or the header is longer than ``most``.
    """
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"its version {version} is not one for numbers or text")
    length = stream.read(2 if version == (1, 0) else 4)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > most:
        raise ValueError(f"its header declares {n_bytes:,} bytes")
    return version, length, stream.read(n_bytes)


def read_pieces(stream: IO[bytes], size: int) -> bytearray:
    """Read so many bytes, or as many as there are, piece by piece: no more is ever unpacked."""
    content = bytearray(size)
    filled = 0
    with memoryview(content) as view:
        while filled < size and (piece := stream.read(min(PIECE, size - filled))):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
    return content if filled == size else content[:filled]


def _bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise ValueError(f"arrays of type {dtype} are not read")
    if any(length < 0 for length in shape) or math.prod(shape) >= 2**62:
        raise ValueError(f"its shape is {shape}")
    return math.prod(shape) * dtype.itemsize


def _content(stream: IO[bytes], needed: int, size: int) -> bytearray:
    rest = size - stream.tell()
    if needed != rest:
        raise ValueError(f"it has {rest:,} bytes, but its header declares {needed:,}")
    return read_pieces(stream, needed)


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Make one error of all that zipfile and the header parser of numpy raise.

    They were not written for untrusted files: besides their own errors they let out
    those of tokenize, struct, zlib and the codecs, and many of the built-in ones.
    """
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"this array cannot be read ({in_short(error)}).", path) from error


COMPANION = "y.npy"
SPARSE_KEYS = {"format", "data", "shape"}
KEYS = SPARSE_KEYS | {"indices", "indptr", "offsets", "row", "col", "coords", "X"}
COMPRESSED: dict[str, Any] = {
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "bsr": sparse.bsr_matrix,
}


def read_npz(path: str | Path, options: Options) -> Iterator[MatrixData]:
    """Read X, and labels from the key ``y`` or from ``y.npy`` beside the file.

    Nothing is unpickled. -1 and NaN are unlabelled unless the options define other markers. Pieces
    have no labels.
    """
    with_labels = options.chunk_rows is None and not options.labels_apart
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
            raise DataError(f"the matrix would have {wrong}", path)
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
