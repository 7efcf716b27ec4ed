"""The driver's view of rows with one score: thresholds, pairs and soft labels.

The k largest outputs over all blocks are a threshold, and the number of outputs at the threshold
that count. Rows with masses are not split: the threshold then leaves a mass above it that is as
near as possible to the one wanted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats, Index
from semisvm.tasks.driver import Ask, Rows
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.sums import added, joined, totals

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
    ask: Callable[..., Sequence[Any]],
    n: int,
    k: int,
    max_gathered: float,
    within: tuple[float, float] = EVERYTHING,
    guess: tuple[float, float] = EVERYTHING,
) -> Cut:
    """Find the cut that keeps exactly k of n outputs.

    Parameters
    ----------
    ask : (name, arguments) -> results of the blocks
    n, k : int
    max_gathered : float
        Maximum number of outputs to gather; if there are more, counts narrow the range first.
    within : pair of floats
        A range that is known to contain the k-th largest output.
    guess : pair of floats
        A range that may contain it, if ``within`` is unbounded and outputs are many.
    """
    if k <= 0 or k >= n:
        n_blocks = len(ask("count_above", (0.0,)))
        return Cut(np.inf if k <= 0 else -np.inf, (0,) * n_blocks)
    if n > max_gathered:
        high, above, parts = _some(ask, k, int(max_gathered), within, guess)
    else:
        low, high = within
        above = _count_above(ask, high) if high < np.inf else 0
        parts = ask("outputs", low, high) if low < high else ()
    if not len(parts):
        return Cut(high, _first_ones(ask("count_at", high), k - above))
    # this many of the gathered outputs must be above the threshold or at it
    missing = k - above
    found = parts[0] if len(parts) == 1 else np.concatenate(parts)
    threshold = float(np.partition(found, len(found) - missing)[len(found) - missing])
    missing -= int(np.count_nonzero(found > threshold))
    if len(parts) == 1:
        return Cut(threshold, (missing,))
    at = [int(np.count_nonzero(part == threshold)) for part in parts]
    return Cut(threshold, _first_ones(at, missing))


def nearest(
    ask: Callable[..., Sequence[Any]], mass: float, max_gathered: float
) -> tuple[Cut, tuple[float, float]]:
    """Find the cut above which the mass is as near as possible to the one wanted.

    Of two that are equally near it is the one with fewer rows above it.

    Parameters
    ----------
    ask : (name, arguments) -> results of the blocks
    mass : float
    max_gathered : float
        Maximum mass of the outputs to gather; if there is more, the range is narrowed first.

    Returns
    -------
    cut : Cut
    edges : pair of floats
        The lowest output above the cut and the highest below it, at least one of each.
    """
    (low, high), above = EVERYTHING, 0.0
    if max_gathered < np.inf and mass > 0.0:
        low, high, above = _narrowed(ask, mass, max_gathered, EVERYTHING)
    parts = ask("weighed_outputs", low, high)
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
    ask: Callable[..., Sequence[Any]],
    k: int,
    max_gathered: int,
    within: tuple[float, float],
    guess: tuple[float, float],
) -> tuple[float, int, Sequence[Any]]:
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
        above, n_within, parts = _few(ask, *first, max_gathered)
        if parts and above < k <= above + n_within:
            return first[1], above, parts
    low, high, above = _narrowed(ask, k, max_gathered, within)
    return high, above, _few(ask, low, high, np.inf)[2] if low < high else ()


def _few(
    ask: Callable[..., Sequence[Any]], low: float, high: float, most: float
) -> tuple[int, int, Sequence[Any]]:
    """Return the numbers of outputs above a range and in it, and the latter if they are few."""
    above, within, parts = zip(*ask("few_outputs", low, high, most), strict=True)
    few = sum(within) <= most and all(part is not None for part in parts)
    return sum(above), sum(within), parts if few else ()


def _count_above(ask: Callable[..., Sequence[Any]], value: float) -> Any:
    return sum(found[0] for found in ask("count_above", (value,)))


def _narrowed(
    ask: Callable[..., Sequence[Any]], k: float, max_gathered: float, within: tuple[float, float]
) -> tuple[float, float, Any]:
    """Return a range that contains the k-th largest output, and the number above the range.

    Outputs count by their mass. The range is a single number if too many outputs are equal to
    be gathered.
    """
    low, high = within
    if high == np.inf:
        ranges = ask("output_range")
        low, high = min(part[0] for part in ranges), max(part[1] for part in ranges)
    above = _count_above(ask, high)
    while low < high:
        trials = np.unique(np.linspace(low, high, TRIALS))
        counts = np.sum(ask("count_above", trials.tolist()), axis=0)
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

    def __init__(self, blocks: Sequence[OneScoreBlock], ask: Ask | None = None) -> None:
        super().__init__(blocks, ask)
        # the last threshold for a number of outputs, and how far from it the next may be
        self._last: dict[int, tuple[float, float]] = {}

    def shift(self, amount: float) -> None:
        """Add a constant to all scores."""
        self.ask("shift", amount)

    def largest(self, k: int, within: tuple[float, float] = EVERYTHING) -> Cut:
        """Find the threshold that leaves exactly k outputs above it, ties by row number."""
        if not self.elsewhere:
            return largest(self.ask, self.n_unlabeled, k, np.inf, within)
        threshold, width = self._last.get(k, (0.0, np.inf))
        guess = threshold - width, threshold + width
        cut = largest(self.ask, self.n_unlabeled, k, MAX_GATHERED, within, guess)
        # the scores hardly move from one search to the next
        moved = abs(cut.threshold - threshold)
        self._last = {k: (cut.threshold, max(FAR * moved, CLOSE * abs(cut.threshold)))}
        return cut

    def best_cut(self, k: float) -> Cut:
        """Find the threshold that leaves k outputs above it, or a mass that is nearest to k."""
        return self._nearest(k)[0] if self.has_weights else self.largest(int(k))

    def _nearest(self, mass: float) -> tuple[Cut, tuple[float, float]]:
        return nearest(self.ask, mass, MAX_GATHERED if self.elsewhere else np.inf)

    def edges(self, k: float) -> tuple[float, float]:
        """Return the k-th largest output and the next one; by mass, those beside the cut."""
        return (
            self._nearest(k)[1] if self.has_weights else (self.output_at(k), self.output_at(k + 1))
        )

    def output_at(self, k: float) -> float:
        """Return the k-th largest output, for k from 1 to the number of unlabelled rows."""
        if k < self.n_unlabeled:
            return self.largest(int(k)).threshold
        return float(min(low for low, _ in self.ask("output_range")))

    def label_largest(self, k: float) -> int:
        """Label the k largest outputs positive; return the number of switched pairs."""
        if self.has_weights:
            return self.cut(self.best_cut(k))
        n_positive, lowest, highest = zip(*self.ask("crossing"), strict=True)
        if sum(n_positive) != k:
            return self.cut(self.largest(int(k)))
        low, high = min(lowest), max(highest)
        # only labels between the two can be wrong, and usually they are few
        return self.cut(self.largest(int(k), (low, high))) if low <= high else 0

    def cut(self, at: Cut) -> int:
        """Label by a threshold; return how many pairs of labels were switched, rounded up."""
        return (sum(self.ask("cut", at.threshold, each=[(n,) for n in at.tied])) + 1) // 2

    def losses_of_cut(self, at: Cut) -> tuple[float, float]:
        """Return the same losses as if the labels were chosen by a threshold."""
        parts = self.ask("losses_of_cut", at.threshold, each=[(n,) for n in at.tied])
        fit, rest = totals(parts)
        return fit, rest

    def n_positive_outputs(self) -> float:
        """Count the unlabelled rows with a positive score, by mass."""
        return sum(found[0] for found in self.ask("count_above", (0.0,)))

    def switch_pairs(self, max_pairs: int) -> int:
        """Switch the labels of at most ``max_pairs`` pairs that lower the loss; count them.

        Equal scores are never switched, so ties cannot cycle.
        """
        parts = self.ask("extremes", max_pairs)
        (low, down, where_down), (high, up, where_up) = (
            _merged([part[side] for part in parts], sign, max_pairs)
            for side, sign in ((0, 1.0), (1, -1.0))
        )
        k = min(len(low), len(high))
        n = int(np.count_nonzero(low[:k] < high[:k]))
        if n:
            self.ask(
                "switch",
                each=[
                    (down[:n][where_down[:n] == b], up[:n][where_up[:n] == b])
                    for b in range(len(parts))
                ],
            )
        return n

    def probe(self) -> tuple[Floats, float]:
        """Sum half of the unlabelled rows that push their own scores; see the block's method."""
        sizes = [len(block.unlabeled) for block in self.blocks]
        starts = np.cumsum([0, *sizes[:-1]])
        parts = self.ask("probe", each=[(int(start),) for start in starts])
        return added([part[0] for part in parts], self.n_weights), sum(part[1] for part in parts)

    def leave_out(self, leverage: float) -> None:
        """Estimate the scores that the unlabelled rows would have as new rows."""
        self.ask("leave_out", leverage)

    def mark_labels(self) -> None:
        """Take the chosen labels for those of the last gradient."""
        self.ask("mark_labels")

    def soften(
        self, price: float, temperature: float, lam: float, keep: bool = False
    ) -> tuple[float, float, float]:
        """Set the beliefs at a price; return their mean and its first two derivatives."""
        parts = self.ask("soften", price, temperature, lam, keep)
        mean, slope, bend = totals(parts)
        return mean, slope, bend

    def gap_range(self, lam: float) -> tuple[float, float]:
        """Return the smallest and the largest gap between the losses of the labels."""
        parts = self.ask("gap_range", lam)
        return min(part[0] for part in parts), max(part[1] for part in parts)

    def gap_deviation(self, lam: float) -> float:
        """Return the standard deviation of the gaps."""
        parts = self.ask("gap_spread", lam)
        if len(parts) == 1:
            return float(parts[0][2])
        n, mean, deviation = np.array(parts, dtype=np.float64).T
        centre = np.sum(n * mean) / n.sum()
        return float(np.sqrt(np.sum(n * (deviation**2 + (mean - centre) ** 2)) / n.sum()))

    def soft_losses(
        self, price: float, temperature: float, lam: float
    ) -> tuple[float, float, float]:
        """Compute the parts of the free energy; see the block's method."""
        fit, negative, rest = totals(self.ask("soft_losses", price, temperature, lam))
        return fit, negative, rest

    def follow_beliefs(self, lam: float) -> list[Floats | None] | None:
        """Return how the gradient changes with the beliefs; None if recomputing is cheaper."""
        parts = self.ask("follow_beliefs", lam)
        return [part[1] for part in parts] if all(part[0] for part in parts) else None

    def respond(self, temperature: float, lam: float, charged: bool) -> tuple[float, Floats]:
        """Turn the curvature into that of the reduced Hessian; see the block's method."""
        parts = self.ask("respond", temperature, lam, charged)
        return sum(part[0] for part in parts), added([part[1] for part in parts], self.n_weights)

    def beliefs(self) -> Floats:
        """Return the beliefs in the positive label, in the order of the unlabelled rows."""
        return joined(self.ask("beliefs"))

    def outputs(self) -> Floats:
        """Return the scores of the unlabelled rows."""
        return np.concatenate(self.ask("outputs"))

    def labels(self) -> NDArray[np.bool_]:
        """Return the chosen labels of the unlabelled rows."""
        return np.concatenate(self.ask("chosen_labels"))


def _merged(
    parts: Sequence[tuple[Floats, Index]], sign: float, k: int
) -> tuple[Floats, Index, Index]:
    """Merge the candidates of all blocks: scores, positions and blocks of the best k."""
    scores = np.concatenate([part[0] for part in parts])
    positions = np.concatenate([part[1] for part in parts])
    where = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    order = np.argsort(sign * scores, kind="stable")[:k]
    return scores[order], positions[order], where[order]
