"""One array of a model file: what its header says is compared before memory is asked for."""

import math
import re
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

KINDS = "biufU"
LARGEST_ITEM = 8
"""Bytes of a number; text may be longer."""
MAX_HEADER = 1_000
MAX_AXES = 3
PIECE = 1 << 20

# What numpy writes for arrays of numbers and text. Its own parser also takes other forms and
# types, and raises what the parser of Python raises.
HEADER = re.compile(
    rb"\{'descr': '([<>|=][biufU]\d{1,10})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,19},? ?)*)\), \} *\n?"
)
LENGTH_FORMATS = {(1, 0): "<H", (2, 0): "<I"}
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
    """Read one array, after its three declared sizes were found to agree.

    Parameters
    ----------
    member : stream
    length : int
        Its bytes, as the directory of the archive says.
    entry : mapping
        "type" and "shape", as the document says.
    """
    shape, fortran, dtype, header = _header(member)
    if list(shape) != entry["shape"] or dtype.str != entry["type"]:
        raise ValueError("an array is not what the document says")
    size = size_of(shape, dtype)
    if header + size != length:
        raise ValueError("an array is longer or shorter than it says")
    array = np.frombuffer(read_exactly(member, size), dtype=dtype)
    return _sound(array).reshape(shape, order="F" if fortran else "C")


def read_exactly(member: IO[bytes], size: int) -> bytearray:
    """Read all of a member piece by piece, or raise if its length is another."""
    content = bytearray(size)
    at = 0
    # a read of everything would unpack what the directory does not admit to
    while at < size:
        piece = member.read(min(PIECE, size - at))
        if not piece:
            raise ValueError("a part is shorter than it says")
        content[at : at + len(piece)] = piece
        at += len(piece)
    if member.read(1):
        raise ValueError("a part is longer than it says")
    return content


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    version = npy.read_magic(member)
    form = LENGTH_FORMATS[version]
    (length,) = struct.unpack(form, member.read(struct.calcsize(form)))
    found = HEADER.fullmatch(member.read(length)) if length <= MAX_HEADER else None
    if found is None:
        raise ValueError("an array has a header that is not known here")
    kind, fortran, shape = (part.decode("ascii") for part in found.groups())
    axes = tuple(int(axis) for axis in shape.split(",") if axis.strip())
    start = npy.MAGIC_LEN + struct.calcsize(form) + length
    return axes, fortran == "True", array_type(kind), start


def _sound(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in the byte order of this machine, truth values that are 0 or 1, and text.

    Raises
    ------
    ValueError
        If text has characters that there are not.
    """
    if array.dtype.kind == "b":
        return array.view(np.uint8) != 0
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if native.dtype.kind == "U" and native.dtype.itemsize:
        codes = native.view(np.uint32)
        halves = (codes >= FIRST_SURROGATE) & (codes <= LAST_SURROGATE)
        if (codes > LAST_CHARACTER).any() or halves.any():
            raise ValueError("text of an array is not text")
    return native
