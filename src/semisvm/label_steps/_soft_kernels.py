"""Compiled passes over soft labels; self-contained for numba's cache.

Most of their time goes into exponentials. The library function takes one number at a time; `decay`
takes a tile of them, in loops without branches that the compiler vectorises: a quarter of the time,
with an error of at most one unit in the last place.
"""

import numpy as np

from semisvm.compiling import compiled

_SUMS = {"reassoc", "contract"}
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
