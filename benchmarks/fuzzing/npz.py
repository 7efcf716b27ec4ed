"""Matrices of numpy and scipy, against their own readers."""

import io
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.fuzzing.checking import check_one_kind, dense, expect, outcome, put
from benchmarks.fuzzing.mutation import archive_mutator, mutator
from semisvm.tables import DataError, MatrixData, read, read_chunks
from semisvm.tables.opening import CHUNK_ROWS

MOST_CELLS = 10_000

mutate = archive_mutator(
    mutator([b"<f8", b"<U9", b"|S3", b">i4", b"<c16", b"<M8[D]", b"|O", b"|V4", b"True", b"()"])
)


def seeds() -> list[bytes]:
    """Return matrices in all forms."""
    X = np.arange(12.0).reshape(4, 3)
    made = [
        _saved(np.save, X),
        _saved(np.save, X.T.astype("<i2")),
        _saved(np.savez, X=X.astype(np.float32), y=np.array(["a", "", "NA", "b"])),
        _saved(np.savez_compressed, X=X > 5, y=np.array([1, -1, 2, 1])),
        _saved(np.savez, X=X, y=np.array([1.0, np.nan, 2.0, 1.0])),
        _saved(np.savez, X=X, y=np.array([b"spam", b"ham", b"", b"ham"])),
        _saved(np.savez, X=X, y=np.array([1, 2, 3, 2**64 - 1], dtype=np.uint64)),
    ]
    forms = [sparse.csr_matrix(X).asformat(form) for form in ("csr", "csc", "coo", "bsr", "dia")]
    return made + [_saved(sparse.save_npz, matrix, compressed=False) for matrix in forms]


def _saved(save: Any, *arrays: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, *arrays, **options)
    return stream.getvalue()


def check(data: bytes) -> None:
    """Read at once and in pieces; compare with numpy and scipy where they read it, too."""
    path = put(data, "a.npz")
    whole = outcome(lambda: read(path))
    many = isinstance(whole, DataError) or len(whole) > MOST_CELLS
    alone = outcome(lambda: list(read_chunks(path, chunk_rows=CHUNK_ROWS if many else 2)))
    outcome(lambda: read(path, labels_file=path, unlabeled="none"))
    if isinstance(whole, DataError):
        return
    check_one_kind(whole.labels)
    expect(not isinstance(alone, DataError), f"without labels: {alone}")
    if whole.X.shape[0] * whole.X.shape[1] > MOST_CELLS:
        return
    X = dense(whole)
    expect(_equal(np.concatenate([dense(part) for part in alone]), X), "the pieces differ")
    theirs = _by_numpy(data)
    if theirs is not None:
        expect(_equal(np.asarray(theirs, dtype=X.dtype), X), "numpy reads other values")
        _check_labels(data, whole)


def _by_numpy(data: bytes) -> Any:
    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError:
        # numpy goes by the first bytes, and a zip archive may begin later
        return None
    if isinstance(found, np.ndarray):
        return found
    with found:
        if "format" in found and "data" in found and "shape" in found:
            return sparse.load_npz(io.BytesIO(data)).toarray()
        return found["X"]


def _check_labels(data: bytes, whole: MatrixData) -> None:
    found = np.load(io.BytesIO(data), allow_pickle=False)
    if whole.labels is None or isinstance(found, np.ndarray):
        return
    y = found["y"]
    if y.dtype.kind not in "iuf":
        return
    for value, label in zip(y.tolist(), whole.labels.tolist(), strict=True):
        right = value == -1 or value != value if label is None else value == label
        expect(right, f"{value!r} became {label!r}")


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=True)
