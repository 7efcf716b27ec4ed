"""The file itself: a zip of one JSON document and arrays, checked before it is read.

The sizes in the directory of the zip, in the JSON document and in the headers of the
arrays must agree, and their sum must be reasonable, before memory is asked for.
"""

import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from semisvm.io.errors import DataError
from semisvm.io.writing import write_bytes
from semisvm.model_files.errors import ModelFileError
from semisvm.visible import visible_json

DOCUMENT = "model.json"
FORMAT = "semisvm model"
VERSION = 1

MAX_BYTES = 4 << 30
FREE_BYTES = 64 << 20
MAX_RATIO = 100
"""Bytes in memory to bytes in the file, beyond `FREE_BYTES`; weights and words shrink far less."""
MAX_ARRAYS = 1000
MAX_HEADER = 10_000
KINDS = "biufU"

Arrays = dict[str, NDArray[Any]]


def write_archive(
    path: str | Path | BinaryIO, document: dict[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a document and arrays, atomically; the same content gives the same bytes."""
    members, directory = _pack(arrays)
    whole = {"format": FORMAT, "version": VERSION, **document, "arrays": directory}
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with write_bytes(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        # half of a surrogate pair in a label must not cost the whole fit
        _add(archive, DOCUMENT, visible_json(text).encode("utf-8"))
        for name, array in members.items():
            with archive.open(_info(name), "w", force_zip64=array.nbytes > 1 << 30) as member:
                npy.write_array(member, array, allow_pickle=False)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_info(name), content)


def _pack(arrays: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Choose how each array is stored: whole, by its entries, or as another one."""
    members: Arrays = {}
    directory: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise ModelFileError(f"an array of type {array.dtype} ({name}) cannot be saved.")
        twin = next((n for n, a in arrays.items() if n in directory and _same(a, array)), None)
        if twin is not None:
            directory[name] = {"same_as": twin}
        elif _is_mostly_zero(array):
            places = np.flatnonzero(_bits(array))
            order = "F" if npy.header_data_from_array_1_0(array)["fortran_order"] else "C"
            entries = {
                "places": _store(members, places.astype(np.int64)),
                "values": _store(members, array.ravel()[places]),
            }
            directory[name] = {"shape": list(array.shape), "order": order, **entries}
        else:
            directory[name] = {"whole": _store(members, array)}
    return members, directory


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


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    alike = a.dtype == b.dtype and a.shape == b.shape and a.flags.forc == b.flags.forc
    layout = a.flags.c_contiguous == b.flags.c_contiguous
    return alike and layout and a.tobytes() == b.tobytes()


def read_archive(path: str | Path, max_bytes: int | None = None) -> tuple[dict[str, Any], Arrays]:
    """Read what `write_archive` wrote.

    Raises
    ------
    ModelFileError
        If the file is not a model, damaged, or larger than it may be.
    """
    try:
        with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
            if max_bytes is None:
                packed = Path(path).stat().st_size
                max_bytes = min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * packed))
            return _read(archive, path, max_bytes)
    except FileNotFoundError as error:
        raise DataError("there is no such file.", path) from error
    except IsADirectoryError as error:
        raise DataError("this is a folder, not a file.", path) from error
    except PermissionError as error:
        raise DataError("this file may not be read (permission denied).", path) from error
    # NotImplementedError is what zipfile raises for a compression that it does not know
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise ModelFileError(
            f"this is not a model file, or it is damaged or truncated ({error}).", path
        ) from error


def _read(
    archive: zipfile.ZipFile, path: str | Path, max_bytes: int
) -> tuple[dict[str, Any], Arrays]:
    infos = _checked_directory(archive, path, max_bytes)
    if DOCUMENT not in infos:
        raise ModelFileError(f"this is not a model file: it has no {DOCUMENT}.", path)
    document = _document(archive.read(DOCUMENT), path)
    try:
        size = _spread_size(document["arrays"])
        if size > max_bytes:
            raise _too_large(size, max_bytes, path)
        arrays, used = _unpack(archive, infos, document["arrays"])
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(
            f"the arrays of this model file are damaged ({error}).", path
        ) from error
    if used | {DOCUMENT} != set(infos):
        raise ModelFileError("this model file holds parts that its document does not name.", path)
    return document, arrays


def _checked_directory(
    archive: zipfile.ZipFile, path: str | Path, max_bytes: int
) -> dict[str, zipfile.ZipInfo]:
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) != len(archive.infolist()) or len(infos) > MAX_ARRAYS:
        raise ModelFileError("this model file has too many parts, or parts of one name.", path)
    if any(info.flag_bits & 1 for info in infos.values()):
        raise ModelFileError("this is an encrypted zip archive, not a model file.", path)
    unpacked = sum(info.file_size for info in infos.values())
    if unpacked > max_bytes:
        raise _too_large(unpacked, max_bytes, path)
    return infos


def _too_large(size: int, limit: int, path: str | Path) -> ModelFileError:
    return ModelFileError(
        f"this file would unpack to {size:,} bytes, of which {limit:,} are allowed for its size. "
        "If you trust it, pass a larger max_bytes=.",
        path,
    )


def _document(content: bytes, path: str | Path) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the {DOCUMENT} of this model file is damaged.", path) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError("this is a zip archive, but not a model file.", path)
    version = document.get("version")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"this model file has no sensible version ({version!r}).", path)
    if version > VERSION:
        raise ModelFileError(
            f"this model file has version {version}, written by a newer semisvm; this one reads up "
            f"to version {VERSION}. Upgrade semisvm to read it.",
            path,
        )
    return document


def _unpack(
    archive: zipfile.ZipFile,
    infos: Mapping[str, zipfile.ZipInfo],
    directory: Mapping[str, Any],
) -> tuple[Arrays, set[str]]:
    arrays: Arrays = {}
    used: set[str] = set()

    def fetch(entry: Mapping[str, Any]) -> NDArray[Any]:
        used.add(entry["file"])
        return _fetch(archive, infos[entry["file"]], entry)

    for name, entry in directory.items():
        if "same_as" in entry:
            arrays[name] = arrays[entry["same_as"]]
        elif "whole" in entry:
            arrays[name] = fetch(entry["whole"])
        else:
            arrays[name] = _spread(entry, fetch(entry["places"]), fetch(entry["values"]))
    return arrays, used


def _spread_size(directory: Mapping[str, Any]) -> int:
    """Give the bytes that arrays stored by entry will take."""
    entries = [entry for entry in directory.values() if "places" in entry]
    return sum(_size(entry["shape"], np.dtype(entry["values"]["type"])) for entry in entries)


def _spread(entry: Mapping[str, Any], places: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    shape = tuple(entry["shape"])
    flat = np.zeros(math.prod(shape), dtype=values.dtype)
    if places.dtype.kind not in "iu" or places.shape != values.shape or places.ndim != 1:
        raise ValueError("places and values differ in number")
    if len(places) and places.min() < 0:
        raise ValueError("a place is negative")
    flat[places] = values
    return np.array(flat.reshape(shape), order=entry["order"])


def _fetch(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: Mapping[str, Any]
) -> NDArray[Any]:
    """Read one array, after its three declared sizes were found to agree."""
    with archive.open(info) as member:
        shape, fortran, dtype, header = _header(member)
        if list(shape) != entry["shape"] or dtype.str != entry["type"]:
            raise ValueError("an array is not what the document says")
        if dtype.kind not in KINDS or dtype.hasobject:
            raise ValueError(f"arrays of type {dtype} are not read")
        size = _size(shape, dtype)
        if header + size != info.file_size:
            raise ValueError("an array is longer or shorter than it says")
        content = member.read(size)
        if len(content) != size or member.read(1):
            raise ValueError("an array is shorter than it says")
    array = np.frombuffer(content, dtype=dtype).copy()
    return array.reshape(shape, order="F" if fortran else "C")


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    version = npy.read_magic(member)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
    shape, fortran, dtype = read(member, max_header_size=MAX_HEADER)
    return shape, fortran, dtype, member.tell()


def _size(shape: Any, dtype: np.dtype[Any]) -> int:
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("a shape is not one of whole numbers")
    return math.prod(shape) * dtype.itemsize
