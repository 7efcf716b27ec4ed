"""Fitted calibrations as plain data, and back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.schemas import CALIBRATOR, WRAPPER
from semisvm.model_files.values import from_plain, to_plain

if TYPE_CHECKING:
    from semisvm.model_selection.calibration import CalibratedPartialClassifier, Calibrator
    from semisvm.trust.conformal import Conformal

PARAMETERS = ("method", "cv", "unlabeled")


def calibrator_state(calibrator: "Calibrator | None") -> dict[str, Any] | None:
    """Return a calibrator as data for JSON, which keeps every bit of a float64."""
    if calibrator is None:
        return None
    return {
        "method": calibrator.method,
        "slope": calibrator.slope.tolist(),
        "offset": calibrator.offset.tolist(),
    }


def restore_calibrator(state: Mapping[str, Any] | None, estimator: Any) -> "Calibrator | None":
    """Make a calibrator from its state, or raise if it does not fit the estimator."""
    if state is None:
        return None
    from semisvm.model_selection.calibration import Calibrator

    CALIBRATOR(state, "calibrator", {})
    calibrator = Calibrator(
        state["method"],
        np.array(state["slope"], dtype=np.float64),
        np.array(state["offset"], dtype=np.float64),
    )
    n_classes = len(estimator.classes_)
    length = n_classes if calibrator.moves_boundary and n_classes > 2 else 1
    if hasattr(estimator, "label_names_"):
        length = len(estimator.label_names_)
    if len(calibrator.slope) != length or len(calibrator.offset) != length:
        raise ModelFileError("the calibration of the model does not fit its classes.")
    return calibrator


def wrapper_state(estimator: "CalibratedPartialClassifier") -> dict[str, Any]:
    """Return the parameters of a calibrated classifier; of a splitter the number of folds."""
    parameters = {name: getattr(estimator, name) for name in PARAMETERS}
    parameters["cv"] = getattr(estimator.cv, "n_splits", estimator.cv)
    return {name: to_plain(value) for name, value in parameters.items()}


def restore_wrapper(
    state: Mapping[str, Any],
    estimator: Any,
    calibrator: "Calibrator",
    conformal: "Conformal | None" = None,
) -> "CalibratedPartialClassifier":
    """Make a fitted calibrated classifier of its fitted estimator and its calibrator."""
    from semisvm.model_selection.calibration import PASSED_ON, CalibratedPartialClassifier

    parameters = {name: from_plain(value) for name, value in state.items()}
    WRAPPER(parameters, "wrapper", {})
    wrapper = CalibratedPartialClassifier(clone(estimator), **parameters)
    wrapper.estimator_, wrapper.calibrator_ = estimator, calibrator
    # the first files have none
    wrapper.conformal_ = conformal
    wrapper.classes_ = estimator.classes_
    for name in PASSED_ON:
        if hasattr(estimator, name):
            setattr(wrapper, name, getattr(estimator, name))
    return wrapper
