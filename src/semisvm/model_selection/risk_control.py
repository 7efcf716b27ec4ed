"""Exact bounds of the errors among the rows that are not in a random sample."""

import numpy as np
from scipy.special import gammaln
from scipy.stats import hypergeom

from semisvm.designs.base import Floats, Index

MOST_LIMITS = 40
"""Numbers of errors that have a limit of their own; those between share the limit of the next."""
ROUNDS = 12
"""Bisections of the level of a single limit."""
ROUNDING = 1e-9
"""Of ``error`` times a number of rows, which is not 12 for 0.06 times 200."""


def error_limits(n: int, size: int, error: float, level: float) -> Index:
    """Bound the errors outside of a random sample, wherever an order of the rows is cut off.

    Of the rows before a cutoff, k of the sample are wrong. Then at most ``limits[k]`` of the others
    are wrong, at all cutoffs at once, but for samples of a probability of ``level``. The order must
    not depend on the labels of the sample.

    Let V(u) be the number of wrong rows of the sample that come before the u-th wrong row outside
    of it. A bound is broken at some cutoff only if V(limits[k] + 1) <= k for some k. Whichever rows
    are wrong, they are in the sample by chance alone, so the probability of that is known: it is
    computed by recursion over k. The limit for k alone is broken with a probability proportional to
    1 / (k + 1): where many rows are wrong, only limits for few errors can be met.

    Parameters
    ----------
    n, size : int
        All rows, and those of the sample.
    error : float
        Limits are given as far as they can be met with this share of errors among the others.
    level : float

    Returns
    -------
    limits : int array of shape (s,)
        They do not fall; empty if the sample is too small for any.
    """
    if level <= 0.0 or not 0 < size < n:
        return np.empty(0, dtype=np.intp)
    most = _allowed(n, size, error) + 1
    expected = most * size / (n - size)
    k = np.arange(min(int(expected + 3.0 * np.sqrt(expected)) + 2, size) + 1)
    if len(k) > MOST_LIMITS:
        k = np.unique(np.geomspace(1, len(k), MOST_LIMITS).astype(np.intp)) - 1
    weights = 1.0 / (k + np.float64(1.0))
    low, high = level / weights.sum(), level
    bounds = np.zeros(len(k), dtype=np.intp), np.full(len(k), most, dtype=np.intp)
    found = _single_limits(n, size, k, low * weights, *bounds)
    least = _single_limits(n, size, k, high * weights, bounds[0], found)
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        # a higher level has lower limits
        tried = _single_limits(n, size, k, middle * weights, least, found)
        met = tried < most
        if chance_of_breaking(n, size, k[met], tried[met]) <= level:
            low, found = middle, tried
        else:
            high, least = middle, tried
    met = found < most
    return found[met][np.searchsorted(k[met], np.arange(np.max(k[met] + 1, initial=0)))]


def _single_limits(n: int, size: int, k: Index, levels: Floats, low: Index, high: Index) -> Index:
    """Return the smallest limits, each of its own level, between bounds."""
    while (low < high).any():
        middle = (low + high) // 2
        rare = chance_of_few(n, size, k, middle) <= levels
        low, high = np.where(rare | (low == high), low, middle + 1), np.where(rare, middle, high)
    return high


def chance_of_few(n: int, size: int, k: Index, limits: Index) -> Floats:
    """Compute the probability of V(limits + 1) <= k, of each by itself.

    It is that of at most k rows of the sample among the first limits + 1 + k wrong ones.
    """
    return np.asarray(hypergeom.cdf(k, n, np.minimum(limits + 1 + k, n), size))


def chance_of_breaking(n: int, size: int, k: Index, limits: Index) -> float:
    """Compute the probability of V(limits[i] + 1) <= k[i] for some i; both rise.

    From one limit to the next r wrong rows outside of the sample follow, and t of the sample come
    between them, with a negative hypergeometric probability. As a function of V before and after it
    is a product of one factor of each, and of one of t.
    """
    if len(k) == 0:
        return 0.0
    v = np.arange(k[-1] + 1)
    state, done, broken = (v == 0).astype(np.float64), 0, 0.0
    slope = np.log(size / n)
    for fewest, limit in zip(k, limits, strict=True):
        r = int(limit) + 1 - done
        if r > 0:
            left = n - done - v
            before = _log_factorial(size - v) - _log_factorial(left) + slope * v
            after = _log_factorial(left - r) - _log_factorial(size - v) - slope * v
            between = _log_factorial(v + r - 1) - _log_factorial(v) + slope * v
            # of the rows outside of the sample
            outside = n - size - done
            common = _log_factorial(outside) - _log_factorial(outside - r) - _log_factorial(r - 1)
            tops = [float(np.max(part, initial=-np.inf)) for part in (before, after, between)]
            own, ways = state * np.exp(before - tops[0]), np.exp(between - tops[2])
            moved = np.convolve(own, ways)[: len(v)] * np.exp(after - tops[1])
            state, done = moved * np.exp(common + sum(tops)), int(limit) + 1
        broken += float(state[: fewest + 1].sum())
        state[: fewest + 1] = 0.0
    return broken


def _log_factorial(n: Index | int) -> Floats:
    return np.asarray(gammaln(np.asarray(n) + 1.0))


def _allowed(n: int, size: int, error: float) -> int:
    return int(np.floor(error * (n - size) + ROUNDING))


def lowest_level(n: int, size: int, error: float) -> float:
    """Return the lowest level at which a sample without an error certifies all other rows."""
    if not 0 < size < n:
        return 1.0
    none, limit = np.zeros(1, dtype=np.intp), np.array([_allowed(n, size, error)])
    return float(chance_of_few(n, size, none, limit)[0])


def fewest_labels(n: int, error: float, level: float) -> int:
    """Return the size of the smallest sample that can certify anything of n rows."""
    low, high = 1, n
    while low < high:
        size = (low + high) // 2
        can = lowest_level(n, size, error) <= level
        low, high = (low, size) if can else (size + 1, high)
    return low
