"""The header of a folder of rows: what its arrays are, and checksums of them."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HEADER = "header.json"
KIND, VERSION = "rows of semisvm", 1
CSR, DENSE = "csr", "dense"
MOST_BYTES = 1 << 26
"""Of a header; it holds the names of the classes, but nothing else that grows with the data."""
MOST_COLUMNS = 2**31
NEEDED = {CSR: {"indptr", "indices", "values"}, DENSE: {"values"}}
LABELS, ORDER = "labels", "order"
TYPES = {
    "indptr": ("int64",),
    "indices": ("uint16", "uint32"),
    "values": ("float64", "float32"),
    LABELS: ("int32",),
    ORDER: ("int64",),
}
FEATURES = "features"
FILES = {HEADER, f"{FEATURES}.json", *(f"{name}.npy" for name in TYPES)}
"""Names of all files that a folder of rows may have."""


class RowsError(ValueError):
    """A folder that does not hold rows, or holds damaged ones.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    path : str or Path
    """

    def __init__(self, message: str, path: str | Path) -> None:
        self.message = message
        self.path = str(path)
        super().__init__(message, self.path)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True)
class ArrayFact:
    """What a header has of one array.

    Attributes
    ----------
    dtype : str
    shape : list of int
    crc32 : int
        Of the bytes of its values.
    """

    dtype: str
    shape: list[int]
    crc32: int


@dataclass(frozen=True)
class Header:
    """What is in a folder.

    Attributes
    ----------
    layout : "csr" or "dense"
    shape : list [n, d]
    arrays : dict of ArrayFact
    classes : list, optional
        Names of the classes; a code in the array of labels is a position in it.
    facts : dict
        How other files must be read for the same columns.
    missing_words : dict of int
        Words in the place of labels that were taken for "no label".
    notes : list of str
        About the conversion.
    features : int, optional
        Checksum of the file of the features that made the columns, if there is one.
    """

    layout: str
    shape: list[int]
    arrays: dict[str, ArrayFact]
    classes: list[Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    missing_words: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    features: int | None = None

    def text(self) -> str:
        """Return the header as JSON, with its checksum."""
        entries = {"kind": KIND, "version": VERSION, **asdict(self)}
        return json.dumps({**entries, "sha256": digest_of(entries)}, indent=1)


def digest_of(entries: Mapping[str, Any]) -> str:
    """Return the checksum of a header, which has none itself."""
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def read_header(folder: Path) -> Header:
    """Read and check the header of a folder.

    Raises
    ------
    RowsError
    """
    entries = _parsed(folder)
    if entries.get("kind") != KIND:
        raise RowsError(f"{HEADER} is not the header of rows.", folder)
    if entries.get("version") != VERSION:
        raise RowsError(
            f"the rows are of version {entries.get('version')!r}, and this semisvm reads version "
            f"{VERSION}. Convert the data again, or use the version of semisvm that wrote them.",
            folder,
        )
    digest = entries.pop("sha256", None)
    if digest != digest_of(entries):
        raise RowsError(
            f"{HEADER} is damaged: its checksum does not match. Convert the data again.", folder
        )
    del entries["kind"], entries["version"]
    try:
        arrays = {name: ArrayFact(**fact) for name, fact in entries.pop("arrays").items()}
        header = Header(arrays=arrays, **entries)
        _check(header)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise RowsError(f"{HEADER} makes no sense ({error}).", folder) from error
    return header


def _parsed(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not folder.exists():
        raise RowsError("there is no such folder.", folder)
    if not folder.is_dir():
        raise RowsError(
            "this is a file, not a folder of rows; 'semisvm convert' makes one of it.", folder
        )
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise RowsError(f"{HEADER} is too large to be that of rows.", folder)
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RowsError(
            f"this folder has no {HEADER}, so it does not hold rows of 'semisvm convert'.", folder
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RowsError(f"{HEADER} cannot be read ({error}).", folder) from error
    if not isinstance(entries, dict):
        raise RowsError(f"{HEADER} is not the header of rows.", folder)
    return entries


def _check(header: Header) -> None:
    """Raise ValueError if the arrays cannot be those of such rows."""
    if header.layout not in NEEDED:
        raise ValueError(f"there is no layout {header.layout!r}")
    n, d = header.shape
    if not (_is_size(n) and _is_size(d) and d < MOST_COLUMNS):
        raise ValueError(f"the shape is {header.shape!r}")
    found = set(header.arrays)
    missing, unknown = NEEDED[header.layout] - found, found - set(TYPES)
    if missing or unknown:
        raise ValueError(f"the arrays are {sorted(found)!r}")
    entries = header.arrays["values"].shape
    shapes: dict[str, list[int]] = {LABELS: [n], ORDER: [d]}
    if header.layout == DENSE:
        shapes["values"] = [n, d]
    else:
        shapes |= {"indptr": [n + 1], "indices": entries, "values": entries[:1]}
    for name, fact in header.arrays.items():
        if fact.dtype not in TYPES[name] or fact.shape != shapes[name]:
            raise ValueError(f"the array {name!r} has type {fact.dtype} and shape {fact.shape}")
        if not all(map(_is_size, fact.shape)):
            raise ValueError(f"the array {name!r} has shape {fact.shape}")
    if (LABELS in found) != isinstance(header.classes, list):
        raise ValueError("labels and classes do not belong to each other")
    _check_words(header)


def _check_words(header: Header) -> None:
    """Raise ValueError if what is not about arrays is of another kind than what is written."""
    names = header.classes or []
    if not {type(name) for name in names} <= {str, bool, int, float} or len(set(names)) < len(
        names
    ):
        raise ValueError("the classes are not different names or numbers")
    words = header.missing_words
    if not isinstance(words, dict) or not all(type(count) is int for count in words.values()):
        raise ValueError("the words for no label are not counted")
    if not isinstance(header.facts, dict):
        raise ValueError("the facts are not named")
    notes = header.notes
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError("the notes are not text")
    if header.features is not None and not _is_size(header.features):
        raise ValueError("the checksum of the features is not a number")


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def array_head(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """Return the first 128 bytes of a ``.npy`` file, long enough for any number of rows."""
    kind = np.dtype(dtype).newbyteorder("<").str
    words = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode("latin-1")
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + words.ljust(117) + b"\n"


HEAD_BYTES = len(array_head("float64", (0,)))
