"""Files appear whole or not at all."""

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from semisvm.io.errors import DataError


@contextmanager
def write_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that takes its name when the block has ended well.

    It is written beside its place and renamed. Whatever ends the block early, Ctrl-C
    included, removes it and leaves an older file of that name as it was.
    """
    target = Path(path)
    if target.is_dir():
        raise DataError("this is a folder, not a file.", path)
    handle, name = _beside(target)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def write_text(path: str | Path, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a text file for writing as `write_bytes` does; line ends are written as given."""
    with write_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        try:
            yield cast(TextIO, text)
        finally:
            text.detach()


def _beside(target: Path) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except FileNotFoundError as error:
        raise DataError(
            f"there is no folder {str(target.parent)!r} to write to.", target
        ) from error
    except PermissionError as error:
        raise DataError("this place may not be written to (permission denied).", target) from error


def _mode(target: Path) -> int:
    """Give the mode of the file that is replaced, or what an ordinary new file has."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
