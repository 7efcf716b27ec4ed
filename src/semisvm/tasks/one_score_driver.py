"""The driver's view of rows with one score: thresholds, pairs and soft labels.

The k largest outputs over all blocks are a threshold, and the number of outputs at the threshold
that count. Rows with masses are not split: the threshold then leaves a mass above it that is as
near as possible to the one wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semisvm.designs import Floats, Index
from semisvm.tasks.driver import Rows
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.operations import Run, concatenated

# Number of thresholds tried at a time while the range is narrowed.
TRIALS = 32
EVERYTHING = (-np.inf, np.inf)


@dataclass(frozen=True)
class Cut:
    """The outputs above a threshold, and the first few of those equal to it.

    Attributes
    ----------
    threshold : float
    tied : tuple of int
        Per block, how many of its outputs at the threshold count; first rows first.
    """

    threshold: float
    tied: tuple[int, ...]


def largest(
    rows: "OneScoreRows",
    k: int,
    max_gathered: float,
    within: tuple[float, float] = EVERYTHING,
    guess: tuple[float, float] = EVERYTHING,
    by_cost: bool = False,
) -> Cut:
    """Find the cut that keeps exactly k outputs.

    Parameters
    ----------
    rows : OneScoreRows
    k : int
    max_gathered : float
        Maximum number of outputs to gather; if there are more, counts narrow the range first.
    within : pair of floats
        A range that is known to contain the k-th largest output.
    guess : pair of floats
        A range that may contain it, if ``within`` is unbounded and outputs are many.
    by_cost : bool
        Whether outputs are how much cheaper the positive label is; see `HardLabeledRows`.
    """
    if k <= 0 or k >= rows.n_unlabeled:
        return Cut(np.inf if k <= 0 else -np.inf, (0,) * len(rows.blocks))
    if rows.n_unlabeled > max_gathered:
        high, above, parts = _some(rows, k, int(max_gathered), within, guess, by_cost)
    else:
        low, high = within
        above = rows.all.count_above((high,), by_cost)[0] if high < np.inf else 0
        parts = rows.each(OneScoreBlock.outputs, low, high, by_cost) if low < high else ()
    # without masses it is a number of rows
    missing = k - int(above)
    if not len(parts):
        at_it = rows.each(OneScoreBlock.count_at, high, by_cost)
        return Cut(high, _first_ones(at_it, missing))
    # this many of the gathered outputs must be above the threshold or at it
    found = concatenated(parts)
    threshold = float(np.partition(found, len(found) - missing)[len(found) - missing])
    missing -= int(np.count_nonzero(found > threshold))
    if len(parts) == 1:
        return Cut(threshold, (missing,))
    at = [int(np.count_nonzero(part == threshold)) for part in parts]
    return Cut(threshold, _first_ones(at, missing))


def nearest(
    rows: "OneScoreRows", mass: float, max_gathered: float, by_cost: bool = False
) -> tuple[Cut, tuple[float, float]]:
    """Find the cut above which the mass is as near as possible to the one wanted.

    Of two that are equally near it is the one with fewer rows above it.

    Parameters
    ----------
    rows : OneScoreRows
    mass : float
    max_gathered : float
        Maximum mass of the outputs to gather; if there is more, the range is narrowed first.
    by_cost : bool
        See `largest`.

    Returns
    -------
    cut : Cut
    edges : pair of floats
        The lowest output above the cut and the highest below it, at least one of each.
    """
    (low, high), above = EVERYTHING, 0.0
    if max_gathered < np.inf and mass > 0.0:
        low, high, above = _narrowed(rows, mass, max_gathered, EVERYTHING, by_cost)
    parts = rows.each(OneScoreBlock.weighed_outputs, low, high, by_cost)
    scores, masses = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    where = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    k = int(np.argmin(np.abs(above + np.append(0.0, np.cumsum(masses[order])) - mass)))
    threshold = float(ranked[k - 1]) if k else high
    at = where[order[:k]][ranked[:k] == threshold]
    tied = np.bincount(at, minlength=len(parts))
    last, first = max(k, 1) - 1, min(k, len(ranked) - 1)
    return Cut(threshold, tuple(tied.tolist())), (float(ranked[last]), float(ranked[first]))


def _first_ones(at: Sequence[int], missing: int) -> tuple[int, ...]:
    """Return, per block, how many outputs at the threshold count: the first missing ones."""
    tied = []
    for n in at:
        tied.append(min(n, missing))
        missing -= tied[-1]
    return tuple(tied)


def _some(
    rows: "OneScoreRows",
    k: int,
    max_gathered: int,
    within: tuple[float, float],
    guess: tuple[float, float],
    by_cost: bool,
) -> tuple[float, float, Sequence[Floats]]:
    """Gather a few outputs, the k-th largest among them.

    Returns
    -------
    high : float
        Upper end of their range.
    above : int
        Number of outputs above it.
    parts : sequence of arrays
        The outputs in the range, per block; empty if they are all equal to ``high``, and too many.
    """
    first = within if within != EVERYTHING else guess
    if first[0] < first[1] and first != EVERYTHING:
        above, n_within, parts = _few(rows, *first, max_gathered, by_cost)
        if parts and above < k <= above + n_within:
            return first[1], above, parts
    low, high, n_above = _narrowed(rows, k, max_gathered, within, by_cost)
    return high, n_above, _few(rows, low, high, np.inf, by_cost)[2] if low < high else ()


def _few(
    rows: "OneScoreRows", low: float, high: float, most: float, by_cost: bool
) -> tuple[int, int, Sequence[Floats]]:
    """Return the numbers of outputs above a range and in it, and the latter if they are few."""
    found = rows.each(OneScoreBlock.few_outputs, low, high, most, by_cost)
    above, within = sum(part[0] for part in found), sum(part[1] for part in found)
    parts = [part[2] for part in found if part[2] is not None]
    return above, within, parts if within <= most and len(parts) == len(found) else ()


def _narrowed(
    rows: "OneScoreRows",
    k: float,
    max_gathered: float,
    within: tuple[float, float],
    by_cost: bool,
) -> tuple[float, float, float]:
    """Return a range that contains the k-th largest output, and the number above the range.

    Outputs count by their mass. The range is a single number if too many outputs are equal to
    be gathered.
    """
    low, high = within
    if high == np.inf:
        low, high = rows.all.output_range(by_cost)
    [above] = rows.all.count_above((high,), by_cost)
    if above >= k:
        # only rows that must be positive are above, at infinity
        return np.inf, np.inf, 0
    while low < high:
        trials = np.unique(np.linspace(low, high, TRIALS))
        counts = np.array(rows.all.count_above(trials.tolist(), by_cost))
        # the last trial with at least k above it is below the k-th largest output, the next is not
        first = int(np.count_nonzero(counts >= k))
        high, above = float(trials[first]), counts[first].item()
        if first == 0:
            return high, high, above
        low = float(trials[first - 1])
        if counts[first - 1] - above <= max_gathered:
            break
        if len(trials) == 2:
            # there is no number between the two
            return high, high, above
    return low, high, above


# Maximum number of outputs gathered from remote blocks in the search for a threshold.
MAX_GATHERED = 10_000
# A threshold is first looked for within this multiple of its last move, or, if it did not move,
# within this fraction of itself.
FAR = 2.0
CLOSE = 1e-3


class OneScoreRows(Rows[OneScoreBlock]):
    """The rows of a two-class problem."""

    kind = OneScoreBlock

    def __init__(self, blocks: Sequence[OneScoreBlock], run: Run | None = None) -> None:
        super().__init__(blocks, run)
        # the last threshold for a number of outputs, and how far from it the next may be
        self._last: dict[int, tuple[float, float]] = {}

    def largest(
        self, k: int, within: tuple[float, float] = EVERYTHING, by_cost: bool = True
    ) -> Cut:
        """Find the threshold that leaves exactly k outputs above it, ties by row number."""
        if not self.remote:
            return largest(self, k, np.inf, within, by_cost=by_cost)
        threshold, width = self._last.get(k, (0.0, np.inf))
        guess = threshold - width, threshold + width
        cut = largest(self, k, MAX_GATHERED, within, guess, by_cost)
        if not np.isfinite(cut.threshold):
            return cut
        # the scores hardly move from one search to the next
        moved = abs(cut.threshold - threshold)
        self._last = {k: (cut.threshold, max(FAR * moved, CLOSE * abs(cut.threshold)))}
        return cut

    def best_cut(self, k: float) -> Cut:
        """Find the threshold that leaves k outputs above it, or a mass that is nearest to k."""
        return self._nearest(k)[0] if self.has_weights else self.largest(int(k))

    def _nearest(self, mass: float, by_cost: bool = True) -> tuple[Cut, tuple[float, float]]:
        return nearest(self, mass, MAX_GATHERED if self.remote else np.inf, by_cost)

    def edges(self, k: float) -> tuple[float, float]:
        """Return the k-th largest output and the next one; by mass, those beside the cut."""
        if self.has_weights:
            return self._nearest(k, by_cost=False)[1]
        return self.output_at(k), self.output_at(k + 1)

    def output_at(self, k: float) -> float:
        """Return the k-th largest output, for k from 1 to the number of unlabelled rows."""
        if k < self.n_unlabeled:
            return self.largest(int(k), by_cost=False).threshold
        return self.all.output_range()[0]

    def label_largest(self, k: float) -> int:
        """Label the k rows positive whose label is cheapest; count the switched pairs."""
        if self.has_weights:
            return self.cut(self.best_cut(k))
        n_positive, low, high = self.all.crossing()
        if n_positive != k:
            return self.cut(self.largest(int(k)))
        # only labels between the two can be wrong, and usually they are few
        return self.cut(self.largest(int(k), (low, high))) if low <= high else 0

    def cut(self, at: Cut) -> int:
        """Label by a threshold; return how many pairs of labels were switched, rounded up."""
        changed = self.with_each(OneScoreBlock.cut, [(at.threshold, n) for n in at.tied])
        return (changed + 1) // 2

    def losses_of_cut(self, at: Cut) -> tuple[float, float]:
        """Return the same losses as if the labels were chosen by a threshold."""
        each = [(at.threshold, n) for n in at.tied]
        return self.with_each(OneScoreBlock.losses_of_cut, each)

    def switch_pairs(self, max_pairs: int) -> int:
        """Switch the labels of at most ``max_pairs`` pairs that lower the loss; count them.

        Equal scores are never switched, so ties cannot cycle.
        """
        parts = self.each(OneScoreBlock.extremes, max_pairs)
        (low, down, where_down), (high, up, where_up) = (
            _merged([part[side] for part in parts], sign, max_pairs)
            for side, sign in ((0, 1.0), (1, -1.0))
        )
        k = min(len(low), len(high))
        n = int(np.count_nonzero(low[:k] < high[:k]))
        if n:
            each = [
                (down[:n][where_down[:n] == b], up[:n][where_up[:n] == b])
                for b in range(len(parts))
            ]
            self.with_each(OneScoreBlock.switch, each)
        return n


def _merged(
    parts: Sequence[tuple[Floats, Index]], sign: float, k: int
) -> tuple[Floats, Index, Index]:
    """Merge the candidates of all blocks: scores, positions and blocks of the best k."""
    scores = np.concatenate([part[0] for part in parts])
    positions = np.concatenate([part[1] for part in parts])
    where = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    order = np.argsort(sign * scores, kind="stable")[:k]
    return scores[order], positions[order], where[order]
