"""Changes of files that are a document and arrays: entries that are others, missing or elsewhere.

Whoever packs the result again does so with right sizes and checksums, so that what is inside is
looked at.
"""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Place = tuple[Any, ...]
Change = Callable[[Any], Any]

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    10**6,
    10**18,
    -(10**18),
    10**30,
    0.5,
    -0.5,
    1e308,
    5e-324,
    "",
    "x",
    "log",
    "rbf",
    "linear",
    "\ud800",
    "\x1b[31m",
    [],
    {},
    [1, 2],
    ["a", "b"],
    [[]],
    [0.1, float("nan")],
    {"a": 1},
    {"$": "float", "value": "nan"},
    {"$": "float", "value": "inf"},
    {"$": "tuple", "value": [1, 2]},
    {"$": "set", "value": ["a"]},
    {"$": "dict", "value": []},
    {"$": "dict", "value": [["a", 1]]},
    {"$": "array", "type": "<f8", "value": [0.1, 0.9]},
    {"$": "array", "type": "object", "value": ["a", "b"]},
    {"$": "array", "type": "<U50000000", "value": ["a", "b", "c"]},
)
"""What entries of the document are replaced by."""


def _with_middle(array: NDArray[Any], sign: int) -> NDArray[Any]:
    """Return an array of integers whose middle one is of about the largest size."""
    made = array.copy()
    made.reshape(-1)[array.size // 2 : array.size // 2 + 1] = sign * (
        np.iinfo(array.dtype).max // 3
    )
    return made


ARRAY_CHANGES: tuple[Change, ...] = (
    lambda a: a[:-1],
    lambda a: a[:0],
    lambda a: np.concatenate([a, a]),
    lambda a: a.ravel(),
    lambda a: a[None],
    lambda a: a.T[..., :-1].T if a.ndim > 1 else a[::-1],
    lambda a: np.swapaxes(a, 0, -1),
    lambda a: a.reshape(-1)[:1].reshape(()) if a.size else a,
    lambda a: a.astype(np.float32) if a.dtype.kind in "biuf" else a.astype("<U1"),
    lambda a: a.astype(np.float64) if a.dtype.kind in "biu" else a,
    lambda a: a.astype(str),
    lambda a: a.astype(np.float16) if a.dtype.kind in "biuf" else a,
    lambda a: a.astype(a.dtype.newbyteorder(">")),
    lambda a: np.asfortranarray(a),
    lambda a: a.astype(np.complex128) if a.dtype.kind in "biuf" else a,
    lambda a: a.astype(object),
    lambda a: np.zeros_like(a),
    lambda a: -a if a.dtype.kind in "if" else a,
    lambda a: np.full_like(a, 1e300) if a.dtype.kind == "f" else a,
    lambda a: np.full_like(a, 5e-324) if a.dtype.kind == "f" else a,
    lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a,
    lambda a: (
        np.where(np.arange(a.size).reshape(a.shape) == 0, np.inf, a) if a.dtype.kind == "f" else a
    ),
    lambda a: np.full_like(a, 2**62) if a.dtype == np.int64 else a,
    lambda a: np.full_like(a, -1) if a.dtype.kind == "i" else a,
    lambda a: _with_middle(a, 1) if a.dtype.kind in "iu" else a,
    lambda a: _with_middle(a, -1) if a.dtype.kind in "i" else a,
    lambda a: (a > 0) if a.dtype.kind in "iuf" else a,
    lambda a: np.repeat(a[:1], len(a), axis=0) if a.ndim and len(a) else a,
)


def places(tree: Any, at: Place = ()) -> Iterator[Place]:
    """Yield the paths of all entries of a document; of long lists the first ones."""
    pairs: Any = ()
    if isinstance(tree, dict):
        pairs = tree.items()
    elif isinstance(tree, list):
        pairs = enumerate(tree[:8])
    for key, item in pairs:
        yield (*at, key)
        yield from places(item, (*at, key))


def _around(document: Any, at: Place) -> Any:
    for key in at[:-1]:
        document = document[key]
    return document


def replaced(document: Any, at: Place, value: Any) -> Any:
    """Return a document with another value at a place."""
    made = copy.deepcopy(document)
    _around(made, at)[at[-1]] = copy.deepcopy(value)
    return made


def dropped(document: Any, at: Place) -> Any:
    """Return a document without an entry."""
    made = copy.deepcopy(document)
    del _around(made, at)[at[-1]]
    return made


def with_array(arrays: Arrays, name: str, change: Change) -> Arrays:
    """Return arrays of which one is changed, if it can be changed so."""
    with np.errstate(all="ignore"):
        try:
            return {**arrays, name: np.asarray(change(arrays[name]))}
        except (ValueError, IndexError, TypeError):
            return arrays


def changed(document: Any, arrays: Arrays, rng: Random) -> tuple[Any, Arrays]:
    """Return a document and arrays in which one thing is another, is missing or is elsewhere."""
    if arrays and rng.random() < 0.4:
        name = rng.choice(list(arrays))
        if rng.random() < 0.1:
            return document, {n: a for n, a in arrays.items() if n != name}
        if rng.random() < 0.2:
            return document, {**arrays, name: arrays[rng.choice(list(arrays))]}
        return document, with_array(arrays, name, rng.choice(ARRAY_CHANGES))
    there = list(places(document))
    if not there:
        return document, arrays
    at = rng.choice(there)
    if rng.random() < 0.15:
        return dropped(document, at), arrays
    if rng.random() < 0.3:
        other = rng.choice(there)
        return replaced(document, at, _around(document, other)[other[-1]]), arrays
    return replaced(document, at, rng.choice(VALUES)), arrays


def with_other_bytes(content: bytes, rng: Random) -> bytes:
    """Return a file in which a few bytes are others, missing, more or elsewhere."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(made) + 1)
        action = rng.randrange(5)
        if action == 0 and at < len(made):
            made[at] ^= 1 << rng.randrange(8)
        elif action == 1 and at < len(made):
            made[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif action == 2:
            made = made[:at]
        elif action == 3:
            made[at:at] = rng.randbytes(rng.randrange(1, 9))
        else:
            part = bytes(made[at : at + rng.randrange(64)])
            to = rng.randrange(len(made) + 1)
            made[to : to + len(part)] = part
    return bytes(made)
