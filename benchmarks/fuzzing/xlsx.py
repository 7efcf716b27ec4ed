"""Excel workbooks: changed cells, sheets and archives."""

import io
import warnings
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from benchmarks.fuzzing.checking import check_one_kind, check_pieces, outcome, put, use_columns
from benchmarks.fuzzing.mutation import archive_mutator, mutator
from semisvm.tables import DataError, read, read_chunks

ROWS: list[list[Any]] = [
    ["y", "a", 2024, "day"],
    ["x", "some words", 1, date(2020, 1, 1)],
    [None, "56,125", 2.5, datetime(1999, 12, 31, 23, 59)],
    ["NA", True, None, time(7, 5)],
    [1, "#N/A", -1e300, timedelta(hours=30)],
]

mutate = archive_mutator(
    mutator([b'r="', b't="s"', b't="d"', b"<v>", b"</row>", b"A1", b"XFD1048576", b"1e999", b"-1"])
)


def seeds() -> list[bytes]:
    """Return workbooks with one sheet and several, with formulas, and without rows."""
    formulas: list[list[Any]] = [["y", "b"], ["=A1", "=SUM(A1:A9)"], ["x", None]]
    sheets: tuple[list[list[list[Any]]], ...]
    sheets = ([ROWS], [ROWS[:1]], [[], ROWS], [formulas], [[[None, None], *ROWS], ROWS[:2]])
    return [_saved(each) for each in sheets]


def _saved(sheets: list[list[list[Any]]]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for k, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet {k}")
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def check(data: bytes) -> None:
    """Read at once, in pieces, with a label, and another sheet."""
    path = put(data, "a.xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = outcome(lambda: read(path))
        pieces = outcome(lambda: list(read_chunks(path, chunk_rows=2)))
        outcome(lambda: read(path, sheet="Sheet 1"))
        if isinstance(whole, DataError):
            return
        if not isinstance(pieces, DataError):
            check_pieces(whole, pieces)
        use_columns(whole)
        for name in whole.names[:2]:
            labelled = outcome(partial(read, path, label=name))
            if not isinstance(labelled, DataError):
                check_one_kind(labelled.labels)
