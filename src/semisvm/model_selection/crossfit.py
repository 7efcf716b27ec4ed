"""Scores of labelled rows by models that did not see their labels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from semisvm.designs import Floats, Workers, thread_count
from semisvm.estimators.held_out import Grounds, held_out_scores
from semisvm.estimators.scoring import ScoringClassifier
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.partial_labels import encode, hide_labels
from semisvm.rows import read_rows, take_rows


def check_splitter(cv: Any, unlabeled: Any) -> PartialLabelKFold:
    """Return the splitter that a number of folds stands for."""
    if isinstance(cv, PartialLabelKFold):
        return cv
    return PartialLabelKFold(cv, shuffle=True, random_state=0, unlabeled=unlabeled)


def cross_fitted_scores(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    cv: PartialLabelKFold,
    sample_weight: Floats | None = None,
) -> tuple[Floats, NDArray[np.intp]]:
    """Score every labelled row by a model to which it was an unlabelled row.

    Parameters
    ----------
    estimator : estimator with ``decision_function``
        The folds of one of this package share features, design and class shares.
    X : rows
    y : array-like of shape (n,)
    cv : PartialLabelKFold
    sample_weight : array of shape (n,), optional
        Of the fits.

    Returns
    -------
    scores : array of shape (h,) or (h, m)
        Of the rows that were held out, fold after fold.
    codes : int array of shape (h,)
        Their classes.
    """
    labels = encode(y, cv.unlabeled)
    folds = list(cv.folds(labels.codes))
    codes = np.concatenate([labels.codes[fold] for fold in folds])
    if isinstance(estimator, ScoringClassifier):
        rows = read_rows(X, in_passes=estimator.reads_in_passes)
        with Workers(thread_count(getattr(estimator, "n_jobs", None))) as workers:
            scored = held_out_scores(estimator, Grounds(rows, workers, sample_weight), labels)
            return np.concatenate([scored(fold) for fold in folds]), codes
    scores = []
    for fold in folds:
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        model = clone(estimator).fit(X, hide_labels(y, fold, cv.unlabeled), **weighted)
        scores.append(np.asarray(model.decision_function(take_rows(X, fold)), dtype=np.float64))
    return np.concatenate(scores), codes
