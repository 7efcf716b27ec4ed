"""Rows written to a file, or to standard output."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from semisvm.cli.messages import UserError, print_stderr
from semisvm.cli.outputs import Output
from semisvm.text import visible_json

if TYPE_CHECKING:
    from semisvm.tables.table import MatrixData, Table

Rows = list[dict[str, Any]]
SUFFIXES = (".csv", ".tsv", ".jsonl")
PARQUET = ".parquet"
KEPT = "kept_"
"""Before the name of a column that is copied, if the output has one of that name."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}

EscapeFormulas = Annotated[
    bool | None,
    typer.Option(
        "--escape-formulas/--keep-formulas",
        help="Put a ' before CSV and TSV cells that a spreadsheet would run, or keep them.",
    ),
]


def with_kept(piece: "Table | MatrixData", keep: list[str], columns: dict[str, list[Any]]) -> Rows:
    """Return the rows of columns to write, after columns of a table that are copied."""
    from semisvm.tables.table import Table

    if isinstance(piece, Table):
        names = _names_of_kept(keep, set(columns))
        columns = {names[name]: piece.text(name) for name in keep} | columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _names_of_kept(keep: list[str], written: set[str]) -> dict[str, str]:
    """Return the names under which columns are copied: their own, unless these are taken."""
    names = {name: name for name in keep}
    for name in keep:
        while names[name] in written or (names[name] != name and names[name] in names):
            names[name] = KEPT + names[name]
    return names


def note_new_names(keep: list[str], rows: Rows) -> None:
    """Report which columns could not keep their names."""
    # columns that are kept come first
    for name, written in zip(keep, next(iter(rows), {}), strict=False):
        if written != name:
            print_stderr(
                f"note: the column {name!r} of the data is written as {written!r}, since "
                f"{name!r} is a column of the predictions."
            )


def check_suffix(output: Output | None, what: str, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Return the suffix, which gives the format, or refuse it; standard output gets CSV."""
    if output is None or output.is_standard:
        return ".csv"
    suffix = output.path.suffix.lower()
    if suffix not in suffixes:
        listed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise UserError(f"{what} are written to {listed}, not {suffix or output}.")
    return suffix


def check_new(output: Output | None, what: str, any_suffix: bool = False) -> None:
    """Refuse a format that is not known, and a file that exists: it may have labels filled in."""
    if not any_suffix:
        check_suffix(output, what)
    if output is not None and not output.is_standard and output.path.exists():
        raise UserError(
            f"{output} exists already, perhaps with labels filled in: name another file, or "
            "delete it."
        )


@contextmanager
def row_writer(
    output: Output | None,
    what: str,
    escape: bool | None = None,
    suffixes: tuple[str, ...] = SUFFIXES,
) -> Iterator[Callable[[Rows], None]]:
    """Open an output for rows; a file takes its name when all are written.

    Parameters
    ----------
    output : Output or None
        None is standard output.
    what : str
        What the rows are, for messages.
    escape : bool, optional
        Whether to write formulas as text; by default they are written as they are, with a
        warning.
    suffixes : tuple of str
        Of the formats that are written.
    """
    suffix = check_suffix(output, what, suffixes)
    to = Output(Path("-")) if output is None else output
    if suffix == PARQUET:
        from semisvm.tables.parquet import parquet_writer

        with parquet_writer(to.path) as write:
            yield write
        return
    with to.text() as stream:
        if suffix == ".jsonl":
            yield lambda rows: stream.writelines(_json_line(row) for row in rows)
            return
        cells = _Cells(stream, DELIMITERS[suffix], escape)
        yield cells.write
    if escape is None and cells.n_formulas:
        print_stderr(
            f"warning: {cells.n_formulas:,} cells of {to} look like formulas, the first of them "
            f"{cells.first!r}, and a spreadsheet may run them. Write them as text with "
            "--escape-formulas, or keep them, without this warning, with --keep-formulas."
        )


def _json_line(row: dict[str, Any]) -> str:
    return visible_json(json.dumps(row, ensure_ascii=False)) + "\n"


def _flat(cell: Any) -> Any:
    """Return a list as JSON, which is read back where a table has cells only."""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell


class _Cells:
    """A table of cells being written, which looks for formulas."""

    def __init__(self, stream: TextIO, delimiter: str, escape: bool | None) -> None:
        from semisvm.tables.text_tables import escaped, is_formula

        self._table = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        self._is_formula = is_formula
        self._cell = {True: escaped, False: lambda cell: cell, None: self._counted}[escape]
        self._has_header = False
        self.n_formulas = 0
        self.first = ""

    def write(self, rows: Rows) -> None:
        """Write rows, all of them with the same columns."""
        if not self._has_header:
            self._table.writerow(map(self._cell, rows[0]))
            self._has_header = True
        self._table.writerows([self._cell(_flat(cell)) for cell in row.values()] for row in rows)

    def _counted(self, cell: Any) -> Any:
        if self._is_formula(cell):
            self.n_formulas += 1
            self.first = self.first or cell[:40]
        return cell
