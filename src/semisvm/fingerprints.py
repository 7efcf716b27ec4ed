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

from semisvm.ondisk import RowsOnDisk

PIECE = 1 << 26
"""Bytes that are read at a time: X may be a memory map, larger than memory."""


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


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    step = max(1, PIECE // max(array.itemsize * max(array[:1].size, 1), 1))
    for start in range(0, len(array), step):
        # bytes, since memory of some types (dates, text) cannot be read otherwise
        yield np.ascontiguousarray(array[start : start + step]).reshape(-1).view(np.uint8).data
