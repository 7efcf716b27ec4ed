"""Features of tables that are larger than memory.

A first pass counts words, levels and numbers piece by piece, with bounded memory.
"""

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from semisvm.tables.blocks import Block, CategoricalBlock, NumericBlock, TimeBlock, VectorBlock
from semisvm.tables.column_shares import BlockStatistics
from semisvm.tables.errors import DataError
from semisvm.tables.features import ColumnFeatures, columns_by_kind, is_dense
from semisvm.tables.kinds import CATEGORICAL, NUMERIC, PARTS, TEXT, TIME, VECTOR, read_times
from semisvm.tables.table import Table
from semisvm.tables.text_blocks import HASHED, TOKEN_PATTERN, TextBlock, check_ngrams
from semisvm.tables.vector_columns import read_vectors

MOST_COUNTED = 10_000_000
"""Different words that are counted at a time; they take about a gigabyte."""
SAMPLE_ROWS, SAMPLE_CELLS = 100_000, 10_000_000
"""Rows of which the medians are those, but no more than so many cells of them."""


class Tally:
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

    def merge(self, other: "Tally") -> None:
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


class WordTally:
    """The words of a text column.

    Parameters
    ----------
    column : str
    words : dict
        What a word is, for `CountVectorizer`.
    min_df, max_df, max_features
        As for `ColumnFeatures`.
    """

    def __init__(
        self, column: str, words: dict[str, Any], min_df: Any, max_df: Any, max_features: int | None
    ) -> None:
        check_ngrams(words["ngram_range"])
        self.column, self.words = column, words
        self._min_df, self._max_df, self._max_features = min_df, max_df, max_features
        self._analyze = CountVectorizer(token_pattern=TOKEN_PATTERN, **words).build_analyzer()
        self.rows = Tally()
        self._times: Tally | None = None if max_features is None else Tally()

    def add(self, table: Table) -> None:
        """Count the words of some rows."""
        for text in table.text(self.column):
            found = self._analyze(text)
            self.rows.add(set(found))
            if self._times is not None:
                self._times.add(found)

    def merge(self, other: "WordTally") -> None:
        """Add what was counted in other rows."""
        self.rows.merge(other.rows)
        if self._times is not None and other._times is not None:
            self._times.merge(other._times)

    def block(self, n_rows: int, path: str | None) -> TextBlock:
        """Choose the words that are features, and weight them."""
        counts = self.rows.counts
        if not counts:
            raise DataError("the texts of the column have no words.", path, None, self.column)
        low, high = _count_of(self._min_df, n_rows), _count_of(self._max_df, n_rows)
        kept = sorted(word for word, count in counts.items() if low <= count <= high)
        if self._times is not None and self._max_features is not None:
            times = self._times.counts
            kept = sorted(sorted(kept, key=lambda word: -times[word])[: self._max_features])
        if not kept:
            raise DataError(
                f"no word of the column occurs in {self._min_df} rows or more: lower the "
                "parameter min_df, or add rows.",
                path,
                None,
                self.column,
            )
        rows = np.array([counts[word] for word in kept], dtype=np.float64)
        settings = {"lowercase": True, "strip_accents": None, "token_pattern": TOKEN_PATTERN}
        state = {"column": self.column, "words": kept, "settings": {**settings, **self.words}}
        return TextBlock.restore(state, {"idf": np.log((n_rows + 1.0) / (rows + 1.0)) + 1.0})


def _count_of(limit: int | float, n_rows: int) -> float:
    """Return a limit as a number of rows; a float is a share of them."""
    return limit * n_rows if isinstance(limit, float) else limit


class NumberTally:
    """Means and deviations of numeric columns, and medians of a sample of their rows.

    Parameters
    ----------
    columns : list of str
    """

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns
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
        self._squares += squares + apart**2 * self._present * share
        self._mean += apart * share
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

    def block(self, path: str | None) -> NumericBlock:
        """Return the block; missing numbers count as the median in mean and deviation."""
        for name, count in zip(self.columns, self._present, strict=True):
            if count == 0:
                raise DataError("the column has no number.", path, None, name)
        missing = self._n_rows - self._present
        median = self._medians()
        self._merge(missing, median, np.zeros_like(median))
        filled = (missing > 0) & ((median < self._low) | (median > self._high))
        constant = (self._low == self._high) & ~filled
        scale = np.sqrt(self._squares / self._n_rows)
        return NumericBlock(
            self.columns,
            median,
            np.where(constant, self._low, self._mean),
            np.where(constant | (scale == 0), 1.0, scale),
            missing > 0,
        )

    def _medians(self) -> NDArray[np.float64]:
        """Return the medians of the sample; of a column that is missing there, the mean."""
        found = np.isnan(self._sample).all(axis=0)
        sample = np.where(found, 0.0, self._sample)
        return np.where(found, self._mean, np.nanmedian(sample, axis=0))


class TimeTally(NumberTally):
    """The parts of a column of dates and times."""

    def __init__(self, column: str) -> None:
        super().__init__(list(PARTS))
        self.column = column
        self._missing = False

    def _values(self, table: Table) -> NDArray[np.float64]:
        values = read_times(table, self.column)
        self._missing |= bool(np.isnan(values).all(axis=1).any())
        return values

    def merge(self, other: NumberTally) -> None:
        """Add what was counted in other rows."""
        super().merge(other)
        self._missing |= isinstance(other, TimeTally) and other._missing

    def _draw(self, values: NDArray[np.float64]) -> None:
        """Keep no rows: medians are of no use here."""

    def times(self, path: str | None) -> TimeBlock:
        """Return the block."""
        variance = self._squares / np.maximum(self._present, 1.0)
        sums = (self._low, self._high, self._mean, variance)
        return TimeBlock.of_sums(self.column, *sums, self._missing, path)


class LevelTally:
    """The levels of a column of categories."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.rows = Tally()

    def add(self, table: Table) -> None:
        """Count the levels of some rows."""
        self.rows.add(level for level in table.levels(self.column) if level)

    def merge(self, other: "LevelTally") -> None:
        """Add what was counted in other rows."""
        self.rows.merge(other.rows)


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

    def mean(self, path: str | None) -> NDArray[np.float64]:
        """Return the mean of the vectors that are not missing."""
        if self._sum is None or self._count == 0:
            raise DataError("the column has no vector.", path, None, self.column)
        return np.asarray(self._sum / self._count)


class StreamedFeatures:
    """Fits `ColumnFeatures` to a table that comes piece by piece, twice.

    The first pass counts (`count`), the second computes features (`transform`); `finish` then
    returns by what to multiply the columns. The result is that of `ColumnFeatures.fit` with
    all rows at once, except that the kinds of columns are found in the first piece, and medians,
    which missing numbers count as, are those of a sample of 100,000 rows. On a cluster, the rows
    from which the shares of blocks follow are at equal distances in each file.

    Parameters
    ----------
    features : ColumnFeatures
        Not fitted.
    """

    def __init__(self, features: ColumnFeatures) -> None:
        self.features = features
        self.kinds: dict[str, str] = {}
        self._notes: list[str] = []
        self.n_rows = 0
        self._path: str | None = None

    @property
    def needs_count(self) -> bool:
        """Whether there is anything to learn from the data, which hashing does not."""
        return any(kind != HASHED for kind in self.kinds.values())

    @property
    def is_dense(self) -> bool:
        """Whether all columns are numbers, times or vectors, so that hardly an entry is zero."""
        return is_dense(self.kinds)

    @property
    def columns(self) -> list[str]:
        """Columns to read."""
        return self.features._read_columns(self.kinds)

    def find_kinds(self, table: Table) -> None:
        """Find the kinds of the columns in the first piece."""
        self._path = table.path
        self.kinds = self.features._find_kinds(table, self._notes)
        self.features._encoded(table[:1])  # so that a wrong encoder is found before the passes
        self.features.informative_ = {}  # rows are scaled for any labels that they may have
        of = columns_by_kind(self.kinds)
        words, limits = self.features._words(), self.features._limits()
        self._words = [WordTally(name, words, **limits) for name in of[TEXT]]
        self._numbers = [NumberTally(of[NUMERIC])] if of[NUMERIC] else []
        self._levels = [LevelTally(name) for name in of[CATEGORICAL]]
        self._times = [TimeTally(name) for name in of[TIME]]
        self._vectors = [VectorTally(name) for name in of[VECTOR]]
        self._hashed = of[HASHED]

    def _tallies(self) -> list[Any]:
        return [*self._words, *self._levels, *self._times, *self._vectors, *self._numbers]

    def count(self, table: Table) -> None:
        """Learn from some rows."""
        table = self.features._encoded(table)
        for tally in self._tallies():
            tally.add(table)
        self.n_rows += len(table)

    def empty(self) -> "StreamedFeatures":
        """Return features of the same kinds of columns that have counted nothing."""
        return deepcopy(self)

    def merge_counts(self, other: "StreamedFeatures") -> None:
        """Add what was counted in other rows."""
        for ours, theirs in zip(self._tallies(), other._tallies(), strict=True):
            ours.merge(theirs)
        self.n_rows += other.n_rows

    def merge_statistics(self, other: "StreamedFeatures") -> None:
        """Add what was learnt from the features of other rows."""
        self._statistics.merge(other._statistics)

    def fit(self) -> None:
        """Make the features of what was counted."""
        features = self.features
        blocks: list[Block] = [words.block(self.n_rows, self._path) for words in self._words]
        blocks += features._hashed(self._hashed)
        for one in self._numbers:
            numbers = one.block(self._path)
            parts = features._parted(numbers.columns)
            blocks += [numbers.only(part) for part in parts]
        counts = {levels.column: levels.rows.counts for levels in self._levels}
        limits = (features.min_count, features.max_levels)
        for part in features._parted(list(counts)):
            blocks.append(CategoricalBlock.of_counts(part, [counts[c] for c in part], *limits))
        blocks += [each.times(self._path) for each in self._times]
        blocks += [VectorBlock(each.column, each.mean(self._path)) for each in self._vectors]
        counted: list[WordTally | LevelTally] = [*self._words, *self._levels]
        for tally in counted:
            self._notes += tally.rows.note(tally.column)
        features.blocks_ = blocks
        features.kinds_ = dict(self.kinds)
        features.notes_ = self._notes
        features.n_features_out_ = sum(block.width() for block in blocks)
        self.begin()

    def begin(self) -> None:
        """Begin the second pass."""
        self._statistics = BlockStatistics(len(self.features.blocks_))

    def transform(self, table: Table) -> Any:
        """Compute the features of some rows, not yet scaled."""
        table = self.features._encoded(table)
        parts = [block.matrix(table) for block in self.features.blocks_]
        self._statistics.add(parts)
        if self.is_dense:
            return np.hstack(parts)
        return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(p) for p in parts], format="csr"))

    def finish(self) -> NDArray[np.float64]:
        """Complete the features; return by what to multiply each of their columns."""
        features = self.features
        features.scales_, about_shares = features._weigh(self._statistics)
        features.notes_ = self._notes + about_shares
        return np.repeat(features.scales_, [block.width() for block in features.blocks_])
