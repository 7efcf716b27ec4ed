"""Class shares that means must have: they need not be numbers of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import hide, two_blobs
from semisvm import (
    ConcaveSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    GradientTSVC,
    LowDensitySeparation,
    MixedIntegerSVC,
    PosteriorRegularizedClassifier,
)

MEAN_OUTPUT = {
    "vs3vm": ConcaveSVC(),
    "mip": MixedIntegerSVC(),
    "gradient": GradientTSVC(balance_tol=None),
    "lds": LowDensitySeparation(balance_tol=None, n_neighbors=3),
}
shares = st.floats(0.3, 0.7)


def problem(seed, n=15):
    """Few unlabelled rows, an odd number: most shares of them are no numbers of rows."""
    X, y = two_blobs(n, 3, gap=1.5, seed=seed)
    return X, hide(y, 8, seed)


@pytest.mark.parametrize("name", MEAN_OUTPUT)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), r=shares)
def test_the_mean_output_is_that_of_the_shares(name, seed, r):
    X, labels = problem(seed)
    model = MEAN_OUTPUT[name].set_params(class_prior=[1 - r, r]).fit(X, labels)
    mean = model.decision_function(X[labels == -1]).mean()
    assert mean == pytest.approx(2 * r - 1, abs=1e-7)


def test_shares_of_one_half_of_seven_rows():
    X, labels = problem(3)
    assert np.count_nonzero(labels == -1) == 7
    model = ConcaveSVC(class_prior=[0.5, 0.5]).fit(X, labels)
    assert model.decision_function(X[labels == -1]).mean() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("cls", [ExpectationConstrainedClassifier, EntropyRegularizedClassifier])
def test_the_mean_probability_is_the_share(cls, m):
    rng = np.random.default_rng(m)
    y = np.arange(19) % m
    X = rng.standard_normal((19, 4)) + 2.0 * np.eye(4)[y]
    prior = np.array([0.45, 0.55]) if m == 2 else np.array([0.4, 0.35, 0.25])
    labels = np.where(np.arange(19) < 9, y, -1)
    model = cls(reg=0.01, class_prior=prior, constraint_tol=1e-7).fit(X, labels)
    means = model.predict_proba(X[labels == -1]).mean(axis=0)
    np.testing.assert_allclose(means, prior, atol=1e-6)


@pytest.mark.parametrize("m", [2, 3])
def test_soft_labels_have_the_shares_as_means(m):
    rng = np.random.default_rng(m)
    y = np.arange(19) % m
    X = rng.standard_normal((19, 4)) + 2.0 * np.eye(4)[y]
    prior = np.array([0.45, 0.55]) if m == 2 else np.array([0.4, 0.35, 0.25])
    labels = np.where(np.arange(19) < 9, y, -1)
    model = PosteriorRegularizedClassifier(reg=0.01, class_prior=prior).fit(X, labels)
    means = model.label_distribution_[labels == -1].mean(axis=0)
    np.testing.assert_allclose(means, prior, atol=1e-8)


def test_one_against_the_rest_has_the_shares_too():
    rng = np.random.default_rng(0)
    y = np.arange(25) % 3
    X = rng.standard_normal((25, 4)) + 3.0 * np.eye(4)[y]
    labels = np.where(np.arange(25) < 12, y, -1)
    prior = np.array([0.41, 0.33, 0.26])
    model = ConcaveSVC(class_prior=prior).fit(X, labels)
    means = model.decision_function(X[labels == -1]).mean(axis=0)
    np.testing.assert_allclose(means, 2 * prior - 1, atol=1e-7)
