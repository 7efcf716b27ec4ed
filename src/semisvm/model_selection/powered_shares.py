"""Shares of classes among all rows, by random labels and by what a model predicts for all rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Floats
from semisvm.labels.partial import is_unlabeled, label_array
from semisvm.model_selection.intervals import Interval, clipped, wilson_interval
from semisvm.validation import check_same_length, check_share

UNSEEN = 1.5**2
"""Added to sums of squared deviations for errors of the model that a few rows did not show: with
none among n rows, twice the standard error is 3/n, as by the rule of three."""
FEWEST = 2


@dataclass(frozen=True)
class Share:
    """The share of a class among all rows.

    Attributes
    ----------
    name : object
        The class.
    share : float
    interval : pair of floats
    labels_alone : pair of floats
        The interval without the predictions; it is never the narrower one.
    """

    name: Any
    share: float
    interval: Interval
    labels_alone: Interval


def prediction_powered_shares(
    predicted: ArrayLike,
    y: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    unlabeled: Any = -1,
) -> tuple[Share, ...]:
    r"""Estimate the share of each class among all rows.

    With F = 1 for rows that are predicted to have the class, and Y = 1 for rows that have it, the
    estimate is the mean of Y over the labelled rows, corrected by how much more often the class is
    predicted among all N rows than among the n labelled ones: ::

        mean(Y) + a (mean over all of F - mean over labelled of F),   a = cov(Y, F) / var(F)

    which is free of bias, but for that of estimating a, however wrong the predictions are. The
    interval is Wilson's with as many labels as have the variance of Y - a F. If it is wider than
    that of the labels alone, it is replaced by that.

    Parameters
    ----------
    predicted : array-like of shape (N,)
        For all rows, by a model that has not seen the labels below.
    y : array-like of shape (N,)
        Labels of rows that were drawn at random, and the marker for the others.
    classes : array-like of shape (m,), optional
        By default those that occur.
    confidence : float, default=0.95
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.

    Returns
    -------
    shares : tuple of m Share

    References
    ----------
    Angelopoulos, Duchi and Zrnic, PPI++: efficient prediction-powered inference, 2023,
    arXiv:2311.01453. In survey sampling: the regression estimator of Cochran, Sampling
    techniques, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import prediction_powered_shares
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.permutation(np.repeat(["ham", "spam"], [700, 300]))
    >>> predicted = np.where(rng.random(1000) < 0.05, "spam", truth)
    >>> y = np.where(np.arange(1000) < 100, truth, None)
    >>> spam = prediction_powered_shares(predicted, y)[1]
    >>> round(spam.share, 2), [round(end, 2) for end in spam.interval]
    (0.31, [0.28, 0.35])
    >>> [round(end, 2) for end in spam.labels_alone]
    [0.24, 0.41]
    """
    check_share("confidence", confidence)
    found, labels = label_array(predicted), label_array(y)
    check_same_length(found, labels, "y")
    known = np.flatnonzero(~is_unlabeled(labels, unlabeled))
    if len(known) < FEWEST:
        raise ValueError(
            f"shares of classes need labels of {FEWEST} or more rows that were drawn at random, "
            f"and there are {len(known)}."
        )
    names = np.unique([*found.tolist(), *labels[known].tolist()]) if classes is None else classes
    return tuple(
        _share(name, labels[known] == name, found == name, known, confidence)
        for name in np.asarray(names).tolist()
    )


def _share(
    name: Any,
    true: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    known: NDArray[np.intp],
    confidence: float,
) -> Share:
    y, f = true.astype(np.float64), predicted[known].astype(np.float64)
    n, n_rows = len(y), len(predicted)
    squares, cross = _squares(f), float((y - y.mean()) @ f)
    slope = cross / squares if squares > 0.0 else 0.0
    share = float(np.clip(y.mean() + slope * (predicted.mean() - f.mean()), 0.0, 1.0))
    # rows of a finite set, none of them twice, vary less
    own = n * n_rows / max(n_rows - n, 1)
    worth = own * (_squares(y) + UNSEEN) / (_squares(y - slope * f) + UNSEEN)
    alone = clipped(wilson_interval(float(y.mean()), own, confidence), (0.0, 1.0))
    powered = clipped(wilson_interval(share, worth, confidence), (0.0, 1.0))
    if powered[1] - powered[0] >= alone[1] - alone[0]:
        return Share(name, float(y.mean()), alone, alone)
    return Share(name, share, powered, alone)


def _squares(values: Floats) -> float:
    return float(((values - values.mean()) ** 2).sum())
