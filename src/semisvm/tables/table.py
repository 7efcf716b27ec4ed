"""What was read: a table of columns, or a matrix."""

import re
import warnings
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.disk_header import RowsError
from semisvm.tables.errors import DataError, is_missing, missing_column
from semisvm.tables.labels import Labels, read_labels
from semisvm.tables.opening import Options
from semisvm.text import MISSING_WORDS, shortened

Column = list[Any] | NDArray[Any]
"""Cells as they stand in the file: text, numbers, booleans or None."""

MISSING = MISSING_WORDS | {"", "?"}
"""Words that stand for a missing number, in any case."""

THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")

FILE_IN_CELL = {"bytes", "path"}
"""What a picture or recording is in files of Hugging Face: bytes, or where they are."""

LARGEST = 1e150
"""Squares of larger numbers, and sums of them over many rows, would not be finite."""


@dataclass(frozen=True)
class Table:
    """Columns of a file, and where its rows came from.

    Attributes
    ----------
    columns : dict of lists or arrays, each of length n
        Cells as they stand in the file; `text`, `numbers` and `levels` interpret them.
    labels : object array of shape (n,), optional
        None for a row without label.
    path : str, optional
    lines : int array of shape (n,), optional
        Line or row of the file at which each row begins, from 1.
    word : str
        "line", or "row" for files without lines.
    missing_words : dict of int
        Words in the place of labels that were taken for "no label", and their numbers of
        rows.
    """

    columns: dict[str, Column]
    labels: Labels | None = None
    path: str | None = None
    lines: NDArray[np.int64] | None = None
    word: str = "line"
    missing_words: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        if self.lines is not None:
            return len(self.lines)
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the file."""
        return list(self.columns)

    def column(self, name: str) -> Column:
        """Return the cells of a column, or raise with the names there are."""
        if name not in self.columns:
            raise missing_column(name, self.columns, self.path)
        return self.columns[name]

    def error(self, message: str, row: int, column: str | None = None) -> DataError:
        """Make an error with the place that a row (from 0) came from."""
        line = row + 1 if self.lines is None else int(self.lines[row])
        word = "row" if self.lines is None else self.word
        return DataError(message, self.path, line, column, word)

    def labelled(self, cells: Column, options: Options) -> "Table":
        """Return the table with the labels of a column."""
        labels, words = read_labels(
            cells, options, lambda message, row: self.error(message, row, options.label)
        )
        return replace(self, labels=labels, missing_words=words)

    def text(self, name: str) -> list[str]:
        """Return a column as text, bytes in base64; missing cells are empty."""
        cells = self.column(name)
        return [cell if type(cell) is str else self._as_text(cell, name) for cell in cells]

    def _as_text(self, cell: Any, name: str) -> str:
        if isinstance(cell, dict) and set(cell) == FILE_IN_CELL:
            cell = cell["path"] if cell["bytes"] is None else cell["bytes"]
        if isinstance(cell, bytes):
            return b64encode(cell).decode()
        if isinstance(cell, (list, dict, np.ndarray)):
            raise DataError("a list or object inside a cell is not text.", self.path, None, name)
        if is_missing(cell):
            return ""
        if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
            return str(int(cell))
        return str(cell)

    def levels(self, name: str) -> list[str]:
        """Return a column as categories; missing cells are empty."""
        return [cell.strip() for cell in self.text(name)]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column as numbers; missing cells are NaN.

        Raises
        ------
        DataError
            With line and column, if a cell is no number, infinite, or too large to be squared.
        """
        cells = self.column(name)
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
            values = cells.astype(np.float64)
        else:
            values = np.array([self._number(cell, row, name) for row, cell in enumerate(cells)])
            self._warn_of_thousands(cells, name)
        large = np.abs(values) > LARGEST
        if large.any():
            row = int(np.argmax(large))
            what = "infinite" if np.isinf(values[row]) else f"too large, above {LARGEST:g}"
            raise self.error(f"the number is {what}.", row, name)
        return values

    def _number(self, cell: Any, row: int, name: str) -> float:
        number = with_thousands(cell)
        if number is None:
            raise self.error(f"{shortened(repr(cell), 40)} is not a number.", row, name)
        return number

    def _warn_of_thousands(self, cells: Column, name: str) -> None:
        """Warn of commas that are taken for separators of thousands: they might be decimal ones."""
        found = next((cell for cell in cells if has_thousands(cell)), None)
        if found is not None:
            warnings.warn(
                f"column {name!r}: commas separate thousands, so {found!r} is read as "
                f"{with_thousands(found):.15g}. Write decimal commas as points.",
                UserWarning,
                stacklevel=3,
            )

    def in_memory(self) -> "Table":
        """Return the table itself; matrices may be on the disk."""
        return self

    def without(self, names: Iterable[str]) -> "Table":
        """Return the table without some columns."""
        left_out = set(names)
        kept = {name: cells for name, cells in self.columns.items() if name not in left_out}
        return replace(self, columns=kept)

    def take(self, rows: Sequence[int]) -> "Table":
        """Return some rows, in any order."""
        return self[np.asarray(rows, dtype=np.intp)]

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> "Table":
        """Return some rows."""
        return Table(
            {name: _picked(cells, rows) for name, cells in self.columns.items()},
            None if self.labels is None else self.labels[rows],
            self.path,
            None if self.lines is None else self.lines[rows],
            self.word,
        )


def make_table(
    cells: Mapping[str, Column],
    lines: Sequence[int],
    wanted: Sequence[str],
    path: str | Path,
    options: Options,
    word: str = "line",
) -> Table:
    """Make a table of the wanted columns, and of the labels, of rows that begin at some lines."""
    columns = {name: cells[name] for name in wanted}
    table = Table(columns, None, str(path), np.array(lines, dtype=np.int64), word)
    return table if options.label is None else table.labelled(cells[options.label], options)


def _picked(cells: Column, rows: slice | NDArray[np.intp]) -> Column:
    if isinstance(rows, slice) or isinstance(cells, np.ndarray):
        return cells[rows]
    return [cells[row] for row in rows]


def is_vector(cell: Any) -> bool:
    """Return whether a cell is a list or array of one or more numbers."""
    if isinstance(cell, np.ndarray):
        return cell.ndim == 1 and cell.dtype.kind in "fiu" and len(cell) > 0
    if not isinstance(cell, (list, tuple)) or not cell:
        return False
    return all(isinstance(n, (int, float, np.number)) and type(n) is not bool for n in cell)


def holds_vectors(cells: Column) -> bool:
    """Return whether all cells that are not missing are vectors of one length."""
    if isinstance(cells, np.ndarray):
        return cells.ndim == 2
    present = [cell for cell in cells if not is_missing(cell)]
    return bool(present) and all(map(is_vector, present)) and len({*map(len, present)}) == 1


def as_number(cell: Any) -> float | None:
    """Read a cell as a number; NaN if it is missing, None if it is something else.

    Of a duration, that is the number of seconds.
    """
    if isinstance(cell, str):
        if "_" in cell:
            return None  # Python would read 1_000 as a number; in files it is a name
        try:
            return float(cell)
        except ValueError:
            return np.nan if cell.strip().casefold() in MISSING else None
    if isinstance(cell, timedelta):
        return np.nan if is_missing(cell) else cell.total_seconds()
    try:
        return np.nan if is_missing(cell) else float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf
    except (TypeError, ValueError):
        return None


def has_thousands(cell: Any) -> bool:
    """Return whether a cell is a number with commas between groups of three digits, as 56,125."""
    return isinstance(cell, str) and "," in cell and THOUSANDS.fullmatch(cell.strip()) is not None


def with_thousands(cell: Any) -> float | None:
    """Read a cell of a column of numbers, which may have commas between thousands.

    Other commas are not read: "12,5" and "0,125" are no numbers, so that a column with decimal
    commas is refused as a whole.
    """
    number = as_number(cell)
    return float(cell.replace(",", "")) if number is None and has_thousands(cell) else number


@dataclass(frozen=True)
class MatrixData:
    """A matrix of features and its labels.

    Attributes
    ----------
    X : CSR matrix, array or RowsOnDisk of shape (n, d)
    labels : object array of shape (n,), optional
        None for a row without label.
    path : str, optional
    lines : int array of shape (n,), optional
        Line of the file of each row, from 1.
    facts : dict
        What later files must be read with in the same way: ``zero_based`` for svmlight.
    missing_words : dict of int
        As that of a `Table`.
    made_by : tuple (state, arrays), optional
        The features that made the matrix from columns, as `feature_states.state_of` returns them.
    """

    X: Any
    labels: Labels | None = None
    path: str | None = None
    lines: NDArray[np.int64] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    missing_words: dict[str, int] = field(default_factory=dict)
    made_by: Any = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def in_memory(self) -> "MatrixData":
        """Return the same data in memory, if they are on the disk and not too large."""
        if not isinstance(self.X, RowsOnDisk):
            return self
        try:
            return replace(self, X=self.X.load())
        except RowsError as error:
            raise DataError(error.message, self.path) from error
