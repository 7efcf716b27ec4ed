"""Answers and where they are kept: a journal, and a file of answers for other programs.

The journal is the truth; the file of answers is written anew, whole or not at all, after changes.
The journal names rows by their key, or by their content, so answers find their rows again in a
data file that was edited or sorted in another way.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from semisvm.io import DataError, join_answers
from semisvm.io.answers import write_answers
from semisvm.io.table import Table
from semisvm.labelling.book import ANSWER, CHANGES, UNDO, Book, Event, event_of, line_of
from semisvm.labelling.journal import Journal, Line, MemoryJournal, read_lines
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import FILE

DATA, CLASSES, EXPORT = "data", "classes", "export"
"""Kinds of lines that nobody can undo: what names the rows; the classes that are known from the
start; a file of answers that was written."""
SUFFIX = ".journal"


def unwritten(answers: str | Path) -> int:
    """Count the changes in a journal that came after its file of answers was last written.

    Parameters
    ----------
    answers : str or Path
        The file of answers; 0 if there is no journal beside it.
    """
    kinds = [line["kind"] for line in read_lines(f"{answers}{SUFFIX}")]
    last = max((k for k, kind in enumerate(kinds) if kind == EXPORT), default=-1)
    return sum(kind in (*CHANGES, UNDO) for kind in kinds[last + 1 :])


class Store:
    """The answers of a sitting, on the disk.

    Parameters
    ----------
    pool : Pool
    classes : iterable of str
    answers : str, Path or None
        The file of answers; the journal is beside it. None keeps nothing.

    Attributes
    ----------
    book : Book
    notes : list of str
        What happened to the data or the files since the last time.
    version : int
        Rises with every change.
    """

    def __init__(self, pool: Pool, classes: Iterable[str], answers: str | Path | None) -> None:
        self.pool = pool
        self.book = Book(pool.given, classes)
        self.path = None if answers is None else Path(answers)
        self.version = 0
        self._names = pool.identities(pool.key)
        self._journal: Journal | MemoryJournal = MemoryJournal()
        if self.path is not None:
            self._journal = Journal(f"{self.path}{SUFFIX}")
        self.notes = list(self._journal.notes)
        try:
            self._replay(self._journal.lines)
            self._keep_classes(self._journal.lines)
            self._take_file(self._journal.lines)
        except BaseException:
            self._journal.close()
            raise

    @property
    def is_kept(self) -> bool:
        """Whether answers are on the disk."""
        return self.path is not None

    def record(self, event: Event) -> Event:
        """Keep a change, and make it; nothing changes if it cannot be kept."""
        line = self._journal.append(line_of(event, [self._names[row] for row in event.rows]))
        facts = (event.kind, event.rows, event.value, event.of, event.facts)
        kept = Event(line["seq"], *facts)
        self.book.apply(kept)
        self.version += 1
        return kept

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _replay(self, lines: Sequence[Line]) -> None:
        now = self._about_data()
        named: dict[Any, dict[str, int]] = {}
        scheme, lost = now, set()
        for line in lines:
            if line["kind"] == DATA:
                scheme = line
                continue
            self.book.know(line["names"] if line["kind"] == CLASSES else ())
            place = (scheme.get("key"), tuple(scheme["columns"]))
            if line.get("rows") and place not in named:
                named[place] = self._rows_by_name(scheme)
            rows = named.get(place, {})
            lost |= {name for name in line.get("rows", []) if name not in rows}
            event = event_of(line, rows)
            if event is not None:
                self.book.apply(event)
        self.version = max((line["seq"] for line in lines), default=0)
        self._compare(scheme, now, bool(lines), len(lost))

    def _keep_classes(self, lines: Sequence[Line]) -> None:
        kept = [line["names"] for line in lines if line["kind"] == CLASSES]
        if self.book.classes and (not kept or kept[-1] != self.book.classes):
            self._journal.append({"kind": CLASSES, "names": list(self.book.classes)})

    def _about_data(self) -> Line:
        checksum = hashlib.sha256("\n".join(self._names).encode("utf-8", "surrogatepass"))
        return {
            "kind": DATA,
            "path": self.pool.data.path,
            "rows": len(self.pool),
            "key": self.pool.key,
            "columns": self.pool.columns,
            "checksum": checksum.hexdigest(),
        }

    def _rows_by_name(self, scheme: Line) -> dict[str, int]:
        """Return identity -> row, by the key or the columns that were used at the time."""
        data, key, columns = self.pool.data, scheme.get("key"), scheme["columns"]
        if isinstance(data, Table):
            gone = [name for name in ([key] if key else columns) if name not in data.columns]
            if gone:
                raise DataError(
                    f"the answers in {self._journal.path} belong to rows that were known by "
                    f"columns which are gone: {', '.join(map(repr, gone))}. Put them back, or "
                    "name another file of answers.",
                    data.path,
                )
        names = self.pool.identities(key, columns)
        return {name: row for row, name in enumerate(names)}

    def _compare(self, before: Line, now: Line, had_lines: bool, n_lost: int) -> None:
        same = all(before.get(name) == now[name] for name in ("key", "columns", "checksum"))
        if same and had_lines and before is not now:
            return
        # with another key than before, the names of all rows differ in any case
        if had_lines and before is not now and (n_lost or before.get("key") == now["key"]):
            lost = "All answers found their rows."
            if n_lost:
                lost = (
                    f"{n_lost} rows with answers are no longer there, or were edited; their "
                    "answers stay in the journal but are not used."
                )
            self.notes.append(f"{now['path']} has changed since the last time. {lost}")
        self._journal.append(now)

    def _take_file(self, lines: Sequence[Line]) -> None:
        """Take labels from a file of answers that somebody else has written or edited."""
        if self.path is None or not self.path.exists():
            return
        ours = {line["sha256"] for line in lines if line["kind"] == EXPORT}
        if hashlib.sha256(self.path.read_bytes()).hexdigest() in ours:
            return
        found = self._read_file(self.path)
        told = self.book.answers()
        changed: dict[str, list[int]] = {}
        for row, value in found.items():
            if told.get(row) != value:
                changed.setdefault(value, []).append(row)
        for value, rows in changed.items():
            facts = {"reason": FILE}
            self.record(Event(0, ANSWER, tuple(rows), value, facts=facts))
        n = sum(map(len, changed.values()))
        if n:
            self.notes.append(f"{n} answers were taken from {self.path}.")

    def _read_file(self, path: Path) -> dict[int, str]:
        # only the labels of the file, which may differ from those of the data
        bare = replace(self.pool.data, labels=None)
        joined = join_answers(bare, [path], label=self.pool.label, key=self.pool.key)
        assert joined.data.labels is not None
        pairs = enumerate(joined.data.labels.tolist())
        return {row: str(value) for row, value in pairs if value is not None}

    def write(self, answers: Mapping[int, str]) -> None:
        """Write the file of answers; it appears whole or not at all.

        Parameters
        ----------
        answers : mapping
            Row -> class, as `Book.answers` returns them.
        """
        if self.path is None:
            return

        def tell(content: bytes) -> None:
            # before the file is there, so that one of ours is always known
            digest = hashlib.sha256(content).hexdigest()
            self._journal.append({"kind": EXPORT, "sha256": digest})

        pool = self.pool
        about: dict[str, Any] = {"label": pool.label, "key": pool.key, "names": self._names}
        write_answers(self.path, pool.data, answers, pool.given, **about, tell=tell)
