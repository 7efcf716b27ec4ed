"""Columns of categories: an indicator per level."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.tables.blocks import (
    COLUMNS,
    ENOUGH_ROWS,
    Arrays,
    Block,
    BlockOptions,
    BoundedCounts,
    Cells,
    Kind,
    State,
    Tally,
)
from semisvm.tables.schema import Record, listed, text
from semisvm.tables.table import Table

RARE = "(rare)"


class LevelTally(Tally):
    """Numbers of rows with each level, by column."""

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        super().__init__(columns, options)
        self.rows = {name: BoundedCounts() for name in columns}
        self._min_count, self._max_levels = options.min_count, options.max_levels

    def add(self, table: Table) -> None:
        """Count the levels of some rows."""
        for name, rows in self.rows.items():
            rows.add(level for level in table.levels(name) if level)

    def merge(self, other: "LevelTally") -> None:
        """Add what was counted in other rows."""
        for name, rows in self.rows.items():
            rows.merge(other.rows[name])

    def levels(self, columns: list[str]) -> tuple[list[list[str]], list[list[str]]]:
        """Return the frequent levels of some columns, and the rare ones."""
        levels, rare = [], []
        for counts in (self.rows[name].counts for name in columns):
            order = sorted(counts, key=lambda level: (-counts[level], level))[: self._max_levels]
            kept = {level for level in order if counts[level] >= self._min_count}
            levels.append(sorted(kept))
            rare.append(sorted(counts.keys() - kept))
        return levels, rare

    def block(self, columns: list[str], n_rows: int, path: str | None) -> "CategoricalBlock":
        """Return the block of some of the columns."""
        return CategoricalBlock(list(columns), *self.levels(columns))

    def notes(self) -> list[str]:
        """Return which levels were forgotten."""
        return [note for name, rows in self.rows.items() for note in rows.note(name)]


@dataclass
class CategoricalBlock(Block):
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
    title = "categories"
    tally = LevelTally
    shared = is_single = is_indicator = True
    shown_as = "category"
    stored = Record(
        {
            "kind": text,
            "columns": COLUMNS,
            "levels": listed(listed(text, unique=True), "columns"),
            "rare": listed(listed(text, unique=True), "columns"),
        }
    )

    @classmethod
    def recognise(cls, cells: Cells) -> Kind | None:
        """Recognise short texts that come again, or that are few altogether."""
        n, distinct = len(cells.words), cells.n_distinct
        if n and (cells.repeats or (distinct == n and n < ENOUGH_ROWS)):
            return Kind(cls.kind, f"{distinct} distinct values")
        return None

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Find the frequent levels."""
        tally = cls.tally(columns, options)
        tally.add(table)
        block = cls(list(columns), *tally.levels(columns))
        return block, block.matrix(table)

    @classmethod
    def values(cls, table: Table, column: str) -> NDArray[Any]:
        """Return levels."""
        return np.array(table.levels(column))

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

    def bytes_of_names(self) -> int:
        """Return how many bytes the names of the columns take in those of levels."""
        pairs = zip(self.columns, self.levels, strict=True)
        return sum(len(column.encode()) * len(levels) for column, levels in pairs)

    def count_unknown(
        self, table: Table, min_df: int | float, n_fitted: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the levels of each row that are unknown, and all."""
        pairs = [
            (level not in known if level else False, bool(level))
            for name, levels in zip(self.columns, self.levels, strict=True)
            for known in [set(levels)]
            for level in table.levels(name)
        ]
        cells = np.array(pairs, dtype=float).reshape(len(self.columns), len(table), 2)
        return cells[:, :, 0].sum(axis=0), cells[:, :, 1].sum(axis=0)
