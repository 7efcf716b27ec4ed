"""Probabilities from scores that did not see the labels."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.model_selection import CalibratedPartialClassifier, PartialLabelKFold, hide_labels
from semisvm.model_selection.calibration import (
    Calibrator,
    fit_sigmoid,
    fit_temperature,
    platt_targets,
    pooled_targets,
)
from semisvm.model_selection.crossfit import cross_fit_all

METHODS = ["sigmoid", "temperature"]


def three_blobs(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    centres = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    return rng.standard_normal((n, 2)) + centres[y], y


def test_targets_by_hand():
    targets = platt_targets(np.array([False, False, False, True]))
    np.testing.assert_allclose(targets, [1 / 5, 1 / 5, 1 / 5, 2 / 3])
    targets = pooled_targets(np.array([0, 2]), 3)
    np.testing.assert_allclose(targets, [[3 / 4, 1 / 8, 1 / 8], [1 / 8, 1 / 8, 3 / 4]])


def test_sigmoid_finds_the_truth():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(20000)
    y = rng.random(20000) < expit(2.0 * scores - 0.5)
    slope, offset = fit_sigmoid(scores, y.astype(float))
    assert (slope, offset) == pytest.approx((2.0, -0.5), abs=0.1)
    peer = LogisticRegression(C=np.inf, tol=1e-8).fit(scores[:, None], y)
    assert slope == pytest.approx(peer.coef_[0, 0], rel=1e-3)


def test_temperature_finds_the_truth():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((20000, 3))
    noise = rng.gumbel(size=scores.shape)
    y = (1.7 * scores + noise).argmax(axis=1)
    assert fit_temperature(scores, np.eye(3)[y]) == pytest.approx(1.7, abs=0.05)


def test_scores_that_mislead_are_not_turned_round():
    scores, y = np.array([-1.0, -2.0, 1.0, 2.0]), np.array([1, 1, 0, 0])
    for method in METHODS:
        p = Calibrator.fit(scores, y, 2, method).probabilities(scores)
        np.testing.assert_allclose(p, 0.5, atol=1e-6)


@pytest.mark.parametrize(("method", "most"), [("sigmoid", 6 / 7), ("temperature", 11 / 12)])
def test_separated_scores_stay_unsure(method, most):
    scores, y = np.array([-1.0] * 5 + [1.0] * 5), np.repeat([0, 1], 5)
    p = Calibrator.fit(scores, y, 2, method).probabilities(scores)
    assert p.max() == pytest.approx(most, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", [two_blobs, three_blobs])
def test_probabilities_beat_the_prior_and_are_honest(method, problem):
    X, y = problem(n=600)
    partly = hide(y, 60)
    model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1), method=method).fit(X, partly)
    free = partly < 0
    p = model.predict_proba(X[free])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    shares = np.bincount(y) / len(y)
    base = log_loss(y[free], np.tile(shares, (free.sum(), 1)))
    assert log_loss(y[free], p) < 0.6 * base
    assert abs(p.max(axis=1).mean() - np.mean(p.argmax(axis=1) == y[free])) < 0.12
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.predict_proba(X).argmax(1)]
    )
    assert len(model.transduction_) == len(X)


@pytest.mark.parametrize("problem", [two_blobs, three_blobs])
def test_temperature_leaves_predictions_alone(problem):
    X, y = problem(n=300)
    partly = hide(y, 30)
    inner = TransductiveSVC(reg=0.1)
    model = CalibratedPartialClassifier(inner, method="temperature").fit(X, partly)
    np.testing.assert_array_equal(model.predict(X), clone(inner).fit(X, partly).predict(X))


def test_cross_fitted_scores_do_not_see_the_labels():
    """A label that is turned round does not move the score of its own row."""
    X, y = two_blobs(80)
    partly = hide(y, 20)
    cv = PartialLabelKFold(9)
    turned = partly.copy()
    row = next(cv.folds(partly))[0]
    turned[row] = 1 - turned[row]
    found = cross_fit_all(NewtonSVC(), X, turned, cv)
    rows = np.concatenate(list(cv.folds(turned)))
    fold = next(fold for fold in cv.folds(turned) if row in fold)
    expected = NewtonSVC().fit(X, hide_labels(partly, fold)).decision_function(X[[row]])
    assert found.scores[rows == row] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_array_equal(found.codes, turned[rows])


def test_texts_and_names():
    texts = ["good film", "bad film", "good fun", "bad fun", "good day", "bad day"] * 4
    y = hide_labels(np.array(["up", "down"] * 12), range(16, 24))
    model = make_pipeline(CountVectorizer(), TransductiveSVC())
    calibrated = CalibratedPartialClassifier(model, cv=4).fit(texts, y)
    assert calibrated.classes_.tolist() == ["down", "up"]
    p = calibrated.predict_proba(["good good", "bad bad"])
    assert p[0, 1] > 0.7
    assert p[1, 0] > 0.7


def test_default_estimator_and_mistakes():
    X, y = two_blobs(60)
    signs = np.where(hide(y, 20) < 0, 0, 2 * y - 1)
    model = CalibratedPartialClassifier(unlabeled=0, cv=3).fit(X, signs)
    assert model.classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="method must be one of"):
        CalibratedPartialClassifier(method="isotonic").fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_class_that_was_never_held_out_can_be_predicted(method):
    X, y = three_blobs()
    partly = hide(y, 31)
    single = np.flatnonzero(partly == 2)
    partly[single[1:]] = -1
    inner = TransductiveSVC(reg=0.1, class_prior=[1 / 3, 1 / 3, 1 / 3])
    model = CalibratedPartialClassifier(inner, method=method, cv=3)
    with pytest.warns(UserWarning, match="single label"):
        model.fit(X, partly)
    assert 2 in model.predict(X)
