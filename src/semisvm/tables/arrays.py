"""Numpy arrays in files from any source: checked before memory is allocated."""

import gzip
import io
import math
import os
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from semisvm.tables.errors import DataError, in_short
from semisvm.tables.opening import open_bytes

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
    """Read one array, of which ``size`` is the number of bytes with its header, if known."""
    with _explained(path):
        version, length, text = read_head(stream)
        shape, fortran, dtype = HEADERS[version](io.BytesIO(length + text))
        needed = _bytes(shape, dtype)
        content = stream.read() if size is None else _content(stream, needed, size)
        if len(content) != needed:
            raise ValueError(f"it has {len(content):,} bytes, but says that it has {needed:,}")
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
        raise ValueError(f"its header says that it has {n_bytes:,} bytes")
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
        raise ValueError(f"it has {rest:,} bytes, but says that it has {needed:,}")
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
