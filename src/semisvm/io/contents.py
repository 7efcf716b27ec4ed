"""What identifies a row: a key, or its own content."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from semisvm.io.table import MatrixData, Table

DIGEST = 12
"""Bytes of a hash: among a million rows two are alike with a chance of 1e-17."""


def row_hashes(data: Table | MatrixData, columns: Sequence[str] | None = None) -> list[str]:
    """Compute a hash of what stands in each row, its label apart.

    Parameters
    ----------
    data : Table or MatrixData
    columns : sequence of str, optional
        All by default, in alphabetical order: that of the file does not matter.
    """
    if isinstance(data, MatrixData):
        return _of_matrix(data)
    names = sorted(data.names if columns is None else columns)
    head = _digest("\x1e".join(names))
    texts = [data.text(name) for name in names]
    if not texts:
        return [head] * len(data)
    return [_digest("\x1f".join((head, *cells))) for cells in zip(*texts, strict=True)]


def _digest(text: str) -> str:
    content = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=DIGEST).hexdigest()


def _of_matrix(data: MatrixData) -> list[str]:
    X = data.in_memory().X
    is_sparse: bool = sparse.issparse(X)
    if not is_sparse:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        return [hashlib.blake2b(row, digest_size=DIGEST).hexdigest() for row in rows]
    found = []
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        own = hashlib.blake2b(digest_size=DIGEST)
        own.update(np.asarray(X.indices[start:stop], dtype=np.int64).tobytes())
        own.update(np.asarray(X.data[start:stop], dtype=np.float64).tobytes())
        found.append(own.hexdigest())
    return found


def counted(names: Sequence[str]) -> list[str]:
    """Tell rows of one content apart: the second one gets ``#2``, and so on."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
