"""Columns of vectors: lists of numbers in cells, or an array of two dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.blocks import (
    Arrays,
    BlockOptions,
    Cells,
    Kind,
    OneColumn,
    State,
    Tally,
)
from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.schema import MOST_COLUMNS, Array, Record, text, whole
from semisvm.tables.table import Column, Table, holds_vectors, is_vector


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


class VectorTally(Tally):
    """The mean of a column of vectors that comes piece by piece."""

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        super().__init__(columns, options)
        (self.column,) = columns
        self._sum: NDArray[np.float64] | None = None
        self._count = 0

    def add(self, table: Table) -> None:
        """Count the vectors of some rows."""
        cells = table.column(self.column)
        if not isinstance(cells, np.ndarray) and all(cell is None for cell in cells):
            return  # a piece in which all are missing has no length
        values = read_vectors(table, self.column, None if self._sum is None else len(self._sum))
        self._include(np.nansum(values, axis=0), int((~np.isnan(values[:, 0])).sum()))

    def merge(self, other: "VectorTally") -> None:
        """Add what was counted in other rows."""
        if other._sum is not None:
            self._include(other._sum, other._count)

    def _include(self, total: NDArray[np.float64], count: int) -> None:
        if self._sum is not None and len(self._sum) != len(total):
            message = f"there are vectors of {len(self._sum):,} and of {len(total):,} numbers."
            raise DataError(message, None, None, self.column)
        self._sum = total if self._sum is None else self._sum + total
        self._count += count

    def block(self, columns: list[str], n_rows: int, path: str | None) -> "VectorBlock":
        """Return the block: the mean of the vectors that are not missing."""
        if self._sum is None or self._count == 0:
            raise DataError("the column has no vector.", path, None, self.column)
        return VectorBlock(self.column, np.asarray(self._sum / self._count))


@dataclass
class VectorBlock(OneColumn):
    """The vectors of a column, less their mean; a missing vector counts as the mean.

    Directions and distances between vectors mean something, so single coordinates are not
    standardised. The mean is subtracted because vectors of many encoders share a large part,
    which distinguishes no rows but would take up the length that the block is allowed.

    Attributes
    ----------
    column : str
    mean : array of shape (k,)
        Of the training rows.
    """

    column: str
    mean: NDArray[np.float64]
    kind = "vector"
    title = "vectors"
    tally = VectorTally
    is_dense = True
    stored = Record(
        {
            "kind": text,
            "column": text,
            "n_columns": whole(1, MOST_COLUMNS),
            "mean": Array("f", ("numbers",)),
        }
    )

    @classmethod
    def recognise(cls, cells: Cells) -> Kind | None:
        """Recognise lists of numbers of one length; refuse other cells that hold several values."""
        if holds_vectors(cells.column):
            return Kind(cls.kind, "its cells are lists of numbers")
        if isinstance(cells.column, np.ndarray):
            return None
        if any(map(is_vector, cells.present)):
            return Kind(None, "its cells are lists of numbers, but not all of the same length")
        if any(isinstance(c, (list, tuple, dict, bytes, np.ndarray)) for c in cells.present):
            return Kind(None, "its cells are not text or numbers")
        return None

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Learn the mean."""
        (column,) = columns
        values = read_vectors(table, column)
        count = np.count_nonzero(~np.isnan(values[:, 0]))
        if count == 0:
            raise DataError("the column has no vector.", table.path, None, column)
        block = cls(column, np.nansum(values, axis=0) / count)
        return block, block.matrix(table)

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """Compute the centred vectors."""
        centred = read_vectors(table, self.column, self.width()) - self.mean
        return np.nan_to_num(centred, copy=False, nan=0.0)

    def width(self) -> int:
        """Return the number of features."""
        return len(self.mean)

    def names(self) -> list[str]:
        """Return ``column[0]`` and so on."""
        return [f"{self.column}[{k}]" for k in range(self.width())]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        return {"column": self.column, "n_columns": self.width()}, {"mean": self.mean}

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        if arrays["mean"].shape != (state["n_columns"],):
            raise ValueError("the vectors and their mean differ in length.")
        return cls(state["column"], arrays["mean"])
