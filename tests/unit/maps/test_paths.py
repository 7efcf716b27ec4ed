import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise_distances

from problems import hide, sparse_text
from semisvm import GradientTSVC, LowDensitySeparation
from semisvm.maps.paths import fit_paths


def softened(X, rho):
    """Distances along paths on the full graph, by Floyd and Warshall."""
    d = pairwise_distances(X)
    unit = d[np.triu_indices(len(X), 1)].mean()
    sums = np.expm1(rho * d / unit)
    for k in range(len(X)):
        sums = np.minimum(sums, sums[:, k, None] + sums[k])
    return np.log1p(sums) / rho


@pytest.mark.parametrize("rho", [0.5, 4.0])
def test_distances_are_the_shortest_softened_paths(rho):
    X = np.random.default_rng(0).standard_normal((25, 3))
    found, _ = fit_paths(X, n_neighbors=24, rho=rho, share=0.0)
    np.testing.assert_allclose(np.log1p(found.lengths) / rho, softened(X, rho), atol=1e-9)


def test_features_have_the_distances_where_these_are_euclidean():
    X = np.arange(12.0)[:, None]
    found, features = fit_paths(X, n_neighbors=11, rho=1e-6, share=0.0)
    wanted = pairwise_distances(X)
    ratio = pairwise_distances(features)[~np.eye(12, dtype=bool)] / wanted[~np.eye(12, dtype=bool)]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
    assert np.mean(np.sum(features**2, axis=1)) == pytest.approx(1.0)
    assert found.rank == features.shape[1]


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_training_rows_find_their_own_features(kind):
    X, _ = sparse_text(80, 60) if kind == "sparse" else make_moons(80, noise=0.1, random_state=0)
    found, features = fit_paths(X, n_neighbors=7, rho=2.0, share=0.05)
    np.testing.assert_allclose(found.transform(X), features, atol=1e-6)


def test_parts_without_connection_are_joined():
    X = np.concatenate([np.random.default_rng(k).normal(20 * k, 1, (15, 2)) for k in range(3)])
    found, features = fit_paths(X, n_neighbors=3, rho=1.0, share=0.1)
    assert np.isfinite(found.lengths).all()
    assert np.isfinite(features).all()


def test_rows_at_one_place():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 3)), 2, axis=0)
    _, features = fit_paths(X, n_neighbors=5, rho=1.0, share=0.1)
    np.testing.assert_allclose(features[::2], features[1::2], atol=1e-4)
    with pytest.raises(ValueError, match="all rows of X are equal"):
        fit_paths(np.ones((6, 2)), n_neighbors=2, rho=1.0, share=0.1)


def test_moons_with_two_labels():
    X, y = make_moons(200, noise=0.05, random_state=3)
    new, truth = make_moons(60, noise=0.05, random_state=4)
    labels = hide(y, 2)
    model = LowDensitySeparation(n_neighbors=10, class_prior=[0.5, 0.5]).fit(X, labels)
    plain = GradientTSVC(class_prior=[0.5, 0.5]).fit(X, labels)
    assert model.score(X, y) > 0.97 > plain.score(X, y)
    assert model.score(new, truth) > 0.95


def test_sparse_and_dense_rows_agree():
    X, y = sparse_text(150, 80)
    labels = hide(y, 12)
    thin = LowDensitySeparation(n_neighbors=20).fit(X, labels)
    full = LowDensitySeparation(n_neighbors=20).fit(X.toarray(), labels)
    assert sparse.issparse(X)
    np.testing.assert_array_equal(thin.transduction_, full.transduction_)


@pytest.mark.parametrize("wrong", [{"n_neighbors": 0}, {"rho": 0}, {"share": 1.0}])
def test_parameters_that_make_no_sense(wrong):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LowDensitySeparation(**wrong).fit(X, y)


def test_outliers_overflow_nothing():
    X = np.append(np.random.default_rng(0).random(400), 1e3)[:, None]
    y = np.where(np.arange(401) % 20 == 0, X[:, 0] > 0.5, -1)
    new = [[2e3], [-1e9], [0.2], [0.9]]
    # one among the rows of the fit
    assert np.isfinite(LowDensitySeparation().fit(X, y).decision_function(new)).all()
    # and new ones alone
    model = LowDensitySeparation().fit(X[:400], y[:400])
    assert np.isfinite(model.decision_function(new)).all()
    assert model.predict(new)[2:].tolist() == [0, 1]
