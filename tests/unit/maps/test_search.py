"""The nearest rows by products in single precision, checked in double."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semisvm.designs import Workers
from semisvm.maps import fit_neighbors, neighbor_graph
from semisvm.maps import neighbors as search
from semisvm.maps.neighbors import nearest_rows


def by_differences(X, k):
    """List the k nearest other rows, equally near ones by number."""
    squares = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    index = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squares, index, axis=1)), index


def check(X, k, workers=None):
    distances, index = nearest_rows(X, k, workers or Workers())
    expected, positions = by_differences(X, k)
    np.testing.assert_array_equal(index, positions)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)


@given(seed=st.integers(0, 1000), n=st.integers(2, 60), k=st.integers(1, 12))
def test_nearest_rows_are_those_by_differences(seed, n, k):
    rng = np.random.default_rng(seed)
    check(rng.standard_normal((n, 20)) * 10.0 ** rng.integers(-150, 150), min(k, n - 1))


def test_equally_near_rows_are_listed_by_number(monkeypatch):
    monkeypatch.setattr(search, "TILE", 16)
    X = np.random.default_rng(0).integers(0, 2, (90, 6)).astype(np.float64)
    _, index = nearest_rows(X, 5, Workers())
    squares = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    for i, row in enumerate(squares):
        assert row[index[i]].tolist() == np.sort(row)[:5].tolist()
        assert index[i].tolist() == sorted(index[i], key=lambda j: (row[j], j))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_tiles_and_threads_do_not_matter(n_threads, monkeypatch):
    monkeypatch.setattr(search, "TILE", 16)
    with Workers(n_threads) as workers:
        check(np.random.default_rng(0).standard_normal((100, 30)), 4, workers)


def test_distances_equal_in_single_precision_are_searched_in_double():
    rng = np.random.default_rng(0)
    X = 1.0 + 1e-6 * rng.standard_normal((80, 20))
    check(X, 3)
    X = rng.standard_normal((80, 20))
    X[7] *= 1e9
    check(X, 3)


def test_the_graph_is_the_one_of_a_tree(monkeypatch):
    X = np.random.default_rng(0).standard_normal((60, 5))
    by_tree = neighbor_graph(fit_neighbors(X, 4)).toarray()
    monkeypatch.setattr("semisvm.maps.neighbors.TREES", 1)
    by_products = neighbor_graph(fit_neighbors(X, 4), n_jobs=2).toarray()
    np.testing.assert_allclose(by_products, by_tree, rtol=1e-12)


@pytest.mark.parametrize("d", [3, 40])
def test_sparse_rows_without_zeros_are_searched_as_an_array(d):
    X = np.random.default_rng(0).standard_normal((60, d))
    found, dense = fit_neighbors(sparse.csr_matrix(X), 4), fit_neighbors(X, 4)
    assert isinstance(found.rows, np.ndarray)
    np.testing.assert_array_equal(neighbor_graph(found).toarray(), neighbor_graph(dense).toarray())
    new = np.random.default_rng(1).standard_normal((9, d))
    for ours, theirs in zip(
        found.kneighbors(sparse.csr_matrix(new)), dense.kneighbors(new), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_with_many_zeros_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((60, 40)) * (rng.random((60, 40)) < 0.3))
    assert sparse.issparse(fit_neighbors(X, 4).rows)
