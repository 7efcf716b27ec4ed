"""Folds of labelled rows, each scored by a model that did not see its labels (`held_out`)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import read_rows, take_rows
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.estimators.held_out import (
    NEW_ROWS,
    TRANSDUCTION,
    USES,
    HeldOut,
    MappedRowsCache,
    Outside,
    held_out_scores,
    outside_rows,
    refitted_scores,
)
from semisvm.estimators.scoring import ScoringClassifier
from semisvm.labels.evidence import ratios, with_evidence
from semisvm.labels.partial import UNLABELED_CODE, PartialLabels, encode
from semisvm.labels.weights import masses
from semisvm.model_selection.decisions import columns_of
from semisvm.model_selection.splits import PartialLabelKFold, rows_of_groups
from semisvm.validation import check_choice

MOST_ROWS = 20_000
"""Rows from which held-out rows of linear methods stay in the fit: to leave them out takes a copy
of the others, and one unlabelled row of so many changes no weight noticeably."""


def is_pairwise(estimator: Any) -> bool:
    """Return whether X is a kernel matrix, of which no row can be left out alone."""
    return bool(get_tags(estimator).input_tags.pairwise)


def check_use(use: str) -> None:
    """Raise for a use that there is not."""
    check_choice("use", use, USES)


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
    """Labelled rows, each scored by a model that did not see its label.

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
        return columns_of(self.scores)

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
    use: str = TRANSDUCTION,
    group: NDArray[np.intp] | None = None,
    evidence: Any = None,
) -> CrossFit | None:
    """Score every labelled row by a model that did not see its label.

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
        Called before every fit; True ends the fits.
    use : {"transduction", "new_rows"}, default="transduction"
        Whether held-out rows stay in the fit as unlabelled rows, or take no part in it. Those of
        rows on the disk stay, and so do those of linear methods with many rows and those of
        a kernel matrix.
    group : int array of shape (n,), optional
        Rows that belong together. Those of the groups of held-out rows take no part in the fit.
    evidence : optional
        What is known about rows, as ``TransductiveSVC.fit`` takes it, for estimators that do. It
        stays known about held-out rows.

    Returns
    -------
    found : CrossFit, or None if it was stopped
    """
    labels = with_evidence(encode(y, cv.unlabeled), evidence)
    if folds is None:
        folds = list(cv.folds(counting_codes(labels.codes, sample_weight), group))
    linear = getattr(estimator, "kernel", None) == "linear"
    away = use == NEW_ROWS and not isinstance(X, RowsOnDisk) and not is_pairwise(estimator)
    away = away and not (linear and len(labels.codes) > MOST_ROWS)
    # a fit needs an unlabelled row
    away = away and len(labels.unlabeled) > 0
    outside: Outside = np.full(len(labels.codes), away)
    if group is not None:
        outside = partial(rows_of_groups, group)
    if not isinstance(estimator, ScoringClassifier):
        # no pool of threads: while it lives, the linear algebra of other packages has one thread
        grounds = MappedRowsCache(X, Workers(), sample_weight)
        scored = refitted_scores(estimator, grounds, y, cv.unlabeled, outside, ratios(labels))
        return _stoppable(folds, labels.codes, scored, stop, sample_weight)
    rows = read_rows(X, in_passes=estimator.reads_in_passes)
    with Workers(thread_count(getattr(estimator, "n_jobs", None))) as workers:
        grounds = MappedRowsCache(rows, workers, sample_weight)
        if isinstance(estimator, LinearSemiSupervisedClassifier):
            held = HeldOut(estimator, grounds, labels, shares)
            return _weighed(held, rows, folds, labels, stop, sample_weight, outside)
        scored = held_out_scores(estimator, grounds, labels, shares, outside)
        return _stoppable(folds, labels.codes, scored, stop, sample_weight)


def _weighed(
    held: HeldOut,
    X: Any,
    folds: list[Index],
    labels: PartialLabels,
    stop: Callable[[], bool],
    sample_weight: Floats | None,
    outside: Outside,
) -> CrossFit | None:
    """Score the folds, and keep the weights of linear models."""
    weights = []

    def scored(fold: Index) -> Floats:
        model = held.fit(fold, outside_rows(fold, outside))
        if model.kernel_map is None:
            # half of the room, in memory and in files; the scores are those of what is kept
            model = model.rounded()
            weights.append((model.coef, model.intercept))
        return model.score(take_rows(X, fold))

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


def cross_fit_all(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    cv: PartialLabelKFold,
    sample_weight: Floats | None = None,
    use: str = TRANSDUCTION,
    group: NDArray[np.intp] | None = None,
    evidence: Any = None,
) -> CrossFit:
    """Return what `cross_fit` finds if nothing stops it."""
    given = (X, y, cv, sample_weight)
    found = cross_fit(estimator, *given, use=use, group=group, evidence=evidence)
    assert found is not None
    return found
