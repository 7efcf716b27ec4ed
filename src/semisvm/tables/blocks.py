"""Features from columns of one kind: fitted once, kept as plain data."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.tables.errors import DataError
from semisvm.tables.table import Table

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
    kind = "numeric"

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
    kind = "categorical"

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
