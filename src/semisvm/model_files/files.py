"""Saving and loading models."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from semisvm._version import __version__
from semisvm.columns import ColumnFeatures
from semisvm.model import Model
from semisvm.model_files.archive import read_archive, write_archive
from semisvm.model_files.calibrations import (
    calibrator_state,
    restore_calibrator,
    restore_wrapper,
    wrapper_state,
)
from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.states import estimator_state, restore_estimator
from semisvm.model_files.values import from_plain, to_plain

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def save(model: Any, path: str | Path | BinaryIO, *, created: str | None = None) -> None:
    """Write a fitted model to one file, without pickle.

    Parameters
    ----------
    model : Model or fitted estimator of this package
        Calibrated ones too. A search along a path is saved as the estimator that it chose.
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
    bundle = model if isinstance(model, Model) else Model.of(model)
    state, arrays = estimator_state(bundle.estimator)
    all_arrays = {f"estimator.{name}": array for name, array in arrays.items()}
    features = None
    if bundle.features is not None:
        features, parts = bundle.features.to_state()
        all_arrays.update({f"features.{name}": array for name, array in parts.items()})
    document = {
        "kind": "model" if isinstance(model, Model) else "estimator",
        "estimator": state,
        "calibrator": calibrator_state(bundle.calibrator),
        "wrapper": wrapper_state(model) if hasattr(model, "calibrator_") else None,
        "features": to_plain(features),
        "settings": to_plain(bundle.settings),
        "summary": to_plain(bundle.summary),
        "versions": versions(),
        "created": created,
    }
    write_archive(path, document, all_arrays)


def load(path: str | Path, *, max_bytes: int | None = None) -> Any:
    """Read a model file; safe for files of strangers.

    A file holds numbers and text only, and its sizes are checked before it is read.
    Predictions are those of the saved model, bit for bit.

    Parameters
    ----------
    path : str or Path
    max_bytes : int, optional
        Most memory that the model may take; by default 4 GiB, or less for small files,
        which cannot hold so much in earnest.

    Returns
    -------
    model : Model, or an estimator if one was saved on its own

    Raises
    ------
    ModelFileError
        If the file is no model, damaged, too large, or of a newer version.
    """
    document, arrays = read_archive(path, max_bytes)
    try:
        return _restore(document, arrays)
    except ModelFileError as error:
        raise ModelFileError(error.message, path) from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ModelFileError(f"this model file is damaged ({what}).", path) from error


def _restore(document: dict[str, Any], arrays: dict[str, Any]) -> Any:
    estimator = restore_estimator(document["estimator"], _under("estimator.", arrays))
    # the first files have no calibrations
    calibrator = restore_calibrator(document.get("calibrator"), len(estimator.classes_))
    if document["kind"] == "estimator":
        if calibrator is None:
            return estimator
        return restore_wrapper(document["wrapper"], estimator, calibrator)
    features = None
    if document["features"] is not None:
        state = from_plain(document["features"])
        features = ColumnFeatures.from_state(state, _under("features.", arrays))
        if features.n_features_out_ != estimator.n_features_in_:
            raise ModelFileError("the features of the model do not fit its weights.")
    summary = from_plain(document["summary"])
    summary.update(versions=document["versions"], created=document["created"])
    return Model(estimator, features, from_plain(document["settings"]), summary, calibrator)


def _under(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def versions() -> dict[str, str]:
    """Give the versions of what a model was fitted with."""
    found = {"semisvm": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a package that was put in place by other means
            found[name] = "unknown"
    return found
