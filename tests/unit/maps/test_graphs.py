"""Graphs of neighbours and their Laplacians."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise_distances

from problems import sparse_text
from semisvm.maps import (
    Roughness,
    fit_neighbors,
    neighbor_graph,
    normalized_laplacian,
    similarities,
    undirected,
)


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def directed(X, k):
    return neighbor_graph(fit_neighbors(X, k))


def test_graph_joins_the_nearest_rows():
    X, k = rows(), 4
    distances = pairwise_distances(X)
    np.fill_diagonal(distances, np.inf)
    graph = directed(X, k).toarray()
    for i, row in enumerate(distances):
        nearest = np.argsort(row)[:k]
        assert set(np.flatnonzero(graph[i])) == set(nearest)
        np.testing.assert_allclose(graph[i, nearest], row[nearest])


def test_laplacian_by_its_definition():
    X = rows()
    W = similarities(directed(X, 5)).toarray()
    np.testing.assert_array_equal(W, W.T)
    D = np.diag(W.sum(axis=1) ** -0.5)
    L = normalized_laplacian(directed(X, 5)).toarray()
    np.testing.assert_allclose(L, np.eye(len(X)) - D @ W @ D, atol=1e-14)
    f, scaled = rows(d=1).ravel(), rows(d=1).ravel() * W.sum(axis=1) ** -0.5
    total = 0.5 * np.sum(W * (scaled[:, None] - scaled) ** 2)
    assert f @ L @ f == pytest.approx(total)


@given(seed=st.integers(0, 1000), n=st.integers(2, 30), k=st.integers(1, 40))
def test_eigenvalues_are_between_zero_and_two(seed, n, k):
    L = normalized_laplacian(directed(rows(n, seed=seed), k)).toarray()
    values = np.linalg.eigvalsh(L)
    assert values[0] == pytest.approx(0.0, abs=1e-12)
    assert values[-1] <= 2.0 + 1e-12


def test_weights_do_not_depend_on_the_scale_or_the_order_of_rows():
    X = rows()
    order = np.random.default_rng(1).permutation(len(X))
    L = normalized_laplacian(directed(X, 4)).toarray()
    scaled = normalized_laplacian(directed(1e3 * X, 4)).toarray()
    np.testing.assert_allclose(scaled, L, atol=1e-9)
    other = normalized_laplacian(directed(X[order], 4)).toarray()
    np.testing.assert_allclose(other, L[np.ix_(order, order)], atol=1e-12)


def test_sparse_rows_have_the_graph_of_dense_ones():
    X, _ = sparse_text(60, 50)
    thin, full = directed(X, 5), directed(X.toarray(), 5)
    np.testing.assert_allclose(thin.toarray(), full.toarray(), atol=1e-7)


def test_rows_at_the_same_place_stay_joined():
    X = np.repeat(rows(10), 3, axis=0)
    graph = undirected(directed(X, 2))
    assert np.all(graph.data > 0)
    for i in range(0, 30, 3):
        assert graph[i, i + 1] > 0
        assert graph[i, i + 1] < 1e-6 * graph.data.max() or graph.data.max() < 1e-6
    same = normalized_laplacian(directed(np.ones((6, 2)), 2))
    assert np.isfinite(same.toarray()).all()


def test_lonely_rows_and_more_neighbours_than_rows():
    X = np.vstack([rows(20), [[1e6, 1e6, 1e6]]])
    L = normalized_laplacian(directed(X, 3))
    assert np.isfinite(L.data).all()
    assert directed(rows(4), 50).nnz == 12


@pytest.mark.parametrize("power", [1, 2, 3])
def test_slopes_are_the_derivative_of_the_roughness(power):
    L = normalized_laplacian(directed(rows(), 4))
    form = Roughness(L, power, 0.7)
    f, g = rows(d=2).T
    dense = np.linalg.matrix_power(L.toarray(), power)
    np.testing.assert_allclose(form.slopes(f), 0.7 * dense @ f, atol=1e-13)
    value = lambda t: 0.35 * (f + t * g) @ dense @ (f + t * g)  # noqa: E731
    slope = (value(1e-4) - value(-1e-4)) / 2e-4
    assert g @ form.slopes(f) == pytest.approx(slope, rel=1e-6)
    both = form.slopes(np.column_stack([f, g]))
    np.testing.assert_allclose(both[:, 0], form.slopes(f))
    assert sparse.issparse(L)
