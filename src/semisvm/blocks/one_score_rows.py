"""The driver's view of rows with one score: thresholds, pairs and soft labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from semisvm.blocks.one_score import OneScoreBlock
from semisvm.blocks.rows import Ask, Rows
from semisvm.blocks.selection import EVERYTHING, Cut, largest, nearest
from semisvm.blocks.sums import added, joined, totals
from semisvm.designs import Floats, Index

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
        return self._nearest(k)[0] if self.weighs else self.largest(int(k))

    def _nearest(self, mass: float) -> tuple[Cut, tuple[float, float]]:
        return nearest(self.ask, mass, MAX_GATHERED if self.elsewhere else np.inf)

    def edges(self, k: float) -> tuple[float, float]:
        """Return the k-th largest output and the next one; by mass, those beside the cut."""
        return self._nearest(k)[1] if self.weighs else (self.output_at(k), self.output_at(k + 1))

    def output_at(self, k: float) -> float:
        """Return the k-th largest output, for k from 1 to the number of unlabelled rows."""
        if k < self.n_unlabeled:
            return self.largest(int(k)).threshold
        return float(min(low for low, _ in self.ask("output_range")))

    def label_largest(self, k: float) -> int:
        """Label the k largest outputs positive; return the number of switched pairs."""
        if self.weighs:
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
