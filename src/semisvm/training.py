"""From data that were read from a file to a `Model`: `train`."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.estimators.margins import describe_unlabeled
from semisvm.estimators.registry import AUTO, get, methods
from semisvm.labels.partial import PartialLabels
from semisvm.model import Model
from semisvm.preparing import (
    Prepared,
    check_evidence,
    check_for_labels,
    check_missing,
    check_takes_noise,
    check_votes,
    features_for,
    groups_of,
    prepare,
    weak_labels,
    with_columns_chosen,
    with_missing,
)
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.frames import as_data, with_labels
from semisvm.tables.labels import count_labels
from semisvm.tables.several_labels import SeveralLabels
from semisvm.tables.votes import take_votes
from semisvm.text import series

if TYPE_CHECKING:
    from semisvm.model_selection.calibration import Calibrator
    from semisvm.model_selection.candidates import Choice
    from semisvm.model_selection.comparison_result import ProgressCallback
    from semisvm.model_selection.conformal import Conformal
    from semisvm.solvers.trace import Callback

QUICK_FIT = 1.0
"""Seconds of a fit up to which five more are made to compare the model with a guess."""
FOR_COLUMNS = 0.2
"""Share of the time of a choice that is spent on columns to leave out, at most."""
FEW_FOR_SHARES = 100
"""With fewer labels a share of one half is off by five points or more in a third of the cases."""
LABEL_METHODS = ("tsvm", "da", "gradient", "svm")
"""Methods of which there can be one machine per label."""
SEVERAL = "several labels"
WITHOUT_LABELS = "da"
"""Method for classes without a label, of which none can be held out to choose one."""


class Progress(Protocol):
    """Shows the progress of `train`; both methods return a context for one stage of the work."""

    def choosing(self) -> AbstractContextManager["ProgressCallback | None"]:
        """Watch the choice of a method; the context yields a function to call before each fit."""
        return nullcontext()

    def fitting(self, method: str) -> AbstractContextManager["Callback | None"]:
        """Watch the last fit; the context yields a callback for the rows of its trace."""
        return nullcontext()


class _Unwatched(Progress):
    """Shows nothing."""


UNWATCHED = _Unwatched()


def train(
    data: Any,
    method: str = AUTO,
    *,
    y: Any = None,
    labels: SeveralLabels | None = None,
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    probabilities: bool = False,
    as_is: bool = False,
    quick: bool = False,
    exportable: bool = False,
    time_limit: float | None = None,
    use: str = "new_rows",
    random_state: int = 0,
    notes: Sequence[str] = (),
    progress: Progress = UNWATCHED,
    n_parts: int | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    groups: ArrayLike | None = None,
    evidence: Any = None,
    weak: Any = None,
    classes: ArrayLike | None = None,
    **parameters: Any,
) -> Model:
    """Fit a method to data that were read from a file, or to rows and labels in memory.

    Parameters
    ----------
    data : Table or MatrixData; or data frame, array or other rows
        With labels; None for rows without one. Rows of other libraries are those that
        `semisvm.SemiSupervisedClassifier` takes, with ``y``.
    method : str, default="auto"
        A name of `estimators.registry`, or "auto" to choose one, or a committee of several, by
        held-out labels (`semisvm.model_selection.choose`); ``summary["choice"]`` of the
        model then has the reasons. With ``labels``, the machine of each label: "tsvm", "da",
        "gradient" or "svm"; "auto" is the default of `MultiLabelSVC`.
    y : array-like of shape (n,), or name of a column, optional
        Labels, where ``data`` have none; rows without one have None, NaN, a blank or -1.
    labels : SeveralLabels, optional
        Several labels per row, as far as they are known, in place of those of ``data``; see
        `semisvm.tables.several_labels`. One machine is fitted per label. ``quick``,
        ``exportable``, ``time_limit``, ``use``, ``n_parts`` and ``groups`` are for one label per
        row.
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    settings : mapping, optional
        How the file was read, to be kept with the model.
    probabilities : bool, default=False
        Whether to calibrate probabilities, at the cost of five more fits (per label).
    as_is : bool, default=False
        Whether to leave a matrix as it is. Otherwise counts become tf-idf, columns in
        different units are standardised, and the model does the same before it predicts.
    quick : bool, default=False
        Whether "auto" tries only what is quick.
    exportable : bool, default=False
        Whether "auto" tries only methods whose models other programs can compute
        (`semisvm.to_onnx`).
    time_limit : float, optional
        Seconds that "auto" may take to choose.
    use : {"new_rows", "transduction"}, default="new_rows"
        What the model is for, by which "auto" chooses and probabilities are calibrated: rows that
        come later, or only the unlabelled rows of ``data``.
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
    groups : array-like of shape (n,), optional
        Rows that belong together, such as the messages of one sender: what is chosen, calibrated
        and reported by held-out labels is then for rows of other groups.
    evidence : optional
        What is known about rows, as ``TransductiveSVC.fit`` takes it, for methods that do.
    weak : str, sequence of str, array-like of shape (n,), mapping or data frame, optional
        Unreliable labels: names of columns of ``data``, which are then no features, or the votes of
        one source or of several by name. They become evidence by
        `semisvm.model_selection.WeakLabels`, for methods that take it.
    classes : array-like of shape (m,), optional
        All classes, where some have no label, as in `TransductiveSVC`; two, for labels of one class
        alone. No method can be chosen by held-out labels then, and "auto" is "da".
    **parameters
        Of the estimator. With ``labels``: ``class_prior`` of `MultiLabelSVC`, and what the
        machine takes.

    Returns
    -------
    model : Model
    """
    from semisvm.model_selection.after_fit import (
        HELD_OUT_FOLDS,
        about_chance,
        about_recall,
        calibrator_of,
    )
    from semisvm.model_selection.crossfit import check_use
    from semisvm.model_selection.method_choice import SECONDS

    limits = {"quick": quick, "exportable": exportable, "time_limit": time_limit, "use": use}
    if labels is None:
        features = features_for(method, features)
    else:
        others = {"groups": groups is not None, "classes": classes is not None}
        check_for_labels({**limits, "n_parts": n_parts, **others})
        _machine(method, {})
    if sample_weight is not None and method != AUTO and not get(method).takes_weights:
        taking = [one.name for one in methods() if one.takes_weights]
        raise ValueError(
            f"the method {method!r} takes no weights of rows. These do: {', '.join(taking)}."
        )
    if method != AUTO and "label_noise" in parameters:
        check_takes_noise(method)
    check_use(use)
    data = as_data(data) if y is None else with_labels(data, y, classes=classes)
    data, votes = take_votes(data, weak)
    prepared = prepare(
        data,
        features,
        settings,
        as_is=as_is,
        sample_weight=sample_weight,
        labels=labels,
        one_class=classes is not None,
    )
    prepared.notes += notes
    declared = None if classes is None else with_missing(classes, prepared, evidence)
    if declared is not None:
        check_missing(declared, method, probabilities, bool(votes))
        parameters |= {"classes": declared.classes}
        prepared.notes += _about_no_choice(declared, method)
        if method == AUTO:
            method, time_limit = WITHOUT_LABELS, SECONDS if time_limit is None else time_limit
    prepared.group = None if groups is None else groups_of(groups, prepared, method)
    if evidence is not None or votes:
        check_evidence(method, labels)
        prepared = replace(prepared, evidence=evidence)
    if votes:
        check_votes(evidence, n_parts)
    choice = None
    limit = SECONDS if time_limit is None else time_limit
    if method == AUTO and labels is None:
        prepared = with_columns_chosen(prepared, data, as_is, FOR_COLUMNS * limit, random_state)
    if votes:
        prepared = replace(prepared, evidence=weak_labels(prepared, votes))
    if method == AUTO and labels is None:
        choice = _choose(prepared, parameters, random_state, progress, limits)
    if choice is not None:
        method, parameters = choice.method, choice.parameters
    with progress.fitting(method if labels is None else SEVERAL) as callback:
        watched = parameters if callback is None else {"callback": callback, **parameters}
        calibrated = (use, random_state) if probabilities else None
        model = _fit(prepared, method, watched, calibrated, n_parts)
    if declared is not None:
        seconds = HELD_OUT_FOLDS * QUICK_FIT if time_limit is None else time_limit
        about = (model.estimator, model.summary["method"], prepared)
        model.summary["notes"] += about_recall(*about, declared, random_state, seconds)
    elif choice is not None:
        if not model.has_probabilities:
            model.calibrator = calibrator_of(choice, model.estimator, prepared.X)
        model.summary["choice"] = choice.to_dict()
        model.summary["notes"] += [*choice.notes, *_about_export(model.estimator)]
    elif model.summary["fit_seconds"] <= QUICK_FIT:
        about = (model.estimator, model.summary["method"], prepared)
        model.summary["notes"] += about_chance(*about, random_state)
    return model


def _about_no_choice(labels: PartialLabels, method: str) -> list[str]:
    """Note that accuracy is unknown, and what the method was chosen by."""
    names = series([repr(label) for label in labels.classes[labels.without_label].tolist()])
    note = f"no row is labelled {names}, so held-out labels cannot show how accurate the model is"
    if method != AUTO:
        return [f"{note}."]
    return [
        f"{note}, nor choose a method: {WITHOUT_LABELS!r} was taken, the most accurate one with "
        "labels of one class, on average over six sets."
    ]


def _choose(
    prepared: Prepared,
    parameters: dict[str, Any],
    random_state: int,
    progress: Progress,
    limits: dict[str, Any],
) -> "Choice":
    from semisvm.model_selection.method_choice import choose

    with progress.choosing() as callback:
        return choose(
            prepared.X,
            prepared.labels,
            parameters=parameters,
            unlabeled=None,
            random_state=random_state,
            progress=callback,
            sample_weight=prepared.weight,
            groups=prepared.group,
            evidence=prepared.evidence,
            **limits,
        )


def _fit(
    prepared: Prepared,
    method: str,
    parameters: Mapping[str, Any],
    calibrated: tuple[str, int] | None,
    n_parts: int | None,
) -> Model:
    start = perf_counter()
    X, several = prepared.X, prepared.several
    rows = X if n_parts is None else X.split(n_parts)
    given = {} if prepared.weight is None else {"sample_weight": prepared.weight}
    if several is None:
        method = get(method).name
        estimator = get(method).make(unlabeled=None, **parameters)
    else:
        estimator = _multi_label(method, dict(parameters))
        method = SEVERAL if method == AUTO else method
    # the errors of the estimator name the columns of several labels
    if prepared.evidence is not None and get(method).takes_evidence:
        # a method that was chosen may be one without
        given["evidence"] = prepared.evidence
    estimator.fit(rows, prepared.labels if several is None else several, **given)
    # it belongs to the caller of the fit, not to the model
    estimator.callback = None
    held_out, few = None, []
    if calibrated is not None:
        from semisvm.model_selection.after_fit import about_few, calibrate

        use, seed = calibrated
        held_out = calibrate(estimator, prepared, seed, use)
        few = [] if several is not None else about_few(prepared.labels)
    notes = [*prepared.notes, *estimator.trace_.notes, *few]
    if several is None:
        notes += _about_prior(estimator, prepared.labels)
    return bundled(estimator, method, prepared, notes, perf_counter() - start, held_out)


def _multi_label(method: str, parameters: dict[str, Any]) -> Any:
    from semisvm.estimators import MultiLabelSVC

    own = {name: parameters.pop(name, None) for name in ("class_prior", "callback")}
    return MultiLabelSVC(_machine(method, parameters), unlabeled=None, **own)


def bundled(
    estimator: Any,
    method: str,
    prepared: Prepared,
    notes: Sequence[str] = (),
    seconds: float = 0.0,
    held_out: "tuple[Calibrator, Conformal | None] | None" = None,
) -> Model:
    """Put a fitted estimator and what it was fitted to together as a model.

    Parameters
    ----------
    estimator : fitted estimator
    method : str
        Its name in `semisvm.estimators.registry`.
    prepared : Prepared
        What it was fitted to.
    notes : sequence of str
    seconds : float
        Of the fit.
    held_out : tuple (Calibrator, Conformal), optional
        What was learnt from labels that were held out.
    """
    summary = {
        "method": method,
        "rows": len(prepared.labels),
        **_about_labels(estimator, prepared),
        "features": int(estimator.n_features_in_),
        "feature_seconds": prepared.seconds,
        "fit_seconds": seconds,
        "notes": list(notes),
    }
    calibrator, conformal = held_out or (None, None)
    about = (prepared.features, prepared.settings, summary, calibrator, prepared.scaling)
    known = (prepared.familiarity(), prepared.labeled_rows())
    return Model(estimator, *about, conformal, *known)


def _about_labels(estimator: Any, prepared: Prepared) -> dict[str, Any]:
    """Count labels, and describe what was found for the unlabelled rows."""
    if prepared.several is not None:
        known = prepared.several.known
        return {
            "labelled": int(known.any(axis=1).sum()),
            "known_cells": int(known.sum()),
            "several_labels": prepared.several.counts(),
        }
    counts = count_labels(prepared.labels)
    return {
        "labelled": sum(counts.values()),
        "labels": counts,
        **describe_unlabeled(estimator, prepared.X, prepared.labels),
    }


def _about_export(estimator: Any) -> list[str]:
    """Note that a chosen model cannot be exported, and because of which methods."""
    if estimator.is_exportable:
        return []
    names = getattr(estimator, "not_exportable", [type(estimator).__name__])
    return [
        f"the model cannot be exported for other programs, because of {series(names)}. "
        "exportable=True keeps to methods that can be exported."
    ]


def _about_prior(estimator: Any, labels: NDArray[np.object_]) -> list[str]:
    n = sum(count_labels(labels).values())
    taken = getattr(estimator, "keeps_labeled_shares", False)
    if not taken or n >= FEW_FOR_SHARES or n == len(labels):
        return []
    return [
        f"the class shares are those of {n} labels, which may be far off. If you know the shares, "
        "set the parameter class_prior; None estimates them."
    ]


def _machine(method: str, parameters: Mapping[str, Any]) -> Any:
    """Make the machine of each label; None is the default of `MultiLabelSVC`."""
    if method == AUTO and not parameters:
        return None
    name = LABEL_METHODS[0] if method == AUTO else get(method).name
    if name not in LABEL_METHODS:
        raise ValueError(
            f"the method {name!r} is not for several labels per row. These are: "
            f"{', '.join(LABEL_METHODS)}."
        )
    return get(name).make(unlabeled=None, **parameters)
