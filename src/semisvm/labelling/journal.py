"""An append-only journal of events: what it has accepted is on the disk.

One JSON object per line. A line is written with one call and synchronised before `append`
returns. A process that is killed in between leaves at most the beginning of one line, which the
next one drops: its answer was never accepted. The file is locked while it is open; the lock ends
with the process, however that ends.
"""

import contextlib
import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from semisvm.io import DataError
from semisvm.io.places import explained, settle
from semisvm.labelling.errors import SittingError

FORMAT, VERSION = "semisvm-journal", 1
OPENED = "open"
"""Kind of the event that says which process has the journal."""
UNLOCKABLE = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
"""What file systems without locks answer."""

Line = dict[str, Any]


class MemoryJournal:
    """A journal that is forgotten, for notebooks and simulations."""

    path: Path | None = None

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.notes: list[str] = []
        self._next = 1

    def append(self, line: Line) -> Line:
        """Keep an event under the next number."""
        written = {"seq": self._next, **line}
        self._next += 1
        return written

    def close(self) -> None:
        """Do nothing."""


class Journal:
    """A journal in a file, locked by this process.

    Parameters
    ----------
    path : str or Path
        Created if it is not there.

    Attributes
    ----------
    lines : list of dict
        What was in the file, in the order of their numbers.
    notes : list of str
        What was wrong with the file.
    format, of, entry : str
        Name of the format, and words for messages: what the journal is of, and what it keeps.

    Raises
    ------
    DataError
        If another process has it open, or it is damaged or cannot be written.
    """

    format, of, entry = FORMAT, "a sitting", "answer"

    def __init__(self, path: str | Path) -> None:
        self.path: Path | None = settle(path)
        self.notes: list[str] = []
        self._name = path
        self._one_at_a_time = threading.Lock()
        self._broken = False
        with explained(path):
            # no O_APPEND: after a failure the next line goes where the broken one began
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._lock()
            self.lines, self._end = self._read()
            self._next = 1 + max((line["seq"] for line in self.lines), default=0)
            if not self.lines:
                _sync_folder(self.path)
            self.append({"kind": OPENED, **_process(), "format": self.format, "version": VERSION})
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        try:
            _lock(self._file)
        except BlockingIOError:
            raise DataError(f"{self._holder()} Close it first.", self._name) from None
        except OSError as error:
            if error.errno not in UNLOCKABLE:
                raise DataError(f"it cannot be locked ({error.strerror}).", self._name) from error
            self.notes.append(
                f"the file system of {self._name} has no locks: open it in one process only."
            )

    def _holder(self) -> str:
        """Name the process that has the lock."""
        opened: Line = {}
        with contextlib.suppress(OSError):
            for line in _parsed(_bytes_of(self._file)):
                opened = line if line.get("kind") == OPENED else opened
        if not opened:
            return "another process has this journal open."
        return (
            f"process {opened.get('pid')} ({opened.get('program')}) on {opened.get('host')} has "
            f"this journal open since {opened.get('time')}."
        )

    def _read(self) -> tuple[list[Line], int]:
        content = _bytes_of(self._file)
        whole = content.rfind(b"\n") + 1
        lines = []
        end = 0
        pieces = content[:whole].split(b"\n")[:-1]
        for number, piece in enumerate(pieces, 1):
            found = _line(piece)
            if found is None:
                if number == len(pieces) and whole == len(content):
                    break
                raise DataError("this is not a line of a journal.", self._name, number)
            lines.append(found)
            end += len(piece) + 1
        if end < len(content):
            self.notes.append(
                f"the last line of {self._name} was cut off and is dropped: its {self.entry} had "
                "not been saved."
            )
            os.ftruncate(self._file, end)
            os.fsync(self._file)
        if lines and lines[0].get("format") != self.format:
            raise DataError(f"this is not a journal of {self.of}.", self._name)
        if lines and lines[0].get("version") != VERSION:
            raise DataError("this journal is of a newer version of semisvm.", self._name)
        return sorted(lines, key=lambda line: line["seq"]), end

    def append(self, line: Line) -> Line:
        """Bring an event to the disk under the next number.

        Returns
        -------
        line : dict
            With its number, ``seq``.

        Raises
        ------
        SittingError
            If it is not on the disk, which is then as before.
        """
        with self._one_at_a_time:
            return self._append(line)

    def _append(self, line: Line) -> Line:
        if self._broken:
            raise SittingError(
                f"{self._name} is closed, or cannot be written any more. Nothing that was saved "
                "is lost: start again."
            )
        # the time is for people; the order is that of the numbers
        written = {"seq": self._next, "time": _now(), **line}
        text = json.dumps(written, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
        content = text.encode() + b"\n"
        try:
            _write(self._file, content, self._end)
            os.fsync(self._file)
        except OSError as error:
            self._take_back()
            why = "the disk is full" if error.errno == errno.ENOSPC else str(error.strerror)
            raise SittingError(
                f"not saved: {self._name} cannot be written ({why}). All earlier {self.entry}s "
                "are safe."
            ) from error
        self._end += len(content)
        self._next += 1
        return written

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._file, self._end)
            os.fsync(self._file)
        except OSError:
            # what is on the disk is not known until it is read again
            self._broken = True

    def close(self) -> None:
        """Close the file, which ends the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._broken = True


def read_lines(path: str | Path) -> list[Line]:
    """Return the lines of a journal that may be open elsewhere; none if it cannot be read."""
    try:
        return list(_parsed(Path(path).read_bytes()))
    except OSError:
        return []


def _write(file: int, content: bytes, place: int) -> None:
    os.lseek(file, place, os.SEEK_SET)
    while content:
        # a disk that is nearly full takes a part
        content = content[os.write(file, content) :]


def _bytes_of(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(file, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _parsed(content: bytes) -> Iterator[Line]:
    found = map(_line, content.split(b"\n"))
    return (line for line in found if line is not None)


def _line(piece: bytes) -> Line | None:
    try:
        found = json.loads(piece)
    except ValueError:
        return None
    ours = isinstance(found, dict) and isinstance(found.get("seq"), int) and "kind" in found
    return found if ours else None


def _process() -> Line:
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return {"pid": os.getpid(), "host": socket.gethostname(), "program": program}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sync_folder(path: Path) -> None:
    """Bring the name of a new file to the disk; Windows needs no such thing."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


if sys.platform == "win32":
    import msvcrt

    BEYOND = 1 << 40
    """A lock of Windows keeps others from reading, so it is put where no line is."""

    def _lock(file: int) -> None:
        os.lseek(file, BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from error

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
