"""k-median: distances, medians, empty clusters, and agreement of sparse and dense."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import sparse_text, two_blobs
from semisvm import KMedian
from semisvm.maps import kmedian as module
from semisvm.maps.kmedian import (
    Clustering,
    cluster,
    descend,
    distances,
    fill_empty,
    median,
    nearest,
    seeds,
)


def rng(seed=0):
    return np.random.RandomState(seed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_are_those_of_scipy(dtype):
    X, centers = rng().randn(30, 5).astype(dtype), rng(1).randn(4, 5)
    X[rng(2).rand(30, 5) < 0.5] = 0.0
    expected = cdist(X, centers, "cityblock")
    np.testing.assert_allclose(distances(X, centers), expected, rtol=1e-12)
    np.testing.assert_allclose(distances(sparse.csr_matrix(X), centers), expected, rtol=1e-6)


def test_nearest_works_in_blocks(monkeypatch):
    X, centers = rng().randn(50, 3), rng(1).randn(7, 3)
    whole = nearest(X, centers)
    monkeypatch.setattr(module, "BLOCK", 20)
    for a, b in zip(whole, nearest(X, centers), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(whole[0], cdist(X, centers, "cityblock").argmin(axis=1))


def test_rows_keep_a_centre_that_is_as_near_as_another():
    X, centers = np.array([[0.0], [2.0]]), np.array([[-1.0], [1.0], [1.0]])
    assert nearest(X, centers)[0].tolist() == [0, 1]
    assert nearest(X, centers, np.array([1, 2]))[0].tolist() == [1, 2]
    assert nearest(X, centers, np.array([1, 0]))[0].tolist() == [1, 1]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_medians_of_sparse_columns(n):
    X = np.round(rng(n).randn(n, 40), 1) * (rng(n + 1).rand(n, 40) < np.linspace(0, 1, 40))
    expected = np.median(X, axis=0)
    np.testing.assert_allclose(median(X), expected)
    np.testing.assert_allclose(median(sparse.csr_matrix(X)), expected)


def test_no_matrix_of_the_size_of_the_data_is_made(monkeypatch):
    X, _ = sparse_text(60, 300)
    made = []
    original = sparse.csr_matrix.toarray

    def watched(self, *args, **kwargs):
        made.append(self.shape[0] * self.shape[1])
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_matrix, "toarray", watched)
    KMedian(4, n_init=1, random_state=0).fit(X)
    assert made
    assert max(made) < 60 * 300 / 4


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_sparse_and_dense_find_the_same(kind):
    X, _ = two_blobs(100, 4, gap=6)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = KMedian(5, random_state=0).fit(kind(X))
    expected = KMedian(5, random_state=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.transform(kind(X)), expected.transform(X))
    assert model.score(kind(X)) == pytest.approx(-expected.inertia_)


def test_duplicate_entries_are_added_and_the_matrix_left_alone():
    X = sparse.csr_matrix((np.ones(4), np.array([0, 0, 1, 0]), np.array([0, 2, 3, 4])), (3, 2))
    model = KMedian(3, random_state=0).fit(X)
    assert sorted(model.cluster_centers_.tolist()) == [[0, 1], [1, 0], [2, 0]]
    assert X.nnz == 4


def test_empty_clusters_get_the_farthest_rows():
    found = Clustering(
        np.zeros((4, 1)), np.array([0, 0, 0, 1]), np.array([1.0, 5.0, 3.0, 9.0]), n_fixed=0
    )
    fill_empty(found)
    # the last row is farthest, but alone in its cluster
    assert found.labels.tolist() == [0, 2, 3, 1]
    found = Clustering(np.zeros((2, 1)), np.zeros(3, dtype=int), np.zeros(3))
    fill_empty(found)
    assert found.labels.tolist() == [0, 0, 0]


def test_no_cluster_is_left_empty():
    X = rng().randn(40, 2)
    far = np.full((5, 2), 1e3)
    found = descend(X, np.vstack([X[:1], far]), 0, 300)
    assert found.converged
    assert found.sizes().min() > 0


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 6, axis=0)
    with pytest.warns(ConvergenceWarning, match="found 2 clusters instead of n_clusters=3"):
        model = KMedian(3, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert len(np.unique(model.labels_)) == 2


def test_too_few_steps_are_reported():
    X = rng().randn(200, 3)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        KMedian(20, n_init=1, max_iter=1, random_state=0).fit(X)


def test_fixed_rows_stay_centres():
    X, _ = two_blobs(80, 3)
    fixed = np.array([7, 3])
    found = cluster(X, 4, rng(), fixed=fixed)
    np.testing.assert_array_equal(found.centers[:2], X[fixed])
    assert found.labels[fixed].tolist() == [0, 1]
    free = [np.median(X[found.labels == c], axis=0) for c in range(2, 6)]
    np.testing.assert_allclose(found.centers[2:], free)
    assert found.objective < cluster(X, 1, rng(), fixed=fixed).objective


def test_seeds_avoid_rows_where_a_centre_is():
    X = np.repeat([[0.0], [10.0], [20.0]], [50, 1, 1], axis=0)
    for seed in range(10):
        assert sorted(seeds(X, 3, rng(seed), np.empty(0, int)).ravel().tolist()) == [0, 10, 20]


def test_more_descents_are_not_worse():
    X = rng().randn(150, 4)
    one, many = (KMedian(15, n_init=n, random_state=0).fit(X).inertia_ for n in (1, 8))
    assert many <= one


@pytest.mark.parametrize("name", ["n_clusters", "n_init", "max_iter"])
def test_wrong_parameters(name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number >= 1, got 0"):
        KMedian(**{name: 0}).fit(np.eye(9))


def test_wrong_data():
    with pytest.raises(ValueError, match="n_clusters=8 is more than the number of rows"):
        KMedian().fit(np.eye(3))
    with pytest.raises(ValueError, match="row 1, column 0"):
        KMedian(2).fit([[0.0], [np.nan]])
    with pytest.raises(ValueError, match="too large: row 0"):
        KMedian(2, random_state=0).fit(1e308 * rng().randn(9, 3).clip(-1, 1))


def test_names_trace_and_pipeline():
    X, _ = two_blobs(60, 3)
    model = KMedian(2, random_state=0).fit(X)
    assert model.get_feature_names_out().tolist() == ["kmedian0", "kmedian1"]
    assert len(model.trace_) == model.n_iter_
    assert model.trace_["objective"][-1] == pytest.approx(model.inertia_)
    assert model.trace_["moved"][-1] == 0
    assert make_pipeline(StandardScaler(), KMedian(2)).fit_transform(X).shape == (60, 2)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
