"""Annealing that ends at a given temperature, and that returns this point as it is."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from problems import hide, two_blobs
from semisvm import AnnealedSVC
from semisvm.persistence import load, save

T = 0.2
REG = 0.05
FIXED = {"temperature": T, "last_temperature": T}
AS_IT_IS = {"refine": False, "balance_tol": None, "tol": 1e-10}
SHARES = [0.6, 0.4]


def two_classes():
    X, y = two_blobs(n=160, gap=1.6, positive=0.4, seed=3)
    return X, hide(y, 12, 1)


def three_classes():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 150)
    X = rng.standard_normal((150, 4)) + 1.5 * np.eye(4)[y]
    return X, hide(y, 12, 1), np.bincount(y) / len(y)


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


def slopes(margins):
    """Derivative of max(0, 1 - z)^2."""
    return -2.0 * np.maximum(0.0, 1.0 - margins)


@pytest.mark.parametrize("path", [FIXED, {"temperature": 10.0, "last_temperature": T}])
def test_the_last_point_is_the_minimum_at_its_temperature(path):
    X, partly = two_classes()
    model = AnnealedSVC(REG, class_prior=SHARES, **path, **AS_IT_IS).fit(X, partly)
    free, given = partly == -1, partly != -1
    A, w = with_constant(X), np.append(model.coef_[0], model.intercept_)
    o, p = A @ w, model.label_distribution_[free, 1]
    # the beliefs are those of the scores at T, under the class shares
    g = np.maximum(0, 1 - o[free]) ** 2 - np.maximum(0, 1 + o[free]) ** 2
    prices = T * logit(p) + g
    np.testing.assert_allclose(p, expit((np.median(prices) - g) / T), atol=1e-9)
    assert p.mean() == pytest.approx(np.round(SHARES[1] * free.sum()) / free.sum(), abs=1e-9)
    # the weights are the minimum for these beliefs
    sign = 2.0 * partly[given] - 1.0
    gradient = REG * w + A[given].T @ (sign * slopes(sign * o[given])) / (2 * given.sum())
    soft = p * slopes(o[free]) - (1 - p) * slopes(-o[free])
    gradient += A[free].T @ soft / (2 * free.sum())
    assert np.abs(gradient).max() < 1e-5


def test_the_last_point_of_many_classes_is_the_minimum_too():
    X, partly, shares = three_classes()
    model = AnnealedSVC(REG, class_prior=shares, **FIXED, **AS_IT_IS).fit(X, partly)
    free, given = partly == -1, partly != -1
    A, W = with_constant(X), np.column_stack([model.coef_, model.intercept_])
    scores, p = A @ W.T, model.label_distribution_
    loss, other = np.maximum(0, 1 - scores) ** 2, np.maximum(0, 1 + scores) ** 2
    costs = (loss + other.sum(axis=1, keepdims=True) - other) / 2
    # the beliefs are those of the scores at T, with one price per class
    unsure = free & (p.min(axis=1) > 1e-9)
    prices = T * np.log(p[unsure]) + costs[unsure]
    prices = np.median(prices - prices[:, :1], axis=0)
    found = softmax((prices - costs[free]) / T, axis=1)
    np.testing.assert_allclose(found, p[free], atol=1e-6)
    counts = p[free].sum(axis=0)
    np.testing.assert_allclose(counts, np.round(shares * free.sum()), atol=1.0)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    # the weights are the minimum for these beliefs
    share = np.where(given, 1 / given.sum(), 1 / free.sum())[:, None] / 2
    pull = share * (p * slopes(scores) - (1 - p) * slopes(-scores))
    assert np.abs(REG * W + pull.T @ A).max() < 1e-5


def phases(model):
    return list(dict.fromkeys(row["phase"] for row in model.trace_ if row["phase"] != "supervised"))


@pytest.mark.parametrize("m", [2, 3])
def test_no_label_is_switched_unless_the_best_point_is_refined(m):
    data = (*two_classes(), SHARES) if m == 2 else three_classes()
    X, partly, shares = data
    last = AnnealedSVC(REG, class_prior=shares, refine=False).fit(X, partly)
    assert phases(last) == ["annealing", "last temperature"]
    assert last.trace_.rows[-1]["value"] == last.trace_.rows[-2]["value"]
    fixed = AnnealedSVC(REG, class_prior=shares, refine=False, **FIXED).fit(X, partly)
    assert phases(fixed) == ["last temperature"]
    assert {row["value"] for row in fixed.trace_ if "value" in row} >= {T}
    refined = AnnealedSVC(REG, class_prior=shares, **FIXED).fit(X, partly)
    assert phases(refined) == ["last temperature", "switching" if m == 2 else "assigning"]
    assert refined.objective_ <= fixed.objective_ + 1e-9
    counts = np.bincount(fixed.transduction_[partly == -1])
    np.testing.assert_array_equal(counts, np.bincount(refined.transduction_[partly == -1]))


def test_the_path_goes_down_to_the_last_temperature():
    X, partly = two_classes()
    model = AnnealedSVC(class_prior=SHARES, temperature=1.0, last_temperature=0.3).fit(X, partly)
    values = [row["value"] for row in model.trace_ if row["phase"] == "annealing"]
    assert min(values) > 0.3
    (end,) = {row["value"] for row in model.trace_ if row["phase"] == "last temperature"}
    assert end == 0.3


def test_temperatures_are_in_units_of_the_weight():
    X, partly = two_classes()
    model = AnnealedSVC(REG, 0.5, class_prior=SHARES, refine=False, **FIXED).fit(X, partly)
    assert model.trace_.rows[-1]["value"] == 0.5 * T


def test_a_warm_start_stays_at_the_last_temperature():
    X, partly = two_classes()
    options = {"class_prior": SHARES, "last_temperature": T, "warm_start": True, **AS_IT_IS}
    model = AnnealedSVC(REG, **options).fit(X, partly)
    first, rounds = model.coef_.copy(), model.n_iter_
    model.fit(X, partly)
    assert phases(model) == ["last temperature"]
    assert model.n_iter_ < rounds
    np.testing.assert_allclose(model.coef_, first, atol=1e-6)


def test_a_last_temperature_above_the_first_is_refused():
    X, partly = two_classes()
    with pytest.raises(ValueError, match=r"at most the first temperature, which is 0\.3 here"):
        AnnealedSVC(last_temperature=2).fit(X, partly)
    with pytest.raises(ValueError, match="last_temperature must be a finite number > 0"):
        AnnealedSVC(last_temperature=0).fit(X, partly)


def test_model_files_keep_the_parameters(tmp_path):
    X, partly = two_classes()
    model = AnnealedSVC(REG, refine=False, **FIXED).fit(X, partly)
    save(model, tmp_path / "m.semisvm")
    found = load(tmp_path / "m.semisvm")
    assert (found.last_temperature, found.refine) == (T, False)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
