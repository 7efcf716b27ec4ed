r"""Soft labels for two classes at a temperature, under a fixed mean.

Minimising, over beliefs p in [0, 1]^u with mean r, the expected loss plus T times the
negative entropy gives ::

    p_j = 1 / (1 + exp((g_j - nu) / T)),      mean(p) = r

where g_j is the loss of the positive label minus that of the negative one. The price nu
is the root of an increasing function of one variable.

Most of the time goes into exponentials. The library function takes one number at a time; `decay`
takes a tile of them, in loops without branches that the compiler vectorises: a quarter of the time,
with an error of at most one unit in the last place. The compiled functions call only each other,
for numba's cache.
"""

from collections.abc import Callable

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats

_SUMS = {"reassoc", "contract"}
MAX_STEPS = 200
# Work per belief, in the unit by which blocks are balanced: entries of a data row.
WORK_PER_ROW = 4


def balancing_price(
    sums: Callable[[float], tuple[float, float, float]],
    ends: Callable[[], tuple[float, float]],
    temperature: float,
    mean: float,
    price: float | None = None,
    tol: float = 1e-12,
    inner: float | None = None,
) -> float:
    """Find the price at which beliefs have a given mean, by Halley's method in a bracket.

    Parameters
    ----------
    sums : price -> mean, slope, bend
        Mean of the beliefs at a price, and its first two derivatives by price / temperature.
        The last call is at the returned price.
    ends : () -> low, high
        Range of the finite gaps, called only if the guess is not good enough.
    temperature : float
    mean : float
        Strictly between 0 and 1.
    price : float, optional
        A guess, for instance the last price; a good one needs no bracket.
    tol : float
        Error of the mean at which to stop.
    inner : float, optional
        The mean that is left to the beliefs with finite gaps, if some are infinite.
    """
    inner = mean if inner is None else inner
    shift = temperature * np.log(inner / (1.0 - inner))

    def bracket() -> tuple[float, float]:
        # at the ends all beliefs are on one side of the mean
        first, last = ends()
        return first + shift, last + shift

    low, high = (-np.inf, np.inf) if price is not None else bracket()
    nu = price if price is not None else 0.5 * (low + high)
    for _ in range(MAX_STEPS):
        total, slope, bend = sums(nu)
        error = total - mean
        if abs(error) <= tol:
            break
        if error < 0.0:
            low = nu
        else:
            high = nu
        # Halley's third order saves a pass of exponentials compared with Newton
        curve = slope - 0.5 * error * bend / slope if slope > 0.0 else 0.0
        step = error * temperature / curve if curve > 0.0 else np.inf
        new = nu - step
        if not low < new < high:
            first, last = bracket()
            low, high = max(low, first), min(high, last)
            new = 0.5 * (low + high)
        if new in (low, high, nu):
            break
        nu = new
    else:
        sums(nu)
    return float(nu)


def binary_beliefs(
    g: Floats,
    temperature: float,
    mean: float,
    *,
    weight: Floats | None = None,
    price: float | None = None,
    tol: float = 1e-12,
) -> tuple[Floats, Floats, float]:
    """Solve for the beliefs and the price that keeps their mean.

    Parameters
    ----------
    g : array of shape (u,)
        Loss of the positive label minus loss of the negative one.
    temperature : float
    mean : float
        Weighted mean of the beliefs, strictly between 0 and 1.
    weight : array of shape (u,), optional
        Row weights, summing to one; equal by default.
    price : float, optional
        Where to start, for instance the last price.
    tol : float
        Error of the mean at which to stop.

    Returns
    -------
    p, q : arrays of shape (u,)
        Beliefs and their complements; below 1e-19 they are zero.
    price : float
    """
    u = len(g)
    weight = np.full(1, 1.0 / u) if weight is None else weight
    p, q = np.empty(u), np.empty(u)

    def sums(nu: float) -> tuple[float, float, float]:
        return fill_beliefs(g, nu, temperature, weight, p, q, 0, u)

    def ends() -> tuple[float, float]:
        return float(g.min()), float(g.max())

    return p, q, balancing_price(sums, ends, temperature, mean, price, tol)


@compiled
def soft_costs(g, nu, temperature, weight, p, q, start, stop):
    """Sum p g + T (p log p + q log q) over rows start..stop, for beliefs at a price nu.

    Since log(p / q) = (nu - g) / T, one logarithm per row is enough. A single weight applies to
    all rows.
    """
    equal = weight.shape[0] == 1
    total = 0.0
    for j in range(start, stop):
        if g[j] == -np.inf:
            # p is one, and the gap is counted elsewhere
            continue
        v = weight[0] if equal else weight[j]
        # With the logarithm of the smaller belief eliminated, and p + q = 1, the term is
        # min(g, nu) - q nu + T log(max(p, q)).
        total += v * (min(g[j], nu) - q[j] * nu)
        large = max(p[j], q[j])
        if large < 1.0:
            total += v * temperature * np.log(large)
    return total


@compiled
def entropy(weight, p, q, start, stop):
    """Sum -(p log p + q log q) over rows start..stop, natural logarithm.

    Beliefs within 1e-12 of certainty are left out: they add less than 3e-11. A single weight
    applies to all rows.
    """
    equal = weight.shape[0] == 1
    total = 0.0
    for j in range(start, stop):
        m = min(p[j], q[j])
        if m > 1e-12:
            v = weight[0] if equal else weight[j]
            total -= v * (m * np.log(m) + (1.0 - m) * np.log1p(-m))
    return total


@compiled
def entropy_of(p, weight):
    """Sum the entropies of the rows of beliefs (n, m), natural logarithm.

    A single weight applies to all rows.
    """
    equal = weight.shape[0] == 1
    total = 0.0
    for i in range(p.shape[0]):
        v = weight[0] if equal else weight[i]
        for y in range(p.shape[1]):
            if p[i, y] > 1e-300:
                total -= v * p[i, y] * np.log(p[i, y])
    return total


def mean_entropy_of(p: Floats) -> float:
    """Compute the mean entropy of the rows of beliefs (n, m), natural logarithm."""
    return float(entropy_of(p, np.ones(1))) / max(len(p), 1)


@compiled
def mean_kl_of(p, p_old):
    """Compute the mean Kullback-Leibler divergence of beliefs (n, m) from older ones."""
    tiny = 1e-300
    total = 0.0
    for i in range(p.shape[0]):
        for y in range(p.shape[1]):
            if p[i, y] != p_old[i, y] and p[i, y] > 0.0:
                total += p[i, y] * np.log(p[i, y] / max(p_old[i, y], tiny))
    return total / max(p.shape[0], 1)


TILE = 1024
# Beyond it the exponential is below 1e-19: certain beliefs are cheaper than tiny ones.
FARTHEST = 45.0
# If a smaller part than this is nearer, one number at a time takes less time.
FEW = 0.25

_LOG2_E = 1.4426950408889634
# ln 2 in two parts: a whole number of at most 11 bits times the first is exact
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding it rounds to a whole number, which is then in the last bits.
_ROUNDER = 6755399441055744.0
_EXPONENT_BIAS = 1023
_MANTISSA_BITS = 52


@compiled(fastmath={"contract"})
def decay(gaps, out, memory):
    """Fill out with exp(-gap) for gaps >= 0, and zero from `FARTHEST` on.

    exp(-g) = 2^k e^r with a whole number k and |r| <= ln(2) / 2, where the Taylor series to degree
    13 is exact to the last place. The memory is as long as the gaps. The three arrays should be
    different ones: a loop over arrays that overlap is not vectorised.
    """
    n = gaps.shape[0]
    near = 0
    for j in range(n):
        near += gaps[j] < FARTHEST
    if near < FEW * n:
        for j in range(n):
            out[j] = np.exp(-gaps[j]) if gaps[j] < FARTHEST else 0.0
        return
    bits = memory.view(np.int64)
    for j in range(n):
        memory[j] = _ROUNDER - min(gaps[j], FARTHEST) * _LOG2_E
    for j in range(n):
        k = memory[j] - _ROUNDER
        r = (-min(gaps[j], FARTHEST) - k * _LN2_HIGH) - k * _LN2_LOW
        e = 1.0 / 6227020800.0
        e = e * r + 1.0 / 479001600.0
        e = e * r + 1.0 / 39916800.0
        e = e * r + 1.0 / 3628800.0
        e = e * r + 1.0 / 362880.0
        e = e * r + 1.0 / 40320.0
        e = e * r + 1.0 / 5040.0
        e = e * r + 1.0 / 720.0
        e = e * r + 1.0 / 120.0
        e = e * r + 1.0 / 24.0
        e = e * r + 1.0 / 6.0
        e = e * r + 0.5
        e = e * r + 1.0
        e = e * r + 1.0
        out[j] = e if gaps[j] < FARTHEST else 0.0
    for j in range(n):
        # the whole number becomes the exponent of a power of two
        bits[j] = (bits[j] + _EXPONENT_BIAS) << _MANTISSA_BITS
    for j in range(n):
        out[j] *= memory[j]


@compiled
def _far(g, nu, temperature, out):
    for j in range(g.shape[0]):
        out[j] = abs(g[j] - nu) / temperature


@compiled
def _split(g, nu, e, p, q):
    for j in range(g.shape[0]):
        large = 1.0 / (1.0 + e[j])
        small = e[j] * large
        p[j] = small if g[j] > nu else large
        q[j] = large if g[j] > nu else small


@compiled(fastmath=_SUMS)
def _moments(weight, p, q):
    equal = weight.shape[0] == 1
    total = 0.0
    slope = 0.0
    bend = 0.0
    for j in range(p.shape[0]):
        v = weight[0] if equal else weight[j]
        both = v * p[j] * q[j]
        total += v * p[j]
        slope += both
        bend += both * (q[j] - p[j])
    return total, slope, bend


@compiled
def fill_beliefs(g, nu, temperature, weight, p, q, start, stop):
    """Fill p and q = 1 - p; return the weighted sums of p, of p q and of p q (q - p).

    The latter two are the derivatives of the first by nu / T. A single weight applies to all
    rows.
    """
    equal = weight.shape[0] == 1
    width = min(TILE, stop - start)
    gaps = np.empty(width)
    decays = np.empty(width)
    memory = np.empty(width)
    total = 0.0
    slope = 0.0
    bend = 0.0
    for low in range(start, stop, TILE):
        high = min(low + TILE, stop)
        far, e = gaps[: high - low], decays[: high - low]
        _far(g[low:high], nu, temperature, far)
        decay(far, e, memory[: high - low])
        _split(g[low:high], nu, e, p[low:high], q[low:high])
        own = weight if equal else weight[low:high]
        found = _moments(own, p[low:high], q[low:high])
        total += found[0]
        slope += found[1]
        bend += found[2]
    return total, slope, bend


@compiled
def gibbs(costs, factor, nu, temperature, weight, p, sums):
    """Fill beliefs and column sums at costs times a factor; return the sum of soft minima.

    A single weight applies to all rows.
    """
    n, m = costs.shape
    equal = weight.shape[0] == 1
    # a tile of whole rows at a time
    height = max(1, TILE // m)
    gaps = np.empty(height * m)
    memory = np.empty(height * m)
    lowest = np.empty(height)
    total = 0.0
    sums[:] = 0.0
    for start in range(0, n, height):
        stop = min(start + height, n)
        for i in range(start, stop):
            low = np.inf
            first = (i - start) * m
            for y in range(m):
                gap = factor * costs[i, y] - nu[y]
                gaps[first + y] = gap
                low = min(low, gap)
            lowest[i - start] = low
            # differences first: divided by a low temperature, the costs may be out of range
            for y in range(m):
                gaps[first + y] = (gaps[first + y] - low) / temperature
        size = (stop - start) * m
        decay(gaps[:size], p[start:stop].reshape(size), memory[:size])
        for i in range(start, stop):
            s = 0.0
            for y in range(m):
                s += p[i, y]
            v = weight[0] if equal else weight[i]
            # zero only if costs are not numbers; then neither are the beliefs
            each = 1.0 / s if s > 0.0 else np.nan
            for y in range(m):
                p[i, y] *= each
                sums[y] += v * p[i, y]
            total += v * (lowest[i - start] - temperature * np.log(s if s > 0.0 else 1.0))
    return total
