"""Fitted features of columns: what a model file or a folder of rows may have, and from it."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from semisvm.persistence.archive import Budget, ModelFileError, split_names
from semisvm.persistence.schema import (
    DAMAGED,
    MOST_COLUMNS,
    Array,
    Record,
    anything,
    either,
    flag,
    listed,
    mapping,
    number,
    one_of,
    ordered,
    scalar,
    text,
    whole,
)
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.kinds import PARTS
from semisvm.tables.text_blocks import MAX_NGRAM, TOKEN_PATTERN

COLUMNS = listed(text, "columns", least=1, unique=True)
NGRAMS = ordered(listed(whole(1, MAX_NGRAM), length=2))
FEATURES = Record(
    {
        "parameters": Record(
            {
                "dtype": one_of("float64", "float32"),
                "ngram_range": NGRAMS,
            },
            {"column_weights": mapping(text, number(0.0)), "raised": number(0.0, 1.0)},
            others=either(scalar, listed(text)),
        ),
        "kinds": listed(listed(text, length=2)),
        "notes": listed(text),
        "blocks": listed(mapping(text, anything), "blocks", least=1),
        "scales": Array("f", ("blocks",), above=0.0),
    },
    {
        "informative": mapping(text, number(0.0, 1.0)),
        "encoded": listed(text, least=1, unique=True),
        "fingerprint": Array("f", ("probes", "numbers")),
    },
)
WORDS = Record(
    {
        "analyzer": one_of("word", "char", "char_wb"),
        "ngram_range": NGRAMS,
        "lowercase": flag,
        "strip_accents": one_of(None, "ascii", "unicode"),
        # an untrusted pattern may take for ever; this one takes linear time
        "token_pattern": one_of(TOKEN_PATTERN),
    },
    {"stop_words": listed(text, least=1, unique=True)},
)
BLOCKS = {
    "text": Record(
        {
            "kind": text,
            "column": text,
            "settings": WORDS,
            "words": listed(text, "words", least=1, unique=True),
            "idf": Array("f", ("words",), low=0.0),
        }
    ),
    "hashed": Record(
        {
            "kind": text,
            "column": text,
            "n_columns": whole(1, 2**31 - 1),
            "settings": WORDS,
        }
    ),
    "numeric": Record(
        {
            "kind": text,
            "columns": COLUMNS,
            "median": Array("f", ("columns",)),
            "mean": Array("f", ("columns",)),
            "scale": Array("f", ("columns",), above=0.0),
            "indicated": Array("b", ("columns",)),
        }
    ),
    "categorical": Record(
        {
            "kind": text,
            "columns": COLUMNS,
            "levels": listed(listed(text, unique=True), "columns"),
            "rare": listed(listed(text, unique=True), "columns"),
        }
    ),
    "time": Record(
        {
            "kind": text,
            "column": text,
            "indicated": flag,
            "low": Array("f", ("parts",)),
            "high": Array("f", ("parts",)),
            "mean": Array("f", ("parts",)),
            "scale": Array("f", ("parts",), above=0.0),
        }
    ),
    "vector": Record(
        {
            "kind": text,
            "column": text,
            "n_columns": whole(1, MOST_COLUMNS),
            "mean": Array("f", ("numbers",)),
        }
    ),
}


def restore_features(
    state: Any, arrays: Mapping[str, NDArray[Any]], spend: Callable[[int], None]
) -> ColumnFeatures:
    """Make fitted features from what `ColumnFeatures.to_state` returned, after it was checked.

    ``spend`` is called with the memory of names, and raises if it is too much.
    """
    whole = {name: arrays[name] for name in ("scales", "fingerprint") if name in arrays}
    FEATURES({**state, **whole} if isinstance(state, dict) else state, "features", {})
    of_blocks = split_names(arrays)
    for k, block in enumerate(state["blocks"]):
        if str(block.get("kind")) not in BLOCKS:
            raise ModelFileError(f"{DAMAGED}its features are of a kind not known here.")
        whole = {**block, **of_blocks.get(str(k), {})}
        BLOCKS[block["kind"]](whole, f"features.blocks[{k}]", {})
        spend(_size_of_names(block))
    try:
        return ColumnFeatures.from_state(state, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{DAMAGED}{error}") from error


def _size_of_names(block: Mapping[str, Any]) -> int:
    """Return the bytes of the names of features, which begin with that of their column."""
    if block["kind"] == "text":
        return len(block["column"].encode()) * len(block["words"])
    if block["kind"] == "time":
        return len(block["column"].encode()) * (len(PARTS) + 1)
    if block["kind"] in ("hashed", "vector"):
        return len(block["column"].encode()) * int(block["n_columns"])
    pairs = zip(block["columns"], block.get("levels", []), strict=False)
    return sum(len(column.encode()) * len(levels) for column, levels in pairs)


def features_of_rows(
    state: Any, arrays: Mapping[str, NDArray[Any]], n_columns: int
) -> ColumnFeatures:
    """Make the features that are kept with a folder of rows, or raise a ValueError."""
    # the folder has the number of each column, unless there are few
    budget = Budget.of(8 * n_columns)
    try:
        found = restore_features(state, arrays, budget.spend)
    except ModelFileError as error:
        if budget.spent > budget.limit:
            message = f"their names would need {budget.spent:,} bytes"
            raise ValueError(f"{message}, of which {budget.limit:,} are allowed.") from error
        raise ValueError(error.message.removeprefix(DAMAGED)) from error
    if found.n_features_out_ != n_columns:
        raise ValueError(f"they are {found.n_features_out_:,}, but there are {n_columns:,} columns")
    return found
