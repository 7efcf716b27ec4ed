"""What identifies a row: a key, or its own content."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from semisvm.designs.validation import is_sparse
from semisvm.tables.row_vectors import vector_texts
from semisvm.tables.table import MatrixData, Table, holds_vectors

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
    texts = [
        vector_texts(data, name) if holds_vectors(data.column(name)) else data.text(name)
        for name in names
    ]
    if not texts:
        return [head] * len(data)
    return [_digest("\x1f".join((head, *cells))) for cells in zip(*texts, strict=True)]


def _digest(text: str) -> str:
    return _hash(text.encode("utf-8", "surrogatepass"))


def _hash(*parts: bytes) -> str:
    found = hashlib.blake2b(digest_size=DIGEST)
    for part in parts:
        found.update(part)
    # a letter first, or a spreadsheet takes 12e4567 for a number
    return "x" + found.hexdigest()


def _of_matrix(data: MatrixData) -> list[str]:
    X = data.in_memory().X
    if not is_sparse(X):
        return [_hash(row.tobytes()) for row in np.asarray(X, dtype=np.float64)]
    places = np.asarray(X.indices, dtype=np.int64)
    values = np.asarray(X.data, dtype=np.float64)
    spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [_hash(places[a:b].tobytes(), values[a:b].tobytes()) for a, b in spans]


def counted(names: Sequence[str]) -> list[str]:
    """Distinguish rows of one content: the second one gets ``#2``, and so on."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
