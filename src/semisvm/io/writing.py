"""Files appear whole or not at all."""

import errno
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from semisvm.io.errors import DataError
from semisvm.io.places import explained, open_part, settle, sync

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
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
