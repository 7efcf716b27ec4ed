"""Labels that were filled in, joined to the rows they belong to; and rows as tasks of other tools.

`join_answers` reads back what those tools export.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.tables.annotation_tools import TASK, make_tasks, read_tasks
from semisvm.tables.errors import DataError
from semisvm.tables.formats import TABLES
from semisvm.tables.labels import Labels, about_missing, text_labels
from semisvm.tables.opening import Options
from semisvm.tables.reading import find_format, read
from semisvm.tables.row_hashes import counted, row_hashes
from semisvm.tables.row_vectors import without_vectors
from semisvm.tables.table import MatrixData, Table, as_number
from semisvm.tables.text_tables import escaped, unescaped
from semisvm.tables.writing import write_bytes
from semisvm.text import listing

ROW = "semisvm_row"
"""Column of a file to be filled in: number of the row in the data, from 1."""

LABEL = "label"
"""Column for the labels where the data have none."""

CHECK = "semisvm_check"
"""Column with a hash of the row in the data: a row that has moved is found by it."""

BEFORE = "semisvm_before"
"""Column with the label that the data had, for labels that were corrected or removed."""

PICKED = "semisvm_picked"
"""Column with the way in which a row was chosen to be labelled, as `RANDOM`."""

RANDOM = "random"

CLOSE = 1e-9
"""Relative distance of numbers that spreadsheets write in another way."""


@dataclass(frozen=True)
class Joined:
    """Data with the labels of another file.

    Attributes
    ----------
    data : Table or MatrixData
    notes : list of str
        What is still to be filled in.
    removed : list of int
        Rows whose label in the data was replaced by none.
    picked : dict of str
        Row -> the way in which it was chosen, as far as the files have a record of that.
    """

    data: Table | MatrixData
    notes: list[str]
    removed: list[int]
    picked: dict[int, str] = field(default_factory=dict)


def join_answers(
    data: Table | MatrixData,
    paths: Sequence[str | Path],
    *,
    label: str | None = None,
    key: str | None = None,
    unlabeled: str | None = None,
    na_is_class: bool = False,
) -> Joined:
    """Add labels from files that have a line for some of the rows.

    A line belongs to the row whose number is in its column ``semisvm_row``. The columns that
    both files have must agree, so that labels never go to other rows after the data have
    changed. If there is a column ``semisvm_check``, as in the answers of a session, a row that has
    moved is found by its content. With ``key`` a line belongs to the row with the same key. Blank
    labels change nothing; a label that disagrees with another one is an error, unless the column
    ``semisvm_before`` marks that it replaces it.

    Parameters
    ----------
    data : Table or MatrixData
    paths : sequence of str or Path
        Files of tables; or exports of Label Studio, Argilla (``.json``), Prodigy or doccano
        (``.jsonl``), whose rows are found by the columns that they share with the data, if they
        have neither number nor key.
    label : str, optional
        Name of their label column; "label" by default.
    key : str, optional
        Column of both files whose values identify the rows.
    unlabeled : str, optional
        Marker of rows without a label, besides blank.
    na_is_class : bool, default=False
        Whether words of missing values are classes, as for `read`.

    Raises
    ------
    DataError
        With what is wrong, in which file, line and column.
    """
    cells: list[Any] = [None] * len(data) if data.labels is None else data.labels.tolist()
    sources: dict[int, str] = {}
    picked: dict[int, str] = {}
    notes, removed = [], []
    for path in paths:
        answers = _read(path, label or LABEL, unlabeled, na_is_class)
        given = _given(answers)
        rows = find_rows(answers, data, key)
        replaced = answers.levels(BEFORE) if BEFORE in answers.columns else [""] * len(rows)
        if PICKED in answers.columns:
            picked |= zip(rows, answers.levels(PICKED), strict=True)
        for line, row in enumerate(rows):
            if replaced[line] and row not in sources and str(cells[row]) == replaced[line]:
                cells[row] = None
            if replaced[line] and given[line] is None:
                removed.append(row)
            _put(cells, sources, row, given[line], answers, line, data)
        blank = sum(value is None and not old for value, old in zip(given, replaced, strict=True))
        if blank:
            notes.append(f"{blank} of the {len(given)} rows of {path} have no label yet.")
        notes += [f"{path}: {note}" for note in about_missing(answers.missing_words)]
    return Joined(replace(data, labels=text_labels(cells)), notes, removed, picked)


def _read(path: str | Path, label: str, unlabeled: str | None, na_is_class: bool) -> Table:
    tasks = read_tasks(path, label)
    if tasks is not None:
        table, cells = tasks
        return table.labelled(cells, Options(unlabeled=unlabeled, na_is_class=na_is_class))
    kind = find_format(path)
    if kind not in TABLES:
        raise DataError(f"labels are joined from tables ({', '.join(TABLES)}), not {kind}.", path)
    try:
        found = read(path, label=escaped(label), unlabeled=unlabeled, na_is_class=na_is_class)
    except DataError:
        if escaped(label) == label:
            raise
        found = read(path, label=label, unlabeled=unlabeled, na_is_class=na_is_class)
    assert isinstance(found, Table)
    return replace(found, columns={unescaped(n): cells for n, cells in found.columns.items()})


def _given(answers: Table) -> Labels:
    assert answers.labels is not None
    labels = answers.labels.copy()
    labels[:] = [unescaped(v) if isinstance(v, str) else v for v in labels.tolist()]
    return labels


def find_rows(answers: Table, data: Table | MatrixData, key: str | None) -> list[int]:
    """Return the rows of the data that answers belong to, from 0."""
    return _rows_by_number(answers, data) if key is None else _rows_by_key(answers, data, key)


def _rows_by_number(answers: Table, data: Table | MatrixData) -> list[int]:
    if CHECK in answers.columns and (isinstance(data, MatrixData) or CHECK not in data.columns):
        return _rows_by_content(answers, data)
    if ROW not in answers.columns and answers.word == TASK:
        return _rows_by_cells(answers, data)
    if ROW not in answers.columns:
        raise DataError(
            f"there is no column {ROW!r}, which 'semisvm select' writes: name a column that "
            "identifies the rows in both files with key=.",
            answers.path,
        )
    numbers = answers.numbers(ROW)
    wrong = ~np.isin(numbers, np.arange(1, len(data) + 1))
    if wrong.any():
        line = int(np.argmax(wrong))
        raise answers.error(
            f"{answers.column(ROW)[line]!r} is not a row of {data.path}, which has {len(data)} "
            "rows.",
            line,
            ROW,
        )
    rows = (numbers.astype(np.intp) - 1).tolist()
    if isinstance(data, Table):
        _check_unchanged(answers, data, rows)
    return rows


def _rows_by_content(answers: Table, data: Table | MatrixData) -> list[int]:
    places = {name: row for row, name in enumerate(counted(row_hashes(data)))}
    rows = []
    for line, name in enumerate(answers.levels(CHECK)):
        if name not in places:
            raise answers.error(
                f"{data.path} has no row with this content: it was edited or removed, or columns "
                "were added. Join by a column that identifies the rows, with key=.",
                line,
                CHECK,
            )
        rows.append(places[name])
    return rows


def _rows_by_cells(answers: Table, data: Table | MatrixData) -> list[int]:
    """Find the rows of tasks of other tools by the columns that both have."""
    shared = [name for name in answers.names if isinstance(data, Table) and name in data.columns]
    if not shared or isinstance(data, MatrixData):
        raise DataError(
            f"the tasks have no column of {data.path}, by which to find their rows: name a column "
            "that identifies the rows in both files with key=.",
            answers.path,
        )
    places: dict[tuple[str, ...], list[int]] = {}
    for row, cells in enumerate(_squeezed(data, shared)):
        places.setdefault(cells, []).append(row)
    rows = []
    for line, cells in enumerate(_squeezed(answers, shared)):
        found = places.get(cells, [])
        if len(found) != 1:
            raise answers.error(
                f"{data.path} has {len(found) or 'no'} rows like this in {listing(shared)}, and "
                "one is needed: name a column that identifies the rows in both files with key=.",
                line,
            )
        rows += found
    return rows


def _squeezed(table: Table, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of rows as text without superfluous spaces."""
    texts = [[" ".join(cell.split()) for cell in table.text(name)] for name in names]
    return zip(*texts, strict=True)


def _check_unchanged(answers: Table, data: Table, rows: list[int]) -> None:
    shown = answers.without([name for name in answers.names if name not in data.columns])
    there = data.without([name for name in data.names if name not in shown.columns]).take(rows)
    for name in shown.names:
        pairs = zip(shown.text(name), there.text(name), strict=True)
        for line, (here, before) in enumerate(pairs):
            if not same_cell(here, before) and not same_cell(unescaped(here), before):
                raise answers.error(
                    f"this cell differs from that of row {rows[line] + 1} of {data.path}. If the "
                    "data have changed, select rows again, or join by a column that "
                    "identifies them, with key=; if a program has written the cell in another way, "
                    "delete the column here.",
                    line,
                    name,
                )


def same_cell(a: str, b: str) -> bool:
    """Return whether two cells are equal, up to spaces and the form of numbers."""
    if a.split() == b.split():
        return True
    x, y = as_number(a), as_number(b)
    return x is not None and y is not None and bool(np.isclose(x, y, CLOSE, 0.0, equal_nan=True))


def _rows_by_key(answers: Table, data: Table | MatrixData, key: str) -> list[int]:
    if not isinstance(data, Table):
        raise DataError("a matrix has no key column; leave out key=.", data.path)
    keys = data.levels(key)
    places = {value: row for row, value in enumerate(keys)}
    counts = Counter(keys)
    rows = []
    for line, written in enumerate(answers.levels(key)):
        value = unescaped(written).strip()
        if value != written and written in places and value in places:
            raise answers.error(
                f"{written!r} and {value!r} are both keys of {data.path}, and it is not clear "
                "which is meant.",
                line,
                key,
            )
        value = value if value in places else written
        if value not in places:
            raise answers.error(f"{data.path} has no row with the key {value!r}.", line, key)
        if counts[value] > 1:
            raise answers.error(
                f"{counts[value]} rows of {data.path} have the key {value!r}; a key must be "
                "unique.",
                line,
                key,
            )
        rows.append(places[value])
    return rows


def _put(
    cells: list[Any],
    sources: dict[int, str],
    row: int,
    value: Any,
    answers: Table,
    line: int,
    data: Table | MatrixData,
) -> None:
    """Write a label where there is none, or the same one."""
    if value is None:
        return
    before = cells[row]
    if before is not None and str(before) != str(value):
        source = sources.get(row, f"row {row + 1} of {data.path}")
        raise answers.error(f"the label {value!r} disagrees with {before!r} of {source}.", line)
    number = line + 1 if answers.lines is None else int(answers.lines[line])
    cells[row] = value
    sources.setdefault(row, f"{answers.path}, {answers.word} {number}")


def check_columns(data: Table | MatrixData, label: str | None, key: str | None) -> None:
    """Refuse data whose columns are in the way of those of a file to be filled in."""
    if isinstance(data, MatrixData):
        if key is not None:
            raise DataError("a matrix has no key column; leave out key=.", data.path)
        return
    if label is None and LABEL in data.columns:
        raise DataError(
            f"there is a column {LABEL!r}: if it holds the labels, use label={LABEL!r}; rename it "
            "otherwise.",
            data.path,
        )
    if key is None and ROW in data.columns:
        raise DataError(
            f"there is a column {ROW!r} already, so row numbers cannot be written: name a key "
            "column with key=.",
            data.path,
        )
    if key is not None:
        _check_key(data, key)


def _check_key(data: Table, key: str) -> None:
    seen: set[str] = set()
    for row, value in enumerate(data.levels(key)):
        if not value or value in seen:
            wrong = f"the key {value!r} occurs more than once" if value else "it is blank"
            raise data.error(f"a key must be unique, but {wrong}.", row, key)
        seen.add(value)


def to_fill_in(
    data: Table | MatrixData,
    rows: Sequence[int],
    *,
    label: str | None = None,
    key: str | None = None,
    keep: Sequence[str] | None = None,
    picked: str | None = None,
) -> list[dict[str, Any]]:
    """Return the lines of a file to fill in, which `join_answers` reads back.

    Parameters
    ----------
    data : Table or MatrixData
    rows : sequence of int
        From 0.
    label : str, optional
        Name of the empty label column; "label" by default.
    key : str, optional
        Column that identifies the rows; by default they are counted.
    keep : sequence of str, optional
        Columns to show; all by default.
    picked : str, optional
        The way in which the rows were chosen, to be recorded.
    """
    columns: dict[str, list[Any]] = {}
    table = without_vectors(data.take(rows)) if isinstance(data, Table) else Table({})
    if key is None:
        columns[ROW] = [int(row) + 1 for row in rows]
    else:
        columns[key] = table.text(key)
    columns[label or LABEL] = [""] * len(rows)
    for name in table.names if keep is None else keep:
        columns.setdefault(name, table.text(name))
    if picked is not None:
        columns.setdefault(PICKED, [picked] * len(rows))
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def write_answers(
    path: str | Path,
    data: Table | MatrixData,
    answers: Mapping[int, str],
    given: Mapping[int, str],
    *,
    label: str | None = None,
    key: str | None = None,
    names: Sequence[str] | None = None,
    more: Mapping[str, Mapping[int, str]] | None = None,
) -> bytes:
    """Write a CSV file of answers, which `join_answers` reads back; return its content.

    Parameters
    ----------
    path : str or Path
    data : Table or MatrixData
    answers : mapping
        Row -> label.
    given : mapping
        Row -> label in the data; those that are the same in ``answers`` are left out, and what
        became of the others is written.
    label : str, optional
        Name of the label column; "label" by default.
    key : str, optional
        Column that identifies the rows; by default they are counted, and a hash of their
        content is written.
    names : sequence of str, optional
        The keys, or the hashes of the content, of all rows, if they are known.
    more : mapping, optional
        Further columns, by name: row -> cell.
    """
    if names is None:
        names = data.levels(key) if key else counted(row_hashes(data))  # type: ignore[union-attr]
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    changed = {row: answers.get(row, "") for row in {**given, **answers}}
    changed = {row: value for row, value in changed.items() if given.get(row) != value}
    replaces = any(row in given for row in changed)
    head = [escaped(key or ROW), escaped(label or LABEL)]
    further = more or {}
    table.writerow([*head, *([] if key else [CHECK]), *([BEFORE] if replaces else []), *further])
    for row, value in sorted(changed.items()):
        line = [escaped(names[row]) if key else row + 1, escaped(value)]
        line += [] if key else [names[row]]
        line += [given.get(row, "")] if replaces else []
        table.writerow([*line, *(escaped(cells.get(row, "")) for cells in further.values())])
    content = text.getvalue().encode("utf-8", "surrogatepass")
    with write_bytes(path) as stream:
        stream.write(content)
    return content


def to_tasks(
    data: Table | MatrixData,
    rows: Sequence[int],
    tool: str,
    text: str,
    *,
    key: str | None = None,
    keep: Sequence[str] | None = None,
    classes: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return rows as tasks of Label Studio or Prodigy, which `join_answers` reads back.

    Labels that are there go with them.

    Parameters
    ----------
    data : Table or MatrixData
    rows : sequence of int
        From 0.
    tool : {"label-studio", "prodigy"}
    text : str
        Column with the text that is to be read.
    key : str, optional
        Column that identifies the rows; by default they are counted, and a hash of their
        content is written.
    keep : sequence of str, optional
        Columns to show besides the text; all by default.
    classes : sequence of str
        Those to choose from.
    """
    if isinstance(data, MatrixData):
        raise DataError("tasks are made of tables, and this is a matrix.", data.path)
    table = without_vectors(data.take(rows))
    names = table.names if keep is None else [*keep, text, *([] if key is None else [key])]
    columns = {name: table.column(name) for name in dict.fromkeys(names)}
    if key is None:
        hashes = counted(row_hashes(data))
        columns |= {ROW: [int(row) + 1 for row in rows], CHECK: [hashes[row] for row in rows]}
    labels = [None] * len(rows) if table.labels is None else table.labels.tolist()
    return make_tasks(replace(table, columns=columns), labels, tool, text, classes)
