"""Arrays of a folder: mapped, and parts of them brought into memory."""

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.ondisk.header import HEAD_BYTES, ArrayFact, RowsError

PLACES = 1 << 15
"""Entries whose places are computed at a time where rows are taken one by one."""
PIECE = 1 << 18


def mapped(folder: Path, name: str, fact: ArrayFact) -> NDArray[Any]:
    """Map an array; its size on the disk is checked, since reading beyond the end is fatal.

    Raises
    ------
    RowsError
    """
    file, dtype = folder / f"{name}.npy", np.dtype(fact.dtype).newbyteorder("<")
    wanted = HEAD_BYTES + math.prod(fact.shape) * dtype.itemsize
    try:
        size = file.stat().st_size
    except OSError as error:
        raise RowsError(f"{file.name} cannot be read ({error.strerror}).", folder) from error
    if size != wanted:
        raise RowsError(
            f"{file.name} has {size:,} bytes, but the header says {wanted:,}: it is damaged. "
            "Convert the data again, or copy the folder again.",
            folder,
        )
    shape = tuple(fact.shape)
    if math.prod(shape) == 0:
        return np.empty(shape, dtype=dtype)  # nothing cannot be mapped
    found = np.memmap(file, dtype=dtype, mode="r", offset=HEAD_BYTES, shape=shape)
    # compiled code takes plain arrays without a detour
    return np.asarray(found)


def checksum(array: NDArray[Any]) -> int:
    """Return the CRC-32 of the values."""
    crc, flat = 0, array.reshape(-1)
    for k in range(0, len(flat), PIECE):
        crc = zlib.crc32(flat[k : k + PIECE].data, crc)
    return crc


def row_numbers(rows: Any, n: int) -> NDArray[np.intp]:
    """Return the rows that a slice, a list of numbers or a mask stands for.

    Raises
    ------
    IndexError
    """
    index = np.arange(n)[rows] if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
    if index.dtype == bool:
        if index.shape != (n,):
            raise IndexError(f"the mask has shape {index.shape}, but there are {n} rows.")
        return np.flatnonzero(index)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise IndexError("rows are taken by a slice, a list of row numbers, or a mask.")
    index = index.astype(np.intp)
    index = np.where(index < 0, index + n, index)
    if index.size and (index.min() < 0 or index.max() >= n):
        raise IndexError(f"a row number is out of range: there are {n} rows.")
    return index


def gathered(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], rows: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return values, indices and ends of some rows, in memory."""
    ends = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(indptr[rows + 1] - indptr[rows], out=ends[1:])
    taken, columns = np.empty(ends[-1], values.dtype), np.empty(ends[-1], indices.dtype)
    start = 0
    while start < len(rows):
        # places of some entries at a time: they take more memory than the entries
        stop = int(np.searchsorted(ends, ends[start] + PLACES, "right")) - 1
        stop = min(max(stop, start + 1), len(rows))
        part = slice(ends[start], ends[stop])
        first = indptr[rows[start:stop]] - ends[start:stop]
        at = np.repeat(first, np.diff(ends[start : stop + 1]))
        at += np.arange(part.start, part.stop)
        taken[part], columns[part] = values[at], indices[at]
        start = stop
    return taken, columns, ends
