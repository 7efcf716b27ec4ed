"""Columns of numbers: standardised, with an indicator where some are missing."""

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.blocks import (
    COLUMNS,
    EMPTY,
    ENOUGH_ROWS,
    SAME,
    Arrays,
    Block,
    BlockOptions,
    Cells,
    Kind,
    State,
    Tally,
)
from semisvm.tables.errors import DataError
from semisvm.tables.schema import Array, Record, text
from semisvm.tables.table import Table

NAMED_SHARE = 0.5
"""Whole numbers of which so many are distinct are identifiers if the column is named like one."""

ID_NAME = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|key|index|idx|rowid|nr|no)$)|[a-z]I[dD]$|^Unnamed: \d+$"
)
"""The last one is what pandas calls the column of row numbers that it has written."""

SAMPLE_ROWS, SAMPLE_CELLS = 100_000, 10_000_000
"""Rows of which the medians are those, but no more than so many cells of them."""


class NumberTally(Tally):
    """Means and deviations of numeric columns, and medians of a sample of their rows.

    Parameters
    ----------
    columns : list of str
    """

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        super().__init__(columns, options)
        n = len(columns)
        self._present = np.zeros(n)
        self._mean, self._squares = np.zeros(n), np.zeros(n)
        self._low, self._high = np.full(n, np.inf), np.full(n, -np.inf)
        self._n_rows = 0
        self._sample = np.empty((0, n))
        self._most = max(min(SAMPLE_ROWS, SAMPLE_CELLS // n), 1)
        self._random = np.random.default_rng(0)

    def add(self, table: Table) -> None:
        """Count the numbers of some rows."""
        values = self._values(table)
        there = ~np.isnan(values)
        count = there.sum(axis=0).astype(np.float64)
        some = np.maximum(count, 1.0)
        mean = np.where(there, values, 0.0).sum(axis=0) / some
        squares = np.where(there, (values - mean) ** 2, 0.0).sum(axis=0)
        self._merge(count, mean, squares)
        self._low = np.fmin(self._low, np.where(there, values, np.inf).min(axis=0))
        self._high = np.fmax(self._high, np.where(there, values, -np.inf).max(axis=0))
        self._draw(values)

    def _values(self, table: Table) -> NDArray[np.float64]:
        return np.column_stack([table.numbers(name) for name in self.columns])

    def merge(self, other: "NumberTally") -> None:
        """Add what was counted in other rows."""
        self._merge(other._present, other._mean, other._squares)
        self._low = np.fmin(self._low, other._low)
        self._high = np.fmax(self._high, other._high)
        share = self._n_rows / max(self._n_rows + other._n_rows, 1)
        self._n_rows += other._n_rows
        if self._n_rows <= self._most:
            self._sample = np.concatenate([self._sample, other._sample])
            return
        ours = int(self._random.binomial(self._most, share))
        ours = min(max(ours, self._most - len(other._sample)), len(self._sample))
        theirs = min(self._most - ours, len(other._sample))
        kept = [self._random.permutation(self._sample)[:ours], other._sample]
        self._sample = np.concatenate([kept[0], self._random.permutation(kept[1])[:theirs]])

    def _merge(
        self, count: NDArray[np.float64], mean: NDArray[np.float64], squares: NDArray[np.float64]
    ) -> None:
        total = self._present + count
        share = np.divide(count, total, out=np.zeros_like(total), where=total > 0)
        apart = mean - self._mean
        self._squares = self._squares + (squares + apart**2 * self._present * share)
        self._mean = self._mean + apart * share
        self._present = total

    def _draw(self, values: NDArray[np.float64]) -> None:
        """Keep a sample in which every row so far is with the same probability."""
        room = self._most - len(self._sample)
        first, rest = values[: max(room, 0)], values[max(room, 0) :]
        self._sample = np.concatenate([self._sample, first])
        seen = self._n_rows + len(first)
        places = self._random.integers(0, np.arange(seen + 1, seen + len(rest) + 1))
        for place, row in zip(places.tolist(), rest, strict=True):
            if place < self._most:
                self._sample[place] = row
        self._n_rows += len(values)

    def block(self, columns: list[str], n_rows: int, path: str | None) -> "NumericBlock":
        """Return the block of some of the columns."""
        return self._whole(path).only(columns)

    def _whole(self, path: str | None) -> "NumericBlock":
        """Return one block; missing numbers count as the median in mean and deviation."""
        for name, count in zip(self.columns, self._present, strict=True):
            if count == 0:
                raise DataError("the column has no number.", path, None, name)
        missing = self._n_rows - self._present
        median = self._medians()
        all_rows = copy(self)
        all_rows._merge(missing, median, np.zeros_like(median))
        filled = (missing > 0) & ((median < self._low) | (median > self._high))
        constant = (self._low == self._high) & ~filled
        scale = np.sqrt(all_rows._squares / self._n_rows)
        return NumericBlock(
            self.columns,
            median,
            np.where(constant, self._low, all_rows._mean),
            np.where(constant | (scale == 0), 1.0, scale),
            missing > 0,
        )

    def _medians(self) -> NDArray[np.float64]:
        """Return the medians of the sample; of a column that is missing there, the mean."""
        found = np.isnan(self._sample).all(axis=0)
        sample = np.where(found, 0.0, self._sample)
        return np.where(found, self._mean, np.nanmedian(sample, axis=0))


@dataclass
class NumericBlock(Block):
    """Standardised numbers; a missing one counts as the median, and has an indicator.

    Attributes
    ----------
    columns : list of str, of length c
    median, mean, scale : arrays of shape (c,)
        Of the training rows; mean and scale after filling.
    indicated : bool array of shape (c,)
        Columns with missing values in training, whose indicator is a feature.
    """

    columns: list[str]
    median: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    indicated: NDArray[np.bool_]
    kind = "numeric"
    title = "numbers"
    tally = NumberTally
    shared = is_single = is_dense = True
    shown_as = "number"
    stored = Record(
        {
            "kind": text,
            "columns": COLUMNS,
            "median": Array("f", ("columns",)),
            "mean": Array("f", ("columns",)),
            "scale": Array("f", ("columns",), above=0.0),
            "indicated": Array("b", ("columns",)),
        }
    )

    @classmethod
    def recognise(cls, cells: Cells) -> Kind | None:
        """Recognise numbers that vary and do not number the rows."""
        values = cells.numbers
        if values is None:
            return None
        if len(values) == 0:
            return Kind(None, EMPTY)
        if np.all(values == values[0]):
            return Kind(None, SAME)
        if values.dtype.kind == "f" and np.any(values != np.round(values)):
            return Kind(cls.kind, "its values are numbers")
        why = _why_identifier(values, cells.name) if len(values) >= ENOUGH_ROWS else None
        if why is not None:
            return Kind(None, f"{why}; to use it, name it with numeric=")
        return Kind(cls.kind, "its values are numbers")

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Learn medians, means and scales."""
        values = np.column_stack([table.numbers(name) for name in columns])
        missing = np.isnan(values)
        for name, empty in zip(columns, np.asarray(missing.all(axis=0)), strict=True):
            if empty:
                raise DataError("the column has no number.", table.path, None, name)
        median = np.nanmedian(values, axis=0)
        filled = np.where(missing, median, values)
        scale = filled.std(axis=0)
        block = cls(
            list(columns),
            median,
            filled.mean(axis=0),
            np.where(scale > 0, scale, 1.0),
            np.asarray(missing.any(axis=0)),
        )
        return block, block.matrix(table)

    def only(self, columns: list[str]) -> Self:
        """Return the block of some of the columns."""
        kept = [self.columns.index(name) for name in columns]
        median, mean, scale = (part[kept] for part in (self.median, self.mean, self.scale))
        return type(self)(list(columns), median, mean, scale, self.indicated[kept])

    @classmethod
    def values(cls, table: Table, column: str) -> NDArray[Any]:
        """Return numbers."""
        return table.numbers(column)

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """Compute standardised values, then indicators."""
        values = np.column_stack([table.numbers(name) for name in self.columns])
        missing = np.isnan(values)
        standard = (np.where(missing, self.median, values) - self.mean) / self.scale
        return np.hstack([standard, missing[:, self.indicated]])

    def width(self) -> int:
        """Return the number of features."""
        return len(self.columns) + int(self.indicated.sum())

    def sources(self) -> list[str]:
        """Return the columns, then those with an indicator."""
        pairs = zip(self.columns, self.indicated, strict=True)
        return self.columns + [name for name, shown in pairs if shown]

    def names(self) -> list[str]:
        """Return the columns, then ``column__missing``."""
        pairs = zip(self.columns, self.indicated, strict=True)
        return self.columns + [f"{name}__missing" for name, shown in pairs if shown]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        arrays = {name: getattr(self, name) for name in ("median", "mean", "scale", "indicated")}
        return {"columns": self.columns}, arrays

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        parts = [arrays[name] for name in ("median", "mean", "scale", "indicated")]
        if any(part.shape != (len(state["columns"]),) for part in parts):
            raise ValueError("the numeric columns and their statistics differ in number.")
        return cls(list(state["columns"]), *parts)


def _why_identifier(values: NDArray[Any], name: str) -> str | None:
    """Return why whole numbers number the rows; None if they may be measurements.

    That they hardly repeat is no reason: weights in grams do not either.
    """
    found, n = np.unique(values), len(values)
    if len(found) == n and found[-1] - found[0] == n - 1:
        if found[0] in (0, 1):
            return f"it numbers the rows from {int(found[0])} to {int(found[-1])}"
        if np.array_equal(found, values):
            return f"it counts the rows, from {int(found[0])} to {int(found[-1])}"
    if ID_NAME.search(name) is not None and len(found) >= NAMED_SHARE * n:
        return f"by its name it is an identifier, and {len(found)} of its {n} values are distinct"
    return None
