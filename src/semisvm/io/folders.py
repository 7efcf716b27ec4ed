"""Folders appear whole or not at all."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from semisvm.io.errors import DataError
from semisvm.io.places import PART, check_place, claim, explained, fcntl, part_prefix
from semisvm.ondisk.header import HEADER, KIND


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
        if target.is_dir() and any(target.iterdir()) and not _holds_rows(target):
            raise DataError(
                "this folder is there already and does not hold rows, so it is not replaced: "
                "name a new folder.",
                path,
            )
        if target.exists() and not target.is_dir():
            raise DataError("this is a file, and rows are written to a folder.", path)
    return target


def _holds_rows(folder: Path) -> bool:
    """Tell whether a folder was written here; its header may be damaged or of another version."""
    try:
        with open(folder / HEADER, "rb") as stream:
            return KIND.encode() in stream.read(1 << 12)
    except OSError:
        return False


@contextmanager
def write_folder(path: str | Path) -> Iterator[Path]:
    """Make a folder that takes its name when the block has ended well.

    It is a hidden folder beside its place, and renamed. Whatever ends the block early removes
    it and leaves older rows of that name as they were. A process that is killed leaves the
    hidden folder (``.name.semisvm-*.part``), which the next one that writes the same folder
    removes.

    Raises
    ------
    DataError
        If something other than rows is there already, or the place cannot be written to.
    """
    target = _settle(path)
    with _hidden_folder(target, path) as part:
        yield part
        with explained(path):
            part.chmod(0o777 & ~_umask())
            _replace(part, target)


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
        shutil.rmtree(part, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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


def _replace(part: Path, target: Path) -> None:
    """Rename a folder; older rows are moved aside first, and put back if that fails."""
    if not target.exists():
        part.rename(target)
        return
    old = Path(tempfile.mkdtemp(PART, part_prefix(target), target.parent))
    target.rename(old)
    try:
        part.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _remove_old_folders(target: Path) -> None:
    named = re.compile(re.escape(part_prefix(target)) + r"\w{8}" + re.escape(PART))
    found: list[Path] = []
    with suppress(OSError):
        found = [path for path in target.parent.iterdir() if named.fullmatch(path.name)]
    for path in found:
        with suppress(OSError):
            _remove_if_dead(path)


def _remove_if_dead(folder: Path) -> None:
    if fcntl is None:
        shutil.rmtree(folder)
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(handle)
