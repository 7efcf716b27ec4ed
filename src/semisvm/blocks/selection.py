"""The k largest outputs over all blocks: a threshold, and how many outputs at it count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Number of thresholds tried at a time while the range is narrowed.
TRIALS = 32


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
    within: tuple[float, float] = (-np.inf, np.inf),
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
    """
    if k <= 0 or k >= n:
        n_blocks = len(ask("count_above", ()))
        return Cut(np.inf if k <= 0 else -np.inf, (0,) * n_blocks)
    (low, high), above = within, 0
    if n > max_gathered:
        low, high, above = _narrowed(ask, k, max_gathered, within)
    elif high < np.inf:
        above = _count_above(ask, high)
    parts = ask("outputs", low, high) if low < high else ()
    # this many of the gathered outputs must be above the threshold or at it
    threshold, missing = high, k - above
    if parts:
        found = parts[0] if len(parts) == 1 else np.concatenate(parts)
        threshold = float(np.partition(found, len(found) - missing)[len(found) - missing])
        missing -= int(np.count_nonzero(found > threshold))
    return Cut(threshold, _shared(ask, threshold, missing, len(parts)))


def _shared(
    ask: Callable[..., Sequence[Any]], threshold: float, missing: int, n_blocks: int
) -> tuple[int, ...]:
    """Return, per block, how many outputs at the threshold count: the first missing ones."""
    if n_blocks == 1:
        return (missing,)
    tied = []
    for at in ask("count_at", threshold):
        tied.append(min(at, missing))
        missing -= tied[-1]
    return tuple(tied)


def _count_above(ask: Callable[..., Sequence[Any]], value: float) -> int:
    return sum(found[0] for found in ask("count_above", (value,)))


def _narrowed(
    ask: Callable[..., Sequence[Any]], k: int, max_gathered: float, within: tuple[float, float]
) -> tuple[float, float, int]:
    """Return a range that contains the k-th largest output, and the number above the range.

    The range is a single number if too many outputs are equal to be gathered.
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
        high, above = float(trials[first]), int(counts[first])
        if first == 0:
            return high, high, above
        low = float(trials[first - 1])
        if counts[first - 1] - above <= max_gathered:
            break
        if len(trials) == 2:
            # there is no number between the two
            return high, high, above
    return low, high, above
