"""Rows on the disk are the same matrix as in memory."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

from semisvm import RowsOnDisk, TransductiveSVC, open_rows, write_rows
from semisvm.designs import disk as arrays
from semisvm.designs import disk as opened
from semisvm.designs.disk_header import RowsError
from stored_rows import problem, same, stored


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [40, 5000])
def test_the_matrix_comes_back(tmp_path, dense, dtype, d):
    X, y = problem(d=d, density=4 / d)
    X = X.astype(dtype)
    X = X.toarray() if dense else X
    R = stored(tmp_path, [X[:70], X[70:71], X[71:]], y)
    assert isinstance(R, RowsOnDisk)
    assert R.shape == X.shape
    assert R.dtype == dtype
    assert R.is_sparse == (not dense)
    assert np.array_equal(R.y, y)
    assert R.y.dtype == np.int64
    mask = np.arange(300) % 3 == 0
    for rows in (slice(None), slice(5, 90), slice(0, 0), slice(9, 2, -3), [3, -1, 3], mask):
        assert same(R[rows], X[rows])
    assert same(R[4], X[[4]])
    parts = list(R.parts())
    assert same(sparse.vstack(parts).tocsr() if not dense else np.concatenate(parts), X)
    R.check()
    R.verify()


@pytest.mark.parametrize("places", [1, 7, 100])
def test_rows_are_taken_in_pieces(tmp_path, monkeypatch, places):
    X, _ = problem()
    X = sparse.vstack([X, sparse.csr_matrix((3, 40)), X[:2]]).tocsr()
    R = stored(tmp_path, X)
    monkeypatch.setattr(arrays, "PLACES", places)
    for rows in ([], [300], [3, 301, 5, 5, 0, 304], np.arange(305)):
        assert same(R[rows], X[rows])


def test_spans_cover_all_rows_in_order(tmp_path, monkeypatch):
    X, _ = problem()
    X = sparse.vstack([X[:100], sparse.csr_matrix((100, 40)), X[200:]]).tocsr()
    R = stored(tmp_path, X)
    monkeypatch.setattr(opened, "SPAN_ROWS", 50)
    spans = list(R.spans(entries=64))
    assert spans[0][0] == 0
    assert spans[-1][1] == 300
    assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    most = max(X[a:b].nnz for a, b in spans if b - a > 1)
    assert most <= 64


def test_bad_rows_are_refused(tmp_path):
    R = stored(tmp_path, problem()[0])
    for rows in ([300], [-301], [0.5], np.ones(7, dtype=bool), (slice(None), [1])):
        with pytest.raises(IndexError):
            R[rows]


def test_frequent_columns_come_first_in_as_few_bytes_as_possible(tmp_path):
    X, _ = problem(d=5000, density=0.002)
    R = stored(tmp_path, X)
    counts = np.bincount(R.indices, minlength=5000)
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] > 1
    assert R.indices.dtype == np.uint16
    wide = stored(tmp_path, sparse.csr_matrix(([1.0], ([0], [70_000])), shape=(2, 70_001)))
    assert wide.indices.dtype == np.uint32
    assert wide[:].indices.tolist() == [70_000]


LABELS = {
    "numbers": ([3, 7, -1], [3, 7, -1]),
    "minus one is a class": ([-1, 1, None], [-1, 1, None]),
    "text": (["b", "a", None], ["b", "a", None]),
    "nan": ([1.5, 2.5, np.nan], [1.5, 2.5, None]),
    "bool": ([True, False, None], [True, False, None]),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back(tmp_path, name):
    given, expected = LABELS[name]
    y = np.array(given, dtype=object)
    R = stored(tmp_path, np.eye(3), y, unlabeled=-1 if name == "numbers" else None)
    assert R.y.tolist() == expected
    assert R.classes == sorted(v for v in expected if v is not None and v != -1) or -1 in R.classes


def test_no_labels(tmp_path):
    R = stored(tmp_path, np.eye(3))
    assert R.y is None
    assert R.labels() is None
    with pytest.raises(ValueError, match="target y is None"):
        TransductiveSVC().fit(R, R.y)


def test_pickle_holds_the_path(tmp_path, monkeypatch):
    X, y = problem()
    monkeypatch.chdir(tmp_path)
    write_rows("a.rows", X, y)
    text = pickle.dumps(open_rows("a.rows"))
    assert len(text) < 500
    monkeypatch.chdir("/")
    assert same(pickle.loads(text)[:], X)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_parts_are_the_rows_in_order(tmp_path, dense, n_parts):
    X, y = problem(d=5000, density=0.01)
    R = stored(tmp_path, X.toarray() if dense else X, y)
    parts = R.split(n_parts)
    assert len(parts) == n_parts
    whole = [part[:].toarray() if part.is_sparse else part[:] for part in parts]
    np.testing.assert_array_equal(np.concatenate(whole), X.toarray())
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)
    sizes = [part.nnz for part in parts]
    assert max(sizes) < 1.2 * R.nnz / n_parts + 5000
    last = pickle.loads(pickle.dumps(parts[-1]))
    assert last.shape == parts[-1].shape
    assert (last[:] != parts[-1][:]).sum() == 0
    last.verify()
    assert last.check() == np.abs(whole[-1]).max()
    # parts of parts, and what distinguishes them
    again = [piece for part in parts for piece in part.split(2)]
    assert sum(map(len, again)) == len(R)
    assert again[-1].facts_of_entries() != again[0].facts_of_entries() != R.facts_of_entries()


def test_parts_of_few_rows(tmp_path):
    X, y = problem(n=3)
    assert [len(part) for part in stored(tmp_path, X, y).split(10)] == [1, 1, 1]


def test_a_part_that_is_no_longer_there(tmp_path):
    X, y = problem()
    part = pickle.dumps(stored(tmp_path, X, y).split(2)[1])
    stored(tmp_path, X[:20], y[:20])
    with pytest.raises(RowsError, match=r"no rows 14[0-9] to 300: .* 20 rows"):
        pickle.loads(part)
