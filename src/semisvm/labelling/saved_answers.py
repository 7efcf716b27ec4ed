"""Answers and where they are kept: a journal, and files of answers and of labelled rows.

The journal is authoritative; the file of answers is written anew, whole or not at all, after
changes. The journal names rows by their key, or by their content, so answers find their rows again
in a data file that was edited or sorted in another way. The labelled file has all rows with their
labels.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from semisvm.labelling.answer_store import (
    CHANGES,
    NONE,
    REMOVE,
    UNDO,
    AnswerStore,
    Event,
    event_of,
    line_of,
)
from semisvm.labelling.journal import Journal, Line, MemoryJournal, journal_of, read_lines
from semisvm.labelling.people import People
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import FILE
from semisvm.tables.answers import CHECK, PICKED, ROW, join_answers, write_answers
from semisvm.tables.errors import DataError
from semisvm.tables.table import MatrixData, Table
from semisvm.tables.writing import write_text
from semisvm.text import counted

COMMENT = "comment"
BY, TIME, WHAT = "semisvm_by", "semisvm_time", "semisvm_what"
"""Columns with whose label it is, when it was given, and what a person did."""
OWN_COMMENT = "semisvm_comment"
"""Column with what a person wrote about a row."""
SETTLED = "settled"
"""What was done with a row on which people differ; without a label it is none of the classes."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def write_labelled(
    file: str | Path | BinaryIO,
    data: Table | MatrixData,
    label: str,
    answers: Mapping[int, str],
    who: Mapping[int, tuple[str, str]] | None = None,
    comments: Mapping[int, str] | None = None,
) -> None:
    """Write all rows with their labels; the file appears whole or not at all.

    Parameters
    ----------
    file : str, Path or binary stream
        The suffix gives the format: ``.tsv``, ``.jsonl``, everything else is CSV. Of a matrix
        only the numbers and labels of rows are written.
    data : Table or MatrixData
    label : str
        Name of the label column, which comes after those of the data.
    answers : mapping
        Row -> label; other rows get a blank.
    who : mapping, optional
        Row -> whose label it is, and when it was given; two more columns, if there are any.
    comments : mapping, optional
        Row -> comment; one more column, if there are any.
    """
    write_lines(file, _lines(data, label, answers, who or {}, comments or {}))


def write_lines(file: str | Path | BinaryIO, lines: Iterable[dict[str, Any]]) -> None:
    """Write lines with the same columns, of which there is one at least."""
    named = isinstance(file, (str, Path))
    suffix = Path(str(file)).suffix.lower() if named else ".csv"
    with write_text(file) as stream:
        if suffix == ".jsonl":
            for line in lines:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            return
        table = csv.writer(stream, delimiter=DELIMITERS.get(suffix, ","), lineterminator="\n")
        for number, line in enumerate(lines):
            if not number:
                table.writerow(line)
            table.writerow(line.values())


def _lines(
    data: Table | MatrixData,
    label: str,
    answers: Mapping[int, str],
    who: Mapping[int, tuple[str, str]],
    comments: Mapping[int, str],
) -> Iterator[dict[str, Any]]:
    columns: dict[str, Any] = {ROW: range(1, len(data) + 1)}
    if isinstance(data, Table):
        columns = {name: data.text(name) for name in data.names}
    name = COMMENT if COMMENT not in columns and label != COMMENT else f"{label} {COMMENT}"
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        more = dict(zip((BY, TIME), who.get(row, ("", "")), strict=True)) if who else {}
        more |= {name: comments.get(row, "")} if comments else {}
        yield {**dict(zip(columns, cells, strict=True)), label: answers.get(row, ""), **more}


DATA, CLASSES, EXPORT, SETUP = "data", "classes", "export", "setup"
"""Kinds of lines that cannot be undone: what names the rows; the classes that are known from the
start; a file of answers that was written; how people work together."""


def unwritten(answers: str | Path) -> int:
    """Count the changes in a journal that came after its file of answers was last written.

    Parameters
    ----------
    answers : str or Path
        The file of answers; 0 if there is no journal beside it.
    """
    lines = read_lines(journal_of(answers))
    written = max((line["state"] for line in lines if line["kind"] == EXPORT), default=0)
    return sum(line["kind"] in (*CHANGES, UNDO) and line["seq"] > written for line in lines)


class SavedAnswers(AnswerStore):
    """The answers of a session, on the disk.

    Parameters
    ----------
    pool : Pool
    classes : iterable of str
    answers : str, Path or None
        The file of answers; the journal is beside it. None keeps nothing.

    Attributes
    ----------
    notes : list of str
        What happened to the data or the files since the last time.
    version : int
        Number of the last change.
    people : People
        Who has a link.
    setup : dict
        How people work together: ``overlap`` and ``port``, as the journal has them.
    """

    def __init__(self, pool: Pool, classes: Iterable[str], answers: str | Path | None) -> None:
        super().__init__(pool.given, classes)
        self.pool = pool
        self.path = None if answers is None else Path(answers)
        self.version = 0
        self._names = pool.identities(pool.key)
        self._journal: Journal | MemoryJournal = MemoryJournal()
        if self.path is not None:
            self._journal = Journal(journal_of(self.path))
        self.people = People(self._journal.append)
        self.setup: dict[str, Any] = {}
        self.notes = list(self._journal.notes)
        lines = self._journal.lines
        try:
            state = self._state_to_compare(lines)
            before = self._replay(lines, state)
            self._keep_classes(lines)
            if self.people.lost:
                self.notes.append(
                    f"{counted(self.people.lost, 'link')} ended, since what revoked one may be "
                    "among the lines that are missing: --people makes new ones."
                )
            if state is not None:
                self._take_file(before)
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
        kept = replace(event, seq=line["seq"], time=line["time"])
        self.apply(kept)
        self.version = kept.seq
        return kept

    def keep_setup(self, **setup: Any) -> None:
        """Keep how people work together."""
        wanted = {**self.setup, **setup}
        if wanted != self.setup:
            self._journal.append({"kind": SETUP, **wanted})
            self.setup = wanted

    @property
    def names(self) -> list[str]:
        """What the rows are called in the journal."""
        return self._names

    def journal_bytes(self) -> bytes:
        """Return the content of the journal."""
        assert self._journal.path is not None
        return self._journal.path.read_bytes()

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _replay(self, lines: Sequence[Line], since: int | None) -> dict[int, set[str | None]]:
        """Make all changes; return the answers that rows had before changes after ``since``."""
        now = self._about_data()
        named: dict[Any, dict[str, int]] = {}
        before: dict[int, set[str | None]] = {}
        scheme, lost = now, set()
        for line in lines:
            if line["kind"] == DATA:
                scheme = line
                continue
            self.add_classes(line["names"] if line["kind"] == CLASSES else ())
            self.people.replay(line)
            if line["kind"] == SETUP:
                self.setup = {name: line[name] for name in ("overlap", "port") if name in line}
            place = (scheme.get("key"), tuple(scheme["columns"]))
            if line.get("rows") and place not in named:
                named[place] = self._rows_by_name(scheme)
            rows = named.get(place, {})
            lost |= {name for name in line.get("rows", []) if name not in rows}
            event = event_of(line, rows)
            if event is not None:
                later = since is not None and event.seq > since
                for row in self.rows_of(event) if later else ():
                    before.setdefault(row, set()).add(self._value(row))
                self.apply(event)
        self.version = max((line["seq"] for line in lines), default=0)
        self._compare(scheme, now, bool(lines), len(lost))
        return before

    def _value(self, row: int) -> str | None:
        mark = self.marks.get(row)
        return None if mark is None or row in self.disputed else mark.value

    def _keep_classes(self, lines: Sequence[Line]) -> None:
        kept = [line["names"] for line in lines if line["kind"] == CLASSES]
        if self.classes and (not kept or kept[-1] != self.classes):
            self._journal.append({"kind": CLASSES, "names": list(self.classes)})

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

    def _state_to_compare(self, lines: Sequence[Line]) -> int | None:
        """Return the number of the last change that the file of answers has for certain.

        None if there is nothing to take: no file, or one of ours as it was written. A file that
        was edited rests on the last one that was written, or on a later one whose line is missing
        because the process was killed.
        """
        if self.path is None or not self.path.exists():
            return None
        written = {line["sha256"]: line["state"] for line in lines if line["kind"] == EXPORT}
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        if digest in written and not self._journal.damaged:
            return None
        return written.get(digest, max(written.values(), default=0))

    def _take_file(self, before: Mapping[int, set[str | None]]) -> None:
        """Take over what was edited in the file of answers, or what the journal has lost of it.

        Parameters
        ----------
        before : mapping
            Row -> answers that it had since the file was written. A file that has one of them is
            only older than the journal.
        """
        assert self.path is not None
        changed: dict[tuple[str, str | None], list[int]] = {}
        try:
            found = self._read_file(self.path)
        except DataError as error:
            if not self._journal.damaged:
                raise
            self.notes.append(f"what the journal has lost was not taken from the answers: {error}")
            return
        for row in range(len(self.pool)):
            value = found.get(row, self.pool.given.get(row))
            if value != self._value(row) and value not in before.get(row, ()):
                kind = REMOVE if value is None else self.kind_of_answer(row)
                changed.setdefault((kind, value), []).append(row)
        for (kind, value), rows in changed.items():
            self.record(Event(0, kind, tuple(rows), value, facts={"reason": FILE}))
        removed = len(changed.pop((REMOVE, None), ()))
        taken = sum(map(len, changed.values()))
        if taken:
            self.notes.append(f"{taken} answers were taken from {self.path}.")
        if removed:
            self.notes.append(
                f"{removed} answers were removed, since they are gone from {self.path}."
            )

    def _read_file(self, path: Path) -> dict[int, str | None]:
        # only the labels of the file, which may differ from those of the data
        bare = replace(self.pool.data, labels=None)
        joined = join_answers(bare, [path], label=self.pool.label, key=self.pool.key)
        assert joined.data.labels is not None
        pairs = enumerate(joined.data.labels.tolist())
        labels = {row: str(value) for row, value in pairs if value is not None}
        return {**dict.fromkeys(joined.removed), **labels}

    def single_lines(self) -> list[dict[str, Any]]:
        """Return a line for each person and row, and for each label that was settled."""
        found = []
        for row in sorted(self.marks):
            marks = [(mark, False) for mark in self.singles(row).values()]
            settled = self.settled(row)
            marks += [] if settled is None else [(settled, True)]
            for mark, is_settled in sorted(marks, key=lambda pair: pair[0].seq):
                done = NONE if mark.is_none else "skipped" if mark.value is None else "answer"
                line = {self.pool.key or ROW: self.pool.name_of(row), self.pool.label: mark.value}
                who = {BY: mark.by, TIME: mark.time, WHAT: SETTLED if is_settled else done}
                seen = "yes" if mark.facts.get("seen_guess") else ""
                note = "" if is_settled else mark.comment
                more = {PICKED: mark.reason, "semisvm_saw_guess": seen, OWN_COMMENT: note}
                check = {} if self.pool.key else {CHECK: self._names[row]}
                found.append({**line, **who, **more, **check})
        return found or [{self.pool.key or ROW: None}]

    def write(
        self,
        answers: Mapping[int, str],
        version: int,
        who: Mapping[int, tuple[str, str]] | None = None,
    ) -> None:
        """Write the file of answers; it appears whole or not at all.

        Parameters
        ----------
        answers : mapping
            Row -> class, as `AnswerStore.answers` returns them.
        version : int
            That of the answers.
        who : mapping, optional
            Row -> whose label it is, and when it was given.
        """
        if self.path is None:
            return
        self._journal.check()  # the file of another session that has its place is left alone
        pool = self.pool
        about: dict[str, Any] = {"label": pool.label, "key": pool.key, "names": self._names}
        if who:
            by, time = ({row: pair[k] for row, pair in who.items()} for k in (0, 1))
            about["more"] = {BY: by, TIME: time}
        content = write_answers(self.path, pool.data, answers, pool.given, **about)
        # after the file is there: without this line the file counts as older than it is, which is
        # harmless, since all of its answers are in the journal
        digest = hashlib.sha256(content).hexdigest()
        self._journal.append({"kind": EXPORT, "sha256": digest, "state": version})
