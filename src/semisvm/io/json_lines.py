"""JSON lines: one object a line, its keys are the columns."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.io.errors import DataError
from semisvm.io.labels import text_labels
from semisvm.io.opening import open_text
from semisvm.io.options import Options
from semisvm.io.table import Table

Rows = list[tuple[int, dict[str, Any]]]
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Nothing but such an escape can make half of a character."""


def read_json_lines(path: str | Path, options: Options) -> Iterator[Table]:
    """Read a JSON lines file, ``options.chunk_rows`` rows at a time.

    A key that a row does not have is a missing cell. Blank lines are skipped.
    """
    with open_text(path, options.encoding) as text:
        rows = _objects(text, path)
        chunk = list(islice(rows, options.chunk_rows))
        if not chunk:
            raise DataError("the file is empty.", path)
        names = _names(chunk)
        while chunk:
            yield _table(chunk, names, path, options)
            chunk = list(islice(rows, options.chunk_rows))
            # a key may be absent from a later piece without being absent from the file
            names = list(dict.fromkeys([*names, *_names(chunk)]))


def _objects(lines: Iterator[str], path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if SURROGATE.search(line):
                json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            message = f"{half} is half of a character (a lone surrogate). Correct or remove it."
            raise DataError(message, path, number) from error
        except (json.JSONDecodeError, RecursionError) as error:
            raise _broken(error, line, path, number) from error
        if not isinstance(row, dict):
            hint = " This is one JSON array; write one object a line." if number == 1 else ""
            what = type(row).__name__
            raise DataError(
                f"a line must hold an object {{...}}, not a {what}.{hint}", path, number
            )
        yield number, row


def _broken(
    error: json.JSONDecodeError | RecursionError, line: str, path: str | Path, number: int
) -> DataError:
    if isinstance(error, RecursionError):
        return DataError("the object is nested too deeply.", path, number)
    if number == 1 and line.lstrip().startswith("["):
        message = "this is one JSON array, not JSON lines: write one object a line, without [ ]."
        return DataError(message, path, number)
    return DataError(f"this is not JSON ({error.msg}).", path, number, error.colno)


def _names(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for _, row in rows for name in row))


def _table(rows: Rows, names: list[str], path: str | Path, options: Options) -> Table:
    wanted = options.wanted(names, path)
    lines = np.array([number for number, _ in rows], dtype=np.int64)
    table = Table({name: _column(rows, name) for name in wanted}, None, str(path), lines)
    if options.label is None:
        return table
    cells = _column(rows, options.label)
    for row, cell in enumerate(cells):
        if isinstance(cell, (list, dict)):
            raise table.error("a label must be text or a number.", row, options.label)
    return Table(table.columns, text_labels(cells, options.markers), table.path, lines)


def _column(rows: Rows, name: str) -> list[Any]:
    return [row.get(name) for _, row in rows]
