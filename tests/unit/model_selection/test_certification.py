"""Certified rows: exact tests by brute force, the sample, what is reported."""

from itertools import combinations

import numpy as np
import pytest

from semisvm import NewtonSVC, SemiSupervisedClassifier
from semisvm.labels.partial import hide_labels
from semisvm.model_selection import certify
from semisvm.model_selection.risk_control import (
    chance_of_breaking,
    error_limits,
    fewest_labels,
    lowest_level,
)


class Fixed:
    """A fitted model with given scores of two classes."""

    classes_ = np.array([0, 1])

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] > 0.0).astype(np.intp)


def problem(n=2000, rate=0.15, seed=0):
    """Make scores, and classes that are wrong more often where the scores are small."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    wrong = rng.random(n) < rate * np.exp(-3.0 * np.abs(X[:, 0]))
    return X, np.where(wrong, X[:, 0] <= 0.0, X[:, 0] > 0.0).astype(np.intp)


def drawn(y, size, seed=0):
    """Keep the labels of a random sample."""
    rows = np.random.default_rng(seed).choice(len(y), size, replace=False)
    return hide_labels(y, ~np.isin(np.arange(len(y)), rows))


def samples(n, size):
    """List all samples, as flags of shape (s, n)."""
    rows = np.array(list(combinations(range(n), size)))
    inside = np.zeros((len(rows), n), dtype=bool)
    inside[np.arange(len(rows))[:, None], rows] = True
    return inside


@pytest.mark.parametrize(
    ("n", "size", "k", "limits"),
    [(12, 6, [0, 1, 2], [1, 2, 3]), (12, 4, [0, 2], [3, 5]), (11, 7, [0, 1, 3], [0, 1, 1])],
)
def test_chance_of_breaking_by_all_samples(n, size, k, limits):
    """Every row is wrong; count the samples with few of them before some others."""
    broken = 0
    for own in samples(n, size):
        before = np.cumsum(own)[~own]
        broken += any(before[limit] <= few for few, limit in zip(k, limits, strict=True))
    found = chance_of_breaking(n, size, np.array(k), np.array(limits))
    assert found == pytest.approx(broken / len(samples(n, size)), rel=1e-10)


@pytest.mark.parametrize(
    ("size", "error", "level"), [(6, 0.5, 0.2), (6, 0.34, 0.25), (4, 0.4, 0.3)]
)
def test_bounds_of_all_cutoffs_by_all_samples(size, error, level):
    """Of all samples of a few rows, no more than the level break a bound at any cutoff."""
    n, rng = 12, np.random.default_rng(0)
    limits, inside = error_limits(n, size, error, level), samples(n, size)
    assert len(limits)
    bounds = np.append(limits, np.full(size, n))
    worst = 0
    for _ in range(12):
        wrong = rng.random(n) < rng.random() * np.linspace(0.5, 1.5, n)
        errors = np.cumsum(inside & wrong, axis=1)
        others = np.cumsum(~inside & wrong, axis=1)
        broken = (others > bounds[errors]).any(axis=1).sum()
        assert broken <= level * len(inside)
        worst = max(worst, broken)
    assert worst > 0.3 * level * len(inside)


def test_limits_are_for_any_size():
    for n, size, error in [(10**6, 5000, 0.02), (600, 300, 0.5), (50, 49, 0.1), (7, 3, 0.9)]:
        limits = error_limits(n, size, error, 0.05)
        assert (np.diff(limits) >= 0).all()
        assert limits.max(initial=0) <= error * (n - size)
        assert chance_of_breaking(n, size, np.arange(len(limits)), limits) <= 0.05 * (1 + 1e-6)
        assert (len(limits) > 0) == (lowest_level(n, size, error) <= 0.05)
    assert len(error_limits(10, 0, 0.1, 0.05)) == len(error_limits(10, 10, 0.1, 0.05)) == 0
    assert len(error_limits(10**6, 500, 0.9, 0.0)) == 0


def test_bounds_hold_in_large_samples(monkeypatch):
    monkeypatch.setattr("semisvm.model_selection.certification.MORE_LABELS", ())
    X, y = problem(rate=0.3)
    wrong = (X[:, 0] > 0.0) != y
    broken = []
    for seed in range(100):
        rows = certify(Fixed(), X, drawn(y, 250, seed), error=0.05).rows
        broken.append(len(rows) > 0 and wrong[rows].mean() > 0.05)
    # 5% are allowed, and 13 of 100 would be three standard errors more
    assert sum(broken) < 12


def test_certified_rows_are_the_most_certain_ones():
    X, y = problem()
    labels = drawn(y, 300)
    found = certify(Fixed(), X, labels, error=0.05)
    free = np.flatnonzero(labels == -1)
    others = np.setdiff1d(free, found.rows)
    assert len(found.rows) > 0
    assert np.isin(found.rows, free).all()
    assert np.array_equal(found.labels, (X[found.rows, 0] > 0.0).astype(int))
    if len(others):
        assert np.abs(X[found.rows, 0]).min() >= np.abs(X[others, 0]).max()
    assert found.n_sample == 300
    assert sum(c.n_certified for c in found.classes) == len(found.rows)
    assert f"{len(found.rows):,} of 1,700 unlabelled rows are certified" in str(found)
    assert found.to_dict()["certified"] == len(found.rows)


def test_order_of_the_rows_does_not_matter():
    X, y = problem()
    labels, order = drawn(y, 200), np.random.default_rng(1).permutation(len(y))
    first = certify(Fixed(), X, labels, error=0.05).rows
    second = certify(Fixed(), X[order], labels[order], error=0.05).rows
    assert np.array_equal(np.sort(order[second]), first)


def test_too_few_labels_certify_nothing():
    X, y = problem(rate=0.0)
    found = certify(Fixed(), X, drawn(y, 100))
    assert len(found.rows) == 0
    assert found.fewest == fewest_labels(2000, 0.02, 0.05)
    assert f"at least {found.fewest} random labels" in str(found)
    enough = certify(Fixed(), X, drawn(y, 2 * found.fewest))
    assert len(enough.rows) == 2000 - 2 * found.fewest
    assert found.outlook[0][1] > 0


def test_a_rare_class_is_named():
    X, y = problem(rate=0.0)
    X = X + 1.7  # class 0 is rare
    y = (X[:, 0] > 0.0).astype(int)
    found = certify(Fixed(), X, drawn(y, 400), error=0.03, by_class=True)
    rare, common = found.classes
    assert rare.n_certified == 0 < common.n_certified
    assert found.sentences[1] == (
        "Nothing is certified of class 0: too few labels, or too many errors."
    )


def test_rows_chosen_by_certainty_are_refused():
    X, y = problem()
    least = np.argsort(np.abs(X[:, 0]))[:200]
    labels = hide_labels(y, ~np.isin(np.arange(len(y)), least))
    with pytest.raises(ValueError, match="no random sample: half of them are less certain than"):
        certify(Fixed(), X, labels)


def test_classes_that_were_chosen_are_refused():
    X, y = problem()
    picked = np.r_[np.flatnonzero(X[:, 0] > 0)[:150], np.flatnonzero(X[:, 0] < 0)[:50]]
    with pytest.raises(ValueError, match="mixed differently"):
        certify(Fixed(), X, hide_labels(y, ~np.isin(np.arange(len(y)), picked)))


def test_what_a_sample_must_be():
    X, y = problem(n=300)
    labels = drawn(y, 100)
    with pytest.raises(ValueError, match="has 1 row without a label, the first at index"):
        certify(Fixed(), X, labels, sample=[int(np.flatnonzero(labels == -1)[0])])
    with pytest.raises(ValueError, match="there are none"):
        certify(Fixed(), X, np.full(300, -1))
    with pytest.raises(ValueError, match="all rows have a label"):
        certify(Fixed(), X, y)
    with pytest.raises(ValueError, match="error must be above 0"):
        certify(Fixed(), X, labels, error=0.0)


def test_labels_of_the_fit_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] > 0.0, "right", "left").astype(object)
    fit, later = y.copy(), y.copy()
    fit[40:], later[340:] = None, None
    model = SemiSupervisedClassifier("svm").fit(X, fit)
    found = certify(model, X, later, error=0.05)
    assert found.n_sample == 300
    assert found.n_unlabeled == 260
    assert np.mean(found.labels == y[found.rows]) >= 0.95


def test_plain_estimators_take_the_sample_they_are_given():
    X, y = problem(n=800)
    model = NewtonSVC().fit(X[:50], y[:50])
    labels = hide_labels(y, np.arange(800) >= 350)
    found = certify(model, X, labels, error=0.05, sample=np.arange(800) < 350)
    assert found.n_sample == 350
    assert certify(model, X, labels, error=0.05, sample=np.arange(50, 350)).n_sample == 300
