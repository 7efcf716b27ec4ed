"""Fitted estimators: what a model file may have, as plain data and arrays, and back."""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.estimators.registry import estimator_classes
from semisvm.labels.hierarchy import Hierarchy, flat
from semisvm.persistence.archive import Arrays, Budget
from semisvm.persistence.json_values import from_plain, from_plain_list, to_plain
from semisvm.persistence.map_states import MEMBERS, check_map, map_state, restore_map
from semisvm.solvers.trace import Trace
from semisvm.tables.errors import ModelFileError
from semisvm.tables.schema import (
    MOST_COLUMNS,
    Array,
    Names,
    Record,
    anything,
    either,
    in_words,
    label,
    listed,
    mapping,
    number,
    one_of,
    optional,
    scalar,
    text,
    whole,
)
from semisvm.text import did_you_mean

ROWS = ("transduction_", "label_distribution_")
"""One entry per training row: results of the fit, not part of the model."""

SEVERAL_LABELS = "MultiLabelSVC"
ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")
NOT_KEPT = ("callback",)
ESTIMATORS_OF = "estimators"
"""The parameter of a committee that holds its members."""
MACHINE_OF = "estimator"
"""The parameter that holds the machine of each of several labels."""
MAP, OF_MAP = "kernel_map_", "map."
APART = (MAP, "trace_", "hierarchy_", *ROWS)
"""Attributes that have a state of their own, or none."""


ESTIMATOR = Record(
    {
        "name": text,
        "parameters": mapping(text, anything),
        "values": mapping(text, anything),
    },
    # the first files have no kernels, and not every method has a trace or a hierarchy
    {"trace": anything, "hierarchy": anything, "map": optional(mapping(text, anything))},
)
MACHINE = Record({"member": text, "name": text, "parameters": mapping(text, anything)})
ESTIMATORS = listed(MACHINE, least=1)

# Attributes of estimators; "scores" is 1 for two classes, "weights" the number of them for each

ATTRIBUTES = Record(
    {
        "classes_": Array("biufU", ("classes",)),
        "class_prior_": Array("f", ("classes",), low=0.0, high=1.0 + 1e-6),
        "coef_": Array("f", ("scores", "weights")),
        "intercept_": Array("f", ("scores",)),
        "n_features_in_": whole(1, MOST_COLUMNS),
        "n_iter_": whole(),
        "objective_": number(finite=False),
    },
    {
        "class_prior_std_": Array("f", ("classes",), low=0.0),
        "feature_names_in_": Names("names"),
        "names_": Names("members"),
        "weights_": Array("f", ("members",), low=0.0),
        "multipliers_": Array("f", ("classes",)),
        "n_nonzero_": Array("iu", ("scores",), low=0),
        "node_coef_": Array("f", ("nodes", "weights")),
        "node_intercept_": Array("f", ("nodes",)),
        "optimality_gap_": number(finite=False),
        "queried_": optional(Array("iu", ("queried rows",), low=0)),
        "reg_": number(),
    },
    others=anything,
)
# The same for several labels, each of which has one score
LABEL_ATTRIBUTES = Record(
    {
        "classes_": Array("biufU", ("values",)),
        "label_names_": Array("iuU", ("scores",)),
        "class_prior_": Array("f", ("scores",), low=0.0, high=1.0 + 1e-6),
        "class_prior_std_": Array("f", ("scores",), low=0.0),
        "coef_": Array("f", ("scores", "weights")),
        "intercept_": Array("f", ("scores",)),
        "n_features_in_": whole(1, MOST_COLUMNS),
        "n_iter_": Array("iu", ("scores",), low=0),
        "objective_": Array("f", ("scores",)),
        "reg_": number(),
    },
    {"feature_names_in_": Names("names")},
)
HIERARCHY = Record(
    {
        "names": listed(label, "nodes", least=1, unique=True),
        "ancestors": listed(listed(whole(), least=1), "classes"),
    }
)
TRACE = Record(
    {
        "columns": either(
            Record(
                {
                    "phase": listed(text, "rounds"),
                    "objective": listed(number(finite=False), "rounds"),
                    "value": listed(number(finite=False), "rounds"),
                },
                others=listed(scalar, "rounds"),
            ),
            one_of({}),
        ),
        "notes": listed(text),
    }
)


def estimator_state(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """Return a fitted estimator as data for JSON and arrays.

    Functions (``callback``) and what has one entry per training row are left out.
    """
    if hasattr(estimator, "chosen") and hasattr(estimator, "coef_"):
        estimator = estimator.chosen()
    name = type(estimator).__name__
    _check_known(name)
    if not hasattr(estimator, "coef_"):
        raise ModelFileError(f"this {name} is not fitted, so there is nothing to save.")
    parameters = _parameters_state(estimator)
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


def _parameters_state(estimator: Any) -> dict[str, Any]:
    name = type(estimator).__name__
    found = estimator.get_params(deep=False)
    state = {
        key: None if key in NOT_KEPT else _plain(value, f"{name}({key}=...)")
        for key, value in found.items()
        if key not in (ESTIMATORS_OF, MACHINE_OF)
    }
    if MACHINE_OF in found:
        machine = found[MACHINE_OF]
        state[MACHINE_OF] = None if machine is None else _member_state(MACHINE_OF, machine)
    if ESTIMATORS_OF in found:
        pairs = found[ESTIMATORS_OF]
        state[ESTIMATORS_OF] = None if pairs is None else [_member_state(*pair) for pair in pairs]
    return state


def _member_state(name: str, estimator: Any) -> dict[str, Any]:
    """Return an estimator that is not fitted: a member of a committee, or a machine."""
    kind = type(estimator).__name__
    if kind not in estimator_classes():
        raise ModelFileError(
            f"{name!r} is a {kind}: models with classifiers of other packages are not saved in "
            "model files; pickle or joblib can store them."
        )
    return {"member": str(name), "name": kind, "parameters": _parameters_state(estimator)}


def _check_known(name: str) -> None:
    known = estimator_classes()
    if name not in known:
        name = name[:100]
        hint = did_you_mean(name, known)
        raise ModelFileError(
            f"models of kind {name!r} are not saved or loaded.{hint} Known are {', '.join(known)}."
        )


def _plain(value: Any, what: str) -> Any:
    try:
        return to_plain(value)
    except TypeError as error:
        raise ModelFileError(f"{what} cannot be saved: {error}.") from error


def trace_state(trace: Trace) -> dict[str, Any]:
    """Return a trace as columns; None where a row has no entry."""
    columns = {name: [to_plain(row.get(name)) for row in trace.rows] for name in trace.columns}
    return {"columns": columns, "notes": list(trace.notes)}


def restore_trace(state: Mapping[str, Any]) -> Trace:
    """Make a trace from its columns."""
    columns = {name: from_plain_list(cells) for name, cells in state["columns"].items()}
    sizes: dict[str, int] = {}
    TRACE({**state, "columns": columns}, "trace", sizes)
    rows = [
        {name: cells[i] for name, cells in columns.items() if cells[i] is not None}
        for i in range(sizes.get("rounds", 0))
    ]
    return Trace(rows, list(state["notes"]))


def _hierarchy_state(hierarchy: Hierarchy) -> dict[str, Any] | None:
    if hierarchy.flat:
        return None
    return {"names": to_plain(list(hierarchy.names)), "ancestors": to_plain(hierarchy.ancestors)}


def _restore_hierarchy(
    state: Mapping[str, Any] | None, classes: NDArray[Any], sizes: dict[str, int], budget: Budget
) -> Hierarchy:
    if state is None:
        return flat(classes)
    plain = {key: from_plain(value) for key, value in state.items()}
    HIERARCHY(plain, "hierarchy", sizes)
    names, ancestors = plain["names"], plain["ancestors"]
    if {k for path in ancestors for k in path} != set(range(len(names))):
        raise ModelFileError("the hierarchy of the model does not fit its classes.")
    budget.spend(8 * len(names) * len(classes))
    paths = np.zeros((len(names), len(classes)))
    for y, path in enumerate(ancestors):
        paths[list(path), y] = 1.0
    return Hierarchy(tuple(names), paths, tuple(tuple(path) for path in ancestors))


def restore_estimator(
    state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], budget: Budget
) -> Any:
    """Make a fitted estimator from what `estimator_state` returned; only known classes are made.

    What is made besides the arrays is taken from the budget of the file.
    """
    ESTIMATOR(state, "estimator", {})
    estimator = _with_parameters(state)
    name = type(estimator).__name__
    values = {key: from_plain(value) for key, value in state["values"].items()}
    own = {key: array for key, array in arrays.items() if not key.startswith(OF_MAP)}
    of_map = {k.removeprefix(OF_MAP): a for k, a in arrays.items() if k.startswith(OF_MAP)}
    attributes = {**values, **own}
    for key in attributes:
        if not ATTRIBUTE.fullmatch(key) or key in APART or hasattr(type(estimator), key):
            raise ModelFileError(f"{key[:40]!r} is not an attribute of a fitted {name}.")
    sizes: dict[str, int] = {}
    several = name == SEVERAL_LABELS
    (LABEL_ATTRIBUTES if several else ATTRIBUTES)(attributes, "estimator", sizes)
    vars(estimator).update(attributes)
    # the first files have no kernels
    estimator.kernel_map_ = restore_map(state.get("map"), of_map, budget)
    check_consistent(estimator)
    if "trace" in state:
        estimator.trace_ = restore_trace(state["trace"])
    if "hierarchy" in state:
        own_classes = estimator.classes_
        estimator.hierarchy_ = _restore_hierarchy(state["hierarchy"], own_classes, sizes, budget)
    return estimator


def _with_parameters(state: Mapping[str, Any]) -> Any:
    """Make an estimator that is not fitted; its own checks decide whether it could be."""
    name = state["name"]
    _check_known(name)
    module, _, attribute = estimator_classes()[name].partition(":")
    plain = dict(state["parameters"])
    members, machine = plain.pop(ESTIMATORS_OF, None), plain.pop(MACHINE_OF, None)
    parameters = {key: from_plain(value) for key, value in plain.items()}
    if members is not None:
        parameters[ESTIMATORS_OF] = _members(members, name)
    if machine is not None:
        MACHINE(machine, "estimator.parameters.estimator", {})
        if machine["name"] == name:
            raise ModelFileError("the machine of a label has several labels itself.")
        parameters[MACHINE_OF] = _with_parameters(machine)
    estimator = getattr(import_module(module), attribute)()
    unknown = sorted(set(parameters) - set(estimator.get_params(deep=False)))
    if unknown:
        raise ModelFileError(f"{name} has no parameters {', '.join(map(in_words, unknown[:5]))}.")
    estimator.set_params(**parameters)
    if not isinstance(estimator.features_by, str):
        raise ModelFileError(f"the kernel of {name} must be named.")
    try:
        estimator._check_parameters()
    except ValueError as error:
        raise ModelFileError(
            f"the parameters of {name} make no sense: {in_words(error, 200)}"
        ) from error
    return estimator


def _members(states: Any, owner: str) -> list[tuple[str, Any]]:
    """Make the members of a committee; a committee in a committee is not known."""
    ESTIMATORS(states, "estimator.parameters.estimators", {})
    if any(state["name"] == owner for state in states):
        raise ModelFileError("the model is an ensemble of ensembles.")
    return [(state["member"], _with_parameters(state)) for state in states]


def check_consistent(estimator: Any) -> None:
    """Raise if weights, classes, kernel and features do not fit each other."""
    coef, classes = estimator.coef_, estimator.classes_
    if len(classes) < 2 or not (classes[1:] > classes[:-1]).all():
        raise ModelFileError("the classes of the model are not two or more, sorted.")
    n_scores = 1 if len(classes) == 2 else len(classes)
    if type(estimator).__name__ == SEVERAL_LABELS:
        n_scores = len(estimator.label_names_)
        if len(classes) != 2:
            raise ModelFileError("the labels of the model have more than two values.")
    if len(coef) != n_scores or not n_scores:
        raise ModelFileError(f"the weights of the model do not fit its {len(classes)} classes.")
    found, columns = estimator.kernel_map_, estimator.n_features_in_
    width = columns if found is None else found.rank
    if width != coef.shape[1]:
        raise ModelFileError("the weights of the model do not fit its number of features.")
    check_map(found, estimator.features_by, columns)
    members: Sequence[Any] = getattr(found, "members", ())
    if estimator.features_by == MEMBERS and (
        members[0].classes_.tolist() != classes.tolist() or len(members) != len(estimator.weights_)
    ):
        raise ModelFileError("the members of the model do not fit its classes and weights.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != columns:
        raise ModelFileError("the names of the features do not fit their number.")
