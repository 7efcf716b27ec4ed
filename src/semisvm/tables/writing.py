"""Files that appear whole or not at all.

Their places are checked before the work begins; an error is one sentence.
"""

import errno
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, TextIO, cast

from semisvm.tables.errors import DataError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed anyway
    fcntl = None

PART = ".part"
PROBE_BYTES = 1 << 16
"""Written to see whether a disk is full; a small model takes about as much."""
LONGEST_NAME = 200
"""Bytes of a file's name that are in the name of its part; file systems allow 255 in all."""

FULL = "the disk is full."
REASONS = {
    errno.EACCES: "this place may not be written to (permission denied).",
    errno.EPERM: "this place may not be written to (permission denied).",
    errno.EROFS: "the file system is read-only.",
    errno.ENOSPC: FULL,
    errno.ELOOP: "this link leads back to itself.",
    **({errno.EDQUOT: "the disk quota is used up."} if hasattr(errno, "EDQUOT") else {}),
}
KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
OPEN_STREAMS = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+")


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn an error of the system on writing a file into a `DataError`."""
    try:
        yield
    except OSError as error:
        raise DataError(_reason(error, Path(path)), path) from error


def _reason(error: OSError, path: Path) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no folder {str(path.parent)!r} to write to."
    known = REASONS.get(error.errno or 0)
    return known or f"this file cannot be written ({error.strerror or error})."


def settle(path: str | Path) -> Path:
    """Return the regular file that a path stands for, or will; links are followed.

    A link to a file that is not there stands for that file. Whatever is neither a regular
    file nor new is refused: a device that is replaced by a file is lost.
    """
    if OPEN_STREAMS.fullmatch(os.path.normpath(path)):
        raise DataError("this is a stream, not a file.", path)
    target = Path(os.path.realpath(path))
    with explained(path), suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise DataError("this is a folder, not a file.", path)
        if not stat.S_ISREG(mode):
            kind = KINDS.get(stat.S_IFMT(mode), "something else")
            raise DataError(f"this is {kind}, not a file.", path)
        if not os.access(target, os.W_OK):
            raise DataError("this file is read-only.", path)
    return target


def check_place(path: str | Path) -> None:
    """Find out whether a file can be written, before the work of which it is the end.

    Some bytes are written beside its place and removed, since permissions are not enough.

    Raises
    ------
    DataError
        If the folder is missing or may not be written to, the disk is full or read-only,
        or the path is that of a folder, device, pipe or read-only file.
    """
    with open_part(settle(path), path) as (stream, _):
        stream.write(bytes(PROBE_BYTES))
        sync(stream, path)


def sync(stream: BinaryIO, path: str | Path) -> None:
    """Bring what was written to the disk, which may find only now that it is full."""
    stream.flush()
    with explained(path):
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class _Part(io.FileIO):
    """The raw stream of a part; errors of the disk name the file that was given."""

    def __init__(self, handle: int, path: str | Path) -> None:
        super().__init__(handle, "wb")
        self._path = path

    def write(self, data: object) -> int:
        with explained(self._path):
            return super().write(data)  # type: ignore[arg-type]


@contextmanager
def open_part(target: Path, path: str | Path) -> Iterator[tuple[BinaryIO, str]]:
    """Open a hidden file beside a target; it is removed in the end unless it was renamed.

    Parts that a killed process has left of the same target are removed. The lock on a part
    lasts as long as it is open, so those that are being written are let alone.

    Parameters
    ----------
    target : Path
    path : str or Path
        What the user calls it.
    """
    with explained(path):
        _remove_old_parts(target)
        handle, name = _new_part(target)
    try:
        with io.BufferedWriter(_Part(handle, path)) as stream:
            yield stream, name
    finally:
        with suppress(OSError):
            os.unlink(name)


def part_prefix(target: Path) -> str:
    """Return how the names of the parts of a target begin."""
    short = target.name.encode("utf-8", "surrogateescape")[:LONGEST_NAME]
    return f".{short.decode('utf-8', 'ignore')}.semisvm-"


def _new_part(target: Path) -> tuple[int, str]:
    while True:
        handle, name = tempfile.mkstemp(PART, part_prefix(target), target.parent)
        if claim(handle, name):
            return handle, name
        os.close(handle)


def claim(handle: int, name: str) -> bool:
    """Lock a new part, unless another process has just taken it for an old one."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this file system; then no process removes old parts either
        return True
    return os.path.exists(name)


def left_parts(target: Path) -> list[Path]:
    """Return the parts of a target: of this process, of others and of killed ones."""
    named = re.compile(re.escape(part_prefix(target)) + r"\w{8}" + re.escape(PART))
    with suppress(OSError):  # a folder may be written to without being read
        return [target.parent / name for name in os.listdir(target.parent) if named.fullmatch(name)]
    return []


@contextmanager
def unused(part: Path, *, is_folder: bool = False) -> Iterator[None]:
    """Lock a part; raise OSError if a process is using it, or it is of the other kind."""
    if fcntl is None:
        yield
        return
    kind = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR | os.O_NONBLOCK
    handle = os.open(part, kind | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _remove_old_parts(target: Path) -> None:
    for part in left_parts(target):
        with suppress(OSError), unused(part):
            part.unlink()


IN_MEMORY = 1 << 26
"""Bytes for a stream that are collected in memory; more of them go to a temporary file."""


@contextmanager
def write_bytes(path: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that takes its name when the block has ended well.

    It is written beside its place and renamed. Whatever ends the block early, Ctrl-C
    included, removes it and leaves an older file of that name as it was. A process that is
    killed leaves a hidden file (``.name.semisvm-*.part``), which the next one that writes
    the same file removes.

    Parameters
    ----------
    path : str, Path or binary stream
        A link is followed to its file, also to one that is not there yet. A stream gets
        the bytes when the block has ended well, and is not closed.

    Raises
    ------
    DataError
        If the disk is full or read-only, or the path is not that of a regular file.
    """
    if not isinstance(path, (str, os.PathLike)):
        with _for_stream(path) as whole:
            yield whole
        return
    target = settle(path)
    with open_part(target, path) as (stream, name):
        yield stream
        sync(stream, path)
        if os.name == "nt":  # which renames closed files only
            stream.close()
        with explained(path):
            os.chmod(name, _mode(target))
            _rename(name, target)


@contextmanager
def _for_stream(stream: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as whole:
        yield cast(BinaryIO, whole)
        whole.seek(0)
        shutil.copyfileobj(whole, stream)
    stream.flush()


@contextmanager
def write_text(path: str | Path | BinaryIO, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a text file for writing as `write_bytes` does; line ends are written as given."""
    with write_bytes(path) as stream, encoded(stream, path, encoding) as text:
        yield text


@contextmanager
def encoded(
    stream: BinaryIO, path: str | Path | BinaryIO | None = None, encoding: str = "utf-8"
) -> Iterator[TextIO]:
    """Write text to a stream of bytes, which stays open.

    Raises
    ------
    DataError
        If the text holds what the encoding has not, such as half of a surrogate pair.
    """
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")
    try:
        yield cast(TextIO, text)
    except UnicodeEncodeError as error:
        what = ascii(error.object[error.start : error.end])
        place = path if isinstance(path, (str, Path)) else None
        raise DataError(f"the text holds {what}, which {encoding} cannot write.", place) from error
    finally:
        text.detach()


def _rename(name: str, target: Path) -> None:
    try:
        os.replace(name, target)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        # a file that is a mount of its own, as in containers, can be filled but not replaced
        shutil.copyfile(name, target)


def _mode(target: Path) -> int:
    """Return the mode of the file that is replaced, or what an ordinary new file has."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        return 0o666 & ~umask()


def umask() -> int:
    """Return the permissions that new files and folders do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
