"""The container of models and checkpoints: a zip of one JSON document and arrays.

It is checked before it is read: the sizes in the directory of the zip, in the JSON document and in
the headers of the arrays must agree, and their sum must be within a `Budget`, before memory is
allocated. `ModelFileError` has what is wrong with a file.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from semisvm.tables.array_files import COMPRESSIONS, read_npy, read_pieces
from semisvm.tables.errors import ModelFileError
from semisvm.tables.opening import there_to_read
from semisvm.tables.writing import write_bytes

MAX_BYTES = 4 << 30
FREE_BYTES = 64 << 20
MAX_RATIO = 100
"""Bytes in memory to bytes in the file, beyond `FREE_BYTES`; weights and words shrink far less."""


@dataclass
class Budget:
    """The bytes of memory that a file may take, and how many of them are spent."""

    limit: int
    spent: int = 0

    @classmethod
    def of(cls, packed: int, max_bytes: int | None = None) -> Self:
        """Make the budget of a file of so many bytes, or the one that a user allows."""
        if max_bytes is None:
            max_bytes = min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * packed))
        return cls(max_bytes)

    def spend(self, size: int) -> None:
        """Count bytes that are about to be needed, or refuse the file."""
        self.spent += size
        if self.spent > self.limit:
            raise ModelFileError(
                f"this file would unpack to {self.spent:,} bytes or more, of which {self.limit:,} "
                "are allowed for its size. If you trust it, pass a larger max_bytes=."
            )


KINDS = "biufU"
LARGEST_ITEM = 8
"""Bytes of a number; text may be longer."""
MAX_HEADER = 1_000
MAX_AXES = 3

LAST_CHARACTER, FIRST_SURROGATE, LAST_SURROGATE = 0x10FFFF, 0xD800, 0xDFFF


def array_type(name: Any) -> np.dtype[Any]:
    """Return the type of a name such as "<f8", if arrays of models may have it."""
    if not isinstance(name, str) or not re.fullmatch(r"[<>|=][biufU]\d{1,10}", name):
        raise ValueError(f"arrays of type {str(name)[:40]!r} are not read")
    dtype = np.dtype(name)
    if dtype.kind != "U" and dtype.itemsize > LARGEST_ITEM:
        raise ValueError(f"arrays of type {name!r} are not read")
    return dtype


def size_of(shape: Any, dtype: np.dtype[Any]) -> int:
    """Return the bytes of an array, whose shape may be anything."""
    if not isinstance(shape, (list, tuple)) or len(shape) > MAX_AXES:
        raise ValueError("a shape is not one of a few whole numbers")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("a shape is not one of whole numbers")
    return math.prod(shape) * dtype.itemsize


def read_array(member: IO[bytes], length: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    """Read one array of a zip, whose directory declares its length, and whose document an entry."""
    array_type(entry["type"])
    array = read_npy(member, length, MAX_HEADER)
    if list(array.shape) != entry["shape"] or array.dtype.str != entry["type"]:
        raise ValueError("an array is not the one that the document describes")
    return _sound(array)


def read_exactly(member: IO[bytes], size: int) -> bytearray:
    """Read all of a member piece by piece, or raise if its length is another."""
    # a read of everything would unpack more than the directory declares
    content = read_pieces(member, size)
    if len(content) < size:
        raise ValueError("a part is shorter than declared")
    if member.read(1):
        raise ValueError("a part is longer than declared")
    return content


def _sound(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in the byte order of this machine, truth values that are 0 or 1, and text."""
    if array.dtype.kind == "b":
        return array.view(np.uint8) != 0
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if native.dtype.kind == "U" and native.dtype.itemsize:
        codes = native.ravel().view(np.uint32)
        halves = (codes >= FIRST_SURROGATE) & (codes <= LAST_SURROGATE)
        if (codes > LAST_CHARACTER).any() or halves.any():
            raise ValueError("text of an array is not text")
    return native


@dataclass(frozen=True)
class Container:
    """What a file is, by its first entries.

    Attributes
    ----------
    name : str
        Of the document in the zip, without ``.json``.
    words : str
        What messages call the file.
    version : int
        The newest that is read.
    compact : bool
        Whether to compress: equal arrays once, zeros left out, deflated. It is slow, and arrays
        that are one in the file are one in memory.
    """

    name: str
    words: str
    version: int
    compact: bool

    @property
    def document(self) -> str:
        """Name of the document in the zip."""
        return f"{self.name}.json"


MODEL = Container("model", "model file", 1, compact=True)

MAX_PARTS = 10_000
MAX_DIRECTORY = 1 << 20
"""Bytes of the directory of the zip; that of `MAX_PARTS` arrays has two thirds of it."""
MAX_WHOLE = 1 << 64

BYTES_A_VALUE = 100
"""Maximum memory of one value of the document besides its text: an empty dict has 72 bytes."""
BYTES_A_CHARACTER = 4
"""Of its text: one rare character makes four bytes of each of the others."""

Arrays = dict[str, NDArray[Any]]


def write_archive(
    path: str | Path | BinaryIO,
    document: dict[str, Any],
    arrays: Mapping[str, Any],
    kind: Container = MODEL,
) -> None:
    """Write a document and arrays, atomically; the same content gives the same bytes."""
    members, directory = _pack(arrays, kind)
    about = {"format": f"semisvm {kind.name}", "version": kind.version}
    whole = {**about, **document, "arrays": directory}
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with write_bytes(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(_info(kind.document, kind), text.encode("utf-8"))
        for name, array in members.items():
            large = array.nbytes > 1 << 30
            with archive.open(_info(name, kind), "w", force_zip64=large) as member:
                npy.write_array(member, array, allow_pickle=False)


def _info(name: str, kind: Container) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED if kind.compact else zipfile.ZIP_STORED
    return info


def _pack(arrays: Mapping[str, Any], kind: Container) -> tuple[Arrays, dict[str, Any]]:
    """Choose how each array is stored: whole, by its entries, or as another one."""
    members: Arrays = {}
    directory: dict[str, Any] = {}
    seen: dict[Any, str] = {}
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise ModelFileError(f"an array of type {array.dtype} ({name}) cannot be saved.")
        twin = seen.setdefault(_content(array), name) if kind.compact else name
        if twin != name:
            directory[name] = {"same_as": twin}
        elif kind.compact and _is_mostly_zero(array):
            places = np.flatnonzero(_bits(array))
            order = "F" if npy.header_data_from_array_1_0(array)["fortran_order"] else "C"
            entries = {
                "places": _store(members, places.astype(np.int64)),
                "values": _store(members, array.ravel()[places]),
            }
            directory[name] = {"shape": list(array.shape), "order": order, **entries}
        else:
            directory[name] = {"whole": _store(members, array)}
    if len(members) >= MAX_PARTS:
        raise ModelFileError(f"{len(members):,} arrays are too many for a {kind.words}.")
    return members, directory


def _content(array: NDArray[Any]) -> tuple[Any, ...]:
    """Return what two arrays share if one can stand for the other."""
    layout = array.flags.c_contiguous, array.flags.forc
    return array.dtype.str, array.shape, layout, hashlib.sha256(array.tobytes()).digest()


def _store(members: Arrays, array: NDArray[Any]) -> dict[str, Any]:
    name = f"arrays/{len(members)}.npy"
    members[name] = array
    return {"file": name, "type": array.dtype.str, "shape": list(array.shape)}


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """View numbers as whole ones, in which -0.0 is not zero."""
    return np.ascontiguousarray(array).ravel().view(f"u{array.itemsize}")


def _is_mostly_zero(array: NDArray[Any]) -> bool:
    if array.dtype.kind != "f" or array.size < 100:
        return False
    # an entry is stored with its place, so it takes twice the room
    return bool(2 * np.count_nonzero(_bits(array)) < array.size)


def read_archive(
    path: str | Path, max_bytes: int | None = None, kind: Container = MODEL
) -> tuple[dict[str, Any], Arrays, Budget]:
    """Return document and arrays that `write_archive` wrote, and what is left of the memory.

    Raises
    ------
    ModelFileError
        If the file is of another kind, damaged, or larger than it may be.
    DataError
        If there is no such file, or it may not be read.
    """
    with there_to_read(path), open(path, "rb") as stream:
        careful = _Careful(stream)
        budget = Budget.of(careful.size, max_bytes)
        return *_read(careful, kind, budget), budget


class _Careful(io.BufferedIOBase):
    """A file of which no more is read at a time than a directory has, until it was read.

    zipfile reads the directory, and makes an object of every entry, before their number
    can be checked.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = stream.seek(0, io.SEEK_END)
        self.most = MAX_DIRECTORY
        stream.seek(0)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = max(self.size - self._stream.tell(), 0)
        if size > self.most:
            raise ModelFileError("this file has a directory that is too large.")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True


def _read(stream: _Careful, kind: Container, budget: Budget) -> tuple[dict[str, Any], Arrays]:
    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        raise ModelFileError(
            f"this is not a {kind.words}, or it is damaged or truncated ({error})."
        ) from error
    stream.most = stream.size
    infos = _checked_directory(archive, stream.size, budget)
    if kind.document not in infos:
        raise ModelFileError(f"this is not a {kind.words}: it has no {kind.document}.")
    with archive.open(kind.document) as member:
        content = bytes(read_exactly(member, infos[kind.document].file_size))
    document = _document(content, kind, budget)
    arrays, used = _unpack(archive, infos, document["arrays"], budget)
    if used | {kind.document} != set(infos):
        raise ModelFileError("this file holds parts that its document does not name.")
    return document, arrays


def _checked_directory(
    archive: zipfile.ZipFile, packed: int, budget: Budget
) -> dict[str, zipfile.ZipInfo]:
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) != len(archive.infolist()) or len(infos) > MAX_PARTS:
        raise ModelFileError("this file has too many parts, or parts of one name.")
    if any(info.flag_bits & 1 for info in infos.values()):
        raise ModelFileError("this file is an encrypted zip archive, which is not read.")
    if any(info.compress_type not in COMPRESSIONS for info in infos.values()):
        raise ModelFileError("this zip archive is compressed in another way than files of semisvm.")
    if sum(info.compress_size for info in infos.values()) > packed:
        raise ModelFileError("the parts of this file overlap.")
    budget.spend(sum(info.file_size for info in infos.values()))
    return infos


def _document(content: bytes, kind: Container, budget: Budget) -> dict[str, Any]:
    # every value but the first comes after one of these
    values = sum(content.count(mark) for mark in (b",", b"[", b"{"))
    budget.spend(BYTES_A_CHARACTER * len(content) + BYTES_A_VALUE * values)
    try:
        document = json.loads(
            content.decode("utf-8"), parse_int=_whole, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the {kind.document} of this file is damaged ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != f"semisvm {kind.name}":
        raise ModelFileError(f"this is a zip archive, but not a {kind.words}.")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"this {kind.words} has no sensible version ({str(version)[:40]!r}).")
    if version > kind.version:
        raise ModelFileError(
            f"this {kind.words} has version {version}, written by a newer semisvm; this one reads "
            f"up to version {kind.version}. Upgrade semisvm to read it."
        )
    return document


def _whole(digits: str) -> int:
    value = int(digits)
    if abs(value) > MAX_WHOLE:
        raise ValueError("it has a whole number of more than 64 bits")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _unpack(
    archive: zipfile.ZipFile,
    infos: Mapping[str, zipfile.ZipInfo],
    directory: Mapping[str, Any],
    budget: Budget,
) -> tuple[Arrays, set[str]]:
    arrays: Arrays = {}
    read: Arrays = {}

    def fetch(entry: Mapping[str, Any]) -> NDArray[Any]:
        # shared, however often it is named: each part was counted once
        name = entry["file"]
        if name not in read:
            info = infos[name]
            with archive.open(info) as member:
                read[name] = read_array(member, info.file_size, entry)
        return read[name]

    try:
        for name, entry in directory.items():
            if "same_as" in entry:
                arrays[name] = arrays[entry["same_as"]]
            elif "whole" in entry:
                arrays[name] = fetch(entry["whole"])
            else:
                budget.spend(size_of(entry["shape"], array_type(entry["values"]["type"])))
                arrays[name] = _spread(entry, fetch(entry["places"]), fetch(entry["values"]))
    except ModelFileError:
        raise
    # numpy and zipfile raise errors of many kinds for what is not what they expect
    except Exception as error:
        raise ModelFileError(f"the arrays of this file are damaged ({error}).") from error
    return arrays, set(read)


def _spread(entry: Mapping[str, Any], places: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    shape = tuple(entry["shape"])
    if places.dtype.kind not in "iu" or places.shape != values.shape or places.ndim != 1:
        raise ValueError("places and values differ in number")
    if values.dtype != array_type(entry["values"]["type"]).newbyteorder("="):
        raise ValueError("an array is not the one that the document describes")
    if len(places) and places.min() < 0:
        raise ValueError("a place is negative")
    if entry["order"] not in ("C", "F"):
        raise ValueError("an array has no known order")
    flat = np.zeros(math.prod(shape), dtype=values.dtype)
    flat[places] = values
    return np.asarray(flat.reshape(shape), order=entry["order"])


def split_names(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Arrays]:
    """Group arrays whose names are "part.rest" by part; each group has the rest as names."""
    found: dict[str, Arrays] = {}
    for name, array in arrays.items():
        part, _, rest = name.partition(".")
        found.setdefault(part, {})[rest] = array
    return found
