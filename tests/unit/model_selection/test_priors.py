"""Estimates of the class prior."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from problems import two_blobs
from semisvm import (
    AnnealedSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)
from semisvm.methods.shares import matched_shares
from semisvm.model_selection import TransductiveSVCCV, estimate_prior, hide_labels

FAMILY = [
    TransductiveSVC,
    AnnealedSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    PosteriorRegularizedClassifier,
    TransductiveSVCCV,
]


def skewed_labels(y, n_zero, n_one, seed=0):
    """Label so many rows of each class, which says nothing of their shares."""
    rng = np.random.default_rng(seed)
    keep = [
        rng.choice(np.flatnonzero(y == k), n, replace=False) for k, n in ((0, n_zero), (1, n_one))
    ]
    return hide_labels(y, np.setdiff1d(np.arange(len(y)), np.concatenate(keep)))


def test_separated_classes_tell_their_shares():
    """Half of the labels are of a class of 20%: the unlabelled rows know better."""
    X, y = two_blobs(1000, gap=6.0, positive=0.2)
    prior = estimate_prior(X, skewed_labels(y, 15, 15), reg=0.1)
    assert prior.sum() == pytest.approx(1.0)
    assert abs(prior[1] - 0.2) < 0.07


@pytest.mark.parametrize(
    ("parameters", "share"),
    [
        ({"reg": 0.1}, 0.6425524101169037),
        ({"reg": 0.1, "fit_intercept": False}, 0.6439486420509631),
        ({"reg": 0.1, "loss": "hinge"}, 0.642068979382176),
        ({"reg": 0.1, "loss": "log"}, 0.6480413916101747),
        ({"reg": 0.1, "loss": "crammer_singer"}, 0.6389602481160108),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_known_shares(parameters, share):
    """Values of an earlier version, whose models were estimators of their own."""
    X, y = load_breast_cancer(return_X_y=True)
    partly = hide_labels(y, np.arange(len(y)) % 12 > 0)
    np.testing.assert_allclose(estimate_prior(scale(X), partly, **parameters)[1], share, rtol=1e-6)


def test_known_shares_of_many_classes():
    X, y = load_digits(return_X_y=True)
    partly = hide_labels(y, np.arange(len(y)) % 15 > 0)
    known = [0.102214, 0.077397, 0.063496, 0.117140, 0.101765]
    known += [0.113055, 0.109502, 0.089680, 0.094495, 0.131256]
    model = TransductiveSVC(class_prior="estimate").fit(X / 16, partly)
    np.testing.assert_allclose(model.class_prior_, known, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "mean"}, "loss must be"),
        ({"reg": 0.0}, "reg must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, y = two_blobs(40)
    with pytest.raises(ValueError, match=message):
        estimate_prior(X, skewed_labels(y, 3, 3), **parameters)


def test_hopeless_scores_leave_the_fractions():
    X, y = np.random.default_rng(0).standard_normal((500, 5)), np.arange(500) % 4 == 0
    prior = estimate_prior(X, skewed_labels(y.astype(int), 20, 20))
    assert abs(prior[1] - 0.5) < 0.05


def test_better_than_the_fractions_on_average():
    wins, errors = 0, []
    for seed in range(20):
        X, y = two_blobs(500, 10, gap=3.0, positive=0.4, seed=seed)
        drawn = np.random.default_rng(seed).choice(500, 30, replace=False)
        partly = hide_labels(y, np.setdiff1d(np.arange(500), drawn))
        truth = y[partly == -1].mean()
        fraction = abs(y[drawn].mean() - truth)
        estimate = abs(estimate_prior(X, partly, reg=0.1)[1] - truth)
        wins += estimate < fraction
        errors.append((fraction, estimate))
    means = np.mean(errors, axis=0)
    assert means[1] < 0.6 * means[0]
    assert wins >= 13


def test_exact_mixtures_are_found():
    """Scores without spread: the mean score tells the shares of three classes."""
    M, shares = np.eye(3), np.array([0.6, 0.3, 0.1])
    codes = np.repeat([0, 1, 2], 10)
    noise = 1e-3 * np.random.default_rng(0).standard_normal((30, 3))
    found = matched_shares(M[codes] + noise, codes, shares @ M)
    np.testing.assert_allclose(found, shares, atol=1e-3)


def test_shares_stay_positive():
    codes = np.repeat([0, 1], 10)
    found = matched_shares(np.where(codes, 1.0, -1.0)[:, None] + 1e-3, codes, np.array([-3.0]))
    assert found.sum() == pytest.approx(1.0)
    assert 0.0 < found[1] < 0.1


def test_order_of_classes_does_not_matter():
    X, y = two_blobs(400, gap=3.0, positive=0.3)
    partly = skewed_labels(y, 20, 12)
    swapped = np.where(partly < 0, -1, 1 - partly)
    np.testing.assert_allclose(
        estimate_prior(X, partly), estimate_prior(X, swapped)[::-1], atol=0.02
    )


@pytest.mark.parametrize("cls", FAMILY)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_estimators_use_the_estimate(cls, form):
    X, y = two_blobs(200, gap=4.0, positive=0.3)
    partly = skewed_labels(y, 10, 10)
    extra = {"regs": [0.1], "cv": 2} if cls is TransductiveSVCCV else {"reg": 0.1}
    model = cls(class_prior="estimate", **extra).fit(form(X), partly)
    reg = {} if cls is TransductiveSVCCV else {"reg": 0.1}
    np.testing.assert_allclose(model.class_prior_, estimate_prior(form(X), partly, **reg))
    assert model.class_prior_[1] < 0.45


def test_one_label_of_a_class_falls_back():
    X, y = two_blobs(100, positive=0.3)
    partly = skewed_labels(y, 5, 1)
    with pytest.warns(UserWarning, match="two labels of every class"):
        prior = estimate_prior(X, partly)
    np.testing.assert_allclose(prior, [5 / 6, 1 / 6])


def test_nothing_to_estimate_and_mistakes():
    X, y = two_blobs(40)
    np.testing.assert_allclose(estimate_prior(X, y), [0.5, 0.5])
    with pytest.raises(ValueError, match="class_prior must be None, class shares"):
        TransductiveSVC(class_prior="guess").fit(X, y)
