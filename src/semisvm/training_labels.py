"""From data that were read from a file to a model of several labels per row."""

import warnings
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semisvm.columns import ColumnFeatures
from semisvm.io import DataError, MatrixData, Table
from semisvm.io.several_labels import SeveralLabels
from semisvm.label_models import LabelsModel
from semisvm.preparing import prepare_rows
from semisvm.registry import AUTO, get
from semisvm.training import (
    HELD_OUT_FOLDS,
    UNWATCHED,
    Progress,
    familiarity_of,
    labeled_rows_of,
)

if TYPE_CHECKING:
    from semisvm.model_selection.calibration import Calibrator

METHODS = ("tsvm", "da", "gradient", "svm")
"""Methods of which there can be one machine per label."""
SEVERAL = "several labels"


def train_labels(
    data: Table | MatrixData,
    labels: SeveralLabels,
    method: str = AUTO,
    *,
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    probabilities: bool = False,
    as_is: bool = False,
    random_state: int = 0,
    notes: Sequence[str] = (),
    progress: Progress = UNWATCHED,
    sample_weight: NDArray[np.float64] | None = None,
    class_prior: Any = None,
    **parameters: Any,
) -> LabelsModel:
    """Fit one machine per label to data that were read from a file.

    Parameters
    ----------
    data : Table or MatrixData
        The features of all rows.
    labels : SeveralLabels
        Which labels rows have, as far as it is known.
    method : str, default="auto"
        The machine of each label: "tsvm", "da", "gradient" or "svm"; "auto" is the default of
        `MultiLabelSVC`.
    features, settings, as_is, random_state, notes, progress, sample_weight
        As in `semisvm.train`.
    probabilities : bool, default=False
        Whether to calibrate probabilities, at the cost of five more fits per label.
    class_prior : as in MultiLabelSVC, optional
        Shares of the rows that have each label.
    **parameters
        Of the machine.

    Returns
    -------
    model : LabelsModel
    """
    from semisvm.estimators import MultiLabelSVC

    prepared = prepare_rows(data, labels.cells, features, settings, as_is=as_is)
    start = perf_counter()
    table = NamedCells(labels.cells, labels.names)
    # the errors of the estimator name the columns
    with progress.fitting(SEVERAL) as callback:
        machine = _machine(method, parameters)
        estimator = MultiLabelSVC(machine, class_prior=class_prior, callback=callback)
        estimator.set_params(unlabeled=None).fit(prepared.X, table, sample_weight)
    estimator.callback = None
    calibrator = None
    if probabilities:
        calibrator = _calibrated(estimator, prepared.X, labels, random_state, sample_weight)
    known = labels.known
    summary = {
        "method": SEVERAL if method == AUTO else method,
        "rows": len(labels.cells),
        "labelled": int(known.any(axis=1).sum()),
        "known_cells": int(known.sum()),
        "several_labels": labels.counts(),
        "features": int(estimator.n_features_in_),
        "feature_seconds": prepared.seconds,
        "fit_seconds": perf_counter() - start,
        "notes": [*prepared.notes, *notes, *estimator.trace_.notes],
    }
    about = (prepared.features, prepared.settings, summary, calibrator, prepared.scaling)
    known_rows = (familiarity_of(prepared), labeled_rows_of(prepared))
    return LabelsModel(estimator, *about, None, *known_rows)


class NamedCells:
    """A table that has names of columns and becomes an array: what an estimator needs of one."""

    def __init__(self, cells: NDArray[np.object_], columns: list[str]) -> None:
        self._cells = cells
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._cells, dtype=dtype)

    def __len__(self) -> int:
        return len(self._cells)


def _machine(method: str, parameters: Mapping[str, Any]) -> Any:
    if method == AUTO and not parameters:
        return None
    name = METHODS[0] if method == AUTO else get(method).name
    if name not in METHODS:
        raise ValueError(
            f"the method {name!r} is not for several labels per row. These are: "
            f"{', '.join(METHODS)}."
        )
    return get(name).make(unlabeled=None, **parameters)


def _calibrated(
    estimator: Any,
    X: Any,
    labels: SeveralLabels,
    random_state: int,
    sample_weight: NDArray[np.float64] | None,
) -> "Calibrator":
    from semisvm.model_selection.calibration import calibrate_labels

    with warnings.catch_warnings():
        # labels of few rows are in the summary
        warnings.simplefilter("ignore", UserWarning)
        try:
            return calibrate_labels(
                estimator,
                X,
                labels.cells,
                cv=HELD_OUT_FOLDS,
                random_state=random_state,
                sample_weight=sample_weight,
            )
        except ValueError as error:
            raise DataError(f"probabilities need labelled rows to hold out: {error}") from error
