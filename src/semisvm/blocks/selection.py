"""The k largest outputs over all blocks: a threshold, and how many outputs at it count.

Rows with masses are not split: the threshold then leaves a mass above it that is as near as
possible to the one wanted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    ask : (name, arguments) -> answers of the blocks
    n, k : int
    max_gathered : float
        Maximum number of outputs to gather; if there are more, counts narrow the range first.
    within : pair of floats
        A range that is known to contain the k-th largest output.
    guess : pair of floats
        A range that may contain it, if ``within`` says nothing and outputs are many.
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
    ask : (name, arguments) -> answers of the blocks
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
