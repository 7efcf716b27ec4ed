"""Pipelines of scikit-learn whose steps are known here, as plain data and arrays, and back.

A step is made by its name from a table, never from what a file says, and everything that it gets
is checked first. Functions in a step are code, which a model file does not hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.columns import ColumnFeatures
from semisvm.columns.text import MAX_NGRAM, TOKEN_PATTERN
from semisvm.model_files.archive import Arrays, split_names
from semisvm.model_files.budget import Budget
from semisvm.model_files.checks import (
    DAMAGED,
    MOST_COLUMNS,
    Array,
    Check,
    anything,
    complaint,
    either,
    flag,
    listed,
    mapping,
    nothing,
    number,
    one_of,
    optional,
    ordered,
    record,
    text,
    whole,
)
from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.features import restore_features
from semisvm.model_files.values import from_plain, to_plain

COLUMNS = ("columns",)
TYPES = ("float64", "float32", "int64", "int32")
PATTERNS = (TOKEN_PATTERN, r"(?u)\b\w+\b", r"\b\w+\b", r"\b\w\w+\b", r"\w+")
"""Of words. A pattern of a stranger may take for ever; these take linear time."""
INSTEAD = (
    "Use steps by name and parameters that are data, or keep the whole pipeline with joblib or "
    "skops; a pickle of somebody else may run anything when it is loaded."
)
NGRAMS = ordered(listed(whole(1, MAX_NGRAM), length=2))
SHARE_OR_COUNT = number(0.0)

READING: dict[str, Check] = {
    # "filename" and "file" would read what the input names
    "input": one_of("content"),
    "encoding": one_of("utf-8", "latin-1", "ascii"),
    "decode_error": one_of("strict", "ignore", "replace"),
    "strip_accents": one_of(None, "ascii", "unicode"),
    "lowercase": flag,
    "preprocessor": nothing,
    "tokenizer": nothing,
    "stop_words": either(one_of(None, "english"), listed(text)),
    "token_pattern": one_of(*PATTERNS),
    "ngram_range": NGRAMS,
    "analyzer": one_of("word", "char", "char_wb"),
    "binary": flag,
    "dtype": one_of(*TYPES),
}
COUNTING: dict[str, Check] = {
    **READING,
    "max_df": SHARE_OR_COUNT,
    "min_df": SHARE_OR_COUNT,
    "max_features": optional(whole(1)),
    "vocabulary": nothing,
}
HASHING: dict[str, Check] = {
    **READING,
    "n_features": whole(1, MOST_COLUMNS),
    "norm": one_of(None, "l1", "l2"),
    "alternate_sign": flag,
}
WEIGHING: dict[str, Check] = {
    "norm": one_of(None, "l1", "l2"),
    "use_idf": flag,
    "smooth_idf": flag,
    "sublinear_tf": flag,
}
WORDS: dict[str, Check] = {"words": listed(text, "columns", least=1, unique=True)}
IDF: dict[str, Check] = {"idf_": Array("f", COLUMNS, low=0.0)}
SCALE = Array("f", COLUMNS, above=0.0)
CENTRE = Array("f", COLUMNS)
SEEN_NAME = "n_samples_seen_"
SEEN = either(number(0.0), Array("iuf", COLUMNS, low=0))


@dataclass(frozen=True)
class Step:
    """A kind of step.

    Attributes
    ----------
    module : str
    parameters : mapping of checks
        All of them; what is not named here is not kept.
    attributes, missing : mappings of checks
        Of the fitted step: those that it has, and those that it may lack or that may be None.
    """

    module: str
    parameters: Mapping[str, Check]
    attributes: Mapping[str, Check] = field(default_factory=dict)
    missing: Mapping[str, Check] = field(default_factory=dict)


WIDTH: dict[str, Check] = {"n_features_in_": whole(1, MOST_COLUMNS)}
TEXT = "sklearn.feature_extraction.text"
SCALERS = "sklearn.preprocessing"
STEPS = {
    "CountVectorizer": Step(TEXT, COUNTING, WORDS),
    "TfidfVectorizer": Step(TEXT, {**COUNTING, **WEIGHING}, WORDS, IDF),
    "HashingVectorizer": Step(TEXT, HASHING),
    "TfidfTransformer": Step(TEXT, WEIGHING, WIDTH, IDF),
    "StandardScaler": Step(
        SCALERS,
        {"copy": flag, "with_mean": flag, "with_std": flag},
        WIDTH,
        {
            "mean_": optional(CENTRE),
            "scale_": optional(SCALE),
            "var_": optional(Array("f", COLUMNS, low=0.0)),
            SEEN_NAME: SEEN,
        },
    ),
    "MaxAbsScaler": Step(
        SCALERS,
        {"copy": flag, "clip": flag},
        {**WIDTH, "scale_": SCALE, "max_abs_": Array("f", COLUMNS, low=0.0)},
        {SEEN_NAME: SEEN},
    ),
    "MinMaxScaler": Step(
        SCALERS,
        {"copy": flag, "clip": flag, "feature_range": listed(number(), length=2)},
        {**WIDTH, "scale_": SCALE, "min_": CENTRE, "data_min_": CENTRE, "data_max_": CENTRE},
        {"data_range_": CENTRE, SEEN_NAME: SEEN},
    ),
    "Normalizer": Step(SCALERS, {"copy": flag, "norm": one_of("l1", "l2", "max")}, {}, WIDTH),
}
COLUMN_FEATURES = "ColumnFeatures"
KNOWN = (*STEPS, COLUMN_FEATURES)

PIPELINE = record(
    {
        "steps": listed(
            record(
                {
                    "name": text,
                    "kind": one_of(*KNOWN),
                    "state": anything,
                    "output": one_of("default", "pandas", "polars"),
                }
            ),
            least=1,
        ),
        "last": text,
        "verbose": flag,
    }
)


def pipeline_state(pipeline: Any) -> tuple[dict[str, Any], Arrays]:
    """Return all steps of a fitted pipeline but the last one as data for JSON and arrays."""
    *steps, (last, _) = pipeline.steps
    states: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for name, step in steps:
        if step is None or isinstance(step, str):
            continue
        state, own = _step_state(name, step)
        arrays.update({f"{len(states)}.{key}": array for key, array in own.items()})
        states.append(state)
    if not states:
        raise ModelFileError(
            "this pipeline has one step only: save the estimator, its last step, by itself."
        )
    return {"steps": states, "last": str(last), "verbose": bool(pipeline.verbose)}, arrays


def _step_state(name: str, step: Any) -> tuple[dict[str, Any], Arrays]:
    kind = type(step).__name__
    if kind == COLUMN_FEATURES:
        found, arrays = step.to_state()
        state = to_plain(found)
    elif kind in STEPS and type(step).__module__.startswith("sklearn."):
        state, arrays = _known_state(name, step, STEPS[kind])
    else:
        raise ModelFileError(
            f"the step {name!r} of this pipeline is a {kind}, which is not saved. Known are "
            f"{', '.join(KNOWN)}, and an estimator of this package as the last step. {INSTEAD}"
        )
    output = getattr(step, "_sklearn_output_config", {}).get("transform", "default")
    return {"name": name, "kind": kind, "state": state, "output": output}, arrays


def _known_state(name: str, step: Any, kind: Step) -> tuple[dict[str, Any], Arrays]:
    what = f"the step {name!r} ({type(step).__name__})"
    given = step.get_params(deep=False)
    parameters = {key: _as_data(key, given[key]) for key in kind.parameters if key in given}
    # a given vocabulary is kept as the fitted one
    parameters.pop("vocabulary", None)
    attributes = _attributes(step, kind, what)
    _check_step(
        kind,
        parameters,
        attributes,
        lambda said: ModelFileError(f"{what} of this pipeline cannot be saved: {said} {INSTEAD}"),
    )
    arrays = {key: value for key, value in attributes.items() if isinstance(value, np.ndarray)}
    values = {key: value for key, value in attributes.items() if key not in arrays}
    return {"parameters": to_plain(parameters), "values": to_plain(values)}, arrays


def _as_data(name: str, value: Any) -> Any:
    """Return a parameter as it is written: the name of a type, lists in place of sets."""
    if name == "dtype":
        return np.dtype(value).name
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


def _attributes(step: Any, kind: Step, what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in (*kind.attributes, *kind.missing):
        if key == "words":
            if not hasattr(step, "vocabulary_"):
                raise ModelFileError(f"{what} is not fitted, so there is nothing to save.")
            found[key] = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
        elif hasattr(step, key):
            value = getattr(step, key)
            one = isinstance(value, np.generic) or (key == SEEN_NAME and np.ndim(value) == 0)
            found[key] = np.asarray(value).item() if one else value
        elif key in kind.attributes:
            raise ModelFileError(f"{what} is not fitted, so there is nothing to save.")
    return found


def _check_step(
    kind: Step,
    parameters: Mapping[str, Any],
    attributes: Mapping[str, Any],
    error: Callable[[str], ModelFileError],
) -> None:
    sizes: dict[str, int] = {}
    said = complaint(record({}, kind.parameters), parameters, "parameters")
    said = said or complaint(record(kind.attributes, kind.missing), attributes, "values", sizes)
    columns = sizes.get("columns")
    if said is None and columns and attributes.get("n_features_in_", columns) != columns:
        said = "values.n_features_in_ must be the number of columns."
    if said is None and parameters.get("use_idf") and "idf_" not in attributes:
        said = "values has no idf_."
    if said is not None:
        raise error(said)


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
    of_steps = split_names(arrays)
    steps: list[tuple[str, Any]] = []
    for k, each in enumerate(state["steps"]):
        own = of_steps.pop(str(k), {})
        step = _restore_step(each, own, f"pipeline.steps[{k}]", budget)
        if each["output"] != "default":
            step.set_output(transform=each["output"])
        steps.append((each["name"], step))
    names = [*(name for name, _ in steps), state["last"]]
    if of_steps or len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError(f"{DAMAGED}the steps of its pipeline do not fit each other.")
    _check_widths([step for _, step in steps], last)
    return Pipeline([*steps, (state["last"], last)], verbose=state["verbose"])


def _restore_step(
    each: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], where: str, budget: Budget
) -> Any:
    if each["kind"] == COLUMN_FEATURES:
        return restore_features(from_plain(each["state"]), arrays, budget.spend)
    kind = STEPS[each["kind"]]
    whole_state = record({"parameters": anything, "values": anything})
    whole_state(each["state"], where, {})
    parameters, values = (from_plain(each["state"][key]) for key in ("parameters", "values"))
    mapping(text, anything)(values, where, {})
    attributes = {**values, **arrays}
    _check_step(
        kind, parameters, attributes, lambda said: ModelFileError(f"{DAMAGED}{where}: {said}")
    )
    return _made(each["kind"], kind, dict(parameters), attributes)


def _made(name: str, kind: Step, parameters: dict[str, Any], attributes: dict[str, Any]) -> Any:
    if "dtype" in parameters:
        parameters["dtype"] = np.dtype(parameters["dtype"]).type
    for key in ("ngram_range", "feature_range"):
        if key in parameters:
            parameters[key] = tuple(parameters[key])
    step = getattr(import_module(kind.module), name)(**parameters)
    words = attributes.pop("words", None)
    if words is not None:
        step.vocabulary_ = {word: k for k, word in enumerate(words)}
        step.fixed_vocabulary_ = False
    if words is not None and parameters.get("use_idf") is False:
        # with idf, setting them makes it
        weighing = {key: parameters[key] for key in WEIGHING}
        step._tfidf = import_module(kind.module).TfidfTransformer(**weighing)
        step._tfidf.n_features_in_ = len(words)
    for key, value in attributes.items():
        setattr(step, key, value)
    return step


def _check_widths(steps: list[Any], last: Any) -> None:
    """Raise if a step makes other columns than the next one takes."""
    width: int | None = None
    for step in [*steps, last]:
        takes = getattr(step, "n_features_in_", None)
        if width is not None and takes is not None and takes != width:
            raise ModelFileError(f"{DAMAGED}the steps of its pipeline do not fit each other.")
        width = _width(step, takes)


def _width(step: Any, takes: int | None) -> int | None:
    if isinstance(step, ColumnFeatures):
        return int(step.n_features_out_)
    if hasattr(step, "vocabulary_"):
        return len(step.vocabulary_)
    return int(step.n_features) if hasattr(step, "n_features") else takes
