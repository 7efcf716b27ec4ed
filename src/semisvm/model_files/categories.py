"""Encoders of categories and imputers of scikit-learn, as plain data and back.

They are made again by a fit on a few rows that lead to what they know, so that scikit-learn itself
sets, and checks, what it needs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.model_files.checks import (
    Check,
    Sizes,
    either,
    flag,
    listed,
    number,
    one_of,
    optional,
    ordered,
    refuse,
    scalar,
    whole,
)
from semisvm.model_files.errors import ModelFileError

TYPES = ("float64", "float32", "int64", "int32")
AUTO, GIVEN = "auto", "given"
"""Whether the categories are those of the data, or were a parameter."""
FREQUENT = 2
BYTES_A_CELL = 24
"""Of the rows that an encoder is fitted on, and of the copies that scikit-learn makes."""


def levels(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for the categories of a column: different scalars; numbers in ascending order."""
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
