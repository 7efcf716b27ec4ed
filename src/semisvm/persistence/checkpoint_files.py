r"""Checkpoint files: reading, writing, and whether one belongs to the fit that is to be resumed.

The file is a line with the version, a checksum, a JSON header, and the bytes of the arrays::

    semisvm checkpoint 1\n
    SHA-256 of all that follows         32 bytes
    length of the header                8 bytes, the lowest first
    header                              JSON
    arrays                              one after the other, C order

The header describes the arrays, so a file cannot make more memory necessary than its own
length, and nothing in it is run. The checksum is compared before anything else is read.

The schema is declared once and checked before a fit is resumed, because compiled code does not
check its arrays: "weights" and "classes" are sizes that all arrays of a phase agree in. The number
of weights itself is compared by the fit.
"""

import hashlib
import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from semisvm._version import __version__
from semisvm.persistence.archive import array_type, size_of
from semisvm.persistence.checks import (
    Check,
    Sizes,
    agree,
    anything,
    either,
    flag,
    listed,
    mapping,
    number,
    optional,
    record,
    refuse,
    scalar,
    text,
    whole,
)
from semisvm.persistence.values import from_plain, to_plain
from semisvm.solvers.snapshots import Identity
from semisvm.tables.errors import DataError
from semisvm.tables.writing import write_bytes


class CheckpointError(DataError):
    """A checkpoint that is damaged, or of another fit than the one that is to go on from it."""


LONGEST = 60
"""Characters of a value; of a longer one there is a fingerprint."""
FINGERPRINTS = {
    "type": "X has another type of numbers",
    "rows": "X has other values (of a kernel: other features)",
    "labels": "y has other labels",
    "weights": "sample_weight is another",
    "start": "the model that warm_start begins with is another",
}


def as_text(identity: Identity) -> Identity:
    """Return an identity with its parameters as text, which can be kept and compared."""
    parameters = {name: _text(value) for name, value in identity["parameters"].items()}
    return {**identity, "parameters": parameters}


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value)).removesuffix(".0")
    if value is None or isinstance(value, (str, bool)):
        return repr(value)
    try:
        text = json.dumps(to_plain(value.tolist() if isinstance(value, np.ndarray) else value))
    except TypeError:
        # a function, for instance a kernel: the fingerprint of the features is stricter
        text = f"{type(value).__name__} {getattr(value, '__qualname__', '')}"
    if len(text) > LONGEST:
        return f"{type(value).__name__} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def difference(kept: Identity, here: Identity) -> str | None:
    """Return in which way a checkpoint is of another fit; None if it is of this one.

    Parameters
    ----------
    kept, here : dict
        Of `as_text`.
    """
    if kept["estimator"] != here["estimator"]:
        return f"it is a checkpoint of {kept['estimator']}, and this is {here['estimator']}"
    names = sorted(kept["parameters"].keys() | here["parameters"].keys())
    pairs = [(name, kept["parameters"].get(name), here["parameters"].get(name)) for name in names]
    others = [f"{name} was {then} and is {now}" for name, then, now in pairs if then != now]
    if others:
        return f"its parameters are others: {'; '.join(others)}"
    if kept["shape"] != here["shape"]:
        return f"X had the shape {tuple(kept['shape'])} and has {tuple(here['shape'])}"
    for name, what in FINGERPRINTS.items():
        if kept[name] != here[name]:
            return f"its data are others: {what}"
    return None


VERSION = 1
MAGIC = b"semisvm checkpoint "
LENGTH = struct.Struct("<Q")
MAX_HEADER = 1 << 28
"""Bytes; the trace of a fit of a million rounds."""
MAX_ARRAYS = 1_000
PIECE = 1 << 22

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
    plain = to_plain(content, arrays)
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
    content = from_plain(header["content"], aside=arrays)
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


MOST, LEAST = 1e75, 1e-75
"""Sizes of weights, prices and temperatures. Rows are as long as 1e75 at most, so that scores have
finite squares; others could keep a label step in its loop for ever."""


@dataclass(frozen=True)
class Vector:
    """Ask for a vector in double precision.

    Attributes
    ----------
    size : str
        Name of the length.
    unbounded : bool
        Whether entries may be -inf, as the prices of classes without rows are.
    """

    size: str
    unbounded: bool = False

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a value."""
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != 1:
            raise refuse(where, "a vector of numbers in double precision")
        agree(self.size, len(value), where, sizes)
        known = value[value != -np.inf] if self.unbounded else value
        if not (np.abs(known) <= MOST).all():
            raise refuse(where, f"a vector of numbers up to {MOST:g}")


def extended(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for a number that may be infinite, as a best value is before there is one."""
    if type(value) not in (int, float) or math.isnan(value):
        raise refuse(where, "a number")


WEIGHTS = Vector("weights")
PRICES = Vector("classes", unbounded=True)
STATE: dict[str, Check] = {
    "w": WEIGHTS,
    "objective": extended,
    "gradient_norm": extended,
    "gap": extended,
    "n_iter": whole(),
    "cg_steps": whole(),
    "n_active": whole(),
    "converged": flag,
}
SNAPSHOT = record(
    {},
    {
        # of the start, which is a state and nothing else
        **STATE,
        "state": record(STATE),
        "gradient": optional(WEIGHTS),
        "best": WEIGHTS,
        "chosen_at": WEIGHTS,
        "solved": optional(number(LEAST, MOST)),
        "switched": listed(whole()),
        "anticipating": flag,
        "temperature": number(LEAST, MOST),
        "price": optional(either(number(-MOST, MOST), PRICES)),
        "prices": optional(PRICES),
        "hard_prices": optional(PRICES),
        "entropies": listed(extended, length=2),
        "energy": optional(extended),
        "lowest": extended,
        "here": extended,
        "best_key": listed(extended, length=2),
        "facts": mapping(text, extended),
        "search": record({"idle": whole(), "lowest": extended, "slow": flag, "smallest": extended}),
    },
)
PLACE = record({"level": whole(), "iteration": whole(), "rounds": whole(), "settled": flag})
TRACE_ROW = record({"phase": text, "seconds": number(0.0)}, {"passes": number(0.0)}, others=scalar)
IDENTITY = record(
    {
        "estimator": text,
        "parameters": mapping(text, text),
        "shape": listed(whole(), length=2),
        "classes": whole(),
        "threads": whole(1),
        **dict.fromkeys(FINGERPRINTS, text),
    },
)
ABOUT = record({"identity": IDENTITY, "finished": flag}, others=anything)
"""What identifies the fit of a checkpoint."""
PLACES = record(
    {
        "phases": listed(record({"name": text, "place": PLACE, "snapshot": optional(SNAPSHOT)})),
        "rows": listed(TRACE_ROW),
        "notes": listed(text),
        "seconds": number(0.0),
    },
    others=anything,
)
"""What a fit goes on from."""
