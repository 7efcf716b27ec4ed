"""Intervals for means over folds whose training rows overlap."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from semisvm.designs.base import Floats


def resampled_interval(
    values: Sequence[float], test_share: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Compute an interval for the mean score, or the mean difference, of repeated folds.

    Folds share training rows, so their scores are correlated and the usual standard
    error is too small. The corrected resampled t interval of Nadeau and Bengio uses ::

        mean +- t_{J-1} sqrt((1/J + n_test/n_train) s^2)

    with J values of variance s^2. More repeats make 1/J small; the second term stays,
    because new folds of the same rows are not new rows.

    Parameters
    ----------
    values : sequence of J >= 2 floats
    test_share : float
        Held-out rows over training rows, both counted among the labelled ones.
    confidence : float

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003,
    doi:10.1023/A:1024068626366.
    """
    mean, n = float(np.mean(values)), len(values)
    half = float(student.ppf(0.5 + 0.5 * confidence, n - 1)) * resampled_error(values, test_share)
    return mean - half, mean + half


def clipped(interval: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    """Cut an interval off at values that a score cannot pass."""
    low, high = bounds
    return min(max(interval[0], low), high), max(min(interval[1], high), low)


def resampled_error(values: Sequence[float] | Floats, test_share: float) -> float:
    """Compute the corrected standard error of a mean, the root in `resampled_interval`."""
    return float(np.sqrt((1.0 / len(values) + test_share) * np.var(values, ddof=1)))
