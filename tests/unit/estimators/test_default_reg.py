"""The regularisation that stands in where none is given."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from problems import hide, two_blobs
from semisvm import (
    AnnealedSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    NewtonSVC,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)
from semisvm.losses import LOSSES

VARYING = (NewtonSVC, TransductiveSVC, AnnealedSVC)
MAXENT = (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    PosteriorRegularizedClassifier,
)


def problem():
    X, y = two_blobs(60, 4)
    return X, hide(y, 12)


def test_every_loss_has_a_default():
    found = {name: loss.default_reg for name, loss in LOSSES.items()}
    squared = dict.fromkeys(("squared_hinge", "squared", "huber", "rounded_hinge"), 1e-3)
    assert found == {"hinge": 1e-3, "log": 1e-4, "crammer_singer": 1e-4, **squared}


@pytest.mark.parametrize("cls", VARYING)
@pytest.mark.parametrize("loss", LOSSES)
def test_none_is_the_default_of_the_loss(cls, loss):
    X, labels = problem()
    model = cls(loss=loss).fit(X, labels)
    assert model.reg is None
    assert model.reg_ == LOSSES[loss].default_reg
    explicit = cls(loss=loss, reg=LOSSES[loss].default_reg).fit(X, labels)
    np.testing.assert_array_equal(model.coef_, explicit.coef_)


@pytest.mark.parametrize("cls", MAXENT)
def test_maxent_estimators_have_the_default_of_maxent(cls):
    assert cls().fit(*problem()).reg_ == LOSSES["log"].default_reg


@pytest.mark.parametrize("cls", [*VARYING, *MAXENT])
def test_a_given_value_is_used_and_published(cls):
    model = cls(reg=0.5)
    assert clone(cls()).get_params()["reg"] is None
    assert model.fit(*problem()).reg_ == 0.5


@pytest.mark.parametrize("cls", [*VARYING, *MAXENT])
@pytest.mark.parametrize("reg", [0.0, -1.0, np.nan, "1"])
def test_values_that_make_no_sense_are_refused(cls, reg):
    with pytest.raises(ValueError, match="reg must be"):
        cls(reg=reg).fit(*problem())


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_rows_that_the_default_does_not_suit_are_reported(factor):
    X, y = two_blobs(40)
    partly = hide(y, 10)
    with pytest.warns(UserWarning, match="have length .* multiply reg"):
        model = TransductiveSVC().fit(factor * X, partly)
    assert any("length" in note for note in model.trace_.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TransductiveSVC(reg=1e-3 * factor**2).fit(factor * X, partly)
        TransductiveSVC().fit(X, partly)
