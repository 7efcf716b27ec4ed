"""Scores that look at labelled rows only, for the ``scoring=`` of scikit-learn."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
)

from semisvm.designs.validation import take_rows
from semisvm.labels.partial import given_labels, is_unlabeled, label_array
from semisvm.model_selection.decisions import columns_of
from semisvm.validation import check_choice

Weights = NDArray[Any] | None


class Metric(Protocol):
    """A score of predictions, which may count rows by their weights."""

    def __call__(self, y: NDArray[Any], predicted: NDArray[Any], weight: Weights = None) -> float:
        """Score the predictions; larger is better."""
        ...


def accuracy(y: NDArray[Any], predicted: NDArray[Any], weight: Weights = None) -> float:
    """Compute the share of rows that are predicted correctly."""
    return float(accuracy_score(y, predicted, sample_weight=weight))


def balanced_accuracy(y: NDArray[Any], predicted: NDArray[Any], weight: Weights = None) -> float:
    """Compute the mean over the classes in ``y`` of the share predicted correctly."""
    labels = np.unique(y)
    if len(labels) > 1 and np.isin(predicted, labels).all():
        return float(balanced_accuracy_score(y, predicted, sample_weight=weight))
    # scikit-learn warns of rows of one class, and of predictions of classes that no row has
    right, each = predicted == y, np.ones(len(y)) if weight is None else weight
    recalls = [np.average(right[y == label], weights=each[y == label]) for label in labels]
    return float(np.mean(recalls))


def f1_macro(y: NDArray[Any], predicted: NDArray[Any], weight: Weights = None) -> float:
    """Compute the mean over classes of the harmonic mean of precision and recall."""
    return float(f1_score(y, predicted, average="macro", zero_division=0.0, sample_weight=weight))


ACCURACY = "accuracy"
METRICS: dict[str, Metric] = {
    ACCURACY: accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
}
AVERAGE_PRECISION = "average_precision"
NEG_LOG_LOSS = "neg_log_loss"
OF_SCORES = (*METRICS, AVERAGE_PRECISION)
"""Metrics that need scores of the classes at most, which every method has."""
SCORINGS = (*OF_SCORES, NEG_LOG_LOSS)
BOUNDS = {**dict.fromkeys(OF_SCORES, (0.0, 1.0)), NEG_LOG_LOSS: (-np.inf, 0.0)}
"""Smallest and largest values of the scores."""
ANY = (-np.inf, np.inf)


def average_precision(
    codes: NDArray[np.intp], scores: NDArray[Any], weight: Weights = None
) -> float:
    """Compute how well scores rank the rows of the rarer class before the others.

    Of more than two classes it is the mean over those that occur, each against the rest. NaN if all
    rows have one class, which no ranking can put right or wrong.

    Parameters
    ----------
    codes : int array of shape (n,)
    scores : array of shape (n,), of class 1 against class 0, or (n, m)
    weight : array of shape (n,), optional
    """
    there, counts = np.unique(codes, return_counts=True)
    if len(there) < 2:
        return float("nan")
    columns = columns_of(scores)
    if columns.shape[1] == 2:
        # of classes of the same size the second one, as scikit-learn has it
        there = there[[int(counts[0] >= counts[1])]]
    found = [
        average_precision_score(codes == k, columns[:, k], sample_weight=weight) for k in there
    ]
    return float(np.mean(found))


def score_codes(
    name: str, codes: NDArray[np.intp], scores: NDArray[Any], weight: Weights = None
) -> float:
    """Compute a metric of `OF_SCORES` from scores (n,) or (n, m) of the classes."""
    if name == AVERAGE_PRECISION:
        return average_precision(codes, scores, weight)
    found = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    return METRICS[name](codes, found, weight)


@dataclass(frozen=True)
class PartialScorer:
    """A scorer that ignores unlabelled rows; larger is better.

    Attributes
    ----------
    name : {"accuracy", "balanced_accuracy", "f1_macro", "average_precision", "neg_log_loss"}
        The last one needs ``predict_proba``.
    unlabeled : scalar
        Value in y that marks unlabelled rows, in addition to None and NaN.
    """

    name: str = "accuracy"
    unlabeled: Any = -1

    def __post_init__(self) -> None:
        check_choice("scoring", self.name, SCORINGS)

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Score a fitted estimator on the labelled ones of the rows.

        The average precision of rows of one class is 0, for every estimator.
        """
        rows = np.flatnonzero(~is_unlabeled(y, self.unlabeled))
        if len(rows) == 0:
            raise ValueError(
                "no row to score is labelled. Fold the labelled rows only, with PartialLabelKFold."
            )
        if len(rows) < len(label_array(y)):
            X = take_rows(X, rows)
        truth = given_labels(label_array(y)[rows])
        if self.name == NEG_LOG_LOSS:
            return -float(log_loss(truth, estimator.predict_proba(X), labels=estimator.classes_))
        if self.name == AVERAGE_PRECISION:
            codes = np.searchsorted(estimator.classes_, truth)
            found = average_precision(codes, _class_scores(estimator, X))
            return found if np.isfinite(found) else 0.0
        return METRICS[self.name](truth, np.asarray(estimator.predict(X)))

    def can_score(self, y: ArrayLike) -> bool:
        """Return whether labels allow a score: a ranking needs two classes."""
        y = np.asarray(y)
        rows = ~is_unlabeled(y, self.unlabeled)
        return self.name != AVERAGE_PRECISION or len(np.unique(given_labels(y[rows]))) > 1


def _class_scores(estimator: Any, X: Any) -> NDArray[Any]:
    """Return scores of the classes, (n,) or (n, m); probabilities if there is nothing else."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    return np.asarray(estimator.predict_proba(X))


def partial_scorer(name: str = "accuracy", unlabeled: Any = -1) -> PartialScorer:
    """Make a scorer that ignores unlabelled rows, for ``scoring=``.

    Parameters
    ----------
    name : {"accuracy", "balanced_accuracy", "f1_macro", "average_precision", "neg_log_loss"}
        "average_precision" is about rankings: of the rarer of two classes, or the mean over more.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import NewtonSVC
    >>> from semisvm.model_selection import partial_scorer
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, -1])
    >>> partial_scorer("accuracy")(NewtonSVC().fit(X, y), X, y)
    1.0
    """
    return PartialScorer(name, unlabeled)
