"""Fingerprints of data: two sets with the same one are the same, for all practical purposes.

All bytes are read once, by SHA-256: about a second per gigabyte, which a fit of that size takes
many times over. A sample would be cheaper, but one label or value that was corrected must not go
unnoticed.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.disk import RowsOnDisk

PIECE = 1 << 26
"""Bytes that are read at a time: X may be a memory map, larger than memory."""
ROWS = 4_096
"""Rows that are read at a time."""
NOTHING = 1e-6
"""Entries below this share of the largest one of their row are zero."""
DROPPED = 8
HALF = 1 << (DROPPED - 1)
"""Bits of single precision that do not count, and half of the last that does."""
MIXING = ((32, 0x9E3779B97F4A7C15), (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and factors, of which each makes every bit depend on more others."""


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Return the SHA-256 of arrays: their types, shapes and bytes."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape};".encode())
        for piece in _pieces(array):
            found.update(piece)
    return found.hexdigest()


def fingerprint_of_rows(X: Any) -> str:
    """Return the fingerprint of a CSR matrix, a dense array, or rows on the disk.

    Rows on the disk are not read: their header has a checksum of every array. Rows in parts are
    read where they are.
    """
    if hasattr(X, "fingerprint"):
        found: str = X.fingerprint()
        return found
    if isinstance(X, RowsOnDisk):
        return hashlib.sha256(repr(X.facts_of_entries()).encode()).hexdigest()
    is_sparse: bool = sparse.issparse(X)
    return fingerprint(X.data, X.indices, X.indptr) if is_sparse else fingerprint(X)


def row_fingerprints(X: Any) -> NDArray[np.uint64]:
    """Return one fingerprint per row of an array or a CSR matrix, shape (n,).

    Values count to about five digits, so that rounding does not matter, and zeros do not, so that
    a sparse row and a dense one have the same. It is the sum of hashes of the entries: not for
    data that are made to collide.
    """
    found = np.empty(X.shape[0], dtype=np.uint64)
    for low in range(0, len(found), ROWS):
        part = sparse.csr_matrix(X[low : low + ROWS], dtype=np.float64)
        if not part.has_canonical_format:
            part = part.copy()
            part.sum_duplicates()
        hashes = _entry_hashes(part)
        # differences of sums, which wrap around, so that empty rows need no care
        ends = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashes)])[part.indptr]
        found[low : low + ROWS] = ends[1:] - ends[:-1]
    return found


def _entry_hashes(rows: Any) -> NDArray[np.uint64]:
    """Mix the column and the leading bits of each entry (splitmix64); zero for zeros."""
    values = np.abs(rows.data)
    largest = np.asarray(abs(rows).max(axis=1).todense(), dtype=np.float64).ravel()
    counts = values > NOTHING * np.repeat(largest, np.diff(rows.indptr))
    with np.errstate(over="ignore"):  # numbers beyond single precision are all alike
        single = rows.data.astype(np.float32).view(np.uint32).astype(np.uint64)
    digits = (single + np.uint64(HALF)) >> np.uint64(DROPPED)
    mixed = (rows.indices.astype(np.uint64) << np.uint64(25)) ^ digits
    for shift, factor in MIXING:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.where(counts, mixed ^ (mixed >> np.uint64(31)), np.uint64(0))


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    step = max(1, PIECE // max(array.itemsize * max(array[:1].size, 1), 1))
    for start in range(0, len(array), step):
        # bytes, since memory of some types (dates, text) cannot be read otherwise
        yield np.ascontiguousarray(array[start : start + step]).reshape(-1).view(np.uint8).data
