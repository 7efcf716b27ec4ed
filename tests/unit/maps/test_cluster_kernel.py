"""The bagged cluster kernel."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

import semisvm
from problems import hide, sparse_text, two_blobs
from semisvm import ClusterKernelSVC
from semisvm.maps.ensembles import agreement, assign, distinct_rows, fit_clusters
from semisvm.persistence import ModelFileError
from semisvm.persistence.archive import Budget
from semisvm.persistence.maps import map_state, restore_map


def fitted_map(X, **changes):
    settings = {"n_clusters": 4, "n_runs": 7, "random_state": 0, "n_components": None, "tol": 0.0}
    return fit_clusters(X, "rbf", **{**settings, "gamma": 0.5, **changes})


def test_features_have_the_product_of_the_kernels():
    X, _ = two_blobs(40, 3)
    found, features = fitted_map(X)
    codes = assign(X, found.centres)
    same = np.mean(codes[:, None] == codes[None], axis=2)
    np.testing.assert_allclose(agreement(codes, codes), same, atol=1e-15)
    np.testing.assert_allclose(features @ features.T, same * rbf_kernel(X, gamma=0.5), atol=1e-9)
    np.testing.assert_allclose(found.transform(X), features, atol=1e-6)


def test_rows_belong_to_the_nearest_centre():
    X, _ = two_blobs(30, 2)
    found, _ = fitted_map(X)
    distances = np.linalg.norm(X[:, None, None] - found.centres[None], axis=3)
    np.testing.assert_array_equal(assign(X, found.centres), distances.argmin(axis=2))


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [5.0, 1.0]], 6, axis=0)
    assert distinct_rows(X, 10) == 3
    model = ClusterKernelSVC(n_runs=3).fit(X, np.repeat([0, 1, 1], 6))
    assert model.kernel_map_.centres.shape == (3, 3, 2)
    assert model.predict(X).tolist() == np.repeat([0, 1, 1], 6).tolist()


def test_clusters_help_where_they_are_classes():
    X, y = make_blobs(200, centers=2, n_features=30, cluster_std=4.0, random_state=0)
    labels = hide(y, 4)
    model = ClusterKernelSVC(n_clusters=2).fit(X, labels)
    assert np.mean(model.transduction_ == y) > 0.95
    new, truth = make_blobs(100, centers=2, n_features=30, cluster_std=4.0, random_state=0)
    assert model.score(new, truth) > 0.95


def test_fits_repeat_and_other_seeds_differ():
    X, y = two_blobs(60, 3)
    labels = hide(y, 8)
    first, again, other = (
        ClusterKernelSVC(random_state=k, n_runs=5).fit(X, labels).decision_function(X)
        for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sparse_and_dense_rows_agree():
    X, y = sparse_text(80, 40)
    labels = hide(y, 10)
    thin = ClusterKernelSVC(n_runs=5).fit(X, labels)
    full = ClusterKernelSVC(n_runs=5).fit(X.toarray(), labels)
    np.testing.assert_allclose(
        thin.decision_function(X), full.decision_function(X.toarray()), atol=1e-6
    )


def test_names_and_many_classes():
    X, y = make_blobs(90, centers=3, random_state=2)
    labels = np.array(["a", "b", "c"])[y].astype(object)
    labels[12:] = None
    model = ClusterKernelSVC(n_clusters=3, n_runs=5).fit(X, labels)
    assert np.mean(model.predict(X) == np.array(["a", "b", "c"])[y]) > 0.9


def test_files_with_clusters_that_do_not_fit_are_refused(tmp_path):
    X, y = two_blobs(40, 3)
    model = ClusterKernelSVC(n_runs=4).fit(X, hide(y, 8))
    semisvm.save(model, tmp_path / "m")
    state, arrays = map_state(model.kernel_map_)
    with pytest.raises(ModelFileError, match="3 runs, not 4"):
        restore_map(state, {**arrays, "codes": arrays["codes"][:, 1:]}, Budget.of(0))
    with pytest.raises(ModelFileError, match="2 columns, not 3"):
        restore_map(state, {**arrays, "centres": arrays["centres"][:, :, 1:]}, Budget.of(0))


@pytest.mark.parametrize(
    "wrong", [{"n_clusters": 0}, {"n_runs": 0}, {"n_components": 0}, {"kernel": "precomputed"}]
)
def test_parameters_that_make_no_sense(wrong):
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ClusterKernelSVC(**wrong).fit(X, y)
