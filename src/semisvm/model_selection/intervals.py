"""Intervals for means over folds whose training rows overlap.

Folds that happen to agree have a variance near zero, which does not carry over to other rows:
twelve labels that are all predicted correctly are no proof of an accuracy of 1. So an interval is
never narrower than the one that the number of labels alone allows: Wilson's for a score, and that
of Bonett and Price for a difference of two scores of the same rows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from semisvm.designs.base import Floats

Interval = tuple[float, float]

KEPT = 0.75
"""Held-out rows that `held_out_interval` counts, as a share of all. The model that is fitted to all
labels is another draw than those of the folds, and its accuracy differs from theirs. Chosen on six
sets with 12 to 200 labels, with linear models other than those that `python -m benchmarks coverage`
fits."""
KEPT_IN_PAIRS, ADDED_TO_PAIRS = 0.85, 0.25
"""The same for a difference of two accuracies, and what is added to the numbers of rows that one
method alone has right. Chosen on ten sets, with three pairs of least squares machines."""


def held_out_interval(
    share: float, n_held: int, n_labels: int, confidence: float = 0.95
) -> Interval:
    """Compute an interval for the accuracy of a model, from labels that its folds held out.

    It is Wilson's with three quarters of the labels. A label that is the only one of its class
    cannot be held out: the lower end counts it as an error. By Good and Turing, the share of such
    labels estimates the share of rows whose class has no label at all.

    Parameters
    ----------
    share : float
        Mean accuracy on held-out labels.
    n_held : int
        Different labels that were held out.
    n_labels : int
        All labels.
    confidence : float
    """
    n_labels = max(n_held, n_labels)
    low = wilson_interval(share * n_held / n_labels, KEPT * n_labels, confidence)[0]
    high = wilson_interval(share, KEPT * n_held, confidence)[1]
    return clipped((low, high), (0.0, 1.0))


def score_interval(
    values: Sequence[float],
    test_share: float,
    n_labels: int,
    confidence: float = 0.95,
    bounds: Interval = (0.0, 1.0),
) -> Interval:
    """Compute an interval for the mean score of folds: its width is never zero.

    It is the hull of `resampled_interval` and `wilson_interval`, within the bounds.

    Parameters
    ----------
    values : sequence of floats
        One or more; of a single one only the number of labels is used.
    test_share : float
        Held-out rows over training rows, both counted among the labelled ones.
    n_labels : int
        Different labels that were held out.
    confidence : float
    bounds : pair of floats
        Of the score. Without finite ones the values themselves are the scale.
    """
    low, high = _scale(values, bounds)
    share = (float(np.mean(values)) - low) / (high - low)
    own = wilson_interval(share, n_labels, confidence)
    floor = (low + own[0] * (high - low), low + own[1] * (high - low))
    return clipped(_hull(values, test_share, confidence, floor), bounds)


def difference_interval(
    first: Sequence[float],
    second: Sequence[float],
    test_share: float,
    n_labels: int,
    confidence: float = 0.95,
    bounds: Interval = (0.0, 1.0),
) -> Interval:
    """Compute an interval for the mean of first - second: its width is never zero.

    It is the hull of `resampled_interval` and `paired_interval`, within the bounds.

    Parameters
    ----------
    first, second : sequences of floats
        Scores of two methods on the same folds.
    test_share : float
    n_labels : int
    confidence : float
    bounds : pair of floats
        As in `score_interval`; those of a score, not of a difference.
    """
    low, high = _scale([*first, *second], bounds)
    ahead = np.subtract(first, second, dtype=np.float64)
    share = float(ahead.mean()) / (high - low)
    # the narrowest one with this difference: no label on which the method that is behind is ahead
    own = paired_interval(max(share, 0.0), max(-share, 0.0), n_labels, confidence)
    floor = (own[0] * (high - low), own[1] * (high - low))
    widest = (bounds[0] - bounds[1], bounds[1] - bounds[0])
    return clipped(_hull(ahead.tolist(), test_share, confidence, floor), widest)


def wilson_interval(share: float, n: float, confidence: float = 0.95) -> Interval:
    """Compute Wilson's interval for a share of n independent rows.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
    """
    z = float(norm.ppf(0.5 + 0.5 * confidence))
    middle = (n * share + 0.5 * z**2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(max(n * share * (1.0 - share), 0.0) + 0.25 * z**2)
    return float(middle - half), float(middle + half)


def accuracy_interval(
    share: float, n: int, weight: Floats | None = None, confidence: float = 0.95
) -> Interval:
    """Compute an interval for the accuracy on rows that had no part in a fit.

    It is Wilson's; weighted rows are as many as have the same variance (Kish).

    Parameters
    ----------
    share : float
        Of the rows that are right, or of their weight.
    n : int
    weight : array of shape (n,), optional
    confidence : float
    """
    worth = float(n if weight is None else weight.sum() ** 2 / (weight**2).sum())
    return clipped(wilson_interval(share, worth, confidence), (0.0, 1.0))


def paired_interval(
    first: float, second: float, n: float, confidence: float = 0.95, added: float = 1.0
) -> Interval:
    """Compute an interval for a difference of two shares of the same n rows.

    Bonett and Price add one to the number of rows that only the first method has right, and to
    those that only the second has, and take the normal interval.

    Parameters
    ----------
    first, second : float
        Shares of rows that only the first method has right, and only the second.
    n, confidence : float
    added : float
        In place of one.

    References
    ----------
    Bonett and Price, Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data, Journal of Educational and Behavioral Statistics 37, 2012.
    """
    z = float(norm.ppf(0.5 + 0.5 * confidence))
    rows = n + 2.0 * added
    p, q = (n * first + added) / rows, (n * second + added) / rows
    half = z * np.sqrt((p + q - (p - q) ** 2) / rows)
    return float(p - q - half), float(p - q + half)


def held_out_difference(
    first: NDArray[np.bool_], second: NDArray[np.bool_], n_held: int, confidence: float = 0.95
) -> Interval:
    """Compute an interval for the difference of two accuracies, from labels that folds held out.

    It is `paired_interval` with fewer labels, and less added.

    Parameters
    ----------
    first, second : bool arrays of shape (h,)
        Whether the methods have held-out labels right, of which some may be there several times.
    n_held : int
        Different labels that were held out.
    confidence : float
    """
    alone = float(np.mean(first & ~second)), float(np.mean(second & ~first))
    found = paired_interval(*alone, KEPT_IN_PAIRS * n_held, confidence, ADDED_TO_PAIRS)
    return clipped(found, (-1.0, 1.0))


def _hull(
    values: Sequence[float], test_share: float, confidence: float, floor: Interval
) -> Interval:
    if len(values) < 2:
        return floor
    found = resampled_interval(values, test_share, confidence)
    return min(found[0], floor[0]), max(found[1], floor[1])


def _scale(values: Sequence[float], bounds: Interval) -> Interval:
    """Return the bounds of a score, or those of its values where it has none."""
    if np.isfinite(bounds).all():
        return bounds
    low, high = float(np.min(values)), float(np.max(values))
    return (low, high) if low < high else (low, low + (abs(low) or 1.0))


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
