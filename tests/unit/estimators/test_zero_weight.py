"""Unlabelled rows of weight zero: what is left is the supervised machine."""

import numpy as np
import pytest

from promises import clusters, losses_by_classes
from semisvm import (
    AnnealedSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    GradientTSVC,
    LowDensitySeparation,
    NewtonSVC,
    TransductiveSVC,
)
from semisvm.losses import LOSSES

NO_WEIGHT = {"reg": 0.02, "unlabeled_weight": 0}


def check_same(model, peer, X, atol=1e-4):
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=atol)
    np.testing.assert_array_equal(model.transduction_, peer.transduction_)


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize(("loss", "m"), losses_by_classes())
def test_every_loss(cls, m, loss):
    X, _, partly = clusters(m)
    model = cls(**NO_WEIGHT, loss=loss, tol=1e-10).fit(X, partly)
    peer = NewtonSVC(reg=0.02, loss=loss).fit(X, partly)
    check_same(model, peer, X, 1e-4 if LOSSES[loss].smooth else 2e-2)
    assert "unlabelled rows have no weight" in " ".join(model.trace_.notes)
    if cls is AnnealedSVC:
        np.testing.assert_array_equal(model.label_distribution_.argmax(axis=1), model.transduction_)


@pytest.mark.parametrize("m", [2, 3])
def test_gradient_descent(m):
    X, _, partly = clusters(m)
    check_same(
        GradientTSVC(**NO_WEIGHT, tol=1e-10).fit(X, partly), NewtonSVC(reg=0.02).fit(X, partly), X
    )


def test_low_density_separation_is_supervised_on_its_features():
    X, _, partly = clusters(2)
    model = LowDensitySeparation(**NO_WEIGHT, n_neighbors=8, tol=1e-10).fit(X, partly)
    features = model.kernel_map_.transform(X)
    peer = NewtonSVC(reg=0.02).fit(features, partly)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)


@pytest.mark.parametrize("m", [2, 3])
def test_entropy_regularisation_leaves_the_constraint_or_nothing(m):
    X, _, partly = clusters(m)
    options = {**NO_WEIGHT, "tol": 1e-10}
    free = EntropyRegularizedClassifier(**options, constraint_weight=0).fit(X, partly)
    check_same(free, NewtonSVC(reg=0.02, loss="log").fit(X, partly), X, 1e-3)
    shares = np.arange(1, m + 1) / np.arange(1, m + 1).sum()
    bound = EntropyRegularizedClassifier(**options, class_prior=shares).fit(X, partly)
    peer = ExpectationConstrainedClassifier(reg=0.02, tol=1e-10, class_prior=shares).fit(X, partly)
    check_same(bound, peer, X, 1e-3)


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
def test_small_weights_lead_there(cls):
    X, _, partly = clusters(2)
    without = cls(**NO_WEIGHT).fit(X, partly)
    almost = cls(reg=0.02, unlabeled_weight=1e-6, balance_tol=None).fit(X, partly)
    np.testing.assert_allclose(without.coef_, almost.coef_, atol=1e-3)
