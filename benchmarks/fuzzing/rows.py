"""Folders of rows that were tampered with: they are refused, or hold what their arrays say.

An input is a zip file with the files of a folder. `mutate` changes the header, the features or
an array and writes all of them with right sizes and checksums, or changes the bytes of a file.
"""

import io
import json
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.fuzzing.checking import expect, folder_of_process, outcome
from benchmarks.fuzzing.documents import Arrays, changed, with_other_bytes
from benchmarks.fuzzing.models import table
from benchmarks.fuzzing.mutation import mutator, packed, unpacked
from semisvm import NewtonSVC, convert, write_rows
from semisvm.cli.convert import describe_rows
from semisvm.designs import RowsError, RowsOnDisk, open_rows
from semisvm.designs.disk_header import HEADER, array_head, digest_of
from semisvm.preparing import features_of
from semisvm.tables import ColumnFeatures, DataError, MatrixData, read, read_chunks
from semisvm.tables.feature_states import same_features

FEATURES = "features.json"
MOST_CELLS = 10_000
STORED = 0

mutate_bytes = mutator([b"csr", b"dense", b"float32", b"uint16", b"int64", b"null", b"{}", b"[]"])


@cache
def seeds() -> list[bytes]:
    """Return folders of sparse, dense, wide and labelled rows, and of tables."""
    X = np.arange(24.0).reshape(6, 4) * (np.arange(24).reshape(6, 4) % 3 > 0)
    wide = sparse.random(5, 5_000, 0.01, "csr", random_state=0)
    labels = np.array([0, 1, -1, -1, 1, 0])
    words = np.array(["spam", "ham", None, None, "ham", "spam"], dtype=object)
    kinds: dict[str, Any] = {"text": ["text"], "numeric": ["size"], "categorical": ["kind"]}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "a.rows"
        made = []
        for data, y, dtype in (
            (sparse.csr_matrix(X), labels, None),
            (sparse.csr_matrix(X), words, np.float32),
            (X, words, None),
            (wide, None, None),
        ):
            write_rows(place, data, y, dtype=dtype)
            made.append(_zipped(place))
        path = Path(name) / "mail.jsonl"
        cells = table().columns
        rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        labelled = [{**row, "y": "ab"[k % 2] if k < 9 else None} for k, row in enumerate(rows)]
        path.write_text("\n".join(map(json.dumps, labelled)), encoding="utf-8")
        for width in (None, 50):
            features = ColumnFeatures(hash_columns=width, **kinds)
            convert(path, place, label="y", features=features)
            made.append(_zipped(place))
    return made


def _zipped(folder: Path) -> bytes:
    return packed({path.name: path.read_bytes() for path in sorted(folder.iterdir())}, STORED)


# Folders as documents and arrays, and back


def unpack(members: dict[str, bytes]) -> tuple[dict[str, Any], Arrays]:
    """Return header and features without checksums, and the arrays by name."""
    document = {"header": json.loads(members[HEADER])}
    del document["header"]["sha256"]
    if FEATURES in members:
        document["features"] = json.loads(members[FEATURES])
    names = [name for name in members if name.endswith(".npy")]
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(members[name])) for name in names}
    return document, arrays


def pack(document: Any, arrays: Arrays, tell: bool) -> dict[str, bytes]:
    """Return the files of a folder with right checksums.

    Parameters
    ----------
    document, arrays : of `unpack`, changed
    tell : bool
        Whether the header is to say what the arrays are; otherwise it is left as it is.
    """
    members = {}
    header = document.get("header") if isinstance(document, dict) else document
    facts = header.get("arrays") if isinstance(header, dict) else None
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).tobytes()
        members[f"{name}.npy"] = array_head(array.dtype, array.shape) + content
        fact = facts.get(name) if isinstance(facts, dict) else None
        if isinstance(fact, dict):
            fact["crc32"] = zlib.crc32(content)
            fact |= {"dtype": array.dtype.name, "shape": list(array.shape)} if tell else {}
    if isinstance(document, dict) and "features" in document:
        members[FEATURES] = json.dumps(document["features"]).encode()
        if isinstance(header, dict):
            header["features"] = zlib.crc32(members[FEATURES])
    if isinstance(header, dict):
        header = {**header, "sha256": digest_of(header)}
    members[HEADER] = json.dumps(header).encode()
    return members


def mutate(content: bytes, rng: Random) -> bytes:
    """Return a folder with one to three changes of header, features, arrays or bytes."""
    members = unpacked(content)
    if not members or rng.random() < 0.2:
        return _with_other_bytes(members, rng) if members else with_other_bytes(content, rng)
    try:
        document, arrays = unpack(members)
    except Exception:  # a folder that was changed before
        return _with_other_bytes(members, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        document, arrays = changed(document, arrays, rng)
    arrays = {name: array for name, array in arrays.items() if array.dtype.kind != "O"}
    return packed(pack(document, arrays, rng.random() < 0.5), STORED)


def _with_other_bytes(members: dict[str, bytes], rng: Random) -> bytes:
    name = rng.choice(list(members))
    return packed({**members, name: mutate_bytes(members[name], rng)}, STORED)


# What must hold


def check(content: bytes) -> None:
    """Open, use, read, learn and predict; compare with what the files of the arrays hold."""
    members = {name: data for name, data in unpacked(content).items() if Path(name).name == name}
    place = folder_of_process() / "a.rows"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, data in members.items():
        (place / name).write_bytes(data)
    whole, pieces = outcome(lambda: read(place)), outcome(lambda: list(read_chunks(place)))
    if not isinstance(whole, DataError):
        _check_features(whole)
        _or_refused(whole.in_memory)
    try:
        X = open_rows(place)
        _use_unchecked(X)
        _check_opened(X)
    except RowsError:
        refused = isinstance(pieces, DataError) or isinstance(whole, DataError)
        expect(refused, "read, though it cannot be opened")
        return
    if not isinstance(whole, DataError):
        expect(sum(map(len, pieces)) == len(X), "the pieces have other rows")


def _use_unchecked(X: RowsOnDisk) -> None:
    """Take rows in every way; each gives rows of the right shape, or an error of ours.

    A fit checks all entries first, but rows are also shown, counted, divided and loaded.
    """
    n, d = X.shape
    some = np.arange(min(n, 100))
    for way in (
        lambda: X[:],
        lambda: X[some[::-1]],
        lambda: X[some[1:3]],
        lambda: X[some[-1:]],
        lambda: np.zeros((0, d)) if n > MOST_CELLS else X[np.arange(n) % 2 == 0],
        lambda: X.take(some),
        X.load,
        lambda: X.project(np.zeros(d)),
        lambda: list(X.parts()),
        lambda: [part[:] for part in X.split(3)],
        lambda: X.y,
        X.labels,
        X.features,
        X.verify,
        lambda: describe_rows(X),
        lambda: _fitted(X),
        lambda: (X.can_load(some), X.nbytes, repr(X), X.notes, X.facts_of_entries()),
    ):
        found = _or_refused(way)
        if hasattr(found, "shape") and len(found.shape) == 2:
            expect(found.shape[1] == d, "another number of columns")


def _fitted(X: RowsOnDisk) -> NewtonSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows may be long, and then hard to fit
        return NewtonSVC().fit(X, np.arange(X.shape[0]) % 2)


def _or_refused(way: Callable[[], Any]) -> Any:
    try:
        return way()
    except RowsError:
        return None
    except ValueError as error:  # of estimators, in a sentence
        expect(str(error).endswith("."), f"not a sentence: {error}")
        return None


def _check_opened(X: RowsOnDisk) -> None:
    X.check()
    n, d = X.shape
    expect(X.y is None or len(X.y) == n, "there are not as many labels as rows")
    if n * max(d, 1) > MOST_CELLS:
        return
    matrix = X[:]
    dense = matrix.toarray() if X.is_sparse else matrix
    expect(dense.shape == (n, d) and bool(np.isfinite(dense).all()), "not finite")
    parts = [part.toarray() if X.is_sparse else part for part in X.parts()]
    expect(np.array_equal(np.concatenate([np.empty((0, d)), *parts]), dense), "parts differ")
    every = np.arange(n)[::-1]
    taken = X[every]
    expect(np.array_equal(taken.toarray() if X.is_sparse else taken, dense[::-1]), "rows differ")
    if n >= 4 and d >= 1 and np.abs(dense).max(initial=0.0) < 1e3:
        y = np.arange(n) % 2
        ours, theirs = (NewtonSVC(reg=0.1).fit(data, y) for data in (X, matrix))
        expect(np.allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9), "fits differ")


@cache
def _other_features() -> ColumnFeatures:
    return ColumnFeatures().fit(table())


def _check_features(whole: MatrixData) -> None:
    if whole.made_by is not None:
        same_features(_other_features(), *whole.made_by)
    made = outcome(lambda: features_of(whole))
    if isinstance(made, DataError) or made[1] is None:
        return
    transformer = made[1]
    kinds = transformer.kinds_
    cells = {"text": ["win the prize now", "", "é"], "numeric": [1.5, None, -3.0]}
    rows = {name: cells.get(kind, ["a", "", "zz"]) for name, kind in kinds.items()}
    expect(transformer.n_features_out_ == whole.X.shape[1], "features of another number of columns")
    if transformer.n_features_out_ < MOST_CELLS:
        features = transformer.transform(rows)
        expect(bool(np.isfinite(features.data).all()), "features are not finite")
        list(transformer.get_feature_names_out())
