"""Sparse arrays that contradict each other, duplicates, and values that cannot be squared."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from problems import hide
from promises import EVERY_METHOD, quick
from semisvm import KMedian, NewtonSVC
from semisvm.designs.validation import LARGEST_SQUARE, read_rows
from semisvm.estimators import registry
from semisvm.model_selection import KMedianSelection


def blobs(n=40, seed=0):
    """Two classes far from each other; rows of length about one, with a few zeros."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = 2.0 * np.eye(2, 6)[y] + 0.3 * rng.standard_normal((n, 6))
    X[rng.random(X.shape) < 0.2] = 0.0
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def shuffled(X, seed=0):
    """Give the same rows with their entries in another order."""
    X, rng = X.copy(), np.random.default_rng(seed)
    for low, high in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        order = low + rng.permutation(high - low)
        X.indices[low:high], X.data[low:high] = X.indices[order], X.data[order]
    X.has_sorted_indices = X.has_canonical_format = False
    return X


def doubled(X):
    """Give the same rows with every entry stored in two halves."""
    data, indices = np.repeat(0.5 * X.data, 2), np.repeat(X.indices, 2)
    return sparse.csr_matrix((data, indices, 2 * X.indptr), shape=X.shape)


@EVERY_METHOD
def test_the_way_rows_are_stored_does_not_matter(method):
    dense, y = blobs()
    partly = hide(y, 12)
    X = sparse.csr_matrix(dense)
    expected = quick(method).fit(X, partly).decision_function(X)
    twice = doubled(X)
    before = [twice.data.copy(), twice.indices.copy(), twice.indptr.copy()]
    model = quick(method).fit(twice, partly)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.decision_function(twice), expected)
    for one, other in zip(before, (twice.data, twice.indices, twice.indptr), strict=True):
        np.testing.assert_array_equal(one, other)
    # another order of the sums, which the stopping rules of solvers may turn into more
    near = {"rtol": 0.02, "atol": 0.02 * np.abs(expected).max()}
    for rows in (shuffled(X), shuffled(doubled(X)), dense):
        scores = quick(method).fit(rows, partly).decision_function(rows)
        np.testing.assert_allclose(scores, expected, **near)


def broken(X):
    """Give CSR matrices with arrays that do not fit, and the words of the error."""
    changes = {
        "column index 6, but there are 6": {"indices": np.where(X.indices == 5, 6, X.indices)},
        "column index -1": {"indices": np.where(X.indices == 5, -1, X.indices)},
        "column index 2147483647": {"indices": np.where(X.indices == 5, 2**31 - 1, X.indices)},
        r"indptr\[0\] is 1": {"indptr": np.maximum(X.indptr, 1)},
        r"never fall, but indptr\[3\]": {"indptr": np.where(np.arange(41) == 2, 30, X.indptr)},
        "41 entries": {"indptr": X.indptr[:-3]},
        "of which indptr uses": {"indptr": np.append(X.indptr[:-1], 10**6)},
        "column indices and": {"indices": X.indices[:-5]},
    }
    for words, change in changes.items():
        made = X.copy()
        for name, array in change.items():
            setattr(made, name, array.astype(np.int32))
        yield words, made


@EVERY_METHOD
def test_unsound_sparse_arrays_are_refused(method):
    dense, y = blobs()
    X = sparse.csr_matrix(dense)
    model = quick(method).fit(X, hide(y, 12))
    for words, rows in broken(X):
        with pytest.raises(ValueError, match=words):
            quick(method).fit(rows, hide(y, 12))
        with pytest.raises(ValueError, match=words):
            model.predict(rows)


@pytest.mark.parametrize("form", ["csc", "coo", "bsr"])
def test_other_formats_are_checked_before_they_are_converted(form):
    X = sparse.csr_matrix(blobs()[0]).asformat(form)
    index = X.coords[0] if form == "coo" else X.indices
    index[3] = 1000
    with pytest.raises(ValueError, match="index 1000"):
        read_rows(X)


def test_clusters_and_selections_read_rows_the_same_way():
    for words, rows in broken(sparse.csr_matrix(blobs()[0])):
        for call in (KMedian(2).fit, lambda rows: KMedianSelection().select(rows, 2)):
            with pytest.raises(ValueError, match=words):
                call(rows)


def test_arrays_may_be_longer_than_what_they_hold():
    X = sparse.csr_matrix(blobs()[0])
    longer = X.copy()
    longer.data = np.append(X.data, [np.nan, 1e300])
    longer.indices = np.append(X.indices, [77, -7]).astype(np.int32)
    np.testing.assert_array_equal(read_rows(longer).toarray(), X.toarray())
    assert len(longer.data) == X.nnz + 2


def test_sound_rows_are_not_copied():
    X = sparse.csr_matrix(blobs()[0])
    for rows in (X, shuffled(X)):
        assert np.shares_memory(read_rows(rows).data, rows.data)
        assert np.shares_memory(read_rows(rows).indices, rows.indices)


@EVERY_METHOD
def test_values_that_cannot_be_squared_are_refused(method):
    X, y = blobs()
    partly = hide(y, 12)
    model = quick(method).fit(X, partly)
    for kind in (np.asarray, sparse.csr_matrix):
        for large in (1e76, 1e154, 1e200, 1e308):
            rows = X.copy()
            rows[7, 0] = large
            words = rf"row 7 has a value of 1e\+{round(np.log10(large))}, .*Scale the columns"
            with pytest.raises(ValueError, match=words):
                quick(method).fit(kind(rows), partly)
            with pytest.raises(ValueError, match=words):
                model.predict(kind(rows))


@EVERY_METHOD
def test_just_below_the_bound_a_model_is_finite_or_refused(method):
    X, y = blobs(20)
    X = 0.99 * LARGEST_SQUARE**0.5 * X
    # how long a fit may take on such rows is another matter
    steps = {"max_iter": 3} if "max_iter" in quick(method).get_params() else {}
    model, message = quick(method, **steps), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, hide(y, 6))
        except ValueError as error:
            message = str(error)
    if message:
        assert "scale the columns" in message.lower()
        return
    scores = model.decision_function(X)
    for numbers in (model.coef_, model.intercept_, model.objective_, scores):
        assert np.isfinite(numbers).all()


def test_the_bound_is_on_lengths_of_rows_not_on_values():
    X = np.full((3, 400), 0.9 * (LARGEST_SQUARE / 400) ** 0.5)
    read_rows(X)
    with pytest.raises(ValueError, match="3 of the rows exceed it"):
        read_rows(1.2 * X)
    X[:, 1:] = 0.0
    read_rows(15.0 * X)
    read_rows(sparse.csr_matrix(15.0 * X))


def test_single_precision_is_squared_in_double():
    X, y = blobs()
    largest = np.finfo(np.float32).max
    rows = read_rows((X * (0.9 * largest)).astype(np.float32))
    assert rows.dtype == np.float32
    for kind in (np.asarray, sparse.csr_matrix):
        for name in ("svm", "lapsvm"):
            model = registry.get(name).make(max_iter=3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = model.fit(kind(rows), hide(y, 12)).decision_function(kind(rows))
            assert np.isfinite(scores).all()


def wide(X):
    """Give the same rows with indices of 64 bits."""
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@EVERY_METHOD
def test_new_rows_may_be_of_another_kind(method):
    dense, y = blobs()
    thin, partly = sparse.csr_matrix(dense), hide(y, 12)
    for fitted in (dense, thin):
        model = quick(method).fit(fitted, partly)
        expected = model.decision_function(fitted)
        for rows in (dense, thin, sparse.csr_array(dense), wide(thin)):
            np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-6)


@EVERY_METHOD
def test_indices_may_have_64_bits(method):
    dense, y = blobs()
    thin, partly = sparse.csr_matrix(dense), hide(y, 12)
    expected = quick(method).fit(thin, partly).decision_function(thin)
    found = quick(method).fit(wide(thin), partly).decision_function(wide(thin))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "kernel", ["rbf", "poly", "laplacian", "cosine", lambda a, b: float(a @ b)]
)
def test_new_rows_of_another_kind_for_a_kernel(kernel):
    X, y = blobs()
    model = NewtonSVC(kernel=kernel).fit(X, hide(y, 12))
    scores = model.decision_function(sparse.csr_matrix(X))
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)


def test_new_rows_of_another_kind_for_a_kernel_matrix():
    X, y = blobs()
    model = NewtonSVC(kernel="precomputed").fit(X @ X.T, hide(y, 12))
    scores = model.decision_function(sparse.csr_matrix(X @ X.T))
    np.testing.assert_array_equal(scores, model.decision_function(X @ X.T))
