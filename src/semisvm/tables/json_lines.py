"""JSON lines: one object per line, its keys are the columns."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.tables.errors import DataError
from semisvm.tables.opening import open_text
from semisvm.tables.options import Options
from semisvm.tables.table import Table

Rows = list[tuple[int, dict[str, Any]]]
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
            yield _table(chunk, list(names), path, options)
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


def _table(rows: Rows, names: list[str], path: str | Path, options: Options) -> Table:
    wanted = options.wanted(names, path)
    lines = np.array([number for number, _ in rows], dtype=np.int64)
    table = Table({name: _column(rows, name) for name in wanted}, None, str(path), lines)
    return table if options.label is None else table.labelled(_column(rows, options.label), options)


def _column(rows: Rows, name: str) -> list[Any]:
    return [row.get(name) for _, row in rows]
