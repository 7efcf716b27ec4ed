"""From data that were read from a file to a `Model`."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from semisvm.columns import ColumnFeatures
from semisvm.columns.unknown import unknown_shares
from semisvm.io import (
    DataError,
    DataWarning,
    MatrixData,
    Table,
    about_missing,
    count_labels,
    remarks,
)
from semisvm.margins import describe_unlabeled
from semisvm.model import Model
from semisvm.ondisk import RowsOnDisk
from semisvm.registry import AUTO, get, methods
from semisvm.rows import mean_square_length, take_rows
from semisvm.scaling import MatrixScaling, fit_scaling
from semisvm.trust.familiarity import Familiarity, some_rows

if TYPE_CHECKING:
    from semisvm.loop import Callback
    from semisvm.model_selection.calibration import Calibrator
    from semisvm.model_selection.choice import Choice
    from semisvm.model_selection.watching import Told
    from semisvm.trust.conformal import Conformal

CALIBRATION_FOLDS = 5
FEW_TO_CALIBRATE = 20
QUICK_FIT = 1.0
"""Seconds of a fit up to which five more are made to compare the model with a guess."""
FEWEST_TO_JUDGE = 10
MOST_SINGLE = 20
"""More classes than this, each with one label, are not classes but names of rows."""
SHORT, LONG = 0.1, 10.0
"""Lengths of rows beyond which the default regularisation is off by a factor of a hundred."""
FEW_FOR_SHARES = 100
"""With fewer labels a share of one half is off by five points or more in a third of the cases."""


@dataclass
class Prepared:
    """Data that are ready for an estimator.

    Attributes
    ----------
    X : matrix of shape (n, d)
    labels : object array of shape (n,)
        None for rows without one.
    features : ColumnFeatures or None
        Fitted to the columns of all rows; labels are not used.
    settings : dict
        How the file was read.
    notes : list of str
    seconds : float
        Time to compute the features.
    scaling : MatrixScaling or None
        What was done to the rows of a matrix.
    weight : array of shape (n,), optional
        Weights of the rows.
    cells : Table or None
        A sample of the rows of a table, those of `semisvm.trust.familiarity.some_rows`.
    """

    X: Any
    labels: NDArray[np.object_]
    features: ColumnFeatures | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    scaling: MatrixScaling | None = None
    weight: NDArray[np.float64] | None = None
    cells: Table | None = None


def prepare(
    data: Table | MatrixData,
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    as_is: bool = False,
    sample_weight: NDArray[np.float64] | None = None,
) -> Prepared:
    """Check labels, and compute features from columns.

    Parameters
    ----------
    data : Table or MatrixData
        With labels; None for rows without one.
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    settings : mapping, optional
        How the file was read, to be kept with the model.
    as_is : bool, default=False
        Whether to leave a matrix as it is. Otherwise counts become tf-idf, and columns in
        different units are standardised (`semisvm.scaling`).
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    """
    notes = _check_labels(data)
    found = prepare_rows(data, _labels(data), features, settings, as_is=as_is)
    return replace(found, notes=[*notes, *found.notes], weight=sample_weight)


def prepare_rows(
    data: Table | MatrixData,
    labels: NDArray[np.object_],
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    as_is: bool = False,
) -> Prepared:
    """Do what `prepare` does, for labels that need no check: shape (n,), or (n, k) of several."""
    notes: list[str] = []
    kept = dict(settings or {})
    start = perf_counter()
    X, transformer = features_of(data, features)
    scaling = None
    if isinstance(data, MatrixData):
        kept |= data.facts
        scaling = None if as_is or isinstance(X, RowsOnDisk) else fit_scaling(X)
        X = X if scaling is None else scaling.transform(X)
        if scaling is not None:
            notes.append(scaling.note())
        elif transformer is None:
            notes += _about_scale(X)
    seconds = perf_counter() - start
    if transformer is not None:
        notes += transformer.notes_
    cells = None if isinstance(data, MatrixData) else data.take(some_rows(len(data)).tolist())
    return Prepared(X, labels, transformer, kept, notes, seconds, scaling, None, cells)


def features_of(
    data: Table | MatrixData, features: ColumnFeatures | None = None
) -> tuple[Any, ColumnFeatures | None]:
    """Return the matrix of data, and the fitted features that made it from columns.

    Parameters
    ----------
    data : Table or MatrixData
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    """
    if isinstance(data, MatrixData):
        return data.X, None if data.made_by is None else _features_of_rows(data)
    transformer = ColumnFeatures() if features is None else features
    return transformer.fit_transform(data), transformer


def _features_of_rows(data: MatrixData) -> ColumnFeatures:
    """Restore the features that made the columns of stored rows, after a check."""
    from semisvm.model_files.features import features_of_rows

    state, arrays = data.made_by
    try:
        return features_of_rows(state, arrays, data.X.shape[1])
    except ValueError as error:
        message = f"the features of these rows are damaged: {error} Convert the data again."
        raise DataError(message, data.path) from error


class Progress(Protocol):
    """Shows the progress of `train`; both methods return a context for one stage of the work."""

    def choosing(self) -> AbstractContextManager["Told | None"]:
        """Watch the choice of a method; the context yields a function to call before each fit."""
        ...

    def fitting(self, method: str) -> AbstractContextManager["Callback | None"]:
        """Watch the last fit; the context yields a callback for the rows of its trace."""
        ...


class _Unwatched:
    def choosing(self) -> AbstractContextManager["Told | None"]:
        return nullcontext()

    def fitting(self, method: str) -> AbstractContextManager["Callback | None"]:
        return nullcontext()


UNWATCHED = _Unwatched()


def train(
    data: Table | MatrixData,
    method: str = AUTO,
    *,
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    probabilities: bool = False,
    as_is: bool = False,
    quick: bool = False,
    time_limit: float | None = None,
    random_state: int = 0,
    notes: Sequence[str] = (),
    progress: Progress = UNWATCHED,
    n_parts: int | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    **parameters: Any,
) -> Model:
    """Fit a method to data that were read from a file.

    Parameters
    ----------
    data : Table or MatrixData
        With labels; None for rows without one.
    method : str, default="auto"
        A name of `semisvm.registry`, or "auto" to choose one, or a committee of several, by
        held-out labels (`semisvm.model_selection.choose`); ``summary["choice"]`` of the
        model then says why.
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    settings : mapping, optional
        How the file was read, to be kept with the model.
    probabilities : bool, default=False
        Whether to calibrate probabilities, at the cost of five more fits.
    as_is : bool, default=False
        Whether to leave a matrix as it is. Otherwise counts become tf-idf, columns in
        different units are standardised, and the model does the same before it predicts.
    quick : bool, default=False
        Whether "auto" tries only what is quick.
    time_limit : float, optional
        Seconds that "auto" may take to choose.
    random_state : int, default=0
        Seed of the folds.
    notes : sequence of str
        Remarks about the data, to be kept in the summary of the model.
    progress : Progress, optional
        Shows how far the training is.
    n_parts : int, optional
        Number of parts into which rows on the disk are divided for the fit, which the workers of
        the current client of Dask then share.
    sample_weight : array of shape (n,), optional
        Weights of the rows in the fits: a row of weight two counts like two.
    **parameters
        Of the estimator.

    Returns
    -------
    model : Model
    """
    if sample_weight is not None and method != AUTO and not get(method).takes_weights:
        taking = [one.name for one in methods() if one.takes_weights]
        raise ValueError(
            f"the method {method!r} takes no weights of rows. These do: {', '.join(taking)}."
        )
    prepared = prepare(data, features, settings, as_is=as_is, sample_weight=sample_weight)
    prepared.notes += notes
    choice = None
    if method == AUTO:
        limits = {"quick": quick, "time_limit": time_limit}
        choice = _choose(prepared, parameters, random_state, progress, limits)
    if choice is not None:
        method, parameters = choice.method, choice.parameters
    with progress.fitting(method) as callback:
        watched = parameters if callback is None else {"callback": callback, **parameters}
        model = _fit(prepared, method, watched, probabilities, random_state, n_parts)
    if choice is None:
        model.summary["notes"] += _about_chance(model, prepared, random_state)
    else:
        model.summary["choice"] = choice.to_dict()
        model.summary["notes"] += choice.notes
    return model


def _choose(
    prepared: Prepared,
    parameters: dict[str, Any],
    random_state: int,
    progress: Progress,
    limits: dict[str, Any],
) -> "Choice":
    from semisvm.model_selection.choosing import choose

    with progress.choosing() as tell:
        return choose(
            prepared.X,
            prepared.labels,
            parameters=parameters,
            unlabeled=None,
            random_state=random_state,
            tell=tell,
            sample_weight=prepared.weight,
            **limits,
        )


def _fit(
    prepared: Prepared,
    method: str,
    parameters: Mapping[str, Any],
    probabilities: bool,
    random_state: int,
    n_parts: int | None,
) -> Model:
    entry = get(method)
    start = perf_counter()
    X, labels, notes = prepared.X, prepared.labels, list(prepared.notes)
    rows = X if n_parts is None else X.split(n_parts)
    weighted = {} if prepared.weight is None else {"sample_weight": prepared.weight}
    estimator = entry.make(unlabeled=None, **parameters).fit(rows, labels, **weighted)
    # it belongs to the caller of the fit, not to the model
    estimator.callback = None
    notes += estimator.trace_.notes
    held_out = None
    if probabilities:
        held_out = calibrate(estimator, prepared, random_state)
        notes += _about_calibration(labels)
    notes += _about_prior(estimator, labels)
    return bundled(estimator, entry.name, prepared, notes, perf_counter() - start, held_out)


def bundled(
    estimator: Any,
    method: str,
    prepared: Prepared,
    notes: Sequence[str] = (),
    seconds: float = 0.0,
    held_out: "tuple[Calibrator, Conformal] | None" = None,
) -> Model:
    """Put a fitted estimator and what it was fitted to together as a model.

    Parameters
    ----------
    estimator : fitted estimator
    method : str
        Its name in `semisvm.registry`.
    prepared : Prepared
        What it was fitted to.
    notes : sequence of str
    seconds : float
        Of the fit.
    held_out : tuple (Calibrator, Conformal), optional
        What was learnt from labels that were held out.
    """
    X, labels = prepared.X, prepared.labels
    counts = count_labels(labels)
    summary = {
        "method": method,
        "rows": len(labels),
        "labelled": sum(counts.values()),
        "labels": counts,
        **describe_unlabeled(estimator, X, labels),
        "features": int(estimator.n_features_in_),
        "feature_seconds": prepared.seconds,
        "fit_seconds": seconds,
        "notes": list(notes),
    }
    calibrator, conformal = held_out or (None, None)
    about = (prepared.features, prepared.settings, summary, calibrator, prepared.scaling)
    return Model(estimator, *about, conformal, familiarity_of(prepared))


def familiarity_of(prepared: Prepared) -> Familiarity | None:
    """Learn what the rows look like, from a sample of them."""
    X, n = prepared.X, prepared.X.shape[0]
    sample = some_rows(n)
    if isinstance(X, RowsOnDisk) and not X.can_load(sample):
        return None
    unknown = None
    if prepared.features is not None and prepared.cells is not None:
        unknown = unknown_shares(prepared.features, prepared.cells, n)
    return Familiarity.fit(take_rows(X, sample), unknown)


def _about_chance(model: Model, prepared: Prepared, random_state: int) -> list[str]:
    """Say if a model is no better than a guess, by held-out labels; only where that is quick."""
    from semisvm.model_selection.chance import against_labels
    from semisvm.model_selection.crossfit import cross_fitted_scores
    from semisvm.model_selection.splits import PartialLabelKFold

    counts = [count for count in count_labels(prepared.labels).values() if count > 1]
    if sum(counts) < FEWEST_TO_JUDGE or model.summary["fit_seconds"] > QUICK_FIT:
        return []
    cv = PartialLabelKFold(
        CALIBRATION_FOLDS, shuffle=True, random_state=random_state, unlabeled=None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scores, codes = cross_fitted_scores(
            model.estimator, prepared.X, prepared.labels, cv, prepared.weight
        )
    found = against_labels(scores, codes)
    return [] if found.better else [found.sentence(model.summary["method"])]


def calibrate(
    estimator: Any, prepared: Prepared, random_state: int = 0
) -> "tuple[Calibrator, Conformal]":
    """Learn from cross-fitted scores of labelled rows: probabilities, and sets of classes.

    Parameters
    ----------
    estimator : fitted estimator
        Its parameters are those of the fits of the folds.
    prepared : Prepared
    random_state : int, default=0
    """
    from semisvm.model_selection.calibration import learn_from
    from semisvm.model_selection.crossfit import cross_fit
    from semisvm.model_selection.splits import PartialLabelKFold

    repeated = sum(count for count in count_labels(prepared.labels).values() if count > 1)
    if repeated < 2:
        raise DataError(
            "probabilities need labelled rows to hold out, but no class has two labels."
        )
    folds = min(CALIBRATION_FOLDS, repeated)
    cv = PartialLabelKFold(folds, shuffle=True, random_state=random_state, unlabeled=None)
    with warnings.catch_warnings():
        # the note about few labels says it
        warnings.simplefilter("ignore", UserWarning)
        found = cross_fit(estimator, prepared.X, prepared.labels, cv, prepared.weight)
    assert found is not None
    return learn_from(found, len(estimator.classes_), "temperature")


def _about_calibration(labels: NDArray[np.object_]) -> list[str]:
    n = sum(count_labels(labels).values())
    if n >= FEW_TO_CALIBRATE:
        return []
    return [f"probabilities from {n} labels rank the rows well but are not reliable probabilities."]


def _about_prior(estimator: Any, labels: NDArray[np.object_]) -> list[str]:
    n = sum(count_labels(labels).values())
    taken = getattr(estimator, "keeps_labeled_shares", False)
    if not taken or n >= FEW_FOR_SHARES or n == len(labels):
        return []
    return [
        f"the class shares are those of {n} labels, which may be far off. If you know the shares, "
        "set the parameter class_prior; None estimates them."
    ]


def _about_scale(X: Any) -> list[str]:
    """Say whether rows are much longer or shorter than the default regularisation is for.

    Columns of tables are scaled; a matrix is taken as it is.
    """
    length = mean_square_length(X) ** 0.5
    if SHORT <= length <= LONG:
        return []
    return [
        f"the rows have length {length:.3g} (root mean square), and the default regularisation is "
        "for rows of about length one. Scale the matrix first (counts: scale rows to length one; "
        f"measurements: standardise columns), or multiply the regularisation by {length**2:.2g}."
    ]


def _labels(data: Table | MatrixData) -> NDArray[np.object_]:
    if data.labels is None:
        raise DataError(
            "the data have no labels: name the label column with label=, or a file of labels with "
            "labels_file=.",
            data.path,
        )
    return data.labels


def _check_labels(data: Table | MatrixData) -> list[str]:
    labels = _labels(data)
    classes = list(count_labels(labels))
    if len(classes) < 2:
        have = f"labels of one class only, {classes[0]!r}" if classes else "no labels"
        zero = " In svmlight files 0 means unlabelled; if it is a class, use unlabeled='none'."
        hints = [zero] if isinstance(data, MatrixData) else []
        hints += [f" But {note}" for note in about_missing(data.missing_words)]
        raise DataError(
            f"there are {have}; two classes or more are needed.{''.join(hints)}", data.path
        )
    counts = count_labels(labels)
    if len(counts) > MOST_SINGLE and max(counts.values()) == 1:
        raise DataError(
            f"all {len(counts)} labels are different, like identifiers: is this the label column?",
            data.path,
        )
    found = [*about_missing(data.missing_words), *remarks(labels)]
    for remark in found:
        warnings.warn(remark, DataWarning, stacklevel=4)
    return found
