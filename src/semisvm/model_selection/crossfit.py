"""Scores of labelled rows by models that did not see their labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.estimators.held_out import Grounds, HeldOut, held_out_scores
from semisvm.estimators.interop import fit_partly, scores_of
from semisvm.estimators.scoring import ScoringClassifier
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.partial_labels import UNLABELED_CODE, PartialLabels, encode, hide_labels
from semisvm.row_weights import masses
from semisvm.rows import read_rows, take_rows


def check_splitter(cv: Any, unlabeled: Any) -> PartialLabelKFold:
    """Return the splitter that a number of folds stands for."""
    if isinstance(cv, PartialLabelKFold):
        return cv
    return PartialLabelKFold(cv, shuffle=True, random_state=0, unlabeled=unlabeled)


def counting_codes(
    codes: NDArray[np.intp], sample_weight: Floats | None = None
) -> NDArray[np.intp]:
    """Return the codes (n,) of the rows to fold: a label of weight zero counts like none."""
    if sample_weight is None:
        return codes
    return np.where(sample_weight > 0.0, codes, UNLABELED_CODE)


@dataclass(frozen=True)
class CrossFit:
    """Labelled rows, each scored by a model to which it was an unlabelled row.

    Attributes
    ----------
    rows : int array of shape (h,)
        The rows that were held out, fold after fold.
    codes : int array of shape (h,)
        Their classes.
    scores : array of shape (h,) or (h, m)
    folds : int array of shape (h,)
        The model that scored each row.
    mass : array of shape (h,), optional
        For how many rows each of them counts; by default one.
    coef, intercept : arrays of shape (k, s, d) and (k, s), or None
        The k models, with s = 1 score for two classes and s = m for more; only of linear methods
        of this package.
    """

    rows: Index
    codes: NDArray[np.intp]
    scores: Floats
    folds: NDArray[np.intp]
    mass: Floats | None = None
    coef: Floats | None = None
    intercept: Floats | None = None

    @property
    def score_columns(self) -> Floats:
        """One score per class, shape (h, m)."""
        s = self.scores
        return np.column_stack([-s, s]) if s.ndim == 1 else s

    @classmethod
    def of(
        cls,
        folds: list[Index],
        codes: NDArray[np.intp],
        scores: list[Floats],
        sample_weight: Floats | None = None,
        weights: list[tuple[Floats, Floats]] | None = None,
    ) -> "CrossFit":
        """Put the folds together; ``codes`` and sample weights are those of all rows."""
        rows = np.concatenate(folds)
        number = np.repeat(np.arange(len(folds)), [len(fold) for fold in folds])
        mass = None
        if sample_weight is not None:
            mass = np.broadcast_to(masses(sample_weight[rows])[0], len(rows))
        found = (rows, codes[rows], np.concatenate(scores), number, mass)
        if not weights:
            return cls(*found)
        coef, intercept = zip(*weights, strict=True)
        return cls(*found, np.stack(coef), np.stack(intercept))


def cross_fit(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    cv: PartialLabelKFold,
    sample_weight: Floats | None = None,
    *,
    folds: list[Index] | None = None,
    shares: Floats | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> CrossFit | None:
    """Score every labelled row by a model to which it was an unlabelled row.

    Parameters
    ----------
    estimator : classifier
        The folds of one of this package share features, design and class shares. One that takes
        no unlabelled rows is fitted to the labelled rows.
    X : rows
    y : array-like of shape (n,)
    cv : PartialLabelKFold
    sample_weight : array of shape (n,), optional
        Of the fits. Labels of weight zero are not held out.
    folds : list of int arrays, optional
        Rows to hold out, in place of those of ``cv``.
    shares : array of shape (m,), optional
        Class shares, if they are known already.
    stop : function
        Asked before every fit.

    Returns
    -------
    found : CrossFit, or None if it was stopped
    """
    labels = encode(y, cv.unlabeled)
    if folds is None:
        folds = list(cv.folds(counting_codes(labels.codes, sample_weight)))
    if not isinstance(estimator, ScoringClassifier):
        scored = _fitted_anew(estimator, X, y, cv.unlabeled, sample_weight)
        return _stoppable(folds, labels.codes, scored, stop, sample_weight)
    rows = read_rows(X, in_passes=estimator.reads_in_passes)
    with Workers(thread_count(getattr(estimator, "n_jobs", None))) as workers:
        grounds = Grounds(rows, workers, sample_weight)
        if isinstance(estimator, LinearSemiSupervisedClassifier):
            held = HeldOut(estimator, grounds, labels, shares)
            return _weighed(held, folds, labels, stop, sample_weight)
        scored = held_out_scores(estimator, grounds, labels, shares)
        return _stoppable(folds, labels.codes, scored, stop, sample_weight)


def _weighed(
    held: HeldOut,
    folds: list[Index],
    labels: PartialLabels,
    stop: Callable[[], bool],
    sample_weight: Floats | None,
) -> CrossFit | None:
    """Score the folds, and keep the weights of linear models."""
    weights = []

    def scored(fold: Index) -> Floats:
        coef, intercept = held.fit(fold)
        if held.is_linear:
            # half of the room, in memory and in files; the scores are those of what is kept
            coef, intercept = coef.astype(np.float32), intercept.astype(np.float32)
            weights.append((coef, intercept))
        return held.score(fold, coef, intercept)

    return _stoppable(folds, labels.codes, scored, stop, sample_weight, weights)


def _stoppable(
    folds: list[Index],
    codes: NDArray[np.intp],
    scored: Callable[[Index], Floats],
    stop: Callable[[], bool],
    sample_weight: Floats | None,
    weights: list[tuple[Floats, Floats]] | None = None,
) -> CrossFit | None:
    scores = []
    for fold in folds:
        if stop():
            return None
        scores.append(scored(fold))
    return CrossFit.of(folds, codes, scores, sample_weight, weights)


def _fitted_anew(
    estimator: Any, X: Any, y: ArrayLike, unlabeled: Any, sample_weight: Floats | None
) -> Callable[[Index], Floats]:
    def scored(fold: Index) -> Floats:
        hidden = hide_labels(y, fold, unlabeled)
        model = fit_partly(estimator, X, hidden, unlabeled, sample_weight)
        return scores_of(model, take_rows(X, fold))

    return scored


def cross_fit_all(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    cv: PartialLabelKFold,
    sample_weight: Floats | None = None,
) -> CrossFit:
    """Return what `cross_fit` finds if nothing stops it."""
    found = cross_fit(estimator, X, y, cv, sample_weight)
    assert found is not None
    return found
