"""Saving and loading models.

Besides estimator and features a file holds, as plain data and arrays, the calibration and what
prediction sets and the check for unfamiliar rows need.
"""

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from semisvm._version import __version__
from semisvm.model import Model
from semisvm.model_selection.conformal import Conformal
from semisvm.model_selection.familiarity import Familiarity, Limit
from semisvm.persistence.archive import (
    Arrays,
    Budget,
    ModelFileError,
    read_archive,
    split_names,
    write_archive,
)
from semisvm.persistence.checks import DAMAGED, complaint, in_words
from semisvm.persistence.features import restore_features
from semisvm.persistence.pipelines import pipeline_state, restore_pipeline
from semisvm.persistence.schemas import (
    CALIBRATOR,
    CONFORMAL,
    FAMILIARITY,
    LABELED_ROWS,
    PARTS,
    SCALING,
    SETTINGS,
    SUMMARY,
    WRAPPER,
)
from semisvm.persistence.states import estimator_state, restore_estimator
from semisvm.persistence.steps import INSTEAD
from semisvm.persistence.values import from_plain, to_plain
from semisvm.tables.errors import DataError
from semisvm.tables.features import ColumnFeatures, is_array
from semisvm.tables.scaling import MatrixScaling

if TYPE_CHECKING:
    from semisvm.model_selection.calibration import CalibratedPartialClassifier, Calibrator

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


State = dict[str, Any] | None


def conformal_state(conformal: Conformal | None) -> tuple[State, Arrays]:
    """Return held-out scores as data for JSON and arrays."""
    if conformal is None:
        return None, {}
    arrays = {"scores": conformal.scores, "folds": conformal.folds.astype(np.int64)}
    if conformal.coef is not None and conformal.intercept is not None:
        arrays |= {"coef": conformal.coef, "intercept": conformal.intercept}
    return {"n_folds": int(conformal.folds.max(initial=0)) + 1}, arrays


def restore_conformal(
    state: Mapping[str, Any] | None, arrays: Mapping[str, NDArray[Any]], estimator: Any
) -> Conformal | None:
    """Make held-out scores from their state, or raise if they do not fit the estimator."""
    if state is None:
        _check_nothing(arrays)
        return None
    sizes: dict[str, int] = {}
    if type(state.get("n_folds")) is int:
        sizes["folds"] = state["n_folds"]
    CONFORMAL({**state, **arrays}, "conformal", sizes)
    coef, intercept = arrays.get("coef"), arrays.get("intercept")
    kept = coef is not None and coef.shape[1:] == estimator.coef_.shape
    if (coef is None) != (intercept is None) or (coef is not None and not kept):
        raise ModelFileError(f"{DAMAGED}the models of its folds do not fit its weights.")
    if coef is not None and estimator.kernel_map_ is not None:
        raise ModelFileError(f"{DAMAGED}the models of its folds have no kernel.")
    return Conformal(arrays["scores"], arrays["folds"].astype(np.intp), coef, intercept)


def familiarity_state(familiarity: Familiarity | None) -> tuple[State, Arrays]:
    """Return what rows of the fit look like as data for JSON and arrays."""
    if familiarity is None:
        return None, {}
    unknown = None if familiarity.unknown is None else asdict(familiarity.unknown)
    arrays: Arrays = {"centre": familiarity.centre}
    if familiarity.seen is not None:
        arrays["seen"] = familiarity.seen
    return {"distance": asdict(familiarity.distance), "unknown": unknown}, arrays


def restore_familiarity(
    state: Mapping[str, Any] | None, arrays: Mapping[str, NDArray[Any]], n_columns: int
) -> Familiarity | None:
    """Make what rows look like from its state, or raise if it does not fit the columns."""
    if state is None:
        _check_nothing(arrays)
        return None
    FAMILIARITY({**state, **arrays}, "familiarity", {"columns": n_columns})
    unknown = None if state["unknown"] is None else Limit(**state["unknown"])
    return Familiarity(arrays["centre"], Limit(**state["distance"]), unknown, arrays.get("seen"))


def _check_nothing(arrays: Mapping[str, NDArray[Any]]) -> None:
    if arrays:
        raise ModelFileError("this model file holds arrays that belong to nothing.")


PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def save(model: Any, path: str | Path | BinaryIO, *, created: str | None = None) -> None:
    """Write a fitted model to one file, without pickle.

    Parameters
    ----------
    model : Model, fitted estimator of this package, or Pipeline that ends with one
        Calibrated ones too. A search along a path is saved as the estimator that it chose. The
        steps of a pipeline may be vectorisers and scalers of scikit-learn: ``CountVectorizer``,
        ``TfidfVectorizer``, ``HashingVectorizer``, ``TfidfTransformer``, ``StandardScaler``,
        ``MaxAbsScaler``, ``MinMaxScaler``, ``Normalizer``, ``SimpleImputer``, ``OneHotEncoder``,
        `semisvm.tables.ColumnFeatures`, and a ``ColumnTransformer`` or ``Pipeline`` of them.
    path : str, Path or binary stream
        Replaced when the file is complete; usually ``.semisvm``. A stream gets the bytes
        when all are there.
    created : str, optional
        A date to be kept in the file. Without one, the same model gives the same bytes.

    Raises
    ------
    ModelFileError
        If the model is not fitted, or holds what is not data.
    DataError
        If the file cannot be written.
    """
    pipeline, of_steps = _pipeline_parts(model)
    whole = model
    if pipeline is not None:
        model = model.steps[-1][1]
    bundle = model if isinstance(model, Model) else Model.of(model)
    state, arrays = estimator_state(bundle.estimator)
    all_arrays = {f"estimator.{name}": array for name, array in arrays.items()}
    features = None
    if bundle.features is not None:
        features, parts = bundle.features.to_state()
        all_arrays.update({f"features.{name}": array for name, array in parts.items()})
    scaling = None
    if bundle.scaling is not None:
        scaling, parts = bundle.scaling.to_state()
        all_arrays.update({f"scaling.{name}": array for name, array in parts.items()})
    all_arrays.update({f"pipeline.{name}": array for name, array in of_steps.items()})
    conformal, parts = conformal_state(bundle.conformal)
    all_arrays.update({f"conformal.{name}": array for name, array in parts.items()})
    familiarity, parts = familiarity_state(bundle.familiarity)
    all_arrays.update({f"familiarity.{name}": array for name, array in parts.items()})
    if bundle.labeled_rows is not None:
        all_arrays["labeled.rows"] = bundle.labeled_rows
    document = {
        "kind": _kind(whole),
        "estimator": state,
        "calibrator": calibrator_state(bundle.calibrator),
        "wrapper": wrapper_state(model) if hasattr(model, "calibrator_") else None,
        "features": to_plain(features),
        "scaling": scaling,
        "conformal": conformal,
        "familiarity": familiarity,
        "settings": to_plain(bundle.settings),
        "summary": to_plain(bundle.summary),
        "versions": versions(),
        "created": created,
    }
    if pipeline is not None:
        document["pipeline"] = pipeline
    _check_said(document)
    write_archive(path, document, all_arrays)


def _kind(model: Any) -> str:
    if isinstance(model, Model):
        return "model"
    return "pipeline" if isinstance(model, Pipeline) else "estimator"


def _pipeline_parts(model: Any) -> tuple[dict[str, Any] | None, Arrays]:
    """Return the steps of a pipeline before its estimator; nothing for other models."""
    if not isinstance(model, Pipeline):
        return None, {}
    name, last = model.steps[-1]
    if not isinstance(last, BaseEstimator) or not type(last).__module__.startswith("semisvm."):
        raise ModelFileError(
            f"the last step of this pipeline, {name!r}, is no estimator of this package, so "
            f"it is not saved here. {INSTEAD}"
        )
    return pipeline_state(model)


def _check_said(document: dict[str, Any]) -> None:
    """Refuse to write what could not be read: users add to settings and summary."""
    for name, check in (("settings", SETTINGS), ("summary", SUMMARY)):
        said = complaint(check, from_plain(document[name]), name)
        if said is not None:
            raise ModelFileError(f"this model cannot be saved: {said}")


def load(path: str | Path, *, max_bytes: int | None = None) -> Any:
    """Read a model file; safe for untrusted files.

    A file holds numbers and text only. Its sizes are checked before it is read, and what it
    says before a model is made of it. Predictions are those of the saved model, bit for bit.

    Parameters
    ----------
    path : str or Path
    max_bytes : int, optional
        Maximum memory that the model may use; by default 64 MiB or 100 times the size of the
        file, whichever is more, up to 4 GiB.

    Returns
    -------
    model : Model, or an estimator or a pipeline if one was saved on its own

    Raises
    ------
    ModelFileError
        If the file is not a model, damaged, too large, or of a newer version.
    """
    try:
        document, arrays, budget = read_archive(path, max_bytes)
        return _restore(document, arrays, budget)
    except DataError:
        raise
    except ModelFileError as error:
        raise ModelFileError(error.message, path) from error
    # zipfile, zlib, json, numpy and scikit-learn raise errors of many kinds for what is not what
    # they expect, and so would parts of this package that came to be without a schema
    except Exception as error:
        what = f"{type(error).__name__}: {in_words(error, 200)}"
        raise ModelFileError(f"this model file is damaged ({what}).", path) from error


def _restore(document: dict[str, Any], arrays: dict[str, Any], budget: Budget) -> Any:
    PARTS(document, "model", {})
    parts = split_names(arrays)
    estimator = restore_estimator(document["estimator"], parts.pop("estimator", {}), budget)
    names = ("features", "scaling", "pipeline", "conformal", "familiarity", "labeled")
    of_features, of_scaling, of_pipeline, of_labels, of_rows, of_labeled = (
        parts.pop(name, {}) for name in names
    )
    wrong_kind = (of_pipeline and document["kind"] != "pipeline") or (
        of_labeled and document["kind"] != "model"
    )
    if parts or wrong_kind:
        raise ModelFileError("this model file holds arrays that belong to nothing.")
    # the first files have no calibrations
    calibrator = restore_calibrator(document.get("calibrator"), estimator)
    conformal = restore_conformal(document.get("conformal"), of_labels, estimator)
    if document["kind"] != "model":
        if calibrator is not None:
            estimator = restore_wrapper(document["wrapper"], estimator, calibrator, conformal)
        if document["kind"] == "estimator":
            return estimator
        return restore_pipeline(document.get("pipeline", {}), of_pipeline, estimator, budget)
    features = _restore_features(document["features"], of_features, estimator, budget)
    scaling = _restore_scaling(document.get("scaling"), of_scaling, estimator)
    settings, summary = from_plain(document["settings"]), from_plain(document["summary"])
    SETTINGS(settings, "settings", {})
    SUMMARY(summary, "summary", {})
    summary.update(versions=document["versions"], created=document["created"])
    width = int(estimator.n_features_in_)
    familiarity = restore_familiarity(document.get("familiarity"), of_rows, width)
    about = (features, settings, summary, calibrator, scaling)
    LABELED_ROWS(of_labeled, "labeled", {})
    return Model(estimator, *about, conformal, familiarity, of_labeled.get("rows"))


def _restore_scaling(state: Any, arrays: dict[str, Any], estimator: Any) -> MatrixScaling | None:
    if state is None:
        return None
    SCALING({**state, **arrays}, "scaling", {"columns": int(estimator.n_features_in_)})
    return MatrixScaling.from_state(state, arrays)


def _restore_features(
    plain: Any, arrays: dict[str, Any], estimator: Any, budget: Budget
) -> ColumnFeatures | None:
    if plain is None:
        return None
    features = restore_features(from_plain(plain), arrays, budget.spend)
    if features.n_features_out_ != estimator.n_features_in_:
        raise ModelFileError("the features of the model do not fit its weights.")
    sparse = features.sparse_output and not is_array(features.kinds_)
    if sparse and not get_tags(estimator).input_tags.sparse:
        raise ModelFileError("the features of the model are sparse, which its kernel cannot be.")
    return features


def versions() -> dict[str, str]:
    """Return the versions of what a model was fitted with."""
    found = {"semisvm": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a package that was put in place by other means
            found[name] = "unknown"
    return found
