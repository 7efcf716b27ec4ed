"""An append-only journal of events: what it has accepted is on the disk.

One JSON object per line, with its number and a checksum. A line is written with one call and
synchronised before `append` returns. A process that is killed in between leaves at most the
beginning of one line, whose answer was never accepted. The file is locked while it is open; the
lock ends with the process, however that ends.

Every other deviation is damage: a checksum that is wrong, a number that is missing, lines in
another order. Then a copy of the file is put aside, and the journal is written anew with all
lines that are whole. A file that is no journal is refused and left as it is.

Why not a database: of 1,000 answers in SQLite with a checksum per row, one flipped bit cost up to
880 (an inner page), a file cut at a random place all of them in half of the trials, and damage to a
write-ahead log dropped the answers behind it without a notice. Here a bit costs its own line, and a
cut what is behind it. One process writes, whoever answers, so nothing needs more than a lock.
"""

import contextlib
import errno
import json
import os
import socket
import sys
import threading
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from semisvm.labelling.records import LabelingError
from semisvm.tables.errors import DataError
from semisvm.tables.writing import explained, open_part, settle, sync, sync_folder

FORMAT, VERSION = "semisvm-journal", 3
OPENED, LOST = "open", "lost"
"""Kinds of events: the process that has the journal; numbers of lines that were damaged."""
UNLOCKABLE = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
"""Errors of file systems without locks."""
SUFFIX = ".journal"
BEGIN, CHECK = b'{"seq":', b',"crc":"'
"""What a line begins with, and what is before its checksum. Neither is in the text of a value,
where quotes are escaped."""

Line = dict[str, Any]


class MemoryJournal:
    """A journal that is forgotten, for notebooks and simulations."""

    path: Path | None = None

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.notes: list[str] = []
        self.damaged = False
        self._next = 1

    def check(self) -> None:
        """Do nothing."""

    def append(self, line: Line) -> Line:
        """Keep an event under the next number."""
        written = {"seq": self._next, "time": _now(), **line}
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
    damaged : bool
        Whether lines may be missing.
    format, of, entry : str
        Name of the format, and words for messages: what the journal is of, and what it keeps.

    Raises
    ------
    DataError
        If another process has it open, or it is something else or cannot be written.
    """

    format, of, entry = FORMAT, "a labelling session", "answer"

    def __init__(self, path: str | Path) -> None:
        self.path = settle(path)
        self.notes: list[str] = []
        self.damaged = False
        self._name = path
        self._one_at_a_time = threading.Lock()
        self._broken = False
        self._file = self._open()
        try:
            self.lines = self._read()
            self._next = _following(self.lines)
            if not self.lines:
                sync_folder(self.path.parent)
            program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
            process = {"pid": os.getpid(), "host": socket.gethostname(), "program": program}
            self.append({"kind": OPENED, **process, "format": self.format, "version": VERSION})
        except BaseException:
            os.close(self._file)
            raise

    def _open(self) -> int:
        """Open and lock the file that has the name; another may have taken it meanwhile."""
        while True:
            with explained(self._name):
                # no O_APPEND: after a failure the next line goes where the broken one began
                file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._lock(file)
                if _is_at(file, self.path):
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)

    def _lock(self, file: int) -> None:
        try:
            _lock(file)
        except BlockingIOError:
            raise DataError(f"{_holder(file)} Close it first.", self._name) from None
        except OSError as error:
            if error.errno not in UNLOCKABLE:
                raise DataError(f"it cannot be locked ({error.strerror}).", self._name) from error
            self.notes.append(
                f"the file system of {self._name} has no locks: open it in one process only."
            )

    def _read(self) -> list[Line]:
        content = _bytes_of(self._file)
        whole = _whole(content)
        self._check_ours(content, whole)
        lines, gaps = _in_order([line for _, line in whole])
        text = b"".join(piece + b"\n" for piece, _ in whole)
        ordered = not gaps and lines == [line for _, line in whole]
        if ordered and content + b"\n" == text:  # a whole line, but for its end
            _write(self._file, b"\n", len(content))
            content = text
        self._end = len(content)
        if ordered and content == text:
            return lines
        aside = self._put_aside(content)
        lost = [{"seq": a, "time": _now(), "kind": LOST, "to": b} for a, b in gaps]
        lines = sorted([*lines, *lost], key=_number)
        self._rewrite(b"".join(map(_text, lines)))
        rest = content.removeprefix(text)
        if ordered and text + rest == content and _is_start(rest, _following(lines)):
            self.notes.append(
                f"the last line of {self._name} was cut off and is dropped: its {self.entry} had "
                f"not been saved. The file as it was is {aside}."
            )
            return lines
        self.damaged = True
        missing = ", ".join(f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in gaps)
        what = f"; the numbers {missing} are missing" if gaps else ""
        self.notes.append(
            f"{self._name} is damaged{what}. Every {self.entry} whose line is whole is kept. The "
            f"file as it was is {aside}."
        )
        return lines

    def _check_ours(self, content: bytes, whole: list[tuple[bytes, Line]]) -> None:
        """Refuse what is not a journal of this version."""
        opened = [line for _, line in whole if line["kind"] == OPENED]
        other = any(line["format"] != self.format for line in opened)
        # without a whole line it may be one whose first line was being written
        if other or not (whole or _is_start(content.rstrip(b"\0"), 1)):
            raise DataError(
                f"this is not a journal of {self.of}, and it is left as it is. Name another file, "
                "or move this one.",
                self._name,
            )
        if any(line["version"] > VERSION for line in opened):
            raise DataError("this journal is of a newer version of semisvm.", self._name)

    def _put_aside(self, content: bytes) -> Path:
        """Write a copy of the file as it is, which nothing removes."""
        number = 1
        with explained(self._name):
            while True:
                suffix = ".damaged" if number == 1 else f".damaged-{number}"
                place = self.path.with_name(self.path.name + suffix)
                with contextlib.suppress(FileExistsError), open(place, "xb") as stream:
                    stream.write(content)
                    sync(stream, self._name)
                    return place
                number += 1

    def _rewrite(self, content: bytes) -> None:
        """Give another file, with such content and a lock of its own, the name of the journal."""
        with open_part(self.path, self._name) as (stream, part), explained(self._name):
            stream.write(content)
            sync(stream, self._name)
            os.chmod(part, os.fstat(self._file).st_mode & 0o777)
            if os.name == "nt":  # which renames closed files only
                stream.close()
                os.close(self._file)
                os.replace(part, self.path)
                self._file = self._open()
            else:
                file = os.dup(stream.fileno())  # the lock lasts as long as one of them is open
                os.replace(part, self.path)
                os.close(self._file)
                self._file = file
        self._end = len(content)
        sync_folder(self.path.parent)

    def append(self, line: Line) -> Line:
        """Bring an event to the disk under the next number.

        Returns
        -------
        line : dict
            With its number, ``seq``.

        Raises
        ------
        LabelingError
            If it is not on the disk, which is then as before.
        """
        with self._one_at_a_time:
            self._check_place()
            # the time is for people; the order is that of the numbers
            written = {"seq": self._next, "time": _now(), **line}
            content = _text(written)
            try:
                _write(self._file, content, self._end)
                os.fsync(self._file)
            except OSError as error:
                self._take_back()
                why = "the disk is full" if error.errno == errno.ENOSPC else str(error.strerror)
                raise LabelingError(
                    f"not saved: {self._name} cannot be written ({why}). All earlier "
                    f"{self.entry}s are safe."
                ) from error
            self._end += len(content)
            self._next += 1
            return written

    def check(self) -> None:
        """Put a journal that was deleted back; end this one if another file has its name.

        Raises
        ------
        LabelingError
        """
        with self._one_at_a_time:
            self._check_place()

    def _check_place(self) -> None:
        if self._broken:
            raise LabelingError(
                f"{self._name} is closed, or cannot be written any more. Nothing that was saved "
                "is lost: start again."
            )
        if _is_at(self._file, self.path):
            return
        try:
            content = _bytes_of(self._file)
            if not os.path.lexists(self.path):
                self._rewrite(content)
                return
            self._broken, aside = True, self._put_aside(content)
        except (OSError, DataError) as error:
            raise LabelingError(f"not saved: {self._name} was deleted, and {error}") from error
        raise LabelingError(
            f"not saved: another file has taken the place of {self._name}. What was saved before "
            f"is in {aside}. Start again."
        )

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
    """Return the lines of a journal, which may be in use; none if it cannot be read."""
    try:
        return _in_order([line for _, line in _whole(Path(path).read_bytes())])[0]
    except OSError:
        return []


def journal_of(answers: str | Path) -> Path:
    """Return the journal of a file of answers, the same one through all links to the file."""
    return Path(f"{os.path.realpath(answers)}{SUFFIX}")


def is_journal(path: Path) -> bool:
    """Return whether a file is a journal, also one that is damaged or of another version."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(1 << 12)
    except OSError:
        return False
    return head.startswith(BEGIN) and b'"format":"semisvm-' in head


def _whole(content: bytes) -> list[tuple[bytes, Line]]:
    """Return the lines whose checksum is right, wherever they are: as bytes, and as events."""
    found = []
    for part in content.split(BEGIN)[1:]:
        text, mark, rest = part.partition(CHECK)
        piece, end = BEGIN + text, rest[:10]
        if end == b'%08x"}' % zlib.crc32(piece):
            with contextlib.suppress(ValueError, RecursionError):
                found.append((piece + mark + end, json.loads(piece + b"}")))
    return found


def _text(line: Line) -> bytes:
    """Return an event as a line, with the checksum of what is before it."""
    text = json.dumps(line, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    content = text.encode()[:-1]
    return content + CHECK + b'%08x"}\n' % zlib.crc32(content)


def _number(line: Line) -> int:
    return int(line["seq"])


def _following(lines: list[Line]) -> int:
    """Return the number after the last one of ordered lines."""
    if not lines:
        return 1
    return 1 + int(lines[-1]["to" if lines[-1]["kind"] == LOST else "seq"])


def _in_order(lines: list[Line]) -> tuple[list[Line], list[tuple[int, int]]]:
    """Return lines by their numbers, each number once, and the numbers that are missing."""
    ordered: list[Line] = []
    gaps = []
    for line in sorted(lines, key=_number):
        number, following = _number(line), _following(ordered)
        if number < following:
            continue
        if number > following:
            gaps.append((following, number - 1))
        ordered.append(line)
    return ordered, gaps


def _is_start(content: bytes, number: int) -> bool:
    """Return whether content may be the beginning of the line with this number."""
    start = BEGIN + b"%d," % number
    begins = content.startswith(start) or start.startswith(content)
    return begins and b"\0" not in content and b"\n" not in content


def _holder(file: int) -> str:
    """Name the process that has the lock."""
    opened: Line = {}
    with contextlib.suppress(OSError):
        for _, line in _whole(_bytes_of(file)):
            opened = line if line["kind"] == OPENED else opened
    if not opened:
        return "another process has this journal open."
    return (
        f"process {opened.get('pid')} ({opened.get('program')}) on {opened.get('host')} has "
        f"this journal open since {opened.get('time')}."
    )


def _is_at(file: int, path: Path) -> bool:
    """Return whether a path leads to the open file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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
