"""Plain values of Python as JSON and back: numbers, text, lists, dicts with any keys.

What JSON does not have is an object with the key ``$`` that names the kind. Nothing else is
known, so reading makes numbers, text and containers, and never runs anything.
"""

import math
from typing import Any

import numpy as np

TAG = "$"
KINDS = "biufU"


def to_plain(value: Any) -> Any:
    """Turn a value into what JSON can hold.

    Raises
    ------
    TypeError
        If the value is not plain data.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TAG: "float", "value": repr(value)}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
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


def from_plain(value: Any) -> Any:
    """Turn what `to_plain` gave back into a value.

    Raises
    ------
    TypeError, KeyError, ValueError
        If it is something else.
    """
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind, inner = value[TAG], value["value"]
    if kind == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[inner]
    if kind == "tuple":
        return tuple(from_plain(inner))
    if kind == "set":
        return set(from_plain(inner))
    if kind == "dict":
        return {from_plain(key): from_plain(item) for key, item in inner}
    if kind == "array":
        return _array(value["type"], from_plain(inner))
    raise ValueError(f"there is no kind {kind!r} of value.")


def _array(kind: str, items: Any) -> Any:
    if kind == "object":
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array
    if np.dtype(kind).kind not in KINDS:
        raise ValueError(f"arrays of type {kind!r} are not read.")
    return np.array(items, dtype=kind)
