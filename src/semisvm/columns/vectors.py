"""Features from a column of vectors, such as embeddings of texts or pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from semisvm.columns.blocks import Arrays, State
from semisvm.columns.kinds import VECTOR
from semisvm.io.errors import DataError
from semisvm.io.table import Table
from semisvm.io.vectors import read_vectors


@dataclass
class VectorBlock:
    """The vectors of a column, less their mean; a missing vector counts as the mean.

    Directions and distances between vectors mean something, so single coordinates are not
    standardised. The mean is subtracted because vectors of many encoders share a large part,
    which tells no rows apart but would take up the length that the block is allowed.

    Attributes
    ----------
    column : str
    mean : array of shape (k,)
        Of the training rows.
    """

    column: str
    mean: NDArray[np.float64]
    kind = VECTOR

    @classmethod
    def fit(cls, table: Table, column: str) -> Self:
        """Learn the mean."""
        tally = VectorTally(column)
        tally.add(table)
        return cls(column, tally.mean(table.path))

    @property
    def columns(self) -> list[str]:
        """The column that is read."""
        return [self.column]

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """Compute the centred vectors."""
        centred = read_vectors(table, self.column, self.width()) - self.mean
        return np.nan_to_num(centred, copy=False, nan=0.0)

    def width(self) -> int:
        """Return the number of features."""
        return len(self.mean)

    def sources(self) -> list[str]:
        """Return the column once per feature."""
        return [self.column] * self.width()

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


class VectorTally:
    """The mean of a column of vectors that comes piece by piece."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._sum: NDArray[np.float64] | None = None
        self._count = 0

    def add(self, table: Table) -> None:
        """Count the vectors of some rows."""
        cells = table.column(self.column)
        if not isinstance(cells, np.ndarray) and all(cell is None for cell in cells):
            return  # a piece in which all are missing does not know their length
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

    def mean(self, path: str | None) -> NDArray[np.float64]:
        """Return the mean of the vectors that are not missing."""
        if self._sum is None or self._count == 0:
            raise DataError("the column has no vector.", path, None, self.column)
        return np.asarray(self._sum / self._count)
