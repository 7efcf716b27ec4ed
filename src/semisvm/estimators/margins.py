"""The unlabelled rows of a fitted model: their margins and predicted classes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.validation import take_rows
from semisvm.labels.partial import is_unlabeled

BINS = 40

Floats = NDArray[np.float64]


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def margins(scores: ArrayLike) -> Floats:
    """Compute the margins of scores.

    Parameters
    ----------
    scores : array of shape (n,) or (n, m)
        Output of ``decision_function``.

    Returns
    -------
    margins : array of shape (n,)
        For two classes the scores themselves; for more the best score minus the second.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 1:
        return values
    top = np.partition(values, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def margin_width(estimator: Any) -> float | None:
    """Return the margin beyond which a row costs nothing, or None for a loss without one."""
    return getattr(last_step(estimator), "margin_width", 1.0)


def histogram(values: ArrayLike, bins: int = BINS) -> tuple[NDArray[np.intp], Floats]:
    """Count values in bins of equal width; the outermost 1% go to the end bins.

    Returns
    -------
    counts : int array of shape (bins,)
    edges : array of shape (bins + 1,)
    """
    found = np.asarray(values, dtype=np.float64)
    if len(found) == 0:
        return np.zeros(bins, dtype=np.intp), np.linspace(-1.0, 1.0, bins + 1)
    # a few rows far away would squeeze all others into one bin
    low, high = np.quantile(found, [0.005, 0.995])
    counts, edges = np.histogram(np.clip(found, low, high), bins=bins)
    return counts, np.asarray(edges, dtype=np.float64)


def unlabeled_rows(estimator: Any, X: Any, y: ArrayLike) -> Any:
    """Return the rows of X that are unlabelled in y, by the marker of the estimator."""
    marker = getattr(last_step(estimator), "unlabeled", -1)
    return take_rows(X, np.flatnonzero(is_unlabeled(y, marker)))


def describe_unlabeled(estimator: Any, X: Any, y: ArrayLike) -> dict[str, Any]:
    """Summarise the predictions of a fitted estimator for the unlabelled rows.

    Parameters
    ----------
    estimator : fitted estimator
    X : rows to which it was fitted
    y : array-like of shape (n,)

    Returns
    -------
    facts : dict
        "found", the number of rows per predicted class, and "scores", a histogram of the
        margins; empty if every row has a label.
    """
    marker = getattr(last_step(estimator), "unlabeled", -1)
    free = is_unlabeled(y, marker)
    if not free.any():
        return {}
    # all rows are scored, since a part of them would be a copy of the data
    scores = np.asarray(estimator.decision_function(X))[free]
    codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    classes = np.asarray(estimator.classes_).tolist()
    counts = np.bincount(codes, minlength=len(classes)).tolist()
    return {
        "found": dict(zip(classes, counts, strict=True)),
        "scores": describe_margins(margins(scores), margin_width(estimator), len(classes) == 2),
    }


def describe_margins(values: Floats, width: float | None, two: bool) -> dict[str, Any]:
    """Return a histogram of margins as data.

    Returns
    -------
    facts : dict
        "counts", "edges", "two" (whether there are two classes), "margin", and "inside", the
        share of rows within the margin.
    """
    counts, edges = histogram(values)
    inside = None if width is None else float(np.mean(np.abs(values) < width))
    return {
        "two": two,
        "margin": width,
        "inside": inside,
        "counts": counts.tolist(),
        "edges": edges.tolist(),
    }
