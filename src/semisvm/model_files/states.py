"""Fitted estimators as plain data and arrays, and back."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.hierarchy import Hierarchy, flat
from semisvm.homotopy import Trace
from semisvm.model_files.archive import Arrays
from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.maps import map_state, restore_map
from semisvm.model_files.values import from_plain, to_plain
from semisvm.naming import near_match
from semisvm.registry import estimator_classes

ROWS = ("transduction_", "label_distribution_")
"""One entry a training row: results of the fit, not part of the model."""

ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")
NOT_KEPT = ("callback",)
REQUIRED = ("coef_", "intercept_", "classes_")
MAP, OF_MAP = "kernel_map_", "map."


def estimator_state(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """Give a fitted estimator as data for JSON and arrays.

    Functions (``callback``) and what has one entry a training row are left out.
    """
    if hasattr(estimator, "chosen") and hasattr(estimator, "coef_"):
        estimator = estimator.chosen()
    name = type(estimator).__name__
    _check_known(name)
    if not hasattr(estimator, "coef_"):
        raise ModelFileError(f"this {name} is not fitted, so there is nothing to save.")
    parameters = {
        key: None if key in NOT_KEPT else _plain(value, f"{name}({key}=...)")
        for key, value in estimator.get_params(deep=False).items()
    }
    arrays: Arrays = {}
    values: dict[str, Any] = {}
    state: dict[str, Any] = {"name": name, "parameters": parameters, "values": values}
    for key, value in vars(estimator).items():
        if not ATTRIBUTE.fullmatch(key) or key in (*ROWS, MAP):
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
            arrays[key] = value
        elif isinstance(value, Trace):
            state["trace"] = trace_state(value)
        elif isinstance(value, Hierarchy):
            state["hierarchy"] = _hierarchy_state(value)
        else:
            values[key] = _plain(value, f"{name}.{key}")
    state["map"], more = map_state(getattr(estimator, MAP, None))
    arrays.update({f"{OF_MAP}{key}": array for key, array in more.items()})
    return state, arrays


def _check_known(name: str) -> None:
    known = estimator_classes()
    if name not in known:
        near = near_match(name, known)
        hint = f" Did you mean {near}?" if near else ""
        raise ModelFileError(
            f"models of kind {name!r} are not saved or loaded.{hint} Known are {', '.join(known)}."
        )


def _plain(value: Any, what: str) -> Any:
    try:
        return to_plain(value)
    except TypeError as error:
        raise ModelFileError(f"{what} cannot be saved: {error}.") from error


def trace_state(trace: Trace) -> dict[str, Any]:
    """Give a trace as columns; None where a row has no entry."""
    columns = {name: [to_plain(row.get(name)) for row in trace.rows] for name in trace.columns}
    return {"columns": columns, "notes": list(trace.notes)}


def restore_trace(state: Mapping[str, Any]) -> Trace:
    """Make a trace from its columns."""
    columns = {name: from_plain(cells) for name, cells in state["columns"].items()}
    length = max((len(cells) for cells in columns.values()), default=0)
    rows = [
        {name: cells[i] for name, cells in columns.items() if cells[i] is not None}
        for i in range(length)
    ]
    return Trace(rows, [str(note) for note in state["notes"]])


def _hierarchy_state(hierarchy: Hierarchy) -> dict[str, Any] | None:
    if hierarchy.flat:
        return None
    return {"names": to_plain(list(hierarchy.names)), "ancestors": to_plain(hierarchy.ancestors)}


def _restore_hierarchy(state: Mapping[str, Any] | None, classes: NDArray[Any]) -> Hierarchy:
    if state is None:
        return flat(classes)
    names, ancestors = from_plain(state["names"]), from_plain(state["ancestors"])
    paths = np.zeros((len(names), len(classes)))
    for y, path in enumerate(ancestors):
        paths[list(path), y] = 1.0
    if len(ancestors) != len(classes):
        raise ValueError("the hierarchy has another number of classes")
    return Hierarchy(tuple(names), paths, ancestors)


def restore_estimator(state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Make a fitted estimator from its state; only known classes are made.

    Raises
    ------
    ModelFileError, KeyError, TypeError, ValueError
    """
    name = state["name"]
    _check_known(name)
    module, _, attribute = estimator_classes()[name].partition(":")
    parameters = {key: from_plain(value) for key, value in state["parameters"].items()}
    estimator = getattr(import_module(module), attribute)()
    unknown = sorted(set(parameters) - set(estimator.get_params(deep=False)))
    if unknown:
        raise ModelFileError(f"{name} has no parameters {', '.join(unknown)}.")
    estimator.set_params(**parameters)
    values = {key: from_plain(value) for key, value in state["values"].items()}
    own = {key: array for key, array in arrays.items() if not key.startswith(OF_MAP)}
    of_map = {k.removeprefix(OF_MAP): a for k, a in arrays.items() if k.startswith(OF_MAP)}
    # the first files have no kernels
    estimator.kernel_map_ = restore_map(state.get("map"), of_map)
    for key, value in {**values, **own}.items():
        if not ATTRIBUTE.fullmatch(key) or hasattr(type(estimator), key):
            raise ModelFileError(f"{key!r} is not an attribute of a fitted {name}.")
        setattr(estimator, key, value)
    if "trace" in state:
        estimator.trace_ = restore_trace(state["trace"])
    check_consistent(estimator)
    if "hierarchy" in state:
        estimator.hierarchy_ = _restore_hierarchy(state["hierarchy"], estimator.classes_)
    return estimator


def check_consistent(estimator: Any) -> None:
    """Raise if weights, classes and features do not fit each other."""
    for name in REQUIRED:
        if not isinstance(getattr(estimator, name, None), np.ndarray):
            raise ModelFileError(f"the model has no {name}.")
    coef, intercept, classes = (getattr(estimator, name) for name in REQUIRED)
    n_scores = 1 if len(classes) == 2 else len(classes)
    if classes.ndim != 1 or len(classes) < 2:
        raise ModelFileError("the model has fewer than two classes.")
    if coef.dtype.kind != "f" or coef.ndim != 2 or coef.shape[0] != n_scores:
        raise ModelFileError(f"the weights of the model do not fit its {len(classes)} classes.")
    if intercept.dtype.kind != "f" or intercept.shape != (n_scores,):
        raise ModelFileError(f"the intercepts of the model do not fit its {len(classes)} classes.")
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ModelFileError("weights of the model are not finite.")
    found = estimator.kernel_map_
    width = getattr(estimator, "n_features_in_", coef.shape[1]) if found is None else found.rank
    if width != coef.shape[1]:
        raise ModelFileError("the weights of the model do not fit its number of features.")
