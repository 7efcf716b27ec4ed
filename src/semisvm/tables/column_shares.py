"""How much of the length of a row each block of columns gets.

A block whose rows vary in few directions, such as a category of four levels, makes far stronger
clusters than a text of the same length, whose rows vary in hundreds. Methods that look for clusters
follow the strongest ones, whatever they mean. So the shares of the blocks in the mean squared
length of the rows are proportional to the numbers of their directions (`count_directions`): what
varies in one direction is as long in all blocks.

Vectors of an encoder are an exception: they count like a text, since they pack its meaning into few
directions on purpose.

Numbers, categories and times divide their part by the number of columns. Directions would give a
category of twenty levels six times the length of eighteen numbers that vary in three, and with few
labels a model would follow its noise.

Beside texts and vectors, this leaves little to a column of few values, whatever it means. If labels
show that it is no noise (`semisvm.tables.informative`), its share is raised on the way to an equal
one: ``share**(1 - t) * equal**t``. About half-way, t = 0.55, suits supervised methods. Methods that
look for clusters would find those of the column then: they gain up to `FOR_CLUSTERS`, and lose
beyond twice as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.validation import count_directions
from semisvm.tables.blocks import Block
from semisvm.tables.kinds import VECTOR
from semisvm.text import listing

MOST_ROWS = 1_000
"""Rows from which directions are counted, at most."""
WIDE = 20.0
"""Directions from which on vectors count like the widest text: those of encoders have dozens."""
SMALL = 0.01
"""Directions that categories may have beside texts and vectors, as a share of theirs, however few
columns the categories are: so little does no harm if they are noise."""
FOR_CLUSTERS, SUPERVISED = 0.15, 0.55
"""How far informative columns are raised to an equal share, on a logarithmic scale: for any method,
and for those that use labelled rows only. Chosen by ``python -m benchmarks columns``."""
DAMPED = 0.25
"""Part of an equal share below which a note names the columns."""


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

    def rows(self, blocks: Sequence[int]) -> Any:
        """Return the rows of some blocks of one kind that were kept, side by side."""
        parts = [_stacked(self._kept[k]) for k in blocks]
        if len(parts) == 1:
            return parts[0]
        if isinstance(parts[0], np.ndarray):
            return np.hstack(parts)
        return sparse.csr_matrix(sparse.hstack(parts, format="csr"))

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
    blocks: Sequence[Block],
    statistics: BlockStatistics,
    weights: Sequence[float] | None = None,
    informative: Mapping[str, float] | None = None,
    raised: float = FOR_CLUSTERS,
) -> tuple[NDArray[np.float64], list[str]]:
    """Compute what to multiply the blocks by; an average row then has length one.

    Parameters
    ----------
    blocks : sequence of Block
        Numeric blocks follow each other, and so do categorical ones; either are one group.
    statistics : BlockStatistics
    weights : sequence of float, optional
        Factors of the blocks besides.
    informative : mapping of float, optional
        p-values of columns that are associated with the labels. The columns of a block are either
        all among them, or none is.
    raised : float
        How far such columns are raised to an equal share, 0 to 1.

    Returns
    -------
    scales : array of shape (number of blocks,)
    notes : list of str
        Which columns are damped or raised, and why.
    """
    groups = _groups(blocks)
    counts = _counts(groups, statistics)
    shares = counts / (counts.sum() or 1.0)
    mean = statistics.squares / max(statistics.n_rows, 1)
    scales = np.ones(len(blocks))
    for group, share in zip(groups, shares, strict=True):
        if (q := mean[group.places].sum()) > 0.0:
            scales[group.places] = np.sqrt(share / q)
    known = {} if informative is None else informative
    places = [k for k, block in enumerate(blocks) if block.columns[0] in known]
    rise = _rise(groups, counts, mean * scales**2, places, raised)
    factors = np.ones(len(blocks)) if weights is None else np.array(weights)
    before = _shares(mean, scales * factors)
    scales *= rise
    if np.ptp(factors) > 0.0:
        scales *= factors
        scales /= np.sqrt(mean @ scales**2) or 1.0
    after = _shares(mean, scales)
    plain = [k for k in range(len(blocks)) if factors[k] == 1.0 and k not in places]
    notes = _about_damped(groups, counts, blocks, after, plain)
    return scales, notes + _about_raised(blocks, before, after, places, known)


def _shares(mean: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of the blocks in the squared length of the rows."""
    own = mean * scales**2
    return np.asarray(own / (own.sum() or 1.0))


@dataclass(frozen=True)
class Group:
    """Blocks that count together: a text, a column of vectors, all numbers, all categories."""

    type: type[Block]
    columns: list[str]
    places: list[int]

    @property
    def is_single(self) -> bool:
        """Whether a cell is a single value."""
        return self.type.is_single


def _groups(blocks: Sequence[Block]) -> list[Group]:
    found: list[Group] = []
    for k, block in enumerate(blocks):
        if found and block.is_single and type(block) is found[-1].type:
            found[-1].columns.extend(block.columns)
            found[-1].places.append(k)
        else:
            found.append(Group(type(block), list(block.columns), [k]))
    return found


def _counts(groups: Sequence[Group], statistics: BlockStatistics) -> NDArray[np.float64]:
    """Count the directions of the groups, those of numbers and categories by their columns."""
    if len(groups) == 1:
        return np.ones(1)
    counts = np.array([count_directions(statistics.rows(group.places)) for group in groups])
    counts[[not statistics.squares[group.places].any() for group in groups]] = 0.0
    single = np.array([group.is_single for group in groups])
    # an encoder packs what a text means into few directions
    wide = [g.type.kind == VECTOR and c >= WIDE for g, c in zip(groups, counts, strict=True)]
    counts[wide] = np.maximum(counts[wide], counts[~single].max(initial=0.0))
    little = SMALL * counts[~single].sum()
    for k, group in enumerate(groups):
        if group.type.is_indicator:
            counts[k] = min(counts[k], max(little, len(group.columns)))
    columns = np.array([len(group.columns) for group in groups]) * (single & (counts > 0.0))
    if columns.any():
        counts = np.where(single, counts[single].sum() * columns / columns.sum(), counts)
    return counts


def _rise(
    groups: Sequence[Group],
    counts: NDArray[np.float64],
    shares: NDArray[np.float64],
    places: Sequence[int],
    raised: float,
) -> NDArray[np.float64]:
    """Return what to multiply the blocks by, so that those at some places have a larger share."""
    rise = np.ones(len(shares))
    wide = sum(not g.is_single and c > 0.0 for g, c in zip(groups, counts, strict=True))
    own, equal = float(shares[places].sum()), 1.0 / (wide + 1)
    if wide == 0 or not 0.0 < own < equal:
        return rise
    new = own ** (1.0 - raised) * equal**raised
    rise *= np.sqrt((1.0 - new) / (1.0 - own))
    rise[places] = np.sqrt(new / own)
    return rise


def _about_damped(
    groups: Sequence[Group],
    counts: NDArray[np.float64],
    blocks: Sequence[Block],
    shares: NDArray[np.float64],
    plain: Sequence[int],
) -> list[str]:
    """Return which columns have little beside texts and vectors, how much, and why."""
    there = np.flatnonzero(counts).tolist()
    if all(groups[k].is_single for k in there):
        return []  # all columns have the same share
    against_equal = counts * len(there) / (counts.sum() or 1.0)
    small = [place for k in there if against_equal[k] < DAMPED for place in groups[k].places]
    damped = [place for place in small if place in plain]
    if not damped:
        return []
    return [
        f"damped: {_have(blocks, shares, damped)}. Columns count by the number of directions in "
        "which they vary. With equal shares, those that vary in few would make the strongest "
        "clusters, even if they are noise. Use column_weights= to change it."
    ]


def _about_raised(
    blocks: Sequence[Block],
    before: NDArray[np.float64],
    shares: NDArray[np.float64],
    places: Sequence[int],
    informative: Mapping[str, float],
) -> list[str]:
    """Return which columns are raised, by how much, and why."""
    if not shares[places].sum() > before[places].sum():
        return []
    p = [informative[name] for k in places for name in blocks[k].columns]
    are, or_less = ("they are", " or less") if len(p) > 1 else ("it is", "")
    return [
        f"raised: {_have(blocks, shares, places)} instead of "
        f"{_percent(before, places)}, because {are} clearly associated with the labels "
        f"(p = {max(p):.1g}{or_less}, permutation test). Use column_weights= to change it."
    ]


def _have(blocks: Sequence[Block], shares: NDArray[np.float64], places: Sequence[int]) -> str:
    """Write what share some blocks have together."""
    columns = [name for k in places for name in blocks[k].columns]
    have = "have together" if len(columns) > 1 else "has"
    named = f"the column{'s' if len(columns) > 1 else ''} {listing(columns, 4)}"
    return f"{named} {have} {_percent(shares, places)} of the squared length of an average row"


def _percent(shares: NDArray[np.float64], places: Sequence[int]) -> str:
    return f"{100.0 * shares[places].sum():.2g}%"
