"""Intervals cover the truth as often as they promise, and are never of width zero."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from semisvm.model_selection.intervals import (
    difference_interval,
    held_out_difference,
    held_out_interval,
    paired_interval,
    resampled_interval,
    score_interval,
    wilson_interval,
)


def test_interval_by_hand():
    values = [0.1, 0.3, 0.2, 0.4]
    half = student.ppf(0.975, 3) * np.sqrt((1 / 4 + 1 / 3) * np.var(values, ddof=1))
    expected = (0.25 - half, 0.25 + half)
    assert resampled_interval(values, 1 / 3) == pytest.approx(expected)


def test_interval_keeps_its_promise():
    """Means of folds of the same rows: the interval covers, where the naive one fails."""
    rng = np.random.default_rng(0)
    corrected = naive = 0
    for _ in range(300):
        rows = rng.standard_normal(40)
        folds = [rng.permutation(40)[:8] for _ in range(25)]
        means = [rows[fold].mean() for fold in folds]
        low, high = resampled_interval(means, 0.25)
        corrected += low <= 0.0 <= high
        low, high = resampled_interval(means, 0.0)
        naive += low <= 0.0 <= high
    assert corrected / 300 >= 0.93
    assert naive / 300 <= 0.75


def test_wilson_by_its_definition():
    """The ends are the shares from which the observed one is just z standard errors away."""
    z = norm.ppf(0.975)
    for end in wilson_interval(0.8, 30):
        assert abs(0.8 - end) == pytest.approx(z * np.sqrt(end * (1 - end) / 30))
    low, high = wilson_interval(1.0, 12)
    assert (low, high) == pytest.approx((0.757, 1.0), abs=1e-3)


def test_paired_by_hand():
    low, high = paired_interval(0.1, 0.0, 60)
    half = norm.ppf(0.975) * np.sqrt((8 / 62 - (6 / 62) ** 2) / 62)
    assert (low, high) == pytest.approx((6 / 62 - half, 6 / 62 + half))
    assert paired_interval(0.0, 0.1, 60) == pytest.approx((-high, -low))
    wide = paired_interval(0.3, 0.2, 60)
    assert wide[1] - wide[0] > high - low


@pytest.mark.parametrize("values", [[1.0] * 5, [0.0] * 5, [0.5] * 15, [0.75]])
@pytest.mark.parametrize("n_labels", [4, 12, 1000])
def test_folds_that_agree_leave_doubt(values, n_labels):
    low, high = score_interval(values, 0.25, n_labels)
    assert 0.0 <= low < high <= 1.0
    assert low <= np.mean(values) <= high
    assert (low, high) == pytest.approx(wilson_interval(values[0], n_labels), abs=1e-12)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-np.inf, 0.0), (-np.inf, np.inf)])
@pytest.mark.parametrize("ahead", [0.0, -0.2])
def test_differences_that_agree_leave_doubt(bounds, ahead):
    base = [-0.5, -0.4] if bounds[1] <= 0.0 else [0.5, 0.4]
    first = [score + ahead for score in base]
    low, high = difference_interval(first, base, 0.25, 12, bounds=bounds)
    assert low < ahead < high
    assert np.isfinite([low, high]).all()


@pytest.mark.parametrize(("n_labels", "p"), [(12, 0.9), (12, 0.97), (30, 0.95), (60, 0.8)])
def test_scores_of_few_labels_are_covered(n_labels, p):
    """Accuracy of a fixed classifier on folds of few labels; the folds alone fall short."""
    rng = np.random.default_rng(0)
    covered = alone = 0
    for _ in range(400):
        right = rng.random(n_labels) < p
        folds = np.array_split(rng.permutation(n_labels), 5)
        values = [float(right[fold].mean()) for fold in folds]
        low, high = score_interval(values, 0.25, n_labels)
        covered += low <= p <= high
        low, high = resampled_interval(values, 0.25)
        alone += low <= p <= high
    assert covered / 400 >= 0.93
    assert alone <= covered


def test_labels_that_cannot_be_held_out_may_be_errors():
    low, high = held_out_interval(0.9, 20, 20)
    assert (low, high) == pytest.approx(wilson_interval(0.9, 15))
    lower, same = held_out_interval(0.9, 20, 25)
    assert lower < low
    assert same == high


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("n_held", "n_labels"), [(2, 2), (12, 14), (200, 200)])
def test_held_out_intervals_are_never_degenerate(share, n_held, n_labels):
    low, high = held_out_interval(share, n_held, n_labels)
    assert 0.0 <= low < high <= 1.0
    assert low <= share <= high


@pytest.mark.parametrize(("n_labels", "alone"), [(30, 0.1), (100, 0.1), (100, 0.02), (200, 0.3)])
def test_differences_of_few_labels_are_covered(n_labels, alone):
    """Two fixed classifiers: often enough, and narrower than by the variance of folds alone."""
    rng = np.random.default_rng(0)
    covered, width, by_folds = 0, 0.0, 0.0
    for _ in range(300):
        kind = rng.choice(3, n_labels, p=[alone, alone / 2, 1.0 - 1.5 * alone])
        first, second = kind != 1, kind != 0
        low, high = held_out_difference(first, second, n_labels)
        covered += low <= alone / 2 <= high
        width += high - low
        folds = np.array_split(np.arange(n_labels), 5)
        scores = [[float(right[fold].mean()) for fold in folds] for right in (first, second)]
        low, high = difference_interval(*scores, 0.25, n_labels, bounds=(0.0, 1.0))
        by_folds += high - low
    assert covered / 300 >= 0.93
    assert width < by_folds


@pytest.mark.parametrize("n_labels", [2, 12, 200])
@pytest.mark.parametrize("ahead", [True, False])
def test_methods_that_agree_leave_doubt(n_labels, ahead):
    first, second = np.full(n_labels, ahead), np.zeros(n_labels, dtype=bool)
    low, high = held_out_difference(first, second, n_labels)
    assert -1.0 <= low < high <= 1.0
    assert low <= float(ahead) <= high
