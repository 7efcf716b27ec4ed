"""Scores that look at labelled rows only, for the ``scoring=`` of scikit-learn."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss

from semisvm.partial_labels import given_labels, is_unlabeled, label_array
from semisvm.rows import take_rows
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
    known = np.isin(predicted, y)
    if known.all():
        return float(balanced_accuracy_score(y, predicted, sample_weight=weight))
    # scikit-learn warns of predictions of classes that the few rows do not have
    right, each = predicted == y, np.ones(len(y)) if weight is None else weight
    recalls = [np.average(right[y == label], weights=each[y == label]) for label in np.unique(y)]
    return float(np.mean(recalls))


def f1_macro(y: NDArray[Any], predicted: NDArray[Any], weight: Weights = None) -> float:
    """Compute the mean over classes of the harmonic mean of precision and recall."""
    return float(f1_score(y, predicted, average="macro", zero_division=0.0, sample_weight=weight))


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
}
NEG_LOG_LOSS = "neg_log_loss"
SCORINGS = (*METRICS, NEG_LOG_LOSS)
BOUNDS = {**dict.fromkeys(METRICS, (0.0, 1.0)), NEG_LOG_LOSS: (-np.inf, 0.0)}
"""Smallest and largest values of the scores."""
ANY = (-np.inf, np.inf)


@dataclass(frozen=True)
class PartialScorer:
    """A scorer that ignores unlabelled rows; larger is better.

    Attributes
    ----------
    name : {"accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"}
        The last one needs ``predict_proba``.
    unlabeled : scalar
        Value in y that marks unlabelled rows, in addition to None and NaN.
    """

    name: str = "accuracy"
    unlabeled: Any = -1

    def __post_init__(self) -> None:
        check_choice("scoring", self.name, dict.fromkeys(SCORINGS))

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Score a fitted estimator on the labelled ones of the rows."""
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
        return METRICS[self.name](truth, np.asarray(estimator.predict(X)))


def partial_scorer(name: str = "accuracy", unlabeled: Any = -1) -> PartialScorer:
    """Make a scorer that ignores unlabelled rows, for ``scoring=``.

    Parameters
    ----------
    name : {"accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"}
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
