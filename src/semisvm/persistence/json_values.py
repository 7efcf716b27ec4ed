"""Plain values of Python as JSON and back: numbers, text, lists, dicts with any keys.

What JSON does not have is an object with the key ``$`` that names the kind. Nothing else is
known, so reading makes numbers, text and containers, and never runs anything.

A model file has arrays of its own, and few values: these keep their types. A checkpoint has arrays
within its values, which are put aside; there dicts are objects of JSON, and tuples are lists.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.persistence.archive import KINDS, array_type
from semisvm.tables.errors import ModelFileError

TAG = "$"
CONTAINERS = ("tuple", "set", "dict", "array")
DEEPEST = 100
"""Containers in containers; hierarchies of classes are the deepest, with a few dozen."""
MAX_WHOLE = 1 << 64
SCALARS = (str, int, float, bool, type(None))
ROOM = 256
"""Bytes that text of an array may take beyond the longest of its entries."""


def to_plain(value: Any, aside: list[NDArray[Any]] | None = None) -> Any:
    """Turn a value into what JSON can hold; a TypeError is raised for what is not plain data.

    ``aside`` gets the arrays of a checkpoint, and the result has their places in it.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, np.generic):
        return to_plain(value.item(), aside)
    if isinstance(value, int):
        if abs(value) > MAX_WHOLE:
            raise TypeError("a whole number of more than 64 bits is not kept")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TAG: "float", "value": repr(value)}
    if isinstance(value, list) or (isinstance(value, tuple) and aside is not None):
        return [to_plain(item, aside) for item in value]
    if isinstance(value, dict) and aside is not None:
        return {str(key): to_plain(item, aside) for key, item in value.items()}
    if isinstance(value, np.ndarray) and aside is not None:
        aside.append(np.ascontiguousarray(value))
        return {TAG: "array", "at": len(aside) - 1}
    if isinstance(value, (tuple, set, frozenset)):
        kind = "tuple" if isinstance(value, tuple) else "set"
        return {TAG: kind, "value": [to_plain(item) for item in value]}
    if isinstance(value, dict):
        pairs = [[to_plain(key), to_plain(item)] for key, item in value.items()]
        return {TAG: "dict", "value": pairs}
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS + "O":
        kind = "object" if value.dtype.kind == "O" else value.dtype.str
        return {TAG: "array", "type": kind, "value": to_plain(value.tolist())}
    raise TypeError(f"{type(value).__name__} is not plain data")


def _whole(text: str) -> str:
    """Refuse text with half of a character (a lone surrogate)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelFileError(
            f"this model cannot be saved: the text {ascii(text)[:60]} holds half of a character "
            "(a lone surrogate). Rename the class or column."
        ) from error
    return text


def from_plain(value: Any, depth: int = 0, aside: Sequence[NDArray[Any]] | None = None) -> Any:
    """Turn what `to_plain` returned back into a value, which ``depth`` containers are around."""
    if depth > DEEPEST:
        raise ValueError("values are nested too deeply")
    if isinstance(value, str):
        if not value.isascii():
            value.encode("utf-8")  # halves of characters cannot be written anywhere
        return value
    if isinstance(value, list):
        return [from_plain(item, depth + 1, aside) for item in value]
    if not isinstance(value, dict):
        return value
    if aside is not None and value.get(TAG) == "array":
        return aside[value["at"]]
    if aside is not None and TAG not in value:
        return {name: from_plain(item, depth + 1, aside) for name, item in value.items()}
    kind, inner = value[TAG], value["value"]
    if kind == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[inner]
    if kind not in CONTAINERS:
        raise ValueError(f"there is no kind {str(kind)[:40]!r} of value.")
    items = from_plain_list(inner, depth)
    if kind == "tuple":
        return tuple(items)
    if kind == "set":
        return {_key(item) for item in items}
    if kind == "dict":
        return {_key(key): item for key, item in items}
    return _array(value["type"], items)


def from_plain_list(value: Any, depth: int = 0) -> list[Any]:
    """Turn a list of plain values back into values."""
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return [from_plain(item, depth + 1) for item in value]


def _key(value: Any) -> Any:
    # hashes of text are secret; those of tuples are not, and can be made to collide
    if not isinstance(value, SCALARS):
        raise ValueError("a key is not a number or text.")
    return value


def _array(kind: Any, items: list[Any]) -> Any:
    if kind == "object":
        if not all(isinstance(item, SCALARS) for item in items):
            raise ValueError("an array holds more than numbers and text.")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array
    dtype = array_type(kind)
    if dtype.kind == "U":
        if not all(isinstance(item, str) for item in items):
            raise ValueError("an array of text holds something else.")
        room = sum(dtype.alignment * len(item) + ROOM for item in items)
        if dtype.itemsize * len(items) > room:
            raise ValueError("an array of text is too wide.")
    return np.array(items, dtype=dtype)
