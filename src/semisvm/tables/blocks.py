"""What a type of column is: one class per type declares all that the package needs of it.

A `Block` recognises its columns, learns their features from a table or piece by piece, computes
them, and stores what it has learnt. `semisvm.tables.kinds` has the list of the types.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.errors import is_missing
from semisvm.tables.schema import Record, listed, text
from semisvm.tables.table import Column, Table, with_thousands

Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]

FEW_LEVELS = 50
"""Up to so many distinct short values are categories, whatever the number of rows."""

LEVEL_SHARE = 0.2
"""Beyond them, distinct short values are categories if they are at most this share of the rows."""

ENOUGH_ROWS = 10
"""In fewer rows, values that are all distinct may well be measurements or categories."""

EMPTY, SAME = "it is empty", "all its values are the same"

MOST_COUNTED = 10_000_000
"""Different words that are counted at a time; they take about a gigabyte."""

COLUMNS = listed(text, "columns", least=1, unique=True)
"""Of a block of several columns, in a model file."""


@dataclass(frozen=True)
class Kind:
    """What a column was found to be.

    Attributes
    ----------
    name : str or None
        "text", "numeric", "categorical", "vector", "time", or None if the column is left out.
    reason : str
        In words.
    """

    name: str | None
    reason: str


@dataclass(frozen=True)
class Cells:
    """A column that is looked at, in the forms that types of columns recognise.

    Attributes
    ----------
    name : str
    column : list or array
        As it stands in the table.
    """

    name: str
    column: Column

    @cached_property
    def present(self) -> Column:
        """The cells that are not missing."""
        if not isinstance(self.column, np.ndarray):
            return [cell for cell in self.column if not is_missing(cell)]
        return self.column[~np.isnan(self.column)] if self.column.dtype.kind == "f" else self.column

    @cached_property
    def numbers(self) -> NDArray[Any] | None:
        """The numbers that are not missing; None if other cells are among them."""
        if isinstance(self.present, np.ndarray):
            return self.present
        found = []
        for cell in self.present:
            number = None if isinstance(cell, bool) else with_thousands(cell)
            if number is None:
                return None
            found.append(number)
        numbers = np.array(found, dtype=np.float64)
        return numbers[~np.isnan(numbers)]

    @cached_property
    def words(self) -> list[str]:
        """The cells that are not blank, as text."""
        return [text for cell in self.present if (text := str(cell).strip())]

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct texts."""
        return len(set(self.words))

    @property
    def has_few(self) -> bool:
        """Whether the distinct texts are so few that they are categories, however long they are."""
        return self.n_distinct <= min(FEW_LEVELS, max(len(self.words) // 2, 1))

    @property
    def repeats(self) -> bool:
        """Whether the texts are categories unless they are long."""
        return self.has_few or self.n_distinct <= LEVEL_SHARE * len(self.words)


@dataclass(frozen=True)
class BlockOptions:
    """Parameters of `ColumnFeatures` that types of columns are fitted with.

    Attributes
    ----------
    words : dict
        What a word is, for the vectorisers of scikit-learn.
    limits : dict
        Which words are features: ``min_df``, ``max_df`` and ``max_features``.
    hash_columns, min_count, max_levels : int
    """

    words: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    hash_columns: int = 0
    min_count: int = 2
    max_levels: int = 100


class Tally:
    """What is counted of columns that come piece by piece, to make blocks of them.

    Parameters
    ----------
    columns : list of str
        All of the type, or one, as blocks have them.
    options : BlockOptions
    """

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        self.columns = columns

    def add(self, table: Table) -> None:
        """Count some rows."""
        raise NotImplementedError

    def merge(self, other: Any) -> None:
        """Add what was counted in other rows."""
        raise NotImplementedError

    def block(self, columns: list[str], n_rows: int, path: str | None) -> "Block":
        """Return the block of some of the columns, after all rows."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Return what was left out, and why."""
        return []


class BoundedCounts:
    """Numbers of rows with a word.

    If there are more different words than `MOST_COUNTED`, the rarest are forgotten, and may come
    back. A number then is too small by at most `forgotten`.
    """

    def __init__(self, most: int = MOST_COUNTED) -> None:
        self.counts: Counter[str] = Counter()
        self.forgotten = 0
        self._most = most

    def add(self, words: Iterable[str]) -> None:
        """Count words, each as often as it comes."""
        self.counts.update(words)
        if len(self.counts) > self._most:
            self._forget()

    def merge(self, other: "BoundedCounts") -> None:
        """Add the numbers of other rows."""
        self.counts.update(other.counts)
        self.forgotten += other.forgotten
        if len(self.counts) > self._most:
            self._forget()

    def _forget(self) -> None:
        least = 0
        while len(self.counts) > self._most // 2:
            least += 1
            self.counts = Counter({w: c for w, c in self.counts.items() if c > least})
        self.forgotten += least

    def note(self, name: str) -> list[str]:
        """Return what was left out."""
        if not self.forgotten:
            return []
        return [
            f"the column {name!r} has more than {self._most:,} different words: the rarest were "
            f"forgotten on the way, and words in fewer than about {self.forgotten + 1} rows may "
            "be missing. hash_columns= has no such limit."
        ]


class Block:
    """Features from one or more columns of a type.

    Attributes
    ----------
    kind : str
        The name of the type.
    title : str
        What such columns hold, for messages.
    stored : Record
        What a model file may have of it.
    tally : type of Tally
        What counts its columns of a table that comes piece by piece.
    shared : bool
        Whether all columns of the type are one block; each is a block of its own otherwise.
    is_single : bool
        Whether a cell is a single value, which has little length beside texts and vectors.
    is_indicator : bool
        Whether its features are directions that hardly vary together, such as levels.
    is_dense : bool
        Whether hardly a feature is zero.
    learns : bool
        Whether anything follows from the data.
    shown_as : str or None
        How the labelling page shows it: as "text", "number" or "category"; None for not at all.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    stored: ClassVar[Record]
    tally: ClassVar[type[Tally]]
    shared: ClassVar[bool] = False
    is_single: ClassVar[bool] = False
    is_indicator: ClassVar[bool] = False
    is_dense: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    shown_as: ClassVar[str | None] = None

    columns: list[str]

    @classmethod
    def recognise(cls, cells: Cells) -> Kind | None:
        """Return that a column is of this type, or why it is of none; None to look further."""
        return None

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Learn from a table; return the block and its features of the rows."""
        raise NotImplementedError

    @classmethod
    def values(cls, table: Table, column: str) -> NDArray[Any]:
        """Return what is tested for association with labels: numbers, shape (n,) or (n, k); words.

        Only types that are single have such values.
        """
        raise NotImplementedError

    def matrix(self, table: Table) -> Any:
        """Compute the features of a table, CSR matrix or array of float64, not yet scaled."""
        raise NotImplementedError

    def names(self) -> list[str]:
        """Return the names of the features."""
        raise NotImplementedError

    def sources(self) -> list[str]:
        """Return the column that each feature comes from."""
        raise NotImplementedError

    def width(self) -> int:
        """Return the number of features."""
        raise NotImplementedError

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block: plain data and arrays."""
        raise NotImplementedError

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        raise NotImplementedError

    def bytes_of_names(self) -> int:
        """Return how many bytes the names of columns take in those of the features, if many."""
        return 0

    def count_unknown(
        self, table: Table, min_df: int | float, n_fitted: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Count the words or levels of each row that are unknown, and all; None without any.

        Parameters
        ----------
        table : Table
        min_df : int or float
            The setting of the fit.
        n_fitted : int, optional
            If these are rows of the fit, their number; words then count as known if they would be
            without the row.
        """
        return None


class OneColumn(Block):
    """A block of a single column."""

    column: str

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        """The column that is read."""
        return [self.column]

    def sources(self) -> list[str]:
        """Return the column once per feature."""
        return [self.column] * self.width()

    def bytes_of_names(self) -> int:
        """Return how many bytes the name of the column takes in those of the features."""
        return len(self.column.encode()) * self.width()
