"""Estimators of other packages, beside ours in a comparison.

Most classifiers treat the marker of unlabelled rows as a class, so they are fitted to the labelled
rows.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from semisvm.designs import Floats
from semisvm.designs.validation import take_rows
from semisvm.labels.partial import given_labels, is_unlabeled, label_array

SEMI_SUPERVISED = "sklearn.semi_supervised"
INNER = ("estimator", "final_estimator", "base_estimator")
SMALLEST = 1e-12
"""Smallest probability whose logarithm is taken."""


def takes_unlabeled(estimator: Any) -> bool:
    """Return whether an estimator can be fitted to y with unlabelled rows.

    Those of this package can, those of ``sklearn.semi_supervised``, others that have an attribute
    ``takes_unlabeled = True``, and pipelines and meta-estimators that end in such an estimator.
    """
    stated = getattr(estimator, "takes_unlabeled", None)
    if stated is not None:
        return bool(stated)
    if any(kind.__module__.startswith(SEMI_SUPERVISED) for kind in type(estimator).__mro__):
        return True
    if hasattr(estimator, "steps"):
        return takes_unlabeled(estimator.steps[-1][1])
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if "unlabeled" in parameters:
        return True
    return any(takes_unlabeled(parameters[name]) for name in INNER if parameters.get(name))


def fit_partly(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    unlabeled: Any = -1,
    sample_weight: Floats | None = None,
) -> Any:
    """Fit a copy of any estimator: to all rows if it takes unlabelled ones, else to the labelled.

    Parameters
    ----------
    estimator : classifier
    X : n rows
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    unlabeled : scalar, default=-1
    sample_weight : array of shape (n,), optional

    Returns
    -------
    model : fitted estimator
        Its ``classes_`` do not contain the marker.
    """
    if not takes_unlabeled(estimator):
        rows = np.flatnonzero(~is_unlabeled(y, unlabeled))
        X, y = take_rows(X, rows), given_labels(label_array(y)[rows])
        sample_weight = None if sample_weight is None else sample_weight[rows]
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    return clone(estimator).fit(X, y, **weighted)


def scores_of(model: Any, X: Any) -> Floats:
    """Return scores (n,) or (n, m) of any fitted classifier.

    They are those of ``decision_function``, or else logarithms of probabilities; for two classes
    their difference, the log-odds.
    """
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, so its "
            "predictions cannot be ranked. Use a classifier that has one of them."
        )
    logs = np.log(np.maximum(np.asarray(model.predict_proba(X), dtype=np.float64), SMALLEST))
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs
