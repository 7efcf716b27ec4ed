"""Rows on the disk are the same matrix as in memory, and damage to them is found."""

import itertools
import json
import os
import pickle
import re

import numpy as np
import pytest
from scipy import sparse

from semisvm import (
    AnnealedSVC,
    AnnealedSVCCV,
    LaplacianSVC,
    NewtonSVC,
    RowsOnDisk,
    SemiSupervisedCommittee,
    TransductiveSVC,
    TransductiveSVCCV,
    open_rows,
    write_rows,
)
from semisvm.designs import Workers, make_design
from semisvm.methods.shares import shrunk_fractions
from semisvm.model_selection import PartialLabelKFold, choose, estimate_prior
from semisvm.model_selection.crossfit import cross_fitted_scores
from semisvm.ondisk import arrays, header, opened
from semisvm.ondisk.header import ArrayFact, Header, RowsError, array_head


def problem(n=300, d=40, m=2, density=0.2, seed=0):
    """Sparse rows of m classes, of which 40 have labels."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density, format="csr", random_state=seed)
    X.data -= 0.4
    y = np.asarray(X @ rng.normal(size=(d, m))).argmax(axis=1)
    y[40:] = -1
    return X, y


def stored(folder, X, y=None, **options):
    write_rows(folder / "a.rows", X, y, **options)
    return open_rows(folder / "a.rows")


def same(A, B):
    if sparse.issparse(A):
        return A.shape == B.shape and A.dtype == B.dtype and (A != B).nnz == 0
    return A.dtype == B.dtype and np.array_equal(A, B)


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


ESTIMATORS = {
    "tsvm": TransductiveSVC(),
    "tsvm log": TransductiveSVC(loss="log"),
    "tsvm hinge": TransductiveSVC(loss="hinge"),
    "estimate": TransductiveSVC(class_prior="estimate"),
    "da": AnnealedSVC(),
    "svm": NewtonSVC(),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_are_those_in_memory_bit_for_bit(tmp_path, name):
    X, y = problem()
    R = stored(tmp_path, X, y)
    estimator = ESTIMATORS[name]
    a = estimator.fit(X, y)
    coef, found, scores = a.coef_, a.transduction_, a.decision_function(X)
    b = estimator.fit(R, R.y)
    assert np.array_equal(b.coef_, coef)
    assert np.array_equal(b.transduction_, found)
    assert np.array_equal(b.decision_function(R), scores)
    assert b.n_features_in_ == 40


@pytest.mark.parametrize("estimator", [TransductiveSVC(), AnnealedSVC()], ids=["tsvm", "da"])
@pytest.mark.parametrize("kind", ["dense", "many classes", "renumbered", "single"])
def test_fits_of_other_data(tmp_path, estimator, kind):
    X, y = problem(m=3 if kind == "many classes" else 2, d=5000 if kind == "renumbered" else 40)
    X = X.toarray() if kind == "dense" else X.astype(np.float32) if kind == "single" else X
    R = stored(tmp_path, X, y)
    coef = estimator.fit(X, y).coef_
    model = estimator.fit(R, R.y)
    assert np.allclose(model.coef_, coef, rtol=1e-6, atol=1e-8)
    assert np.array_equal(model.predict(R), model.predict(X))


def test_designs_make_no_copy(tmp_path):
    X, _ = problem(d=5000, density=0.002)
    R = stored(tmp_path, X)
    with Workers(2) as workers:
        design = make_design(R, 1.0, workers)
    assert all(
        np.shares_memory(a, b)
        for a, b in zip(design._arrays, (R.indptr, R.indices, R.values), strict=True)
    )


def test_warm_start_and_searches(tmp_path):
    X, y = problem()
    R = stored(tmp_path, X, y)
    model = TransductiveSVC(warm_start=True).fit(R, y).fit(R, y)
    assert np.allclose(model.coef_, TransductiveSVC().fit(X, y).coef_, atol=1e-3)
    cv = PartialLabelKFold(3)
    for search in (TransductiveSVCCV, AnnealedSVCCV):
        a, b = search(cv=cv).fit(X, y), search(cv=cv).fit(R, y)
        assert a.reg_ == b.reg_
        assert np.allclose(a.coef_, b.coef_)


def test_other_methods_load_small_rows_and_refuse_large_ones(tmp_path, monkeypatch):
    X, y = problem()
    R = stored(tmp_path, X, y)
    expected = LaplacianSVC().fit(X, y).transduction_
    assert np.array_equal(LaplacianSVC().fit(R, y).transduction_, expected)
    rbf = TransductiveSVC(kernel="rbf").fit(R, y)
    assert np.array_equal(rbf.predict(R), rbf.predict(X))
    monkeypatch.setattr(opened, "MOST_LOADED", 1000)
    for estimator in (LaplacianSVC(), TransductiveSVC(kernel="rbf")):
        with pytest.raises(ValueError, match=r"needs all rows in memory.*X\[:\]"):
            estimator.fit(R, y)
    assert np.array_equal(rbf.predict(R), rbf.predict(X))
    TransductiveSVC().fit(R, y)


@pytest.mark.parametrize("m", [2, 3])
def test_estimated_shares_are_those_in_memory(tmp_path, m):
    X, y = problem(n=7000, m=m)
    R = stored(tmp_path, X, y)
    assert np.array_equal(estimate_prior(R, y), estimate_prior(X, y))
    # with so many labels that their rows cannot be held, their fractions are the estimate
    counts = np.bincount(y[y >= 0], minlength=m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened, "MOST_LOADED", 1000)
        assert np.array_equal(estimate_prior(R, y), shrunk_fractions(counts)[0])


COMMITTEE = SemiSupervisedCommittee([("a", NewtonSVC()), ("b", TransductiveSVC())], weights=[1, 2])


@pytest.mark.parametrize("estimator", [TransductiveSVC(), NewtonSVC(), COMMITTEE])
def test_scores_of_held_out_rows(tmp_path, monkeypatch, estimator):
    X, y = problem(n=150)
    R = stored(tmp_path, X, y)
    cv = PartialLabelKFold(3)
    expected = cross_fitted_scores(estimator, X, y, cv)[0]
    monkeypatch.setattr(RowsOnDisk, "load", None)
    assert np.array_equal(cross_fitted_scores(estimator, R, y, cv)[0], expected)
    assert np.array_equal(estimator.fit(R, y).predict(R), estimator.fit(X, y).predict(X))


def test_a_choice_for_rows_that_cannot_be_loaded(tmp_path, monkeypatch):
    X, y = problem(n=150)
    R = stored(tmp_path, X, y)
    asked = {"time_limit": 60.0, "random_state": 1}
    found, expected = choose(R, y, **asked), choose(X, y, **asked)
    assert (found.method, found.members) == (expected.method, expected.members)
    monkeypatch.setattr(RowsOnDisk, "nbytes", opened.MOST_LOADED + 1)
    monkeypatch.setattr(RowsOnDisk, "_bytes_of", lambda self, index: 0)
    found = choose(R, y, **asked)
    assert any("too many for memory" in reason for reason in found.reasons)
    assert {member.method for member in found.members} <= {"svm", "tsvm", "da"}
    assert found.make().fit(R, y).predict(R).shape == y.shape


def test_the_number_of_columns_is_compared(tmp_path):
    X, y = problem()
    model = NewtonSVC().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(stored(tmp_path, X[:, :7].tocsr()))


def test_pickle_holds_the_path(tmp_path, monkeypatch):
    X, y = problem()
    monkeypatch.chdir(tmp_path)
    write_rows("a.rows", X, y)
    text = pickle.dumps(open_rows("a.rows"))
    assert len(text) < 500
    monkeypatch.chdir("/")
    assert same(pickle.loads(text)[:], X)


# damage


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
    # parts of parts, and what tells them apart
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
    with pytest.raises(
        RowsError, match=r"there are no rows 14[0-9] to 300: the folder has 20 rows"
    ):
        pickle.loads(part)


@pytest.fixture
def folder(tmp_path):
    X, y = problem(d=5000, density=0.002)
    stored(tmp_path, X, y)
    return tmp_path / "a.rows"


def edited(folder, **entries):
    """Change the header, with its checksum."""
    path = folder / "header.json"
    said = json.loads(path.read_text())
    said.pop("sha256")
    said.update(entries)
    path.write_text(json.dumps({**said, "sha256": header.digest_of(said)}))


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
    with pytest.raises(RowsError, match=rf"{name}\.npy has .* bytes, but the header says"):
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
