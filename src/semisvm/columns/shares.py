"""How much of the length of a row each block of columns gets.

A block whose rows vary in few directions, such as a category of four levels, makes far stronger
clusters than a text of the same length, whose rows vary in hundreds. Methods that look for clusters
follow the strongest ones, whatever they mean. So the shares of the blocks in the mean squared
length of the rows are proportional to the numbers of their directions (`count_directions`): what
varies in one direction is as long in all blocks.

Numbers and categories divide their part by the number of columns. Directions would give a category
of twenty levels six times the length of eighteen numbers that vary in three, and with few labels a
model would follow its noise.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.columns.blocks import Block
from semisvm.columns.kinds import CATEGORICAL, NUMERIC
from semisvm.naming import listing, series
from semisvm.rows import count_directions

MOST_ROWS = 1_000
"""Rows from which directions are counted, at most."""
SINGLE = (NUMERIC, CATEGORICAL)
"""Kinds of columns that hold a single value per row."""
SMALL = 0.01
"""Directions that categories may have beside texts and vectors, as a share of theirs, however few
columns the categories are: so little does no harm if they are noise."""
DAMPED = 0.5
"""Factor against equal shares from which on a note names the columns."""


class BlockStatistics:
    """What the shares follow from: sums of squares, and rows at equal distances.

    Every 1st, 2nd, 4th, ... row is kept: those of the smallest power of two that leaves at most
    `MOST_ROWS`. So the rows are the same whether all come at once or piece by piece.

    Parameters
    ----------
    n_blocks : int
    """

    def __init__(self, n_blocks: int) -> None:
        self.squares = np.zeros(n_blocks)
        self.n_rows = 0
        self._kept: list[list[Any]] = [[] for _ in range(n_blocks)]
        self._step, self._n_kept = 1, 0

    def add(self, parts: Sequence[Any]) -> None:
        """Count some rows: a matrix per block, not yet scaled."""
        n = parts[0].shape[0]
        while self._n_kept + len(self._places(n)) > MOST_ROWS:
            self._thin()
        places = self._places(n)
        for kept, part in zip(self._kept, parts, strict=True):
            kept.append(part[places.start : n : places.step])
        self._n_kept += len(places)
        self.squares += [_squares(part) for part in parts]
        self.n_rows += n

    def merge(self, other: "BlockStatistics") -> None:
        """Add what was counted in other rows."""
        while self._step < other._step:
            self._thin()
        while self._step > other._step or self._n_kept + other._n_kept > MOST_ROWS:
            other._thin()
            if other._step > self._step:
                self._thin()
        for kept, more in zip(self._kept, other._kept, strict=True):
            kept += more
        self._n_kept += other._n_kept
        self.squares += other.squares
        self.n_rows += other.n_rows

    def rows(self, k: int) -> Any:
        """Return the rows of a block that were kept."""
        return _stacked(self._kept[k])

    def _places(self, n: int) -> range:
        """Return which of the next n rows are kept."""
        return range(-self.n_rows % self._step, n, self._step)

    def _thin(self) -> None:
        """Leave out every second row."""
        self._kept = [[_stacked(kept)[::2]] if kept else [] for kept in self._kept]
        self._step, self._n_kept = 2 * self._step, -(-self._n_kept // 2)


def _stacked(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.vstack(parts)
    return sparse.csr_matrix(sparse.vstack(parts, format="csr"))


def _squares(part: Any) -> float:
    return float(np.vdot(part, part) if isinstance(part, np.ndarray) else part.multiply(part).sum())


def weigh(
    blocks: Sequence[Block], statistics: BlockStatistics
) -> tuple[NDArray[np.float64], list[str]]:
    """Compute what to multiply the blocks by; an average row then has length one.

    Returns
    -------
    scales : array of shape (number of blocks,)
    notes : list of str
        Which columns are damped, and why.
    """
    counts = _counts(blocks, statistics)
    shares = counts / (counts.sum() or 1.0)
    mean = statistics.squares / max(statistics.n_rows, 1)
    scales = [np.sqrt(s / q) if q > 0.0 else 1.0 for s, q in zip(shares, mean, strict=True)]
    return np.array(scales), _notes(blocks, counts)


def _counts(blocks: Sequence[Block], statistics: BlockStatistics) -> NDArray[np.float64]:
    """Count the directions of the blocks, those of numbers and categories by their columns."""
    counts = np.array([count_directions(statistics.rows(k)) for k in range(len(blocks))])
    counts[statistics.squares == 0.0] = 0.0
    single = np.array([block.kind in SINGLE for block in blocks])
    little = SMALL * counts[~single].sum()
    for k, block in enumerate(blocks):
        if block.kind == CATEGORICAL:
            counts[k] = min(counts[k], max(little, len(block.columns)))
    columns = np.array([len(block.columns) for block in blocks]) * (single & (counts > 0.0))
    if columns.any():
        counts = np.where(single, counts[single].sum() * columns / columns.sum(), counts)
    return counts


def _notes(blocks: Sequence[Block], counts: NDArray[np.float64]) -> list[str]:
    """Say which columns are damped, by how much against equal shares, and why."""
    there = np.flatnonzero(counts)
    against_equal = np.sqrt(counts * len(there) / (counts.sum() or 1.0))
    damped = [k for k in there if against_equal[k] < DAMPED]
    if not damped:
        return []
    factors = series(f"{_named(blocks[k])} by {against_equal[k]:.2g}" for k in damped)
    if all(block.kind in SINGLE for block in blocks):
        own = sum(len(blocks[k].columns) for k in damped)
        total = sum(len(block.columns) for block in blocks)
        return [
            f"damped: {factors}, because numbers and categories count by column ({own} of {total})."
        ]
    widest = int(counts.argmax())
    return [
        f"damped: {factors}. Columns of few values make clusters that a model follows even if they "
        f"mean nothing, so columns count by the directions in which they vary: "
        f"{series(f'{counts[k]:.2g}' for k in damped)}, and {counts[widest]:.0f} for "
        f"{_named(blocks[widest])}."
    ]


def _named(block: Block) -> str:
    names = block.columns
    if len(names) == 1:
        return f"the column {names[0]!r}"
    return f"the {block.kind} columns {listing(names, 4)}"
