"""CSV and TSV files, by the csv module of Python, which knows where it is."""

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from semisvm.io.errors import DataError
from semisvm.io.labels import text_labels
from semisvm.io.opening import open_text
from semisvm.io.options import Options
from semisvm.io.table import Table
from semisvm.naming import listing

LONGEST_CELL = 1 << 26
"""Characters; a quote that is never closed must not swallow a file larger than memory."""

Row = tuple[int, list[str]]


def read_delimited(path: str | Path, options: Options, delimiter: str) -> Iterator[Table]:
    """Read a CSV or TSV file, ``options.chunk_rows`` rows at a time.

    Parameters
    ----------
    path : str or Path
    options : Options
    delimiter : str
        Used if the options name none; a comma gives way to the semicolons of a header
        without commas.
    """
    with open_text(path, options.encoding) as text, _long_cells():
        first = text.readline()
        if not first.strip():
            raise DataError(_empty_message(text), path)
        separator = options.delimiter or _separator(first, delimiter)
        rows = _rows(chain([first], text), path, separator, options.quotes)
        _, header = next(rows)
        names = _names(header, path)
        wanted = options.wanted(names, path)
        yield from _tables(rows, names, wanted, path, options)


def _empty_message(text: Iterable[str]) -> str:
    if any(line.strip() for line in text):
        return "the first line is blank; it must name the columns."
    return "the file is empty."


def _separator(header: str, usual: str) -> str:
    return ";" if usual == "," and "," not in header and ";" in header else usual


@contextmanager
def _long_cells() -> Iterator[None]:
    # the limit belongs to the whole process, so it is put back
    before = csv.field_size_limit(min(LONGEST_CELL, sys.maxsize))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(lines: Iterable[str], path: str | Path, delimiter: str, quotes: bool) -> Iterator[Row]:
    """Give the line at which each row begins, and its cells; blank lines are skipped."""
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    try:
        reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    except TypeError as error:
        raise DataError(f"the delimiter must be one character, not {delimiter!r}.") from error
    begin = 1
    try:
        for cells in reader:
            if cells:
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
    'Write quotes inside a quoted cell twice (""), or say quotes=False (--no-quotes) if quotes '
    "mean nothing in this file."
)


def _names(header: list[str], path: str | Path) -> list[str]:
    names = [name.strip() or f"column_{k}" for k, name in enumerate(header, start=1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the header has the names {listing(twice)} twice.", path, 1)
    return names


def _tables(
    rows: Iterator[Row], names: list[str], wanted: list[str], path: str | Path, options: Options
) -> Iterator[Table]:
    any_row = False
    lines: list[int] = []
    cells: list[list[str]] = []
    for line, row in rows:
        if len(row) != len(names):
            raise _ragged(row, names, path, line)
        lines.append(line)
        cells.append(row)
        if options.chunk_rows and len(cells) == options.chunk_rows:
            yield _table(lines, cells, names, wanted, path, options)
            any_row, lines, cells = True, [], []
    if cells:
        yield _table(lines, cells, names, wanted, path, options)
    elif not any_row:
        raise DataError("there is a header but no row below it.", path)


def _ragged(row: list[str], names: list[str], path: str | Path, line: int) -> DataError:
    if len(row) < len(names):
        detail = f"{listing(names[len(row) :], 3)} missing"
    else:
        detail = f"the first one too many is {row[len(names)][:40]!r}"
    return DataError(
        f"the row has {len(row)} cells, but the header has {len(names)} ({detail}). Cells that "
        "hold the delimiter or a line break must be quoted.",
        path,
        line,
    )


def _table(
    lines: list[int],
    rows: list[list[str]],
    names: list[str],
    wanted: list[str],
    path: str | Path,
    options: Options,
) -> Table:
    columns: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    labels = None
    if options.label is not None:
        labels = text_labels(columns[options.label], options.markers)
    kept = {name: columns[name] for name in wanted}
    return Table(kept, labels, str(path), np.array(lines, dtype=np.int64))
