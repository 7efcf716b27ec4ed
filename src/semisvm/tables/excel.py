"""Excel workbooks (``.xlsx``), by openpyxl, which is an extra."""

import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from semisvm.tables.errors import DataError, in_short, require
from semisvm.tables.opening import Options, open_bytes
from semisvm.tables.table import Table, make_table
from semisvm.tables.text_tables import column_names
from semisvm.text import did_you_mean, listing

MOST_BYTES = 4 << 30
ALWAYS_BYTES = 64 << 20
MOST_RATIO = 100
"""Unpacked bytes to bytes of the file, beyond `ALWAYS_BYTES`; cells of Excel shrink to a tenth."""
MOST_ROWS = 1 << 20
"""Rows of a sheet, in Excel too."""
ERRORS = frozenset(
    ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA", "#SPILL!")
)
"""What Excel shows in the place of a result that does not exist."""

NEEDS_OPENPYXL = (
    "Excel files need openpyxl: pip install 'semisvm[excel]'. Or save the sheet as CSV, and read "
    "that."
)

Row = tuple[int, Sequence[Any]]


def read_excel(path: str | Path, options: Options) -> Iterator[Table]:
    """Read a sheet of a workbook, ``options.chunk_rows`` rows at a time.

    The first row that is not blank names the columns. Blank rows are skipped. Cells without a value
    are missing, and so are errors such as ``#DIV/0!``; dates become ISO text; a formula counts as
    its result, which the file has from the program that saved it.
    """
    require("openpyxl", NEEDS_OPENPYXL, path)
    with _workbook(path) as book:
        sheet = _sheet(book, options.sheet, path)
        rows, total = _rows(sheet, path), sheet.max_row
        sheet.reset_dimensions()  # they may be wrong, and rows would be padded or cut to them
        with _explained(path):
            first = next(rows, None)
        if first is None:
            raise DataError(_empty_message(book, sheet), path)
        number, header = first
        names = column_names([_name(cell) for cell in header], path, number, "row")
        wanted = options.wanted(names, path)
        any_row, reported = False, 0
        size = os.path.getsize(path)
        while chunk := _chunk(rows, names, path, number, options.chunk_rows):
            if not any_row:
                _check_formulas(path, sheet.title, chunk, names)
            read = [*wanted, *options.label_columns]
            cells: dict[str, Any] = {name: _column(chunk, names.index(name)) for name in read}
            yield make_table(cells, [n for n, _ in chunk], wanted, path, options, "row")
            any_row = True
            if options.seen is not None:
                share = min(1.0, chunk[-1][0] / max(total or MOST_ROWS, 1))
                options.seen(max(0, int(share * size) - reported))
                reported = max(reported, int(share * size))
    if not any_row:
        raise DataError("there is a header but no row below it.", path)
    if options.seen is not None:
        options.seen(size - reported)


@contextmanager
def _workbook(path: str | Path, *, formulas: bool = False) -> Iterator[Any]:
    """Open a workbook, whose sheets are read row by row."""
    from openpyxl import load_workbook

    with open_bytes(path) as stream:
        _check_size(stream, path)
        with _explained(path):
            book = load_workbook(stream, read_only=True, data_only=not formulas, keep_links=False)
        try:
            yield book
        finally:
            with suppress(Exception):
                book.close()


def _check_size(stream: Any, path: str | Path) -> None:
    """Refuse a file that unpacks to far more than such files do."""
    with _explained(path), zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
    unpacked, packed = sum(info.file_size for info in infos), os.fstat(stream.fileno()).st_size
    limit = min(MOST_BYTES, max(ALWAYS_BYTES, MOST_RATIO * packed))
    if unpacked > limit:
        raise DataError(
            f"this workbook would unpack to {unpacked:,} bytes, of which {limit:,} are allowed for "
            "its size. Save the sheet as CSV, and read that.",
            path,
        )
    if any(info.flag_bits & 1 for info in infos):
        raise DataError(
            "this workbook is encrypted: open it in the program that made it, and save it without "
            "a password.",
            path,
        )


def _sheet(book: Any, wanted: str | None, path: str | Path) -> Any:
    """Return the sheet of a name, or the first one; warn if there are others."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if not sheets:
        raise DataError("the workbook has no sheet with cells.", path)
    if wanted is None:
        first = next(iter(sheets.values()))
        if len(sheets) > 1:
            warnings.warn(
                f"{path} has {len(sheets)} sheets ({listing(list(sheets))}): {first.title!r}, the "
                "first one, is read. Name another one with sheet=.",
                UserWarning,
                stacklevel=3,
            )
        return first
    if wanted not in sheets:
        hint = did_you_mean(wanted, sheets)
        raise DataError(
            f"there is no sheet {wanted!r}.{hint} The sheets are {listing(list(sheets))}.", path
        )
    return sheets[wanted]


def _empty_message(book: Any, sheet: Any) -> str:
    others = [other.title for other in book.worksheets if other is not sheet]
    hint = f" Name another one with sheet=: {listing(others)}." if others else ""
    return f"the sheet {sheet.title!r} is empty.{hint}"


def _rows(sheet: Any, path: str | Path) -> Iterator[Row]:
    """Yield the rows that are not blank, and their numbers, without blank cells at their ends."""
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:
            raise DataError(
                "a sheet has no such row: the workbook is damaged.", path, number, word="row"
            )
        width = len(cells)
        while width and (cells[width - 1] is None or cells[width - 1] == ""):
            width -= 1
        if width:
            yield number, cells[:width]


def _chunk(
    rows: Iterator[Row], names: list[str], path: str | Path, header: int, most: int | None
) -> list[Row]:
    """Return the next rows; none has more cells than there are names."""
    with _explained(path):
        chunk = list(islice(rows, most))
    for number, cells in chunk:
        if len(cells) > len(names):
            from openpyxl.utils import get_column_letter

            raise DataError(
                f"the cell {get_column_letter(len(cells))}{number} ({str(cells[-1])[:40]!r}) is "
                f"outside the table: row {header}, the first one, names {len(names)} columns. If "
                "there is a title above the names of the columns, delete it; otherwise name this "
                "column, or empty the cell.",
                path,
                number,
                word="row",
            )
    return chunk


def _check_formulas(path: str | Path, title: str, chunk: list[Row], names: list[str]) -> None:
    """Refuse columns of formulas without results, which would be read as missing cells.

    Programs that write workbooks without computing anything leave the results out.
    """
    blank = [
        k
        for k in range(len(names))
        if all(k >= len(cells) or cells[k] is None for _, cells in chunk)
    ]
    if not blank:
        return
    with _workbook(path, formulas=True) as book, _explained(path):
        sheet = book[title]
        sheet.reset_dimensions()
        for cells in sheet.iter_rows(chunk[0][0], chunk[-1][0], values_only=True):
            for k in blank:
                if k < len(cells) and _is_formula(cells[k]):
                    raise DataError(
                        "the results of the formulas in this column are not in the file. Open it "
                        "in Excel or LibreOffice, and save it again.",
                        path,
                        None,
                        names[k],
                    )


def _is_formula(cell: Any) -> bool:
    if cell is None:
        return False
    return not isinstance(cell, str) or cell.startswith("=")


def _column(chunk: list[Row], k: int) -> list[Any]:
    return [plain_cell(cells[k]) if k < len(cells) else None for _, cells in chunk]


def plain_cell(cell: Any) -> Any:
    """Return a cell as text, number or boolean; None if it is missing.

    >>> from datetime import datetime
    >>> plain_cell(datetime(2024, 5, 1)), plain_cell(datetime(2024, 5, 1, 9, 30))
    ('2024-05-01', '2024-05-01T09:30:00')
    >>> plain_cell("#DIV/0!") is None
    True
    """
    if isinstance(cell, str):
        return None if cell in ERRORS else cell
    if isinstance(cell, datetime):
        midnight = cell.time() == time()
        return cell.date().isoformat() if midnight else cell.isoformat()
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return cell


def _name(cell: Any) -> str:
    found = plain_cell(cell)
    if isinstance(found, float) and found.is_integer():
        return str(int(found))
    return "" if found is None else str(found)


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Make one error of all that openpyxl raises, which for damaged files may be anything."""
    try:
        with warnings.catch_warnings():
            # of validations, styles and the like, which are not read
            warnings.simplefilter("ignore", UserWarning)
            yield
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"this Excel file is damaged, or is none ({in_short(error)}). Open it in Excel or "
            "LibreOffice and save it again as .xlsx, or as CSV.",
            path,
        ) from error
