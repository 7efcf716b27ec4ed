"""Damage to rows on the disk is found."""

import json
import os
import re

import numpy as np
import pytest

from semisvm import TransductiveSVC, open_rows
from semisvm.designs import Workers, make_design
from semisvm.designs import disk_header as header
from semisvm.designs.disk_header import ArrayFact, Header, RowsError, array_head
from stored_rows import problem, stored


@pytest.fixture
def folder(tmp_path):
    X, y = problem(d=5000, density=0.002)
    stored(tmp_path, X, y)
    return tmp_path / "a.rows"


def edited(folder, **entries):
    """Change the header, with its checksum."""
    path = folder / "header.json"
    document = json.loads(path.read_text())
    document.pop("sha256")
    document.update(entries)
    path.write_text(json.dumps({**document, "sha256": header.digest_of(document)}))


def overwritten(folder, name, at, values):
    with open(folder / f"{name}.npy", "r+b") as stream:
        stream.seek(header.HEAD_BYTES + at)
        stream.write(values.tobytes())


def test_a_header_that_was_changed(folder):
    path = folder / "header.json"
    path.write_text(path.read_text().replace("5000", "5001"))
    with pytest.raises(RowsError, match="checksum"):
        open_rows(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kind": 3}', "\xff", "9" * 5000])
def test_a_header_that_is_none(folder, text):
    (folder / "header.json").write_text(text, encoding="latin-1")
    with pytest.raises(RowsError, match=r"header\.json"):
        open_rows(folder)


def test_another_version(folder):
    edited(folder, version=2)
    with pytest.raises(RowsError, match="of version 2, and this semisvm reads version 1"):
        open_rows(folder)


NONSENSE = {
    "layout": "csc",
    "shape": [300, -1],
    "arrays": {},
    "classes": None,
    "unknown": 3,
}


@pytest.mark.parametrize("entry", NONSENSE)
def test_a_header_that_makes_no_sense(folder, entry):
    edited(folder, **{entry: NONSENSE[entry]})
    with pytest.raises(RowsError, match="makes no sense"):
        open_rows(folder)


@pytest.mark.parametrize("name", ["values", "indices", "indptr", "labels", "order"])
def test_arrays_that_are_cut_off_or_gone(folder, name):
    path = folder / f"{name}.npy"
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(RowsError, match=rf"{name}\.npy has .* bytes, but the header declares"):
        open_rows(folder)
    path.unlink()
    with pytest.raises(RowsError, match=rf"{name}\.npy cannot be read"):
        open_rows(folder)


DAMAGE = {
    "indices": (6, np.array([5000], dtype=np.uint16), "column out of range"),
    "indptr": (16, np.array([10**6], dtype=np.int64), "ends before it begins"),
    "values": (8, np.array([np.nan]), "NaN or infinity"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_entries_that_would_crash_compiled_code(folder, name):
    at, values, message = DAMAGE[name]
    overwritten(folder, name, at, values)
    R = open_rows(folder)
    with pytest.raises(ValueError, match=message):
        TransductiveSVC().fit(R, R.y)
    with pytest.raises(RowsError, match=f"{name}.npy is damaged: its checksum"):
        R.verify()


WAYS = {
    "all": lambda R: R[:],
    "some": lambda R: R[[1, 7, 3]],
    "mask": lambda R: R[np.arange(300) % 2 == 0],
    "take": lambda R: R.take(np.arange(300)),
    "load": lambda R: R.load(),
    "parts": lambda R: list(R.parts()),
    "split": lambda R: [part[:] for part in R.split(3)],
    "project": lambda R: R.project(np.ones(5000)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [2**40, 2**62, -(2**50), 10**6])
def test_rows_are_taken_only_where_they_are(folder, way, value):
    """Otherwise such an end asks for tebibytes, or for entries of another row."""
    for at in (1, 4, 8):
        overwritten(folder, "indptr", 8 * at, np.array([value], dtype=np.int64))
    with pytest.raises(RowsError, match=r"indptr\.npy is damaged"):
        WAYS[way](open_rows(folder))


@pytest.mark.parametrize("way", WAYS)
def test_columns_are_taken_only_where_they_are(folder, way):
    overwritten(folder, "indices", 0, np.full(1000, 5000, dtype=np.uint16))
    with pytest.raises(RowsError, match=r"indices\.npy is damaged: column out of range"):
        WAYS[way](open_rows(folder))


def test_a_header_of_more_rows_or_columns_than_the_arrays_can_have(folder):
    document = json.loads((folder / "header.json").read_text())
    arrays = {name: fact for name, fact in document["arrays"].items() if name != "order"}
    refused = pytest.raises(
        RowsError, match=r"declares .* rows and .* columns, but the arrays have"
    )
    edited(folder, shape=[300, 2**31 - 1], arrays=arrays)
    with refused:
        open_rows(folder)
    (folder / "values.npy").write_bytes(array_head("float64", (2**50, 0)))
    values = {"values": {**arrays["values"], "shape": [2**50, 0]}}
    edited(folder, shape=[2**50, 0], layout="dense", arrays=values, classes=None)
    with refused:
        open_rows(folder)


def test_labels_and_order_out_of_range(folder):
    overwritten(folder, "labels", 0, np.array([9], dtype=np.int32))
    with pytest.raises(RowsError, match=r"labels\.npy is damaged"):
        open_rows(folder).y  # noqa: B018
    overwritten(folder, "order", 0, np.array([1, 1], dtype=np.int64))
    with pytest.raises(RowsError, match=r"order\.npy is damaged"):
        open_rows(folder)


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bytes_are_found_or_harmless(folder, seed):
    """What opens and passes the check can be fitted."""
    rng = np.random.default_rng(seed)
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for _ in range(10):
            spoilt = bytearray(whole)
            spoilt[rng.integers(len(whole))] ^= 1 << rng.integers(8)
            path.write_bytes(spoilt)
            try:
                R = open_rows(folder)
                R.check()
                y = R.y
            except RowsError:
                continue
            with Workers(1) as workers:
                design = make_design(R, 1.0, workers)
                w = np.ones(design.n_weights)
                design.pull_back(
                    design.scores(w, design.all_rows, np.zeros(300)), design.all_rows, w
                )
            assert len(y) == 300
        path.write_bytes(whole)


def test_other_paths(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    for path, message in [
        (tmp_path / "a.csv", "this is a file, not a folder of rows"),
        (tmp_path / "none", "there is no such folder"),
        (tmp_path, "has no header.json"),
    ]:
        with pytest.raises(RowsError, match=re.escape(message)):
            open_rows(path)


def test_values_too_large_for_a_fit(tmp_path):
    X, y = problem()
    X.data[7] = 1e200
    R = stored(tmp_path, X, y)
    with pytest.raises(ValueError, match="too large"):
        TransductiveSVC().fit(R, y)


def test_more_than_2_to_the_31_entries(tmp_path):
    """The first row has 2**31 entries of a file with a hole, which are never read."""
    n = 2**31
    tail = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    arrays = {
        "indptr": np.array([0, n, n + 2, n + 3]),
        "indices": np.array([1, 2, 0], dtype=np.uint16),
        "values": tail,
    }
    facts = {}
    for name, array in arrays.items():
        length = len(array) if name == "indptr" else n + 3
        with open(tmp_path / f"{name}.npy", "wb") as stream:
            stream.write(array_head(array.dtype, (length,)))
            stream.seek((length - len(array)) * array.itemsize, os.SEEK_CUR)
            stream.write(array.tobytes())
        facts[name] = ArrayFact(array.dtype.name, [length], 0)
    (tmp_path / "header.json").write_text(Header("csr", [3, 3], facts).text())
    R = open_rows(tmp_path)
    assert R.nnz == n + 3
    assert R[1:].toarray().tolist() == [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]
    assert R[[2, 1]].toarray().tolist() == [[3.0, 0.0, 0.0], [0.0, 1.0, 2.0]]
    with Workers(2) as workers:
        design = make_design(R, 1.0, workers)
        out = design.scores(np.array([1.0, 10, 100, 0]), design.rows([1, 2]), np.zeros(3))
    assert out.tolist() == [0.0, 210.0, 3.0]
