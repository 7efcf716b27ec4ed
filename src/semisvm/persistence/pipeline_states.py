"""Pipelines and column transformers of scikit-learn, as plain data and back.

Their steps are those of `transformer_states`. A fitted column transformer is made by a fit on one
row, in which a stand-in takes the place of every transformer: so scikit-learn works out which
columns go where, and refuses columns that do not exist.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from semisvm.persistence.archive import Arrays, Budget, split_names
from semisvm.persistence.column_states import restore_features
from semisvm.persistence.json_values import from_plain, to_plain
from semisvm.persistence.transformer_states import INSTEAD, STEPS, TEXT, restore_step, step_state
from semisvm.tables.errors import ModelFileError
from semisvm.tables.feature_states import state_of
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.schema import (
    DAMAGED,
    MOST_COLUMNS,
    Record,
    anything,
    complaint,
    either,
    flag,
    listed,
    mapping,
    number,
    one_of,
    optional,
    text,
    whole,
)

DROP, PASSTHROUGH, REMAINDER = "drop", "passthrough", "remainder"
BYTES_A_COLUMN = 500
"""Of the row of a fit, and of what scikit-learn makes of its columns."""

POSITION = whole(-MOST_COLUMNS, MOST_COLUMNS)
EDGE = optional(either(POSITION, text))
SELECTED = either(
    listed(text),
    listed(POSITION),
    listed(flag),
    text,
    POSITION,
    Record({"start": EDGE, "stop": EDGE, "step": optional(POSITION)}),
)
VALUES = {
    REMAINDER: one_of(DROP, PASSTHROUGH, REMAINDER),
    "sparse_threshold": number(0.0, 1.0),
    "sparse_output": flag,
    "weights": optional(mapping(text, number())),
    "verbose": flag,
    "verbose_names": flag,
    "n_columns": whole(1, MOST_COLUMNS),
    "names": optional(listed(text, unique=True)),
}
DOES = either(one_of(DROP, PASSTHROUGH), mapping(text, anything))
PART = Record({"name": text, "columns": optional(SELECTED), "does": DOES})
FRAME = Record({**VALUES, "transformers": listed(PART, least=1)})

Part = Callable[[int, Any, Mapping[str, NDArray[Any]]], tuple[Any, int | None]]
"""Of position, state and arrays: returns a transformer, and how many columns it makes."""


def frame_values(name: str, step: Any) -> dict[str, Any]:
    """Return the state of a fitted column transformer besides its transformers."""
    has_rest = len(step.transformers_) > len(step.transformers)
    rest = step.remainder if isinstance(step.remainder, str) else DROP
    names = getattr(step, "feature_names_in_", None)
    weights = step.transformer_weights
    values = {
        REMAINDER: REMAINDER if has_rest else rest,
        "sparse_threshold": step.sparse_threshold,
        "sparse_output": bool(step.sparse_output_),
        "weights": None if weights is None else {key: _plain(w) for key, w in weights.items()},
        "verbose": bool(step.verbose),
        "verbose_names": step.verbose_feature_names_out,
        "n_columns": int(step.n_features_in_),
        "names": None if names is None else names.tolist(),
    }
    _check(name, Record(VALUES), values)
    return values


def columns_state(name: str, step: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, transformer and columns of every part of a fitted column transformer."""
    if not hasattr(step, "transformers_"):
        raise ModelFileError(f"the step {name!r} is not fitted, so there is nothing to save.")
    for k, (part, transformer, columns) in enumerate(step.transformers_):
        # those of the remainder follow from all others
        selected = _selected(columns) if k < len(step.transformers) else None
        _check(f"{name}__{part}", optional(SELECTED), selected)
        if isinstance(selected, list) and all(column is False for column in selected):
            transformer = DROP  # of no column, so it was never fitted
        elif getattr(transformer, "func", "") is None:
            transformer = PASSTHROUGH
        yield part, transformer, selected


def _selected(columns: Any) -> Any:
    """Return columns as they are written: as a name, a position, a list or the edges of a slice."""
    if isinstance(columns, slice):
        edges = {"start": columns.start, "stop": columns.stop, "step": columns.step}
        return {key: _plain(edge) for key, edge in edges.items()}
    if isinstance(columns, str) or np.isscalar(columns):
        return _plain(columns)
    return [_plain(column) for column in columns]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _check(name: str, check: Any, value: Any) -> None:
    wrong = complaint(check, value, "value")
    if wrong is not None:
        what = f"the step {name!r} of this pipeline cannot be saved"
        raise ModelFileError(f"{what}: {wrong} {INSTEAD}")


class _StandIn(TransformerMixin, BaseEstimator):
    """Makes as many columns as a transformer, and takes no more or fewer than it does."""

    def __init__(self, width: int, takes: int | None, flat: bool) -> None:
        self.width = width
        self.takes = takes
        self.flat = flat

    def fit(self, X: Any, y: Any = None) -> "_StandIn":
        shape = np.shape(X)
        if (len(shape) == 1) != self.flat or (self.takes and shape[1:] != (self.takes,)):
            raise ModelFileError(f"{DAMAGED}a transformer gets other columns than it takes.")
        return self

    def transform(self, X: Any) -> Any:
        return sparse.csr_matrix((1, self.width))


def restore_columns(
    state: Any, arrays: dict[str, Arrays], where: str, budget: Budget, part: Part
) -> Any:
    """Make a fitted column transformer; scikit-learn raises errors about columns."""
    from sklearn.compose import ColumnTransformer

    FRAME(state, where, {})
    names, n_columns, parts = state["names"], state["n_columns"], state["transformers"]
    if names is not None and len(names) != n_columns:
        raise ModelFileError(f"{DAMAGED}{where}.names must be one per column.")
    budget.spend(BYTES_A_COLUMN * n_columns)
    made, stand_ins = _made(parts, arrays, where, part)
    places = [
        (each["name"], stand_in, _selection(each["columns"]))
        for each, stand_in in zip(parts, stand_ins, strict=True)
    ]
    has_rest = state[REMAINDER] == REMAINDER
    rest = places.pop()[1] if has_rest else state[REMAINDER]
    frame = ColumnTransformer(
        places,
        remainder=rest,
        sparse_threshold=state["sparse_threshold"],
        transformer_weights=state["weights"],
        verbose_feature_names_out=state["verbose_names"],
    ).fit(_row(n_columns, names))
    if len(frame.transformers_) != len(parts):
        raise ModelFileError(f"{DAMAGED}{where} has no columns for its remainder.")
    _take_places(frame, made, has_rest)
    frame.verbose, frame.sparse_output_ = state["verbose"], state["sparse_output"]
    return frame


def _made(
    parts: list[Any], arrays: dict[str, Arrays], where: str, part: Part
) -> tuple[list[Any], list[Any]]:
    """Return transformers, and what stands in for them."""
    made: list[Any] = []
    stand_ins: list[Any] = []
    for k, each in enumerate(parts):
        step, own = each["does"], arrays.pop(str(k), {})
        stand_in = step
        if not isinstance(step, str):
            step, width = part(k, step, own)
            stand_in = _stand_in(step, width, where)
        made.append(step)
        stand_ins.append(stand_in)
    if arrays:
        raise ModelFileError(f"{DAMAGED}{where} has arrays that belong to nothing.")
    return made, stand_ins


def _stand_in(step: Any, width: int | None, where: str) -> _StandIn:
    if width is None:
        raise ModelFileError(f"{DAMAGED}{where} has a transformer of unknown width.")
    first = step
    while hasattr(first, "steps"):
        first = first.steps[0][1]
    flat = type(first).__module__ == TEXT and hasattr(first, "analyzer")
    return _StandIn(width, getattr(first, "n_features_in_", None), flat)


def _selection(columns: Any) -> Any:
    if isinstance(columns, Mapping):
        return slice(columns["start"], columns["stop"], columns["step"])
    return columns


def _row(n_columns: int, names: list[str] | None) -> Any:
    if names is None:
        return np.zeros((1, n_columns))
    try:
        import pandas as pd
    except ImportError as error:
        raise ModelFileError(
            "this pipeline chooses columns of a data frame by name, for which pandas is needed: "
            "pip install pandas."
        ) from error
    return pd.DataFrame(np.zeros((1, n_columns)), columns=names)


def _take_places(frame: Any, made: list[Any], has_rest: bool) -> None:
    """Put the transformers where their stand-ins are."""
    fitted = [
        (name, stand_in if isinstance(step, str) else step, columns)
        for (name, stand_in, columns), step in zip(frame.transformers_, made, strict=True)
    ]
    rest = made.pop() if has_rest else frame.remainder
    frame.transformers = [
        (name, step, columns)
        for (name, _, columns), step in zip(frame.transformers, made, strict=True)
    ]
    frame.remainder, frame.transformers_ = rest, fitted


COLUMN_FEATURES = "ColumnFeatures"
PIPELINE_KIND, FRAME_KIND = "Pipeline", "ColumnTransformer"
KNOWN = (*STEPS, COLUMN_FEATURES, PIPELINE_KIND, FRAME_KIND)
DEEPEST = 4
"""Pipelines and column transformers in each other."""
MISFIT = f"{DAMAGED}the steps of its pipeline do not fit each other."

STEP = Record(
    {
        "name": text,
        "kind": one_of(*KNOWN),
        "state": anything,
        "output": one_of("default", "pandas", "polars"),
    }
)
STEP_LIST = listed(STEP, least=1)
PIPELINE = Record({"steps": STEP_LIST, "last": text, "verbose": flag})
INNER = Record({"steps": STEP_LIST, "verbose": flag})


def pipeline_state(pipeline: Any) -> tuple[dict[str, Any], Arrays]:
    """Return all steps of a fitted pipeline but the last one as data for JSON and arrays."""
    *steps, (last, _) = pipeline.steps
    states, arrays = _states(steps, 0)
    if not states:
        raise ModelFileError(
            "this pipeline has one step only: save the estimator, its last step, by itself."
        )
    return {"steps": states, "last": str(last), "verbose": bool(pipeline.verbose)}, arrays


def _states(steps: list[tuple[str, Any]], depth: int) -> tuple[list[dict[str, Any]], Arrays]:
    states: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for name, step in steps:
        if step is None or isinstance(step, str):
            continue
        state, own = _state(name, step, depth)
        arrays.update({f"{len(states)}.{key}": array for key, array in own.items()})
        states.append(state)
    return states, arrays


def _state(name: str, step: Any, depth: int) -> tuple[dict[str, Any], Arrays]:
    kind = type(step).__name__
    theirs = type(step).__module__.startswith("sklearn.")
    if kind == COLUMN_FEATURES:
        found, arrays = state_of(step)
        state = to_plain(found)
    elif theirs and kind in (PIPELINE_KIND, FRAME_KIND) and depth < DEEPEST:
        state, arrays = _composed_state(name, step, depth + 1)
    elif theirs and kind in STEPS:
        state, arrays = step_state(name, step)
    else:
        raise ModelFileError(
            f"the step {name!r} of this pipeline is a {kind}, which is not saved. Known are "
            f"{', '.join(KNOWN)}, and an estimator of this package as the last step. {INSTEAD}"
        )
    output = getattr(step, "_sklearn_output_config", {}).get("transform", "default")
    return {"name": name, "kind": kind, "state": state, "output": output}, arrays


def _composed_state(name: str, step: Any, depth: int) -> tuple[dict[str, Any], Arrays]:
    """Return a pipeline of transformers, or a column transformer."""
    if type(step).__name__ == PIPELINE_KIND:
        states, arrays = _states(step.steps, depth)
        if not states:
            raise ModelFileError(f"the step {name!r} of this pipeline has no steps. {INSTEAD}")
        return {"steps": states, "verbose": bool(step.verbose)}, arrays
    parts: list[Any] = []
    arrays = {}
    for part, transformer, columns in columns_state(name, step):
        if not isinstance(transformer, str):
            transformer, own = _state(f"{name}__{part}", transformer, depth)
            transformer["name"] = part
            arrays.update({f"{len(parts)}.{key}": array for key, array in own.items()})
        parts.append({"name": part, "columns": columns, "does": transformer})
    return {**frame_values(name, step), "transformers": parts}, arrays


def restore_pipeline(
    state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], last: Any, budget: Budget
) -> Any:
    """Make a fitted pipeline of its state and its last step."""
    PIPELINE(state, "pipeline", {})
    steps = _restored(state["steps"], arrays, "pipeline", budget)
    width = _check_widths([step for _, step in steps])
    if width is not None and getattr(last, "n_features_in_", width) != width:
        raise ModelFileError(MISFIT)
    return _pipeline([*steps, (state["last"], last)], state["verbose"])


def _pipeline(steps: list[tuple[str, Any]], verbose: bool) -> Any:
    from sklearn.pipeline import Pipeline

    names = [name for name, _ in steps]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError(MISFIT)
    return Pipeline(steps, verbose=verbose)


def _restored(
    states: list[dict[str, Any]],
    arrays: Mapping[str, NDArray[Any]],
    where: str,
    budget: Budget,
    depth: int = 0,
) -> list[tuple[str, Any]]:
    of_steps = split_names(arrays)
    steps: list[tuple[str, Any]] = []
    for k, each in enumerate(states):
        own = of_steps.pop(str(k), {})
        steps.append((each["name"], _restore(each, own, f"{where}.steps[{k}]", budget, depth)))
    if of_steps:
        raise ModelFileError(MISFIT)
    return steps


def _restore(
    each: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    where: str,
    budget: Budget,
    depth: int,
) -> Any:
    kind, state = each["kind"], each["state"]
    if kind in (PIPELINE_KIND, FRAME_KIND):
        if depth >= DEEPEST:
            raise ModelFileError(f"{DAMAGED}{where} is nested too deeply.")
        made = _restore_inner if kind == PIPELINE_KIND else _restore_frame
        step = made(state, arrays, where, budget, depth + 1)
    elif kind == COLUMN_FEATURES:
        step = restore_features(from_plain(state), arrays, budget.spend)
    else:
        step = restore_step(kind, state, arrays, where, budget.spend)
    if each["output"] != "default":
        step.set_output(transform=each["output"])
    return step


def _restore_inner(
    state: Any, arrays: Mapping[str, NDArray[Any]], where: str, budget: Budget, depth: int
) -> Any:
    INNER(state, where, {})
    steps = _restored(state["steps"], arrays, where, budget, depth)
    _check_widths([step for _, step in steps])
    return _pipeline(steps, state["verbose"])


def _restore_frame(
    state: Any, arrays: Mapping[str, NDArray[Any]], where: str, budget: Budget, depth: int
) -> Any:
    def part(k: int, each: Any, own: Mapping[str, NDArray[Any]]) -> tuple[Any, int | None]:
        at = f"{where}.transformers[{k}]"
        STEP(each, at, {})
        step = _restore(each, own, at, budget, depth)
        return step, _check_widths([step])

    return restore_columns(state, split_names(arrays), where, budget, part)


def _check_widths(steps: list[Any]) -> int | None:
    """Return how many columns steps make; raise if one makes others than the next one takes."""
    width: int | None = None
    for step in steps:
        takes = getattr(step, "n_features_in_", None)
        if width is not None and takes is not None and takes != width:
            raise ModelFileError(MISFIT)
        width = _width(step, takes)
    return width


def _width(step: Any, takes: int | None) -> int | None:
    if isinstance(step, ColumnFeatures):
        return int(step.n_features_out_)
    if hasattr(step, "vocabulary_"):
        return len(step.vocabulary_)
    if hasattr(step, "steps"):
        return _check_widths([each for _, each in step.steps])
    if hasattr(step, "output_indices_"):
        return max(part.stop for part in step.output_indices_.values())
    if hasattr(step, "categories_"):
        return len(step.get_feature_names_out())
    return int(step.n_features) if hasattr(step, "n_features") else takes
