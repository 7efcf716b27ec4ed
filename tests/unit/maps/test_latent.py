"""Latent directions: the leading singular vectors of all rows as features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from problems import hide, short_texts, two_blobs
from semisvm import (
    LaplacianRLSC,
    NewtonSVC,
    OneNormSVC,
    SemiSupervisedCommittee,
    TransductiveSVC,
    load,
    save,
)
from semisvm.maps.latent import SHORTEST, LatentMap, fit_latent, leading_directions


def decaying(n, d, seed=0):
    """Rows whose singular values halve from one to the next."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, 12)))[0] for size in (n, d))
    return (left * 0.5 ** np.arange(12)) @ right.T


@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (40, 40)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_directions_are_singular_vectors(shape, kind):
    X = decaying(*shape)
    found = leading_directions(kind(X), 5)
    vectors = np.linalg.svd(X)[2][:5].T
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(np.abs(found.T @ vectors), np.eye(5), atol=1e-6)
    assert (found[np.abs(found).argmax(axis=0), np.arange(5)] > 0.0).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 30), st.integers(1, 40))
def test_any_rows(seed, n, d, k):
    """Order, form and copies of the rows change nothing but rounding; the scale nothing at all."""
    rng = np.random.default_rng(seed)
    X = decaying(n, max(d, 12), seed)[:, :d] if min(n, d) >= 12 else rng.standard_normal((n, d))
    found, features = fit_latent(X, k)
    assert found.rank <= min(n, d, k)
    lengths = np.linalg.norm(features, axis=1)
    assert ((np.abs(lengths - 1.0) < 1e-6) | (lengths < 1.0)).all()
    expected = features @ features.T
    order = rng.permutation(n)
    if k >= min(n, d):  # all directions: no gap between singular values is needed
        for same in (sparse.csr_matrix(X), 2.0 * X):
            again = fit_latent(same, k)[1]
            np.testing.assert_allclose(again @ again.T, expected, atol=1e-7)
        again = fit_latent(X[order], k)[1]
        np.testing.assert_allclose(again @ again.T, expected[np.ix_(order, order)], atol=1e-7)
        twice = fit_latent(np.concatenate([X, X]), k)[1][:n]
        np.testing.assert_allclose(twice @ twice.T, expected, atol=1e-7)


def test_the_order_of_rows_changes_rounding_only():
    X = decaying(50, 30)
    order = np.random.default_rng(1).permutation(50)
    a, b = (fit_latent(rows, 4)[0].directions for rows in (X, X[order]))
    np.testing.assert_allclose(a, b, atol=1e-9)
    np.testing.assert_array_equal(a, fit_latent(X, 4)[0].directions)


def test_rows_without_a_length_along_the_directions():
    found = LatentMap(np.eye(4)[:, :2])
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [3.0, 4.0, 1.0, 0.0], [0.0, 0.1 * SHORTEST, 0.0, 1.0]])
    features = found.transform(rows)
    np.testing.assert_array_equal(features[0], 0.0)
    np.testing.assert_allclose(features[1], [0.6, 0.8])
    # rounding errors do not become features
    assert np.abs(features[2]).max() <= 0.1
    np.testing.assert_array_equal(found.transform(sparse.csr_matrix(rows)), features)


def test_directions_that_are_rounding_errors_are_left_out():
    X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 0.0])
    assert fit_latent(X, 3)[0].rank == 1
    with pytest.raises(ValueError, match="zero for every row"):
        fit_latent(np.zeros((4, 3)))


def test_values_that_are_too_large():
    X = np.full((4, 3), 1e160)
    with pytest.raises(ValueError, match="too large"):
        fit_latent(X)


@pytest.mark.parametrize("kind", [NewtonSVC, TransductiveSVC, OneNormSVC, LaplacianRLSC])
def test_linear_methods_fit_features(kind):
    X, y = two_blobs(60, 40)
    labels = hide(y, 12)
    model = kind(kernel="latent", n_components=3).fit(X, labels)
    assert isinstance(model.kernel_map_, LatentMap)
    assert model.coef_.shape == (1, 3)
    by_hand = model.kernel_map_.transform(X) @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), by_hand)
    assert model.score(X, y) > 0.75


def test_a_method_on_directions_is_the_method_on_their_features():
    X, y = two_blobs(60, 10)
    labels = hide(y, 10)
    features = fit_latent(X, 4)[1]
    model = TransductiveSVC(kernel="latent", n_components=4).fit(X, labels)
    same = TransductiveSVC().fit(features, labels)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(features))


def test_words_that_go_together_are_near():
    """Texts of one topic with no word in common have the same class."""
    topics = np.repeat([0, 1], 60)
    rng = np.random.default_rng(0)
    X = np.zeros((120, 20))
    for row, topic in enumerate(topics):
        X[row, 10 * topic + rng.choice(10, 3, replace=False)] = 1.0
    labels = hide(topics, 2)
    plain = NewtonSVC().fit(X, labels)
    latent = NewtonSVC(kernel="latent", n_components=2).fit(X, labels)
    assert latent.score(X, topics) == 1.0 > plain.score(X, topics)


def test_warm_start_needs_the_same_directions():
    X, y = two_blobs(40, 8)
    labels = hide(y, 10)
    model = TransductiveSVC(kernel="latent", n_components=3, warm_start=True).fit(X, labels)
    model.fit(X, labels)
    with pytest.raises(ValueError, match="kernel features have changed"):
        model.fit(2.0 * X - 1.0, labels)


def test_model_files_keep_the_directions(tmp_path):
    X, y = short_texts(80)
    labels = hide(y, 20)
    members = [("plain", NewtonSVC()), ("latent", NewtonSVC(kernel="latent", n_components=5))]
    model = SemiSupervisedCommittee(members, weights=[1.0, 1.0]).fit(X, labels)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.estimators_[1].kernel_map_.rank == 5


def test_a_graph_along_the_directions(tmp_path):
    """Neighbours and new rows are those of the features."""
    X, y = short_texts(80)
    labels = hide(y[:60], 15)
    model = LaplacianRLSC(n_components=5).fit(X[:60], labels)
    found, features = fit_latent(X[:60], 5)
    same = LaplacianRLSC().fit(features, labels)
    expected = same.decision_function(found.transform(X))
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="n_components"):
        LaplacianRLSC(n_components=0).fit(X[:60], labels)
