"""CSV, TSV and JSON lines: tables in files of text.

CSV and TSV files are read by Python's csv module, because it reports line numbers. A program that
opens such a file may run a cell such as ``=HYPERLINK(...)`` as a formula, whoever wrote it. An
apostrophe before such a cell makes it text. It is added and removed so that each cell comes back
as it was; numbers, and signs on their own, are no formulas.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from semisvm.tables.errors import DataError
from semisvm.tables.opening import Options, open_text
from semisvm.tables.table import Table, make_table
from semisvm.text import listing

TRIGGERS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?(\d[\d.,]*|[.,]\d+)(e[+-]?\d+)?%?", re.IGNORECASE)
MARK = "'"


def is_formula(cell: Any) -> bool:
    """Return whether a cell is text that a spreadsheet may run.

    >>> [is_formula(cell) for cell in ("=1+1", "-1", "-", "@SUM(A1)", -1.5)]
    [True, False, False, True, False]
    """
    if not isinstance(cell, str) or cell[:1] not in TRIGGERS or not cell:
        return False
    return any(map(str.isalnum, cell)) and not _is_number(cell)


def _is_number(cell: str) -> bool:
    if NUMBER.fullmatch(cell.strip()):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def escaped(cell: Any) -> Any:
    """Return a cell with an apostrophe before it if it is a formula, or was one before that.

    >>> [escaped(cell) for cell in ("=1+1", "'=1+1", "-1", "it's")]
    ["'=1+1", "''=1+1", '-1', "it's"]
    """
    return MARK + cell if isinstance(cell, str) and is_formula(cell.lstrip(MARK)) else cell


def unescaped(cell: str) -> str:
    """Return the cell that `escaped` was given.

    >>> unescaped("'=1+1"), unescaped("'quoted'")
    ('=1+1', "'quoted'")
    """
    return cell[1:] if cell.startswith(MARK) and is_formula(cell.lstrip(MARK)) else cell


LONGEST_CELL = 1 << 26
"""Characters; a quote that is never closed must not swallow a file larger than memory."""
OTHERS = (";", "\t", "|")
"""What may separate the cells of a CSV file whose header has no comma."""

Row = tuple[int, list[str]]


def read_delimited(path: str | Path, options: Options, delimiter: str) -> Iterator[Table]:
    """Read a CSV or TSV file, ``options.chunk_rows`` rows at a time.

    Parameters
    ----------
    path : str or Path
    options : Options
    delimiter : str
        Used if the options name none; a comma gives way to the semicolons, tabs or bars of a
        header without commas.
    """
    with open_text(path, options.encoding, options.seen) as text:
        first = text.readline()
        if not first.strip():
            raise DataError(_empty_message(text), path)
        given = options.delimiter
        separator = _separator(first, delimiter) if given is None else given
        rows = _rows(chain([first], text), path, separator, options.quotes)
        with _long_cells:
            _, header = next(rows)
        names = column_names(header, path)
        wanted = options.wanted(names, path)
        yield from _tables(rows, names, wanted, path, options)


read_csv = partial(read_delimited, delimiter=",")
read_tsv = partial(read_delimited, delimiter="\t")


def _empty_message(text: Iterable[str]) -> str:
    if any(line.strip() for line in text):
        return "the first line is blank; it must name the columns."
    return "the file is empty."


def _separator(header: str, usual: str) -> str:
    if usual != "," or "," in header:
        return usual
    return next((other for other in OTHERS if other in header), usual)


class _LongCells:
    """Lets the csv module read long cells, in blocks that may overlap in several threads.

    Its limit belongs to the whole process. The first block to begin raises it, the last
    one to end puts it back, unless other code has set it in the meantime.
    """

    def __init__(self) -> None:
        self._lock, self._blocks, self._before = Lock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            limit = csv.field_size_limit()
            if self._blocks == 0:
                self._before = limit
            csv.field_size_limit(max(LONGEST_CELL, limit))
            self._blocks += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0 and csv.field_size_limit() == LONGEST_CELL:
                csv.field_size_limit(self._before)


_long_cells = _LongCells()


def _rows(lines: Iterable[str], path: str | Path, delimiter: str, quotes: bool) -> Iterator[Row]:
    """Yield the line at which each row begins, and its cells, as many as the first has.

    Blank lines are skipped.
    """
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise DataError(f"the delimiter cannot be {delimiter!r}: it must be one character.")
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    begin, header = 1, None
    try:
        for cells in reader:
            if cells:
                header = header or cells
                if len(cells) != len(header):
                    raise _ragged(cells, header, path, begin)
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        raise DataError(_explain(error), path, begin) from error


def _explain(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return 'a quote (") opens here and is never closed. ' + _QUOTE_HINT
    if "field larger than" in text:
        return (
            f'a cell is longer than {LONGEST_CELL:,} characters: probably a quote (") that opens '
            "here is never closed. " + _QUOTE_HINT
        )
    if "expected after" in text:
        return 'text follows a closing quote ("). ' + _QUOTE_HINT
    return f"the row cannot be read ({text})."


_QUOTE_HINT = (
    'Write quotes inside a quoted cell twice (""), or use quotes=False if quotes mean nothing in '
    "this file."
)


def column_names(
    header: list[str], path: str | Path, line: int = 1, word: str = "line"
) -> list[str]:
    """Return the names that the first row of a table gives to its columns.

    A blank name becomes ``column_3`` in the third column. Names must differ.
    """
    names = [name.strip() or f"column_{k}" for k, name in enumerate(header, start=1)]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        names_are = "name" if len(twice) == 1 else "names"
        message = f"the header has the {names_are} {listing(twice)} more than once. Rename columns."
        raise DataError(message, path, line, word=word)
    return names


def _tables(
    rows: Iterator[Row], names: list[str], wanted: list[str], path: str | Path, options: Options
) -> Iterator[Table]:
    any_row = False
    while True:
        lines: list[int] = []
        cells: list[list[str]] = []
        with _long_cells:
            for line, row in islice(rows, options.chunk_rows):
                lines.append(line)
                cells.append(row)
        if not lines:
            break
        columns: dict[str, Any] = dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))
        yield make_table(columns, lines, wanted, path, options)
        any_row = True
    if not any_row:
        raise DataError("there is a header but no row below it.", path)


def _ragged(row: list[str], header: list[str], path: str | Path, line: int) -> DataError:
    if len(row) < len(header):
        detail = f"{listing(header[len(row) :], 3)} missing"
    else:
        detail = f"the first extra cell is {row[len(header)][:40]!r}"
    return DataError(
        f"the row has {len(row)} cells, but the header has {len(header)} ({detail}). Cells that "
        "hold the delimiter or a line break must be quoted.",
        path,
        line,
    )


SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Nothing but such an escape can make half of a character."""

ALWAYS_CELLS = 10_000_000
"""A table of so many cells is made, however few of them are filled."""

CELLS_PER_VALUE = 50
"""And a larger one if a value stands in one of so many cells."""


def read_json_lines(path: str | Path, options: Options) -> Iterator[Table]:
    """Read a JSON lines file, ``options.chunk_rows`` rows at a time.

    A key that a row does not have is a missing cell. Blank lines are skipped.
    """
    with open_text(path, options.encoding, options.seen) as text:
        names = dict.fromkeys((options.columns or ()) if options.absent else ())
        rows = _counted(read_objects(text, path), names, path, options)
        chunk = list(islice(rows, options.chunk_rows))
        if not chunk:
            raise DataError("the file is empty.", path)
        while chunk:
            # a key may be absent from a later piece without being absent from the file
            wanted = options.wanted(list(names), path)
            read = [*wanted, *options.label_columns]
            cells: dict[str, Any] = {name: [row.get(name) for _, row in chunk] for name in read}
            yield make_table(cells, [number for number, _ in chunk], wanted, path, options)
            chunk = list(islice(rows, options.chunk_rows))


def read_objects(lines: Iterable[str], path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of lines that are not blank, with the numbers of the lines."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = parse(line, path, number)
        if not isinstance(row, dict):
            hint = " This is one JSON array; write one object per line." if number == 1 else ""
            what = type(row).__name__
            raise DataError(
                f"a line must hold an object {{...}}, not a {what}.{hint}", path, number
            )
        yield number, row


def parse(text: str, path: str | Path, number: int | None = None) -> Any:
    """Read JSON that is a line of a file, or a whole one if the line has no number."""
    try:
        found = json.loads(text)
        if SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        message = f"{half} is half of a character (a lone surrogate). Correct or remove it."
        raise DataError(message, path, number) from error
    except (ValueError, RecursionError) as error:
        raise _broken(error, text, path, number) from error
    return found


def _broken(
    error: ValueError | RecursionError, line: str, path: str | Path, number: int | None
) -> DataError:
    if isinstance(error, RecursionError):
        return DataError("the object is nested too deeply.", path, number)
    if number == 1 and line.lstrip().startswith("["):
        message = "this is one JSON array, not JSON lines: write one object per line, without [ ]."
        return DataError(message, path, number)
    if isinstance(error, json.JSONDecodeError):
        where = error.lineno if number is None else number
        return DataError(f"this is not JSON ({error.msg}).", path, where, error.colno)
    # Python refuses to read whole numbers of thousands of digits
    return DataError("a number has too many digits.", path, number)


def _counted(
    rows: Iterator[tuple[int, dict[str, Any]]],
    names: dict[str, None],
    path: str | Path,
    options: Options,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Collect the names of the columns, and stop before the table is hardly filled.

    Its cells are all rows times all keys, so the memory for keys that differ from row to
    row would grow with the square of the file.
    """
    n_rows = n_values = 0
    for number, row in rows:
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
        n_rows, n_values = n_rows + 1, n_values + len(row)
        allowed = ALWAYS_CELLS + CELLS_PER_VALUE * n_values
        if options.columns is None and n_rows * len(names) > allowed:
            raise DataError(
                f"up to this line there are {len(names):,} different keys, of which a row has "
                f"{n_values / n_rows:.1f} on average: too sparse for a table. Read some columns "
                "only (columns=), or write the data as svmlight or as a sparse .npz.",
                path,
                number,
            )
        yield number, row
