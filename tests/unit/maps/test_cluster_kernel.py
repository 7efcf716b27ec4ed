"""The bagged cluster kernel."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

import semisvm
from problems import hide, short_texts, sparse_text, two_blobs
from semisvm import ClusterKernelSVC
from semisvm.maps.ensembles import (
    agreement,
    assign,
    distinct_rows,
    fit_clusters,
    variances_of,
)
from semisvm.persistence import ModelFileError
from semisvm.persistence.archive import Budget
from semisvm.persistence.map_states import map_state, restore_map


def fitted_map(X, **changes):
    settings = {"n_clusters": 4, "n_runs": 7, "random_state": 0, "n_components": None, "tol": 0.0}
    return fit_clusters(X, "rbf", **{**settings, "gamma": 0.5, **changes})


def test_features_have_the_product_of_the_kernels():
    X, _ = two_blobs(40, 3)
    found, features = fitted_map(X)
    codes = assign(X, found.centres, found.variances)
    same = np.mean(codes[:, None] == codes[None], axis=2)
    np.testing.assert_allclose(agreement(codes, codes), same, atol=1e-15)
    np.testing.assert_allclose(features @ features.T, same * rbf_kernel(X, gamma=0.5), atol=1e-9)
    np.testing.assert_allclose(found.transform(X), features, atol=1e-6)


def test_rows_belong_to_the_centre_that_is_nearest_without_its_variance():
    X, _ = two_blobs(30, 2)
    found, _ = fitted_map(X)
    squares = np.sum((X[:, None, None] - found.centres[None]) ** 2, axis=3)
    codes = assign(X, found.centres, found.variances)
    assert (found.variances > 0.0).all()
    np.testing.assert_array_equal(codes, (squares - found.variances).argmin(axis=2))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_variances_are_those_of_the_centres(kind):
    """On average over many draws of rows, the squared distance of a mean from its expectation."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [4, 10, 26])
    found, errors = [], []
    for _ in range(200):
        X = rng.standard_normal((40, 60))
        centres = np.array([X[labels == c].mean(axis=0) for c in range(3)])
        found.append(variances_of(kind(X), labels, centres))
        errors.append(np.sum(centres**2, axis=1))
    # those of a small cluster are a little too small, because no variance is above the average
    np.testing.assert_allclose(np.mean(found, axis=0), np.mean(errors, axis=0), rtol=0.15)


def test_a_wide_cluster_of_few_rows_takes_none_from_a_narrow_one():
    rng = np.random.default_rng(0)
    narrow, wide = 0.1 * rng.standard_normal((200, 20)), 3.0 * rng.standard_normal((4, 20))
    wide += 5.0 * np.eye(20)[0] - wide.mean(axis=0)
    X, labels = np.concatenate([narrow, wide]), np.repeat([0, 1], [200, 4])
    centres = np.array([X[labels == c].mean(axis=0) for c in (0, 1)])
    variances = variances_of(X, labels, centres)
    # its own variance is larger than its distance from the narrow one
    assert np.var(wide, axis=0, ddof=1).sum() / 4 > np.sum((centres[0] - centres[1]) ** 2)
    codes = assign(narrow, centres[None], variances[None])
    assert not codes.any()


def test_clusters_without_a_variance():
    """One row, or rows that are equal."""
    X = np.array([[0.0, 1.0], [2.0, 2.0], [2.0, 2.0]])
    variances = variances_of(X, np.array([0, 1, 1]), np.array([[0.0, 1.0], [2.0, 2.0]]))
    assert variances.tolist() == [0.0, 0.0]


def test_new_rows_spread_over_the_clusters_like_those_of_the_fit():
    """By distance alone the largest cluster had 50% of the rows of the fit and 60% of new ones."""
    X, _ = short_texts(1100, n_words=6000, seed=0)
    found, _ = fitted_map(X[:500], n_clusters=10, n_runs=20)
    largest = []
    for rows in (X[:500], X[500:]):
        codes = assign(rows, found.centres, found.variances)
        largest.append(np.mean([np.bincount(run).max() / len(run) for run in codes.T]))
    assert largest[0] == pytest.approx(largest[1], abs=0.06)


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
    with pytest.raises(ModelFileError, match="3 runs, not 4"):
        restore_map(state, {**arrays, "variances": arrays["variances"][1:]}, Budget.of(0))


def test_files_of_earlier_versions_have_no_variances():
    X, y = two_blobs(40, 3)
    model = ClusterKernelSVC(n_runs=4).fit(X, hide(y, 8))
    state, arrays = map_state(model.kernel_map_)
    del arrays["variances"]
    found = restore_map(state, arrays, Budget.of(0))
    squares = np.sum((X[:, None, None] - found.centres[None]) ** 2, axis=3)
    codes = assign(X, found.centres, found.variances)
    np.testing.assert_array_equal(codes, squares.argmin(axis=2))


@pytest.mark.parametrize(
    "wrong", [{"n_clusters": 0}, {"n_runs": 0}, {"n_components": 0}, {"kernel": "precomputed"}]
)
def test_parameters_that_make_no_sense(wrong):
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ClusterKernelSVC(**wrong).fit(X, y)
