r"""The file: a line with the version, a checksum, a JSON header, and the bytes of the arrays.

::

    semisvm checkpoint 1\n
    SHA-256 of all that follows         32 bytes
    length of the header                8 bytes, the lowest first
    header                              JSON
    arrays                              one after the other, C order

The header says what the arrays are, so a file cannot make more memory necessary than its own
length, and nothing in it is run. The checksum is compared before anything else is read.
"""

import hashlib
import json
import math
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from semisvm._version import __version__
from semisvm.checkpoints.errors import CheckpointError
from semisvm.io.errors import DataError
from semisvm.io.writing import write_bytes
from semisvm.model_files.arrays import array_type, size_of

VERSION = 1
MAGIC = b"semisvm checkpoint "
LENGTH = struct.Struct("<Q")
MAX_HEADER = 1 << 28
"""Bytes; the trace of a fit of a million rounds."""
MAX_ARRAYS = 1_000
PIECE = 1 << 22
TAG = "$"

AGAIN = "Delete it to begin again."

Arrays = list[NDArray[Any]]


def write_checkpoint(path: str | Path, content: dict[str, Any]) -> None:
    """Write plain data and arrays, atomically.

    Parameters
    ----------
    path : str or Path
    content : dict
        Of dicts, lists, text, numbers and arrays of numbers.
    """
    arrays: Arrays = []
    plain = _encoded(content, arrays)
    header = {
        "semisvm": __version__,
        "content": plain,
        "arrays": [{"type": array.dtype.str, "shape": list(array.shape)} for array in arrays],
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MAX_HEADER or len(arrays) > MAX_ARRAYS:
        raise DataError("the place of this fit is too large for a checkpoint.", path)
    parts: list[bytes | memoryview] = [LENGTH.pack(len(text)), text]
    parts += [array.reshape(-1).view(np.uint8).data for array in arrays]
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    with write_bytes(path) as stream:
        stream.write(MAGIC + b"%d\n" % VERSION + checksum.digest())
        for part in parts:
            stream.write(part)


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read what `write_checkpoint` wrote.

    Raises
    ------
    CheckpointError
        If the file is not a checkpoint, of another version, or damaged.
    DataError
        If the file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return _read(stream)
    except CheckpointError as error:
        raise CheckpointError(error.message, path) from error
    except OSError as error:
        raise DataError(f"this checkpoint cannot be read ({error.strerror}).", path) from error
    # json and numpy raise errors of many kinds for what is not what they expect
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        raise CheckpointError(f"this checkpoint is damaged ({what}). {AGAIN}", path) from error


def _read(stream: BinaryIO) -> dict[str, Any]:
    _check_version(stream.readline(len(MAGIC) + 20))
    digest, start = stream.read(hashlib.sha256().digest_size), stream.tell()
    checksum = hashlib.sha256()
    while piece := stream.read(PIECE):
        checksum.update(piece)
    size = stream.tell() - start
    if checksum.digest() != digest:
        raise CheckpointError(f"this checkpoint is damaged: its checksum is wrong. {AGAIN}")
    stream.seek(start)
    (length,) = LENGTH.unpack(stream.read(LENGTH.size))
    if length > min(MAX_HEADER, size):
        raise ValueError("its header is too long")
    header = json.loads(stream.read(length).decode("utf-8"))
    if header["semisvm"] != __version__:
        raise CheckpointError(
            f"this checkpoint was written by semisvm {str(header['semisvm'])[:40]}, and this is "
            f"{__version__}, whose steps may be others. Go on with that version. {AGAIN}"
        )
    arrays = _arrays(stream, header["arrays"], size - LENGTH.size - length)
    content = _decoded(header["content"], arrays)
    if not isinstance(content, dict):
        raise ValueError("it has no content")
    return content


def _check_version(line: bytes) -> None:
    version = line.removeprefix(MAGIC).strip()
    if not line.startswith(MAGIC) or not version.isdigit():
        raise CheckpointError("this file is not a checkpoint, or its beginning is damaged.")
    if int(version) != VERSION:
        raise CheckpointError(
            f"this checkpoint has version {int(version)}, and this semisvm reads version "
            f"{VERSION}. Go on with the semisvm that wrote it. {AGAIN}"
        )


def _arrays(stream: BinaryIO, entries: list[dict[str, Any]], size: int) -> Arrays:
    """Read arrays, whose sizes must add up to what is left of the file."""
    types = [array_type(entry["type"]) for entry in entries]
    sizes = [size_of(entry["shape"], kind) for entry, kind in zip(entries, types, strict=True)]
    if len(entries) > MAX_ARRAYS or sum(sizes) != size:
        raise ValueError("its arrays have other sizes than its header says")
    found = []
    for entry, kind in zip(entries, types, strict=True):
        array = np.fromfile(stream, kind, math.prod(entry["shape"]))
        found.append(array.reshape(entry["shape"]))
    return found


def _encoded(value: Any, arrays: Arrays) -> Any:
    """Turn a value into what JSON can hold, and put its arrays aside."""
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value))
        return {TAG: "array", "at": len(arrays) - 1}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(name): _encoded(inner, arrays) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(inner, arrays) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {TAG: "float", "value": repr(value)}
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} is not plain data")


def _decoded(value: Any, arrays: Arrays) -> Any:
    """Turn what `_encoded` returned back into a value."""
    if isinstance(value, list):
        return [_decoded(inner, arrays) for inner in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(TAG)
    if kind == "array":
        return arrays[value["at"]]
    if kind == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["value"]]
    return {name: _decoded(inner, arrays) for name, inner in value.items()}
