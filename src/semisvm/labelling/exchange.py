"""Answers from and for other tools, and a session as one file."""

import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from semisvm.labelling.answer_store import ANSWER, NONE, SETTLE, SKIP, Event, class_name, said
from semisvm.labelling.journal import journal_of
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import FILE, Imported, LabelingError
from semisvm.labelling.saved_answers import BY, SETTLED, TIME, WHAT, SavedAnswers
from semisvm.tables.annotation_tools import (
    SUFFIXES,
    TOOLS,
    ToolAnswer,
    make_tasks,
    read_tool_answers,
)
from semisvm.tables.answers import CHECK, ROW, find_rows
from semisvm.tables.errors import DataError
from semisvm.tables.reading import read
from semisvm.tables.row_vectors import text_columns, without_vectors
from semisvm.tables.table import MatrixData, Table
from semisvm.tables.writing import write_bytes, write_text
from semisvm.text import listing

ABOUT, DATA, JOURNAL = "session.json", "data", "answers.journal"
"""Members of a file of a session."""
FORMAT, VERSION = "semisvm-session", 1


class Exchange:
    """What a session takes from, and writes for, other tools and other machines."""

    _lock: Any
    _pool: Pool
    _store: SavedAnswers
    _record: Callable[[Event], Event]
    save_answers: Callable[[], None]

    def import_answers(self, path: str | Path, *, by: str | None = None) -> Imported:
        """Take over answers from a file.

        Answers that are here already stay: of one person and row, the file has nothing newer for
        certain.

        Parameters
        ----------
        path : str or Path
            An export of Label Studio (JSON), Prodigy (JSONL), doccano (JSONL) or Argilla (JSON or
            JSONL); or a table with a label column and the key or the columns of the rows, as
            `export_single_answers` writes it.
        by : str, optional
            Whose answers they are, where the file does not say so.
        """
        rows, answers = self._read(path)
        wanted: dict[tuple[str, str | None, str | None], list[int]] = {}
        same = differ = 0
        with self._lock:
            for row, given in zip(rows, answers, strict=True):
                for answer in given:
                    value, who = class_name(str(answer.value)), answer.by or by
                    if answer.is_truth:
                        there = self._store.settled(row)
                    else:
                        there = self._store.mark_of(row, who)
                    before = None if there is None else said(there)
                    if there is None or before is None or (not there.seq and who):
                        is_none = value == NONE and NONE not in self._store.classes
                        kind = SETTLE if answer.is_truth else SKIP if is_none else ANSWER
                        about = (kind, None if is_none else value, who)
                        wanted.setdefault(about, []).append(row)
                    elif before == value:
                        same += 1
                    else:
                        differ += 1
            about_file = {"reason": FILE, "from": Path(path).name}
            taken = 0
            for (kind, label, who), found in sorted(wanted.items(), key=lambda item: item[0][0]):
                some = tuple(dict.fromkeys(found))
                facts = about_file | ({"none": True} if label is None else {})
                self._record(Event(0, kind, some, label, facts=facts, by=who))
                taken += len(some)
        return Imported(taken, same, differ)

    def _read(self, path: str | Path) -> tuple[list[int], list[list[ToolAnswer]]]:
        pool = self._pool
        found = read_tool_answers(path, pool.label)
        if found is None:
            found = self._read_table(path)
        table, answers = found
        return find_rows(table, replace(pool.data, labels=None), pool.key), answers

    def _read_table(self, path: str | Path) -> tuple[Table, list[list[ToolAnswer]]]:
        found = read(path, label=self._pool.label)
        if not isinstance(found, Table) or found.labels is None:
            raise DataError(f"answers are in a table with a column {self._pool.label!r}.", path)
        n = len(found)
        by, time, what = (
            found.levels(name) if name in found.columns else [""] * n for name in (BY, TIME, WHAT)
        )
        answers: list[list[ToolAnswer]] = []
        for k, value in enumerate(found.labels.tolist()):
            is_truth = what[k] == SETTLED
            if value is None and (is_truth or what[k] == NONE):
                value = NONE
            one = ToolAnswer(value, by[k] or None, time[k] or None, is_truth)
            answers.append([] if value is None else [one])
        return found, answers

    def export_tasks(self, file: str | Path | BinaryIO, tool: str) -> None:
        """Write the rows with an answer for another tool, with who gave it and when.

        Parameters
        ----------
        file : str, Path or binary stream
        tool : {"label-studio", "prodigy", "doccano", "argilla"}
            Label Studio and Argilla get the answers of all people, Prodigy and doccano the labels.
        """
        if tool not in TOOLS:
            raise LabelingError(f"tool must be one of {', '.join(TOOLS)}, not {tool!r}.")
        if isinstance(self._pool.data, MatrixData):
            raise LabelingError("Tasks are made of tables, and this is a matrix.")
        with self._lock:
            store, names = self._store, self._store.names
            rows = sorted(row for row, mark in store.marks.items() if mark.value is not None)
            labels = store.answers()
            answers = [self._answers_of(row) for row in rows]
        table = without_vectors(self._pool.data.take(rows))
        columns = dict(table.columns)
        if self._pool.key is None:
            columns |= {ROW: [row + 1 for row in rows], CHECK: [names[row] for row in rows]}
        texts = [name for name, kind in self._pool.kinds.items() if kind == "text"]
        text = next(iter(texts or text_columns(self._pool.data) or table.names))
        given = [labels.get(row) for row in rows]
        shown = replace(table, columns=columns)
        tasks = make_tasks(shown, given, tool, text, list(store.classes), answers)
        lines = [json.dumps(task, ensure_ascii=True) for task in tasks]
        with write_text(file) as stream:
            if SUFFIXES[tool] == ".json":
                stream.write("[\n" + ",\n".join(lines) + "\n]\n")
            else:
                stream.writelines(f"{line}\n" for line in lines)

    def _answers_of(self, row: int) -> list[ToolAnswer]:
        found = [
            ToolAnswer(mark.value, by, mark.time)
            for by, mark in self._store.singles(row).items()
            if mark.value is not None
        ]
        settled = self._store.settled(row)
        if settled is not None:
            found.append(ToolAnswer(settled.value, settled.by, settled.time, True))
        return found

    def pack(self, file: str | Path | BinaryIO, options: Mapping[str, Any] | None = None) -> None:
        """Write the session as one file, with its data, to go on with it on another machine.

        Pictures that the data name by their path are not in it. Links stay valid.

        Parameters
        ----------
        file : str, Path or binary stream
        options : mapping, optional
            What `unpack` is to return besides: how the session was opened.
        """
        data = self._pool.data.path
        if not self._store.is_kept or data is None or not Path(data).is_file():
            raise LabelingError("A session can be packed if its data and its answers are in files.")
        known = {"label": self._pool.label, "key": self._pool.key, **(options or {})}
        about = {"format": FORMAT, "version": VERSION, "data": Path(data).name, "options": known}
        with (
            write_bytes(file) as stream,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as kept,
        ):
            kept.writestr(ABOUT, json.dumps(about))
            kept.write(data, f"{DATA}/{Path(data).name}")
            with self._lock:
                kept.writestr(JOURNAL, self._store.journal_bytes())


def unpack(file: str | Path, folder: str | Path | None = None) -> tuple[Path, dict[str, Any]]:
    """Take a packed session apart, to go on with it by `LabelingSession.open`.

    Parameters
    ----------
    file : str or Path
    folder : str or Path, optional
        Where the data and the journal are put; by default beside the file.

    Returns
    -------
    data, options
        The path of the data, and how the session was opened.
    """
    place = Path(file).parent if folder is None else Path(folder)
    try:
        with zipfile.ZipFile(file) as packed:
            about = json.loads(packed.read(ABOUT))
            name = str(about["data"])
            if about["format"] != FORMAT or PurePosixPath(name).name != name or {*name} & {*"\\:"}:
                raise ValueError
            if about["version"] > VERSION:
                raise DataError("this session is of a newer version of semisvm.", file)
            data = place / name
            journal = journal_of(data.with_suffix(".answers.csv"))
            members = {data: f"{DATA}/{name}", journal: JOURNAL}
            there = [str(path) for path in members if path.exists()]
            if there:
                raise DataError(
                    f"{listing(there)} would be written over. If this session was taken apart "
                    f"here, go on with {data} itself; otherwise move it into another folder.",
                    file,
                )
            place.mkdir(parents=True, exist_ok=True)
            for path, member in members.items():
                with packed.open(member) as source, write_bytes(path) as target:
                    shutil.copyfileobj(source, target)
            return data, dict(about["options"])
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("this is not a packed labelling session.", file) from error


def is_packed(path: str | Path) -> bool:
    """Return whether a file is a packed session."""
    try:
        with zipfile.ZipFile(path) as packed:
            return ABOUT in packed.namelist() and JOURNAL in packed.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
