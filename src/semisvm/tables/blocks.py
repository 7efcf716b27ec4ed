"""Features from columns of one kind: fitted once, kept as plain data; texts in `text_blocks`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.tables.errors import DataError
from semisvm.tables.kinds import CATEGORICAL, NUMERIC, PARTS, TIME, VECTOR, read_times
from semisvm.tables.table import Table
from semisvm.tables.vector_columns import read_vectors

Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]


class Block(Protocol):
    """Features from one or more columns."""

    kind: str

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        ...

    def matrix(self, table: Table) -> Any:
        """Compute the features of a table, CSR matrix or array of float64, not yet scaled."""
        ...

    def names(self) -> list[str]:
        """Return the names of the features."""
        ...

    def sources(self) -> list[str]:
        """Return the column that each feature comes from."""
        ...

    def width(self) -> int:
        """Return the number of features."""
        ...

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block: plain data and arrays."""
        ...


class OneColumn:
    """A block of a single column."""

    column: str

    @property
    def columns(self) -> list[str]:
        """The column that is read."""
        return [self.column]

    def width(self) -> int:
        """Return the number of features."""
        raise NotImplementedError

    def sources(self) -> list[str]:
        """Return the column once per feature."""
        return [self.column] * self.width()


@dataclass
class NumericBlock:
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
    kind = NUMERIC

    @classmethod
    def fit(cls, table: Table, columns: list[str]) -> Self:
        """Learn medians, means and scales."""
        values = np.column_stack([table.numbers(name) for name in columns])
        missing = np.isnan(values)
        for name, empty in zip(columns, np.asarray(missing.all(axis=0)), strict=True):
            if empty:
                raise DataError("the column has no number.", table.path, None, name)
        median = np.nanmedian(values, axis=0)
        filled = np.where(missing, median, values)
        scale = filled.std(axis=0)
        return cls(
            list(columns),
            median,
            filled.mean(axis=0),
            np.where(scale > 0, scale, 1.0),
            np.asarray(missing.any(axis=0)),
        )

    def only(self, columns: list[str]) -> Self:
        """Return the block of some of the columns."""
        kept = [self.columns.index(name) for name in columns]
        median, mean, scale = (part[kept] for part in (self.median, self.mean, self.scale))
        return type(self)(list(columns), median, mean, scale, self.indicated[kept])

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


RARE = "(rare)"


@dataclass
class CategoricalBlock:
    """One indicator per level; rare levels share one, and unseen levels have none.

    Attributes
    ----------
    columns : list of str
    levels : list of lists of str
        The frequent levels of every column, sorted.
    rare : list of lists of str
        The levels that are merged.
    """

    columns: list[str]
    levels: list[list[str]]
    rare: list[list[str]]
    kind = CATEGORICAL

    @classmethod
    def fit(cls, table: Table, columns: list[str], min_count: int, max_levels: int) -> Self:
        """Find the frequent levels."""
        tallies = [Counter(level for level in table.levels(name) if level) for name in columns]
        return cls.of_counts(columns, tallies, min_count, max_levels)

    @classmethod
    def of_counts(
        cls,
        columns: list[str],
        tallies: Iterable[Mapping[str, int]],
        min_count: int,
        max_levels: int,
    ) -> Self:
        """Find the frequent levels, of which the rows are counted already."""
        levels, rare = [], []
        for counts in tallies:
            order = sorted(counts, key=lambda level: (-counts[level], level))
            kept = [level for level in order[:max_levels] if counts[level] >= min_count]
            levels.append(sorted(kept))
            rare.append(sorted(set(counts) - set(kept)))
        return cls(list(columns), levels, rare)

    def matrix(self, table: Table) -> Any:
        """Compute the indicators; a missing value has none."""
        rows, places, first = [], [], 0
        for name, levels, rare in zip(self.columns, self.levels, self.rare, strict=True):
            where = {level: first + k for k, level in enumerate(levels)}
            where.update(dict.fromkeys(rare, first + len(levels)))
            found = [where.get(level, -1) for level in table.levels(name)]
            rows.append(np.flatnonzero(np.array(found) >= 0))
            places.append(np.array(found, dtype=np.intp)[rows[-1]])
            first += len(levels) + bool(rare)
        row, place = np.concatenate(rows), np.concatenate(places)
        shape = (len(table), first)
        return sparse.csr_matrix((np.ones(len(row)), (row, place)), shape=shape)

    def width(self) -> int:
        """Return the number of features."""
        pairs = zip(self.levels, self.rare, strict=True)
        return sum(len(levels) + bool(rare) for levels, rare in pairs)

    def sources(self) -> list[str]:
        """Return each column as often as it has levels."""
        parts = zip(self.columns, self.levels, self.rare, strict=True)
        return [name for name, levels, rare in parts for _ in range(len(levels) + bool(rare))]

    def names(self) -> list[str]:
        """Return ``column=level``."""
        return [
            f"{name}={level}"
            for name, levels, rare in zip(self.columns, self.levels, self.rare, strict=True)
            for level in ([*levels, RARE] if rare else levels)
        ]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        return {"columns": self.columns, "levels": self.levels, "rare": self.rare}, {}

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        if not len(state["columns"]) == len(state["levels"]) == len(state["rare"]):
            raise ValueError("the categorical columns and their levels differ in number.")
        return cls(list(state["columns"]), list(state["levels"]), list(state["rare"]))

    def count_unknown(
        self, table: Table, min_df: int | float, n_fitted: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the levels of each row that are unknown, and all; see `TextBlock.count_unknown`."""
        pairs = [
            (level not in known if level else False, bool(level))
            for name, levels in zip(self.columns, self.levels, strict=True)
            for known in [set(levels)]
            for level in table.levels(name)
        ]
        cells = np.array(pairs, dtype=float).reshape(len(self.columns), len(table), 2)
        return cells[:, :, 0].sum(axis=0), cells[:, :, 1].sum(axis=0)


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
    kind = VECTOR

    @classmethod
    def fit(cls, table: Table, column: str) -> Self:
        """Learn the mean."""
        values = read_vectors(table, column)
        count = np.count_nonzero(~np.isnan(values[:, 0]))
        if count == 0:
            raise DataError("the column has no vector.", table.path, None, column)
        return cls(column, np.nansum(values, axis=0) / count)

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


@dataclass
class TimeBlock(OneColumn):
    """Parts of dates and times, standardised; a missing one counts as the mean.

    The time that has passed is cut to that of the training rows, since what later rows would add is
    not known.

    Attributes
    ----------
    column : str
    low, high, mean, scale : arrays of shape (12,)
        Of the `PARTS` in the training rows. Those with ``low == high`` are no features.
    indicated : bool
        Whether cells were missing in training, so that an indicator is a feature.
    """

    column: str
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    indicated: bool
    kind = TIME

    @classmethod
    def fit(cls, table: Table, column: str) -> Self:
        """Learn ranges, means and scales."""
        values = read_times(table, column)
        n = (~np.isnan(values)).sum(axis=0)
        mean = np.nansum(values, axis=0) / np.maximum(n, 1)
        squares = np.nansum((values - mean) ** 2, axis=0)
        low = np.fmin.reduce(values, axis=0, initial=np.inf)
        high = np.fmax.reduce(values, axis=0, initial=-np.inf)
        missing = bool(np.isnan(values).all(axis=1).any())
        return cls.of_sums(column, low, high, mean, squares / np.maximum(n, 1), missing, table.path)

    @classmethod
    def of_sums(
        cls,
        column: str,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        mean: NDArray[np.float64],
        variance: NDArray[np.float64],
        missing: bool,
        path: str | None,
    ) -> Self:
        """Make a block of what was summed up; parts without a value, or with one, are left out."""
        varies = low < high
        if not varies.any():
            raise DataError("the column has no two dates or times that differ.", path, None, column)
        scale = np.where(varies & (variance > 0.0), np.sqrt(variance), 1.0)
        low, high, mean = (np.where(varies, part, 0.0) for part in (low, high, mean))
        return cls(column, low, high, mean, scale, missing)

    @property
    def _kept(self) -> NDArray[np.bool_]:
        return np.asarray(self.low < self.high)

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """Compute standardised parts, then the indicator."""
        values = read_times(table, self.column)
        missing = np.isnan(values).all(axis=1)
        standard = (np.clip(values, self.low, self.high) - self.mean) / self.scale
        found = np.nan_to_num(standard[:, self._kept], nan=0.0)
        return np.column_stack([found, missing]) if self.indicated else found

    def width(self) -> int:
        """Return the number of features."""
        return int(self._kept.sum()) + self.indicated

    def names(self) -> list[str]:
        """Return ``column__elapsed``, ``column__Monday`` and so on."""
        parts = [part for part, kept in zip(PARTS, self._kept, strict=True) if kept]
        return [f"{self.column}__{part}" for part in parts + ["missing"] * self.indicated]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        arrays = {name: getattr(self, name) for name in ("low", "high", "mean", "scale")}
        return {"column": self.column, "indicated": self.indicated}, arrays

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        parts = [arrays[name] for name in ("low", "high", "mean", "scale")]
        if any(part.shape != (len(PARTS),) for part in parts):
            raise ValueError("the parts of times and their statistics differ in number.")
        low, high, mean, scale = parts
        return cls(state["column"], low, high, mean, scale, state["indicated"])
