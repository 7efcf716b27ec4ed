"""Columns of vectors: lists of numbers in cells, and arrays that belong to the rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.array_files import load_array
from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.table import Column, Table

EMBEDDINGS = "embeddings"
"""Name of the column that an array becomes."""


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


def read_vectors(table: Table, name: str, width: int | None = None) -> NDArray[np.float64]:
    """Return a column of vectors as an array (n, k); a missing one is a row of NaN.

    Parameters
    ----------
    table : Table
    name : str
    width : int, optional
        The length k that is expected; by default that of the first vector.

    Raises
    ------
    DataError
        With the row, if a cell is no vector, of another length, or not finite.
    """
    cells = table.column(name)
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        values = cells.astype(np.float64)
    else:
        values = _stacked(table, name, cells, width)
    if width is not None and values.shape[1] != width:
        raise _wrong_length(table, name, 0, values.shape[1], width)
    finite = np.isfinite(values)
    wrong = ~(finite.all(axis=1) | np.isnan(values).all(axis=1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise table.error("the vector holds a number that is missing or infinite.", row, name)
    return values


def _stacked(table: Table, name: str, cells: Column, width: int | None) -> NDArray[np.float64]:
    there = [row for row, cell in enumerate(cells) if not is_missing(cell)]
    for row in there:
        if not is_vector(cells[row]):
            raise table.error("this is not a list of numbers.", row, name)
    expected = width if width is not None or not there else len(cells[there[0]])
    if expected is None:
        raise DataError("the column has no vector.", table.path, None, name)
    values = np.full((len(cells), expected), np.nan)
    for row in there:
        if len(cells[row]) != expected:
            raise _wrong_length(table, name, row, len(cells[row]), expected)
        values[row] = cells[row]
    return values


def _wrong_length(table: Table, name: str, row: int, found: int, expected: int) -> DataError:
    return table.error(
        f"the vector has {found:,} numbers, but the others, or those of the model, have "
        f"{expected:,}.",
        row,
        name,
    )


@dataclass
class RowVectors:
    """An array with one row for each row of a table that may come piece by piece.

    Attributes
    ----------
    values : array of shape (n, k)
    path : str, optional
    used : int
        Rows that were given to pieces so far.
    """

    values: NDArray[Any]
    path: str | None = None
    used: int = 0

    @classmethod
    def load(cls, path: str | Path) -> "RowVectors":
        """Load a ``.npy`` file without pickle."""
        values = load_array(path)
        if values.ndim != 2 or values.dtype.kind not in "fiu" or values.shape[1] == 0:
            raise DataError(
                f"embeddings are an array of numbers with a row for each row of the data, but "
                f"this one has shape {values.shape} and type {values.dtype}.",
                path,
            )
        return cls(values, str(path))

    def join(self, table: Table) -> Table:
        """Return the next rows of the data with a column of their vectors."""
        stop = self.used + len(table)
        if stop > len(self.values):
            raise self._differ(f"more than {len(self.values):,}", table)
        joined = with_vectors(table, EMBEDDINGS, self.values[self.used : stop])
        self.used = stop
        return joined

    def finish(self) -> None:
        """Refuse vectors that no row is left for."""
        if self.used != len(self.values):
            raise self._differ(f"{self.used:,}")

    def _differ(self, rows: str, table: Table | None = None) -> DataError:
        name = "the data" if table is None or table.path is None else table.path
        return DataError(
            f"there are {len(self.values):,} vectors, but {name} has {rows} rows: the first vector "
            "belongs to the first row, and so on.",
            self.path,
        )


def with_vectors(table: Table, name: str, values: NDArray[Any]) -> Table:
    """Return a table with one more column, of vectors."""
    if name in table.columns:
        raise DataError(
            f"there is a column {name!r} already, which the vectors would replace: rename it.",
            table.path,
        )
    return replace(table, columns={**table.columns, name: values})


def without_vectors(table: Table) -> Table:
    """Return a table without its columns of vectors, which are not for reading."""
    return table.without([name for name in table.names if holds_vectors(table.columns[name])])


def vector_texts(table: Table, name: str) -> Sequence[str]:
    """Return the vectors of a column as text that is equal where they are."""
    return [row.tobytes().hex() for row in read_vectors(table, name)]
