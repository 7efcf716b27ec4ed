"""The driver's view of rows with one score per class: label steps and soft labels."""

from collections.abc import Sequence

import numpy as np

from semisvm.designs import Floats, Index
from semisvm.label_steps.transportation import Counts, Labels, balance_gathered
from semisvm.tasks.driver import Rows
from semisvm.tasks.many_beliefs import ManyScoreBlock


class ManyScoreRows(Rows[ManyScoreBlock]):
    """The rows of a problem with one score per class."""

    kind = ManyScoreBlock
    # they are long, and little memory compared with the scores of all rows
    _keeps_vectors = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.blocks[0].n_classes

    def table(self, used: Index) -> "Table":
        """Prepare a label step among some classes."""
        return Table(self, self.each(ManyScoreBlock.open_table, used))


class Table:
    """The costs of labels over all blocks, in the form the exact and entropic steps need.

    Parameters
    ----------
    rows : ManyScoreRows
    sizes : sequence of int
        Number of rows per block.
    """

    def __init__(self, rows: ManyScoreRows, sizes: Sequence[int]) -> None:
        self._rows = rows
        self.has_weights = rows.has_weights
        self._sizes = sizes
        self.n_rows = sum(sizes)

    def sample(self, step: int) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row."""
        begins = np.cumsum([0, *self._sizes[:-1]])
        each = [(step, int(-first % step)) for first in begins]
        return self._rows.with_each(ManyScoreBlock.sample, each)

    def assign(self, prices: Floats) -> Counts:
        """Assign each row its cheapest class at the prices; sum the masses per class."""
        return self._rows.all.assign(prices)

    def balance(self, prices: Floats, excess: Counts, reach: float) -> bool:
        """Move rows along shortest paths until no class has an excess.

        A single block moves its own rows. With several, the rows within reach are gathered.
        """
        if len(self._sizes) == 1:
            [found] = self._rows.each(ManyScoreBlock.balance, prices, excess, reach)
            done, prices[:], excess[:] = found
            return bool(done)
        parts = self._rows.each(ManyScoreBlock.near, prices, reach)
        done, labels = balance_gathered(parts, prices, excess, reach)
        each = [(part.rows, new) for part, new in zip(parts, labels, strict=True)]
        self._rows.with_each(ManyScoreBlock.relabel, each)
        return done
