"""Steps of scikit-learn that a model file may hold, as plain data and back.

A step is made by its name from a table, never from the text of a file, and all of its values are
checked first. Functions in a step are code, which a model file does not hold. Encoders of
categories and imputers are made again by a fit on a few rows that lead to the same state, so that
scikit-learn itself sets, and checks, its attributes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.persistence.archive import Arrays
from semisvm.persistence.json_values import from_plain, to_plain
from semisvm.tables.errors import ModelFileError
from semisvm.tables.schema import (
    DAMAGED,
    MOST_COLUMNS,
    Array,
    Check,
    Names,
    Record,
    Sizes,
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
    refuse,
    scalar,
    text,
    whole,
)
from semisvm.tables.words import MAX_NGRAM, TOKEN_PATTERN

TYPES = ("float64", "float32", "int64", "int32")
AUTO, GIVEN = "auto", "given"
"""Whether the categories are those of the data, or were a parameter."""
FREQUENT = 2
BYTES_A_CELL = 24
"""Of the rows that an encoder is fitted on, and of the copies that scikit-learn makes."""


def levels(value: Any, where: str, sizes: Sizes) -> None:
    """Require the categories of a column: different scalars; numbers in ascending order."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
        raise refuse(where, "an array of categories")
    if value.dtype.kind == "O":
        return listed(scalar, least=1)(value.tolist(), where, sizes)
    if value.dtype.kind not in "biufU":
        raise refuse(where, "an array of numbers or text")
    if value.dtype.kind != "U":
        # scikit-learn looks them up by bisection; NaN is the last one
        known = value[:-1] if value.dtype.kind == "f" and np.isnan(value[-1]) else value
        if not np.all(known[1:] > known[:-1]) or not np.isfinite(known).all():
            raise refuse(where, "numbers in strictly ascending order")


ENCODING: dict[str, Check] = {
    "categories": one_of(AUTO, GIVEN),
    "drop": either(one_of(None, "first", "if_binary"), listed(scalar)),
    "sparse_output": flag,
    "dtype": one_of(*TYPES),
    "handle_unknown": one_of("error", "ignore", "infrequent_if_exist", "warn"),
    "min_frequency": optional(either(whole(1), number(0.0, 1.0, above=0.0))),
    "max_categories": optional(whole(1)),
    "feature_name_combiner": one_of("concat"),
}
CATEGORIES: dict[str, Check] = {
    "categories_": listed(levels, "columns", least=1),
    # positions of the rare ones, which share a column
    "infrequent": listed(optional(ordered(listed(whole(), least=1, unique=True))), "columns"),
}


def read_encoder(encoder: Any) -> dict[str, Any]:
    """Return the categories of a fitted encoder, and which of them are rare."""
    rare = getattr(encoder, "infrequent_categories_", [None] * len(encoder.categories_))
    return {
        "categories_": list(encoder.categories_),
        "infrequent": [
            None if few is None else _positions(known.tolist(), few.tolist())
            for known, few in zip(encoder.categories_, rare, strict=True)
        ],
    }


def _positions(known: list[Any], few: list[Any]) -> list[int]:
    """Return where some entries of a list are, of which they have the order."""
    found: list[int] = []
    for k, value in enumerate(known):
        if len(found) < len(few):
            wanted = few[len(found)]
            if value == wanted or (value != value and wanted != wanted):
                found.append(k)
    return found


def make_encoder(
    parameters: dict[str, Any], attributes: dict[str, Any], spend: Callable[[int], None]
) -> Any:
    """Make a fitted encoder: rare categories occur once in what it is fitted on, others twice."""
    from sklearn.preprocessing import OneHotEncoder

    categories, rare = attributes.pop("categories_"), attributes.pop("infrequent")
    if any(few and few[-1] >= len(known) for few, known in zip(rare, categories, strict=True)):
        raise ValueError("a rare category is none of the categories")
    if any(rare):
        spend(BYTES_A_CELL * FREQUENT * max(map(len, categories)) * len(categories))
    if parameters["categories"] == GIVEN:
        parameters["categories"] = [known.tolist() for known in categories]
    given = [_objects(known.tolist()) for known in categories]
    encoder = OneHotEncoder(
        **{
            **parameters,
            "categories": given,
            "handle_unknown": "ignore",
            "max_categories": None,
            "min_frequency": FREQUENT if any(rare) else None,
        }
    )
    encoder.fit(_rows(given, rare)).set_params(**parameters)
    encoder.categories_ = categories
    if any(rare) and read_encoder(encoder)["infrequent"] != rare:
        raise ModelFileError("the rare categories of an encoder are not as they should be.")
    return encoder


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _rows(categories: list[NDArray[Any]], rare: list[list[int] | None]) -> NDArray[Any]:
    columns = []
    for known, few in zip(categories, rare, strict=True):
        often = np.full(len(known), FREQUENT if any(rare) else 0)
        often[few or []] = 1
        columns.append(np.repeat(known, often))
    # what is no category of a column fills it up
    rows = np.full((max(1, *map(len, columns)), len(columns)), object())
    for k, column in enumerate(columns):
        rows[: len(column), k] = column
    return rows


def make_imputer(
    parameters: dict[str, Any], attributes: dict[str, Any], spend: Callable[[int], None]
) -> Any:
    """Make a fitted imputer: of one row, that row is the mean, the median and the most frequent."""
    from sklearn.impute import SimpleImputer

    known, missing = attributes.pop("statistics_"), parameters["missing_values"]
    imputer = SimpleImputer(**{**parameters, "missing_values": np.nan}).fit(known[None])
    if not np.array_equal(imputer.statistics_, known):
        raise ModelFileError("the values of an imputer are not as they should be.")
    return imputer.set_params(missing_values=missing)


COLUMNS = ("columns",)
PATTERNS = (TOKEN_PATTERN, r"(?u)\b\w+\b", r"\b\w+\b", r"\b\w\w+\b", r"\w+")
"""Of words. An untrusted pattern may take for ever; these take linear time."""
INSTEAD = (
    "Use steps by name and parameters that are data, or keep the whole pipeline with joblib or "
    "skops; a pickle from elsewhere may run anything when it is loaded."
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
NEEDED = {"use_idf": "idf_", "with_mean": "mean_", "with_std": "scale_"}
"""Attributes that a step has if a parameter, true by default, is true."""
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
    read : (step) -> dict, optional
        Returns attributes that are kept in another form than the step has them.
    make : (parameters, attributes, spend) -> step, optional
        For steps that are not made by setting their attributes; ``spend`` is called with the
        memory that they need.
    """

    module: str
    parameters: Mapping[str, Check]
    attributes: Mapping[str, Check] = field(default_factory=dict)
    missing: Mapping[str, Check] = field(default_factory=dict)
    read: Callable[[Any], dict[str, Any]] | None = None
    make: Callable[[dict[str, Any], dict[str, Any], Callable[[int], None]], Any] | None = None


def _read_words(vectorizer: Any) -> dict[str, Any]:
    words = vectorizer.vocabulary_
    return {"words": sorted(words, key=words.__getitem__)}


NAMES: dict[str, Check] = {"feature_names_in_": Names("columns")}
"""Of the columns of a frame that any step was fitted on."""
WIDTH: dict[str, Check] = {"n_features_in_": whole(1, MOST_COLUMNS)}
TEXT = "sklearn.feature_extraction.text"
SCALERS = "sklearn.preprocessing"
STEPS = {
    "CountVectorizer": Step(TEXT, COUNTING, WORDS, read=_read_words),
    "TfidfVectorizer": Step(TEXT, {**COUNTING, **WEIGHING}, WORDS, IDF, read=_read_words),
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
    "SimpleImputer": Step(
        "sklearn.impute",
        {
            "missing_values": number(finite=False),
            "strategy": one_of("mean", "median", "most_frequent", "constant"),
            "fill_value": optional(number()),
            "copy": flag,
            "add_indicator": one_of(False),
            "keep_empty_features": flag,
        },
        {**WIDTH, "statistics_": CENTRE},
        make=make_imputer,
    ),
    "OneHotEncoder": Step(
        SCALERS, ENCODING, {**WIDTH, **CATEGORIES}, read=read_encoder, make=make_encoder
    ),
}


def step_state(name: str, step: Any) -> tuple[dict[str, Any], Arrays]:
    """Return a fitted step of a known kind as data for JSON and arrays."""
    kind = STEPS[type(step).__name__]
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
        lambda wrong: ModelFileError(f"{what} of this pipeline cannot be saved: {wrong} {INSTEAD}"),
    )
    arrays = {
        key: value
        for key, value in attributes.items()
        if isinstance(value, np.ndarray) and value.dtype.kind != "O"
    }
    values = {key: value for key, value in attributes.items() if key not in arrays}
    return {"parameters": to_plain(parameters), "values": to_plain(values)}, arrays


def _as_data(name: str, value: Any) -> Any:
    """Return a parameter as it is written: the name of a type, lists in place of sets."""
    if name == "dtype":
        return np.dtype(value).name
    if name == "categories":
        return value if isinstance(value, str) else GIVEN
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


def _attributes(step: Any, kind: Step, what: str) -> dict[str, Any]:
    try:
        found = {} if kind.read is None else kind.read(step)
    except AttributeError as error:
        raise ModelFileError(f"{what} is not fitted, so there is nothing to save.") from error
    for key in (*kind.attributes, *kind.missing, *NAMES):
        if key in found:
            continue
        if hasattr(step, key):
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
    wrong = complaint(Record({}, kind.parameters), parameters, "parameters")
    missing = {**kind.missing, **NAMES}
    wrong = wrong or complaint(Record(kind.attributes, missing), attributes, "values", sizes)
    columns = sizes.get("columns")
    if wrong is None and columns and attributes.get("n_features_in_", columns) != columns:
        wrong = "values.n_features_in_ must be the number of columns."
    for parameter, key in NEEDED.items():
        needed = parameter in kind.parameters and parameters.get(parameter, True)
        if wrong is None and needed and attributes.get(key) is None:
            wrong = f"values has no {key}."
    if wrong is not None:
        raise error(wrong)


def restore_step(
    name: str,
    state: Any,
    arrays: Mapping[str, NDArray[Any]],
    where: str,
    spend: Callable[[int], None],
) -> Any:
    """Make a fitted step of the known kind that a name stands for.

    ``spend`` is called with the memory that is needed, or raises. scikit-learn raises errors about
    parameters that do not fit each other.
    """
    kind = STEPS[name]
    whole_state = Record({"parameters": anything, "values": anything})
    whole_state(state, where, {})
    parameters, values = (from_plain(state[key]) for key in ("parameters", "values"))
    mapping(text, anything)(values, where, {})
    attributes = {**values, **arrays}
    _check_step(
        kind, parameters, attributes, lambda wrong: ModelFileError(f"{DAMAGED}{where}: {wrong}")
    )
    return _made(name, kind, dict(parameters), attributes, spend)


def _made(
    name: str,
    kind: Step,
    parameters: dict[str, Any],
    attributes: dict[str, Any],
    spend: Callable[[int], None],
) -> Any:
    if "dtype" in parameters:
        parameters["dtype"] = np.dtype(parameters["dtype"]).type
    for key in ("ngram_range", "feature_range"):
        if key in parameters:
            parameters[key] = tuple(parameters[key])
    if kind.make is not None:
        step = kind.make(parameters, attributes, spend)
    else:
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
