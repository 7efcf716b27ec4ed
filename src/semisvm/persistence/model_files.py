"""Models in files: what is saved of them, what a file may have, and loading.

A file is a document and arrays. What each part of it must be is declared once, as checks, and
checked when a file is loaded: what passes can be used, so that `predict`, ``inspect`` and
``report`` need not look again. Plain data and arrays of a part are checked together, under one set
of sizes. An entry that newer files have and older ones lack belongs to the optional ones.

A new attribute of `Model` that is a record of numbers, text and arrays is one entry of `PARTS`.
"""

import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from semisvm._version import __version__
from semisvm.model import Model
from semisvm.model_selection.class_shift import ClassShift
from semisvm.model_selection.conformal import Conformal
from semisvm.model_selection.familiarity import Familiarity, Limit
from semisvm.persistence.archive import (
    Arrays,
    Budget,
    read_archive,
    split_names,
    write_archive,
)
from semisvm.persistence.column_states import restore_features
from semisvm.persistence.estimator_states import estimator_state, restore_estimator
from semisvm.persistence.json_values import from_plain, to_plain
from semisvm.persistence.pipeline_states import pipeline_state, restore_pipeline
from semisvm.persistence.transformer_states import INSTEAD
from semisvm.tables.errors import DataError, ModelFileError
from semisvm.tables.feature_states import state_of
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.kinds import is_array
from semisvm.tables.scaling import KINDS, MatrixScaling
from semisvm.tables.schema import (
    DAMAGED,
    Array,
    Record,
    anything,
    complaint,
    flag,
    in_words,
    listed,
    mapping,
    number,
    one_of,
    optional,
    ordered,
    scalar,
    size,
    text,
    whole,
)

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
BELONG_TO_NOTHING = "this model file holds arrays that belong to nothing."


@dataclass(frozen=True)
class Part:
    """A part of a model that is a record of plain data and arrays.

    Attributes
    ----------
    schema : Record
        The entries that are written, as far as they are not None, and what they must be. Its sizes
        "columns", "scores" and "weights" are those of the weights.
    make : (**entries) -> object
    """

    schema: Record
    make: Callable[..., Any]

    def state(self, found: Any) -> tuple[dict[str, Any] | None, Arrays]:
        """Return plain data and arrays."""
        if found is None:
            return None, {}
        plain: dict[str, Any] = {}
        arrays: Arrays = {}
        for name, check in self.schema.known.items():
            value = getattr(found, name)
            if isinstance(check, Array):
                arrays |= {} if value is None else {name: value}
            elif isinstance(value, np.ndarray):
                plain[name] = value.tolist()  # JSON keeps every bit of a float64
            else:
                plain[name] = asdict(value) if isinstance(value, Limit) else value
        return plain, arrays

    def restore(self, name: str, state: Any, arrays: Arrays, estimator: Any) -> Any:
        """Make the part from what `state` returned, or raise if it does not fit the weights."""
        if state is None:
            if arrays:
                raise ModelFileError(BELONG_TO_NOTHING)
            return None
        n_scores, width = estimator.coef_.shape
        sizes = {"columns": int(estimator.n_features_in_), "scores": n_scores, "weights": width}
        entries = {**state, **arrays}
        self.schema(entries, name, sizes)
        return self.make(**entries)


def _calibrator(method: str, slope: list[float], offset: list[float]) -> Any:
    from semisvm.model_selection.calibration import Calibrator

    return Calibrator(method, np.array(slope, dtype=float), np.array(offset, dtype=float))


def _conformal(n_folds: int, folds: NDArray[Any], **arrays: NDArray[Any]) -> Conformal:
    if ("coef" in arrays) != ("intercept" in arrays):
        raise ModelFileError(f"{DAMAGED}the models of its folds are not complete.")
    return Conformal(folds=folds.astype(np.intp), **arrays)


def _familiarity(distance: Any, unknown: Any, **arrays: NDArray[Any]) -> Familiarity:
    limit = None if unknown is None else Limit(**unknown)
    return Familiarity(distance=Limit(**distance), unknown=limit, **arrays)


def _shift(factors: list[float]) -> ClassShift:
    return ClassShift(np.array(factors, dtype=float))


LIMIT = Record({"usual": number(0.0), "most": number(0.0), "n_rows": whole(1)})
PARTS = {
    "calibrator": Part(
        Record(
            {
                "method": one_of("sigmoid", "temperature"),
                "slope": listed(number(0.0), "maps"),
                "offset": listed(number(), "maps"),
            }
        ),
        _calibrator,
    ),
    "scaling": Part(
        Record(
            {"kind": one_of(*KINDS), "scale": Array("f", ("columns",))},
            {"centre": Array("f", ("columns",))},
        ),
        MatrixScaling,
    ),
    "conformal": Part(
        Record(
            {
                "n_folds": size("folds"),
                "scores": Array("f", ("held-out labels",)),
                "folds": Array("iu", ("held-out labels",), low=0, high="folds"),
            },
            # models of the folds, which are linear
            {
                "coef": Array("f", ("folds", "scores", "weights")),
                "intercept": Array("f", ("folds", "scores")),
            },
        ),
        _conformal,
    ),
    "familiarity": Part(
        Record(
            {"centre": Array("f", ("columns",)), "distance": LIMIT, "unknown": optional(LIMIT)},
            {"seen": Array("b", ("columns",))},
        ),
        _familiarity,
    ),
    "shift": Part(Record({"factors": listed(number(0.0), "classes")}), _shift),
}
"""Attributes of `Model` that are records; the first files have none of them."""

STATE = optional(mapping(text, anything))
DOCUMENT = Record(
    {
        "format": text,
        "version": whole(1),
        "kind": one_of("model", "estimator", "pipeline"),
        "estimator": mapping(text, anything),
        "features": anything,
        "settings": anything,
        "summary": anything,
        "versions": mapping(text, text),
        "created": optional(text),
        "arrays": anything,
    },
    {"wrapper": STATE, "pipeline": mapping(text, anything), **dict.fromkeys(PARTS, STATE)},
)
WRAPPER = Record({"method": one_of("sigmoid", "temperature"), "cv": whole(2), "unlabeled": scalar})
LABELED_ROWS = Record({}, {"rows": Array("u", ("labelled rows",))})

# Facts about the training

INTERVAL = listed(number(), length=2)
CHANCE = Record(
    {"guess": number(), "mean": number(), "interval": INTERVAL, "better": flag},
    {"n_labels": optional(whole())},
    others=anything,
)
COMPARISON = Record(
    {
        "methods": listed(
            Record(
                {"name": text, "mean": number(), "interval": INTERVAL, "fit_seconds": number(0.0)},
                {
                    "chance": optional(CHANCE),
                    "new_rows": optional(number()),
                    "fit_rows": optional(number()),
                },
                others=anything,
            )
        ),
        "differences": listed(
            Record(
                {
                    "name": text,
                    "mean": number(),
                    "interval": INTERVAL,
                    "verdict": one_of("helped", "no evidence", "hurt"),
                },
                others=anything,
            )
        ),
        "baseline": text,
        "scoring": text,
        "confidence": number(0.0, 1.0),
        "n_labeled": whole(),
        "did_it_help": Record(
            {
                "word": one_of("helped", "no evidence", "hurt"),
                "recommended": text,
                "sentence": text,
            },
            others=anything,
        ),
    },
    others=anything,
)
HISTOGRAM = Record(
    {
        "two": flag,
        "margin": optional(number(above=0.0)),
        "inside": optional(number(0.0, 1.0)),
        "counts": listed(whole(), "bins", least=1),
        "edges": ordered(listed(number(), "bins", more=1)),
    }
)
CHOICE = Record(
    {"reasons": listed(text)},
    # older files have settings, and no committees
    {
        "methods": optional(COMPARISON),
        "settings": optional(COMPARISON),
        "members": listed(
            Record({"name": text, "method": text, "parameters": anything, "weight": number(0.0)})
        ),
        "skipped": mapping(text, text),
        "cost": text,
        "name": text,
        "weight": number(0.0),
    },
    others=anything,
)
COUNTS = mapping(scalar, whole())
SUMMARY = Record(
    {},
    {
        "method": text,
        "rows": whole(),
        "labelled": whole(),
        "labels": COUNTS,
        "found": COUNTS,
        "scores": optional(HISTOGRAM),
        "features": whole(),
        "feature_seconds": number(0.0),
        "fit_seconds": number(0.0),
        "notes": listed(text),
        "choice": optional(CHOICE),
        "comparison": optional(COMPARISON),
    },
    others=anything,
)
SETTINGS = Record(
    {},
    {
        "label": optional(text),
        "unlabeled": scalar,
        "zero_based": optional(flag),
        "embeddings": optional(flag),
        "encoder": optional(text),
        "encoded": optional(listed(text)),
        "only_positive": optional(text),
    },
    others=anything,
)


FACTS = {"settings": SETTINGS, "summary": SUMMARY}


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
    states: dict[str, tuple[Any, Arrays]] = {
        "estimator": estimator_state(bundle.estimator),
        "features": (None, {}) if bundle.features is None else state_of(bundle.features),
        **{name: part.state(getattr(bundle, name)) for name, part in PARTS.items()},
    }
    arrays = {f"{part}.{name}": a for part, (_, own) in states.items() for name, a in own.items()}
    arrays |= {f"pipeline.{name}": array for name, array in of_steps.items()}
    if bundle.labeled_rows is not None:
        arrays["labeled.rows"] = bundle.labeled_rows
    document = {
        "kind": _kind(whole),
        **{name: state for name, (state, _) in states.items()},
        "features": to_plain(states["features"][0]),
        "wrapper": _wrapper_state(model) if hasattr(model, "calibrator_") else None,
        "settings": to_plain(bundle.settings),
        "summary": to_plain(bundle.summary),
        "versions": versions(),
        "created": created,
    }
    if pipeline is not None:
        document["pipeline"] = pipeline
    # what could not be read is not written: users add to settings and summary
    for name, check in FACTS.items():
        wrong = complaint(check, from_plain(document[name]), name)
        if wrong is not None:
            raise ModelFileError(f"this model cannot be saved: {wrong}")
    write_archive(path, document, arrays)


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


def _wrapper_state(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a calibrated classifier; of a splitter the number of folds."""
    cv = getattr(estimator.cv, "n_splits", estimator.cv)
    parameters = {"method": estimator.method, "cv": cv, "unlabeled": estimator.unlabeled}
    return {name: to_plain(value) for name, value in parameters.items()}


def load(path: str | Path, *, max_bytes: int | None = None) -> Any:
    """Read a model file; safe for untrusted files.

    A file holds numbers and text only. Its sizes are checked before it is read, and what it
    holds before a model is made of it. Predictions are those of the saved model, bit for bit.

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
    DOCUMENT(document, "model", {})
    kind, groups = document["kind"], split_names(arrays)
    estimator = restore_estimator(document["estimator"], groups.pop("estimator", {}), budget)
    parts = {
        name: part.restore(name, document.get(name), groups.pop(name, {}), estimator)
        for name, part in PARTS.items()
    }
    _check_parts(estimator, **parts)
    of_features, of_steps, of_labeled = (
        groups.pop(name, {}) for name in ("features", "pipeline", "labeled")
    )
    if groups or (of_steps and kind != "pipeline") or (of_labeled and kind != "model"):
        raise ModelFileError(BELONG_TO_NOTHING)
    if kind != "model":
        if parts["calibrator"] is not None:
            estimator = _restore_wrapper(document["wrapper"], estimator, parts)
        if kind == "estimator":
            return estimator
        return restore_pipeline(document.get("pipeline", {}), of_steps, estimator, budget)
    facts = {name: from_plain(document[name]) for name in FACTS}
    for name, check in FACTS.items():
        check(facts[name], name, {})
    facts["summary"].update(versions=document["versions"], created=document["created"])
    LABELED_ROWS(of_labeled, "labeled", {})
    features = _restore_features(document["features"], of_features, estimator, budget)
    return Model(estimator, features, **facts, **parts, labeled_rows=of_labeled.get("rows"))


def _check_parts(estimator: Any, *, calibrator: Any, conformal: Any, **others: Any) -> None:
    """Raise if the calibration, or models of folds, do not fit the estimator."""
    n_classes, length = len(estimator.classes_), 1
    if hasattr(estimator, "label_names_"):
        length = len(estimator.label_names_)
    elif calibrator is not None and calibrator.moves_boundary and n_classes > 2:
        length = n_classes
    shift = others.get("shift")
    if shift is not None and len(shift.factors) != n_classes:
        raise ModelFileError("the shares to which the model is adapted do not fit its classes.")
    if calibrator is not None and len(calibrator.slope) != length:
        raise ModelFileError("the calibration of the model does not fit its classes.")
    kept = conformal is not None and conformal.coef is not None
    if kept and estimator.kernel_map_ is not None:
        raise ModelFileError(f"{DAMAGED}the models of its folds have no kernel.")


def _restore_wrapper(state: Any, estimator: Any, parts: Mapping[str, Any]) -> Any:
    """Make a fitted calibrated classifier of its fitted estimator and its calibrator."""
    from semisvm.model_selection.calibration import PASSED_ON, CalibratedPartialClassifier

    parameters = {name: from_plain(value) for name, value in state.items()}
    WRAPPER(parameters, "wrapper", {})
    wrapper = CalibratedPartialClassifier(clone(estimator), **parameters)
    wrapper.estimator_, wrapper.calibrator_ = estimator, parts["calibrator"]
    wrapper.conformal_, wrapper.classes_ = parts["conformal"], estimator.classes_
    for name in PASSED_ON:
        if hasattr(estimator, name):
            setattr(wrapper, name, getattr(estimator, name))
    return wrapper


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
