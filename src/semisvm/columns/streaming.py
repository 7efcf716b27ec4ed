"""Features of tables that are larger than memory."""

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.columns.blocks import Block, CategoricalBlock
from semisvm.columns.features import ColumnFeatures, columns_by_kind, is_dense
from semisvm.columns.hashed import HASHED
from semisvm.columns.kinds import CATEGORICAL, NUMERIC, TEXT, VECTOR
from semisvm.columns.shares import BlockStatistics
from semisvm.columns.tallies import LevelTally, NumberTally, WordTally
from semisvm.columns.vectors import VectorBlock, VectorTally
from semisvm.io.table import Table


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
        """Whether all columns are numbers or vectors, so that hardly an entry is zero."""
        return is_dense(self.kinds)

    def look(self, table: Table) -> None:
        """Find the kinds of the columns in the first piece."""
        self._path = table.path
        self.kinds = self.features._find_kinds(table, self._notes)
        self.features.informative_ = {}  # rows are scaled for any labels that they may have
        of = columns_by_kind(self.kinds)
        words, limits = self.features._words(), self.features._limits()
        self._words = [WordTally(name, words, **limits) for name in of[TEXT]]
        self._numbers = NumberTally(of[NUMERIC]) if of[NUMERIC] else None
        self._levels = [LevelTally(name) for name in of[CATEGORICAL]]
        self._vectors = [VectorTally(name) for name in of[VECTOR]]
        self._hashed = of[HASHED]

    def count(self, table: Table) -> None:
        """Learn from some rows."""
        for words in self._words:
            words.add(table)
        for levels in self._levels:
            levels.add(table)
        for vectors in self._vectors:
            vectors.add(table)
        if self._numbers is not None:
            self._numbers.add(table)
        self.n_rows += len(table)

    def empty(self) -> "StreamedFeatures":
        """Return features of the same kinds of columns that have counted nothing."""
        return deepcopy(self)

    def merge_counts(self, other: "StreamedFeatures") -> None:
        """Add what was counted in other rows."""
        for ours, theirs in zip(self._words, other._words, strict=True):
            ours.merge(theirs)
        for level, more in zip(self._levels, other._levels, strict=True):
            level.merge(more)
        for vector, others in zip(self._vectors, other._vectors, strict=True):
            vector.merge(others)
        if self._numbers is not None and other._numbers is not None:
            self._numbers.merge(other._numbers)
        self.n_rows += other.n_rows

    def merge_statistics(self, other: "StreamedFeatures") -> None:
        """Add what was learnt from the features of other rows."""
        self._statistics.merge(other._statistics)

    def fit(self) -> None:
        """Make the features of what was counted."""
        features = self.features
        blocks: list[Block] = [tally.block(self.n_rows, self._path) for tally in self._words]
        blocks += features._hashed(self._hashed)
        if self._numbers is not None:
            numbers = self._numbers.block(self._path)
            parts = features._parted(numbers.columns)
            blocks += [numbers.only(part) for part in parts]
        counts = {tally.column: tally.rows.counts for tally in self._levels}
        limits = (features.min_count, features.max_levels)
        for part in features._parted(list(counts)):
            blocks.append(CategoricalBlock.of_counts(part, [counts[c] for c in part], *limits))
        blocks += [VectorBlock(tally.column, tally.mean(self._path)) for tally in self._vectors]
        counted = [(t.column, t.rows) for t in self._words]
        for name, rows in [*counted, *((t.column, t.rows) for t in self._levels)]:
            self._notes += rows.note(name)
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
