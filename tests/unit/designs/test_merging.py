"""Columns that a single row has, merged into one per row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from problems import hide, sparse_text
from semisvm import AnnealedSVC, NewtonSVC, OneNormSVC, TransductiveSVC
from semisvm.designs import CsrDesign, Workers, csr

BIAS = 0.7


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    monkeypatch.setattr(csr, "RENUMBER_MIN_COLUMNS", 1)
    monkeypatch.setattr(csr, "RENUMBER_MIN_ENTRIES", 0)


def with_rare_words(X, each=3, seed=0):
    """Rows with a few words more that no other row has, at random places."""
    n, rng = X.shape[0], np.random.default_rng(seed)
    rare = sparse.csr_matrix(
        (rng.standard_normal(n * each), (np.repeat(np.arange(n), each), np.arange(n * each))),
        (n, n * each),
    )
    both = sparse.hstack([X, rare]).tocsr()
    return both[:, rng.permutation(both.shape[1])].tocsr()


def designs(X, dtype=np.float64):
    X = X.astype(dtype)
    return CsrDesign(X, BIAS, Workers(), merge=True), CsrDesign(X, BIAS, Workers())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_products_and_scores_stay_the_same(dtype, indices):
    X = with_rare_words(sparse_text(40, 80)[0])
    X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
    merged, plain = designs(X, dtype)
    rows, tol = merged.all_rows, {"rtol": 1e-12 if dtype == np.float64 else 1e-6, "atol": 1e-12}
    # those of a row, three or more, became one
    n_single = np.count_nonzero(np.diff(X.tocsc().indptr) == 1)
    assert n_single >= 3 * 40
    assert plain.n_weights - merged.n_weights == n_single - 40
    assert merged.n_columns == plain.n_columns
    np.testing.assert_allclose(merged.gram(rows), plain.gram(plain.all_rows), **tol)
    w = np.random.default_rng(1).standard_normal(merged.n_weights)
    coef, intercept = merged.decode(w)
    expected = X.astype(np.float64) @ coef + intercept
    # exact for rounded values too: scores of a fit are those of its coefficients
    np.testing.assert_allclose(merged.scores(w, rows, np.empty(40)), expected, atol=1e-6)
    assert coef @ coef == pytest.approx(w[:-1] @ w[:-1], rel=1e-6)
    np.testing.assert_allclose(merged.encode(coef, intercept), w, rtol=1e-6)


def test_columns_that_no_row_has_are_left_out():
    X = with_rare_words(sparse_text(40, 80)[0])
    merged, plain = designs(X)
    coef = np.random.default_rng(1).standard_normal(X.shape[1])
    w = merged.encode(coef, 0.3)
    scores = merged.scores(w, merged.all_rows, np.empty(40))
    np.testing.assert_allclose(scores, X @ coef + 0.3, rtol=1e-10)
    assert w @ w < plain.encode(coef, 0.3) @ plain.encode(coef, 0.3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), density=st.floats(0.01, 0.3), n=st.integers(1, 12))
def test_any_sparse_rows(seed, density, n):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, 60, density, "csr", random_state=seed)
    X.data = rng.choice([-2.0, 0.0, 0.5, 1e-170], len(X.data))
    merged, plain = designs(X)
    np.testing.assert_allclose(
        merged.gram(merged.all_rows), plain.gram(plain.all_rows), rtol=1e-12, atol=1e-300
    )
    w = rng.standard_normal(merged.n_weights)
    coef, intercept = merged.decode(w)
    assert np.isfinite(coef).all()
    scores = merged.scores(w, merged.all_rows, np.empty(n))
    np.testing.assert_allclose(scores, X @ coef + intercept, rtol=1e-10, atol=1e-12)


def test_only_where_it_saves_columns():
    X = sparse_text(40, 80)[0]
    counts = np.diff(X.tocsc().indptr)
    alone = np.flatnonzero(counts == 1)
    several = X[:, np.setdiff1d(np.arange(80), alone)]
    merged, plain = designs(several)
    assert merged.n_weights == plain.n_weights
    # one rare word a row: nothing to merge
    merged, plain = designs(with_rare_words(several, 1))
    assert merged.n_weights == plain.n_weights


def test_large_values_are_not_copied(monkeypatch):
    X = with_rare_words(sparse_text(40, 80)[0])
    monkeypatch.setattr(csr, "RENUMBER_MAX_BYTES", X.data.nbytes - 1)
    merged, plain = designs(X)
    assert merged.n_weights == plain.n_weights


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", [TransductiveSVC, AnnealedSVC, NewtonSVC])
def test_a_fit_is_the_same(n_classes, method, monkeypatch):
    X, y = sparse_text(300, 200)
    X, y = with_rare_words(X * 3.0), (y + np.arange(300) % 2 if n_classes == 3 else y)
    labels = hide(y, 30)
    prior = {} if method is NewtonSVC else {"class_prior": np.full(n_classes, 1 / n_classes)}
    found = method(tol=1e-9, **prior).fit(X, labels)
    monkeypatch.setattr(csr, "MERGED_SHARE", 2.0)
    plain = method(tol=1e-9, **prior).fit(X, labels)
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=2e-3 * abs(plain.coef_).max())
    np.testing.assert_array_equal(found.predict(X), plain.predict(X))


def test_programs_with_the_one_norm_keep_their_columns(monkeypatch):
    X, y = sparse_text(60, 50)
    X, labels = with_rare_words(X), hide(y, 20)
    found = OneNormSVC().fit(X, labels)
    monkeypatch.setattr(csr, "MERGED_SHARE", 2.0)
    np.testing.assert_allclose(found.coef_, OneNormSVC().fit(X, labels).coef_, atol=1e-9)


def test_a_warm_start_goes_on_from_the_last_weights():
    X, y = sparse_text(300, 200)
    X, labels = with_rare_words(X), hide(y, 30)
    model = TransductiveSVC(class_prior=[0.5, 0.5], warm_start=True, tol=1e-7).fit(X, labels)
    objective = model.objective_
    model.fit(X, labels)
    assert model.objective_ <= objective * (1 + 1e-6)
    assert model.trace_["cg_steps"].sum() <= 20
