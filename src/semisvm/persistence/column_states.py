"""Fitted features of columns: what a model file or a folder of rows may have, and from it."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from semisvm.persistence.archive import Budget, split_names
from semisvm.tables.errors import ModelFileError
from semisvm.tables.feature_states import restored
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.kinds import TYPES
from semisvm.tables.schema import (
    DAMAGED,
    Array,
    Record,
    anything,
    either,
    listed,
    mapping,
    number,
    one_of,
    scalar,
    text,
)
from semisvm.tables.words import NGRAMS

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


def restore_features(
    state: Any, arrays: Mapping[str, NDArray[Any]], spend: Callable[[int], None]
) -> ColumnFeatures:
    """Make fitted features from what `state_of` returned, after it was checked.

    ``spend`` is called with the memory of names, and raises if it is too much.
    """
    whole = {name: arrays[name] for name in ("scales", "fingerprint") if name in arrays}
    FEATURES({**state, **whole} if isinstance(state, dict) else state, "features", {})
    of_blocks = split_names(arrays)
    for k, block in enumerate(state["blocks"]):
        kind = TYPES.get(str(block.get("kind")))
        if kind is None:
            raise ModelFileError(f"{DAMAGED}its features are of a kind not known here.")
        kind.stored({**block, **of_blocks.get(str(k), {})}, f"features.blocks[{k}]", {})
    try:
        found = restored(state, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{DAMAGED}{error}") from error
    spend(sum(block.bytes_of_names() for block in found.blocks_))
    return found


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
