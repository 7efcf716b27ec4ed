"""Several labels per row: one column per label, or one column of tags."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.labels import read_labels
from semisvm.tables.opening import Options
from semisvm.tables.table import Table
from semisvm.text import LOOKS_MISSING, listing

MOST_TAGS = 1000
"""More different tags than this are texts or names, not labels."""


@dataclass(frozen=True)
class SeveralLabels:
    """Which of several labels rows have: an array with names of columns, as estimators take.

    Attributes
    ----------
    names : list of str
    cells : object array of shape (n, k)
        One of two values, or None if it is not known.
    """

    names: list[str]
    cells: NDArray[np.object_]

    @property
    def columns(self) -> list[str]:
        """The names, as data frames call them."""
        return self.names

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.cells, dtype=dtype)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells are known, shape (n, k)."""
        return np.asarray(self.cells != np.array(None, dtype=object), dtype=np.bool_)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many rows have each value of each label."""
        found = {}
        for name, column in zip(self.names, self.cells.T, strict=True):
            values, counts = np.unique(
                [str(cell) for cell in column if cell is not None], return_counts=True
            )
            found[name] = dict(zip(values.tolist(), counts.tolist(), strict=True))
        return found


def label_columns(table: Table, names: Sequence[str], options: Options) -> SeveralLabels:
    """Read one label per column; blank cells are not known.

    Parameters
    ----------
    table : Table
    names : sequence of str
        Columns that have the same two values, such as 0 and 1 or no and yes.
    options : Options
        What marks a cell that is not known.

    Raises
    ------
    DataError
        If a column is not there or named twice, or a third value is found.
    """
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise DataError(f"the label column {twice[0]!r} is named twice.", table.path)
    columns = []
    for name in names:

        def at(message: str, row: int, name: str = name) -> DataError:
            return table.error(message, row, name)

        columns.append(read_labels(table.column(name), options, at)[0])
    cells = np.column_stack(columns)
    _check_values(table, names, cells)
    return SeveralLabels(list(names), cells)


def _check_values(table: Table, names: Sequence[str], cells: NDArray[np.object_]) -> None:
    """Refuse a third value, with its place."""
    seen: dict[Any, tuple[int, int]] = {}
    for k, column in enumerate(cells.T):
        for row, cell in enumerate(column.tolist()):
            if cell is not None:
                seen.setdefault(cell, (row, k))
    if len(seen) <= 2:
        return
    third = list(seen)[2]
    row, k = seen[third]
    marks = [str(value) for value in seen if str(value) in LOOKS_MISSING]
    hint = f" If {marks[0]} marks what is not known, use unlabeled={marks[0]!r}." if marks else ""
    raise table.error(
        f"several label columns have the same two values, such as 0 and 1, but here there are "
        f"{listing([str(value) for value in seen], 5)}.{hint}",
        row,
        names[k],
    )


def tag_column(
    table: Table, name: str, separator: str = ";", names: Sequence[str] | None = None
) -> SeveralLabels:
    """Read a column of tags, such as "spam;urgent".

    A blank cell is a row of which nothing is known. A cell with nothing but a separator, or an
    empty list, is a row that has none of the tags.

    Parameters
    ----------
    table : Table
    name : str
    separator : str
    names : sequence of str, optional
        The tags to look for; by default all that there are, sorted.

    Raises
    ------
    DataError
        If the column is not there, or holds no tags.
    """
    if not separator.strip() and separator not in (" ", "\t"):
        raise DataError("the separator of tags is empty: use a character such as ';'.")
    tags = [_tags(cell, separator) for cell in table.column(name)]
    if names is None:
        names = sorted({tag for row in tags if row is not None for tag in row})
    if not names:
        raise DataError(f"the column {name!r} has no tags.", table.path)
    if len(names) > MOST_TAGS:
        raise DataError(
            f"the column {name!r} has {len(names):,} different tags, separated by {separator!r}: "
            "is this the column of tags?",
            table.path,
        )
    cells = np.full((len(tags), len(names)), None, dtype=object)
    for i, row in enumerate(tags):
        if row is not None:
            cells[i] = [int(tag in row) for tag in names]
    return SeveralLabels(list(names), cells)


def _tags(cell: Any, separator: str) -> set[str] | None:
    if isinstance(cell, (list, tuple, np.ndarray)):
        return set(_stripped(cell))
    if is_missing(cell) or not str(cell).strip():
        return None
    return set(_stripped(str(cell).split(separator)))


def _stripped(parts: Iterable[Any]) -> list[str]:
    found = [str(part).strip() for part in parts]
    return [part for part in found if part]
