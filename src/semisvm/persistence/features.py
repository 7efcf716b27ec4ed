"""Fitted features of columns, from their state in a model file or a folder of rows."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from semisvm.persistence.archive import Budget, ModelFileError, split_names
from semisvm.persistence.checks import DAMAGED
from semisvm.persistence.schemas import BLOCKS, FEATURES
from semisvm.tables.features import ColumnFeatures


def restore_features(
    state: Any, arrays: Mapping[str, NDArray[Any]], spend: Callable[[int], None]
) -> ColumnFeatures:
    """Make fitted features, after everything that they trust was checked.

    Parameters
    ----------
    state, arrays : what `ColumnFeatures.to_state` returned
    spend : (bytes) -> None
        Called with the memory of names; raises if it is too much.

    Raises
    ------
    ModelFileError
    """
    FEATURES(
        {**state, "scales": arrays.get("scales")} if isinstance(state, dict) else state,
        "features",
        {},
    )
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
    if block["kind"] in ("hashed", "vector"):
        return len(block["column"].encode()) * int(block["n_columns"])
    pairs = zip(block["columns"], block.get("levels", []), strict=False)
    return sum(len(column.encode()) * len(levels) for column, levels in pairs)


def features_of_rows(
    state: Any, arrays: Mapping[str, NDArray[Any]], n_columns: int
) -> ColumnFeatures:
    """Make the features that are kept with a folder of rows.

    Parameters
    ----------
    state, arrays : what `ColumnFeatures.to_state` returned
    n_columns : int
        Of the folder.

    Raises
    ------
    ValueError
        With what is wrong with them.
    """
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
