"""Probabilities and predictions for other shares of the classes."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import semisvm
from semisvm import Model, NewtonSVC, SemiSupervisedClassifier, to_onnx, to_sklearn
from semisvm.model_selection import CalibratedPartialClassifier
from semisvm.model_selection.class_shift import ClassShift, estimated_shares, given_shares


def gaussians(n, share, seed=0):
    """Draw rows of two classes with a distance of two deviations; return their probabilities."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(size=n) + 2.0 * y
    return x, y


def even(x):
    """Compute the probabilities of the classes under equal shares."""
    p = 1.0 / (1.0 + np.exp(-2.0 * (x - 1.0)))
    return np.column_stack([1.0 - p, p])


def test_estimate_is_the_likeliest():
    x, _ = gaussians(500, 0.2)
    p = even(x)
    found = estimated_shares(p, np.full(2, 0.5))
    best = minimize_scalar(
        lambda q: -np.log(p @ [1.0 - q, q]).sum(), bounds=(0.0, 1.0), method="bounded"
    )
    assert found[1] == pytest.approx(best.x, abs=1e-3)
    assert found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_shares_are_recovered(share):
    x, y = gaussians(20_000, share)
    assert estimated_shares(even(x), np.full(2, 0.5))[1] == pytest.approx(y.mean(), abs=0.02)


def test_reweighted_probabilities_follow_bayes_rule():
    x, y = gaussians(20_000, 0.1)
    p = ClassShift(np.array([0.9, 0.1]) / 0.5).probabilities(even(x))
    density = np.exp(-0.5 * np.column_stack([x, x - 2.0]) ** 2) * [0.9, 0.1]
    assert p == pytest.approx(density / density.sum(axis=1, keepdims=True))
    assert np.mean(p.argmax(axis=1) == y) > np.mean(even(x).argmax(axis=1) == y)


def test_nothing_is_left_of_a_row():
    p = np.array([[0.0, 1.0], [0.5, 0.5]])
    assert ClassShift(np.array([1.0, 0.0])).probabilities(p).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_shares_that_are_given():
    classes = np.array(["ham", "spam"])
    assert given_shares(classes, {"spam": 0.2, "ham": 0.8}).tolist() == [0.8, 0.2]
    assert given_shares(classes, [0.8, 0.2]).tolist() == [0.8, 0.2]
    for wrong, why in [
        ({"spam": 0.2}, "must have sum 1"),
        ({"spm": 1.0}, "Did you mean 'spam'"),
        ([0.5, 0.3, 0.2], "one share per class"),
        ([1.0], "one share per class"),
        ([1.5, -0.5], ">= 0"),
    ]:
        with pytest.raises(ValueError, match=why):
            given_shares(classes, wrong)


@pytest.fixture(scope="module")
def model():
    x, y = gaussians(400, 0.5)
    labels = np.where(np.arange(400) < 200, y, -1)
    return Model.of(CalibratedPartialClassifier(NewtonSVC()).fit(x[:, None], labels))


def test_models(model, tmp_path):
    x, y = gaussians(2_000, 0.1, seed=1)
    X = x[:, None]
    given = model.adapt({0: 0.9, 1: 0.1})
    assert np.mean(given.predict(X) == y) > np.mean(model.predict(X) == y)
    assert np.array_equal(given.predict(X), given.predict_proba(X).argmax(axis=1))
    assert model.adapt(data=X).predict_proba(X).mean(axis=0)[1] == pytest.approx(0.1, abs=0.05)
    # twice is not more than once
    again = given.adapt({0: 0.9, 1: 0.1})
    assert np.array_equal(again.predict_proba(X), given.predict_proba(X))
    same = model.adapt(model.shares_of_fit())
    assert same.predict_proba(X) == pytest.approx(model.predict_proba(X))
    semisvm.save(given, tmp_path / "m")
    loaded = semisvm.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(X), given.predict_proba(X))
    for export in (to_sklearn, lambda m: to_onnx(m, tmp_path / "m.onnx")):
        with pytest.raises(ValueError, match="adapted to other class shares"):
            export(given)
    with pytest.raises(ValueError, match="needs the shares, or data"):
        model.adapt()
    with pytest.raises(ValueError, match="with probabilities can be adapted"):
        Model.of(model.estimator).adapt([0.5, 0.5])


def test_classifiers():
    x, y = gaussians(300, 0.5)
    X = x[:, None]
    first = SemiSupervisedClassifier("svm").fit(X, np.where(np.arange(300) < 100, y, -1))
    rare = first.adapt([0.95, 0.05])
    assert rare.predict(X).sum() < first.predict(X).sum()
    assert first.model_.shift is None
    assert rare.adapt(X=X).predict_proba(X).shape == (300, 2)
