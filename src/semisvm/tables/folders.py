"""Folders appear whole or not at all."""

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from semisvm.designs.disk_header import FILES, HEADER, KIND
from semisvm.tables.errors import DataError
from semisvm.tables.writing import (
    PART,
    check_place,
    claim,
    explained,
    fcntl,
    left_parts,
    part_prefix,
    sync_folder,
    umask,
    unused,
)

AT_FDCWD, RENAME_EXCHANGE = -100, 2
MOST_NAMED = 3
"""Files that are named in an error, of those that a folder holds besides rows."""


def check_folder_place(path: str | Path) -> None:
    """Find out whether rows can be written to a folder, before the work of which it is the end.

    Raises
    ------
    DataError
        If something other than rows is there already, or the place cannot be written to.
    """
    target = _settle(path)
    check_place(target.parent / f"{target.name}{PART}")


def _settle(path: str | Path) -> Path:
    """Return the folder that a path stands for, or will; only rows are replaced."""
    target = Path(os.path.realpath(path))
    with explained(path):
        if target.is_dir():
            _check_replaceable(target, path)
        elif target.exists():
            raise DataError("this is a file, and rows are written to a folder.", path)
    return target


def _check_replaceable(folder: Path, path: str | Path) -> None:
    """Refuse a folder with anything but the files of rows, which would be deleted with them."""
    others = _others(folder)
    if _holds_rows(folder):
        if others:
            more = len(others) - MOST_NAMED
            names = ", ".join(map(repr, others[:MOST_NAMED]))
            names += f" and {more} more" if more > 0 else ""
            raise DataError(
                f"this folder holds {names} besides rows, so it is not replaced: move that "
                "elsewhere, or name a new folder.",
                path,
            )
    elif any(folder.iterdir()):
        raise DataError(
            "this folder is there already and does not hold rows, so it is not replaced: "
            "name a new folder.",
            path,
        )


def _others(folder: Path) -> list[str]:
    """Return the names in a folder that are not files of rows."""
    with os.scandir(folder) as entries:
        return sorted(
            entry.name
            for entry in entries
            if entry.name not in FILES or not entry.is_file(follow_symlinks=False)
        )


def _holds_rows(folder: Path) -> bool:
    """Return whether a folder was written here; its header, written last, may be damaged."""
    try:
        with open(folder / HEADER, "rb") as stream:
            return KIND.encode() in stream.read(1 << 12)
    except OSError:
        return False


@contextmanager
def write_folder(path: str | Path) -> Iterator[Path]:
    """Make a folder that takes its name when the block has ended well.

    It is a hidden folder beside its place. In the end it is exchanged with older rows of that
    name, in one step where the system has one. Whatever ends the block early removes it and
    leaves older rows as they were. A process that is killed leaves the hidden folder
    (``.name.semisvm-*.part``). The next one that writes the same folder removes it, unless no
    folder has the name: then the newest whole one gets it first.

    Raises
    ------
    DataError
        If something other than rows is there already, or the place cannot be written to.
    """
    target = _settle(path)
    with explained(path):
        _recover(target)
    with _hidden_folder(target, path) as part:
        yield part
        with explained(path):
            part.chmod(0o777 & ~umask())
            _replace(part, target, path)


@contextmanager
def scratch_folder(place: Path) -> Iterator[Path]:
    """Make a hidden folder in a place, for as long as the block lasts.

    A process that is killed leaves it; the next one that makes one in the same place removes it.

    Raises
    ------
    DataError
        If the place cannot be written to.
    """
    target = Path(place).absolute() / "scratch"
    with _hidden_folder(target, target) as folder:
        yield folder


@contextmanager
def _hidden_folder(target: Path, path: str | Path) -> Iterator[Path]:
    """Make a hidden folder beside a target, and remove it and those of killed processes.

    Errors name ``path``.
    """
    with explained(path):
        _remove_old_folders(target)
        part, handle = _new_folder(target)
    try:
        yield part
    finally:
        if handle is not None:
            os.close(handle)
        _remove(part)


def _new_folder(target: Path) -> tuple[Path, int | None]:
    """Make a hidden folder; the lock on it lasts as long as its handle is open."""
    while True:
        part = Path(tempfile.mkdtemp(PART, part_prefix(target), target.parent))
        if fcntl is None:
            return part, None
        handle = os.open(part, os.O_RDONLY)
        if claim(handle, str(part)):
            return part, handle
        os.close(handle)


def _replace(part: Path, target: Path, path: str | Path) -> None:
    """Give a folder its name; older rows of that name are removed afterwards."""
    if not target.exists():
        part.rename(target)
        return
    with _claimed(target):
        _check_replaceable(target, path)  # it was checked before, perhaps hours ago
        old = part if _exchanged(part, target) else _renamed(part, target)
        sync_folder(target.parent)  # the new rows have their name before the older ones go
        _remove(old)
    if old.exists():
        raise DataError(
            f"it is written, but something was put into the older folder, which is kept as {old}.",
            path,
        )


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Lock a folder if possible, so that other processes do not take it for a left one."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _exchanged(part: Path, target: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if exchange is None:
        return False
    exchange.argtypes = 2 * (ctypes.c_int, ctypes.c_char_p) + (ctypes.c_uint,)
    names = os.fsencode(part), os.fsencode(target)
    done: int = exchange(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)
    return done == 0


def _renamed(part: Path, target: Path) -> Path:
    """Move older rows aside and give their name to a folder; return where the older rows are.

    Between the two steps there is no folder of that name; `_recover` mends it after a kill.
    """
    old = Path(tempfile.mkdtemp(PART, part_prefix(target), target.parent))
    old.rmdir()  # Windows renames to new names only
    target.rename(old)
    try:
        part.rename(target)
    except BaseException:
        old.rename(target)
        raise
    return old


def _recover(target: Path) -> None:
    """Give a missing folder its name back, if a killed process has left a whole one."""
    if target.exists():
        return
    whole = [path for path in left_parts(target) if _holds_rows(path) and not _others(path)]
    for path in sorted(whole, key=lambda path: (path / HEADER).stat().st_mtime_ns, reverse=True):
        with suppress(OSError), unused(path, is_folder=True):
            path.rename(target)
            return


def _remove_old_folders(target: Path) -> None:
    for path in left_parts(target):
        with suppress(OSError), unused(path, is_folder=True):
            _remove(path)


def _remove(folder: Path) -> None:
    """Remove a hidden folder; whole rows only if there is nothing else beside them."""
    with suppress(OSError):
        if _holds_rows(folder):
            if _others(folder):
                return
            # what is left of a removal that is killed is not whole
            (folder / HEADER).unlink()
        shutil.rmtree(folder, ignore_errors=True)
