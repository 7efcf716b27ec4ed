"""Pipelines and column transformers of scikit-learn whose steps are known, as data and back."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from semisvm.columns import ColumnFeatures
from semisvm.model_files.archive import Arrays, split_names
from semisvm.model_files.budget import Budget
from semisvm.model_files.checks import (
    DAMAGED,
    anything,
    flag,
    listed,
    one_of,
    record,
    text,
)
from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.features import restore_features
from semisvm.model_files.frames import (
    columns_state,
    frame_values,
    restore_columns,
)
from semisvm.model_files.steps import INSTEAD, STEPS, restore_step, step_state
from semisvm.model_files.values import from_plain, to_plain

COLUMN_FEATURES = "ColumnFeatures"
PIPELINE_KIND, FRAME_KIND = "Pipeline", "ColumnTransformer"
KNOWN = (*STEPS, COLUMN_FEATURES, PIPELINE_KIND, FRAME_KIND)
DEEPEST = 4
"""Pipelines and column transformers in each other."""
MISFIT = f"{DAMAGED}the steps of its pipeline do not fit each other."

STEP = record(
    {
        "name": text,
        "kind": one_of(*KNOWN),
        "state": anything,
        "output": one_of("default", "pandas", "polars"),
    }
)
STEP_LIST = listed(STEP, least=1)
PIPELINE = record({"steps": STEP_LIST, "last": text, "verbose": flag})
INNER = record({"steps": STEP_LIST, "verbose": flag})


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
        found, arrays = step.to_state()
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
    """Make a fitted pipeline of its state and its last step.

    Raises
    ------
    ModelFileError
    """
    from sklearn.pipeline import Pipeline

    PIPELINE(state, "pipeline", {})
    steps = _restored(state["steps"], arrays, "pipeline", budget)
    names = [*(name for name, _ in steps), state["last"]]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError(MISFIT)
    width = _check_widths([step for _, step in steps])
    if width is not None and getattr(last, "n_features_in_", width) != width:
        raise ModelFileError(MISFIT)
    return Pipeline([*steps, (state["last"], last)], verbose=state["verbose"])


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
    from sklearn.pipeline import Pipeline

    INNER(state, where, {})
    steps = _restored(state["steps"], arrays, where, budget, depth)
    names = [name for name, _ in steps]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError(MISFIT)
    _check_widths([step for _, step in steps])
    return Pipeline(steps, verbose=state["verbose"])


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
