"""What labels that are held out show of a fitted estimator: probabilities, and notes for people."""

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Index
from semisvm.designs.costs import Size
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import take_rows
from semisvm.estimators.held_out import NEW_ROWS
from semisvm.estimators.registry import get
from semisvm.labels.partial import PartialLabels, encode
from semisvm.model_selection.calibration import Calibrator, calibrate_labels, learn_from
from semisvm.model_selection.candidates import Choice
from semisvm.model_selection.conformal import Conformal
from semisvm.model_selection.crossfit import CrossFit, cross_fit_all
from semisvm.model_selection.familiarity import some_rows
from semisvm.model_selection.recall import held_out_recall
from semisvm.model_selection.splits import PartialLabelKFold, folds_of_groups
from semisvm.model_selection.verdict import against_labels
from semisvm.tables.errors import DataError
from semisvm.tables.labels import count_labels, count_repeated
from semisvm.tables.several_labels import SeveralLabels

HELD_OUT_FOLDS = 5
FEW_TO_CALIBRATE = 20
FEWEST_TO_JUDGE = 10


class Rows(Protocol):
    """The rows of a fit, as `semisvm.preparing.Prepared` has them."""

    X: Any
    labels: NDArray[np.object_]
    weight: NDArray[np.float64] | None
    evidence: Any
    several: SeveralLabels | None
    group: Index | None


def calibrate(
    estimator: Any, rows: Rows, random_state: int = 0, use: str = "new_rows"
) -> tuple[Calibrator, Conformal | None]:
    """Learn from cross-fitted scores of labelled rows: probabilities, and sets of classes.

    Parameters
    ----------
    estimator : fitted estimator
        Its parameters are those of the fits of the folds.
    rows : Rows
    random_state : int, default=0
    use : {"new_rows", "transduction"}, default="new_rows"
        Whether held-out rows take no part in the fits.
    """
    if rows.several is not None:
        return _calibrate_labels(estimator, rows, random_state), None
    if count_repeated(rows.labels) < 2:
        raise DataError(
            "probabilities need labelled rows to hold out, but no class has two labels."
        )
    found = cross_fit_labels(estimator, rows, random_state, use)
    return learn_from(found, len(estimator.classes_), "temperature")


def calibrator_of(choice: Choice, estimator: Any, X: Any) -> Calibrator | None:
    """Return probabilities of a single method, by the labels that were held out to choose it."""
    sample = some_rows(X.shape[0])
    if isinstance(X, RowsOnDisk) and not X.can_load(sample):
        return None
    scores = np.asarray(estimator.decision_function(take_rows(X, sample)))
    return Calibrator.at_weight(choice.weight, scores)


def cross_fit_labels(
    estimator: Any, rows: Rows, random_state: int, use: str = NEW_ROWS
) -> CrossFit:
    """Score the labelled rows by models that did not see their labels."""
    folds = min(HELD_OUT_FOLDS, count_repeated(rows.labels))
    cv = PartialLabelKFold(folds, shuffle=True, random_state=random_state, unlabeled=None)
    if rows.group is not None:
        codes = encode(rows.labels, None).codes
        grouped = folds_of_groups(codes, rows.group, folds, random_state)
        if not grouped:
            raise DataError(
                "the labels of a class are in too few groups to hold some out. Label rows of more "
                "groups, or leave out groups=."
            )
        cv = PartialLabelKFold(
            len(grouped), shuffle=True, random_state=random_state, unlabeled=None
        )
    with warnings.catch_warnings():
        # there is a note about few labels
        warnings.simplefilter("ignore", UserWarning)
        about = (rows.group, rows.evidence)
        return cross_fit_all(estimator, rows.X, rows.labels, cv, rows.weight, use, *about)


def _calibrate_labels(estimator: Any, rows: Rows, random_state: int) -> Calibrator:
    with warnings.catch_warnings():
        # labels of few rows are in the summary
        warnings.simplefilter("ignore", UserWarning)
        try:
            return calibrate_labels(
                estimator,
                rows.X,
                rows.labels,
                cv=HELD_OUT_FOLDS,
                random_state=random_state,
                sample_weight=rows.weight,
            )
        except ValueError as error:
            raise DataError(f"probabilities need labelled rows to hold out: {error}") from error


def about_few(labels: NDArray[np.object_]) -> list[str]:
    """Return a note if probabilities are learnt from few labels."""
    n = sum(count_labels(labels).values())
    if n >= FEW_TO_CALIBRATE:
        return []
    return [f"probabilities from {n} labels rank the rows well but are not reliable probabilities."]


def about_chance(estimator: Any, method: str, rows: Rows, random_state: int) -> list[str]:
    """Return a note if a model is no better than a guess, by held-out labels."""
    repeated = count_repeated(rows.labels) if rows.several is None else 0
    if repeated < FEWEST_TO_JUDGE:
        return []
    try:
        held_out = cross_fit_labels(estimator, rows, random_state)
    except DataError:  # too few groups
        return []
    found = against_labels(held_out.scores, held_out.codes)
    return [] if found.better else [found.sentence(method)]


def about_recall(
    estimator: Any,
    method: str,
    rows: Rows,
    labels: PartialLabels,
    random_state: int,
    seconds: float,
) -> list[str]:
    """Return a note with the recall of the only class with labels, if it takes few seconds."""
    n, X = len(labels.labeled), rows.X
    away = isinstance(X, RowsOnDisk) and not X.can_load()
    if len(labels.classes) > 2 or n < FEWEST_TO_JUDGE or away:
        return []
    # the time of the fit may be that of compiling
    if HELD_OUT_FOLDS * get(method).cost.seconds(Size.of(X, 2)) > seconds:
        return []
    X = X.load() if isinstance(X, RowsOnDisk) else X
    given = {"sample_weight": rows.weight, "group": rows.group}
    found = held_out_recall(
        estimator, X, labels, HELD_OUT_FOLDS, random_state=random_state, **given
    )
    return [found.sentence()]
