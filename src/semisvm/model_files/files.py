"""Saving and loading models."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from semisvm._version import __version__
from semisvm.columns import ColumnFeatures
from semisvm.columns.features import is_array
from semisvm.io.errors import DataError
from semisvm.label_models import LabelsModel
from semisvm.model import Model
from semisvm.model_files.archive import Arrays, read_archive, split_names, write_archive
from semisvm.model_files.budget import Budget
from semisvm.model_files.calibrations import (
    calibrator_state,
    restore_calibrator,
    restore_wrapper,
    wrapper_state,
)
from semisvm.model_files.checks import complaint, in_words
from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.features import restore_features
from semisvm.model_files.pipelines import pipeline_state, restore_pipeline
from semisvm.model_files.schemas import LABELED_ROWS, PARTS, SCALING, SETTINGS, SUMMARY
from semisvm.model_files.states import estimator_state, restore_estimator
from semisvm.model_files.steps import INSTEAD
from semisvm.model_files.trusting import (
    conformal_state,
    familiarity_state,
    restore_conformal,
    restore_familiarity,
)
from semisvm.model_files.values import from_plain, to_plain
from semisvm.scaling import MatrixScaling

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
        `semisvm.columns.ColumnFeatures`, and a ``ColumnTransformer`` or ``Pipeline`` of them.
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
    kind = LabelsModel if hasattr(estimator, "label_names_") else Model
    LABELED_ROWS(of_labeled, "labeled", {})
    return kind(estimator, *about, conformal, familiarity, of_labeled.get("rows"))


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
