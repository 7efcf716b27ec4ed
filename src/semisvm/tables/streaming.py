"""Features of tables that are larger than memory.

A first pass counts words, levels and numbers piece by piece, with bounded memory.
"""

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.tables.blocks import Block, Tally
from semisvm.tables.column_shares import BlockStatistics
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.kinds import TYPES, columns_by_type, is_dense
from semisvm.tables.table import Table


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
        self._tallies: list[tuple[list[str], Tally]] = []

    @property
    def needs_count(self) -> bool:
        """Whether there is anything to learn from the data, which hashing does not."""
        return any(TYPES[kind].learns for kind in self.kinds.values())

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
        options = self.features._options()
        self._tallies = [
            (names, one.tally(names, options))
            for one, columns in columns_by_type(self.kinds).items()
            for names in ([columns] if one.shared else [[name] for name in columns])
        ]

    def count(self, table: Table) -> None:
        """Learn from some rows."""
        table = self.features._encoded(table)
        for _, tally in self._tallies:
            tally.add(table)
        self.n_rows += len(table)

    def empty(self) -> "StreamedFeatures":
        """Return features of the same kinds of columns that have counted nothing."""
        return deepcopy(self)

    def merge_counts(self, other: "StreamedFeatures") -> None:
        """Add what was counted in other rows."""
        for (_, ours), (_, theirs) in zip(self._tallies, other._tallies, strict=True):
            ours.merge(theirs)
        self.n_rows += other.n_rows

    def merge_statistics(self, other: "StreamedFeatures") -> None:
        """Add what was learnt from the features of other rows."""
        self._statistics.merge(other._statistics)

    def fit(self) -> None:
        """Make the features of what was counted."""
        features = self.features
        blocks: list[Block] = []
        for names, tally in self._tallies:
            parts = features._parted(names)
            blocks += [tally.block(part, self.n_rows, self._path) for part in parts]
            self._notes += tally.notes()
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
