r"""Soft labels for two classes at a temperature, under a fixed mean.

Minimising, over beliefs p in [0, 1]^u with mean r, the expected loss plus T times the
negative entropy gives ::

    p_j = 1 / (1 + exp((g_j - nu) / T)),      mean(p) = r

where g_j is the loss of the positive label minus that of the negative one. The price nu
is the root of an increasing function of one variable.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.designs.workers import Workers

MAX_STEPS = 200
# Work of a belief, in the units in which blocks are balanced: entries of a data row.
WORK_PER_ROW = 12


@compiled
def _fill(g, nu, temperature, weight, p, q, start, stop):
    """Fill p and q = 1 - p; return the weighted sums of p, of p q and of p q (q - p).

    The latter are the derivatives of the first by nu / T. One weight is that of all rows.
    """
    equal = weight.shape[0] == 1
    total = 0.0
    slope = 0.0
    bend = 0.0
    for j in range(start, stop):
        z = (g[j] - nu) / temperature
        # beyond 45 the smaller belief is below 1e-19: certain, and cheaper that way
        e = np.exp(-abs(z)) if abs(z) < 45.0 else 0.0
        large = 1.0 / (1.0 + e)
        small = e * large
        p[j] = small if z > 0.0 else large
        q[j] = large if z > 0.0 else small
        v = weight[0] if equal else weight[j]
        total += v * p[j]
        slope += v * small * large
        bend += v * small * large * (q[j] - p[j])
    return total, slope, bend


def binary_beliefs(
    g: Floats,
    temperature: float,
    mean: float,
    *,
    weight: Floats | None = None,
    price: float | None = None,
    tol: float = 1e-12,
    workers: Workers | None = None,
) -> tuple[Floats, Floats, float]:
    """Solve for the beliefs and the price by Halley's method, kept inside a bracket.

    Parameters
    ----------
    g : array of shape (u,)
        Loss of the positive label minus loss of the negative one.
    temperature : float
    mean : float
        Weighted mean of the beliefs, strictly between 0 and 1.
    weight : array of shape (u,), optional
        Row weights, summing to one; equal where not given.
    price : float, optional
        Start, for instance the last price.
    tol : float
        Error of the mean at which to stop.
    workers : Workers, optional
        Threads to share the rows between.

    Returns
    -------
    p, q : arrays of shape (u,)
        Beliefs and their complements; below 1e-19 they are zero.
    price : float
    """
    u = len(g)
    weight = np.full(1, 1.0 / u) if weight is None else weight
    p, q = np.empty(u), np.empty(u)
    shift = temperature * np.log(mean / (1.0 - mean))

    def ends() -> tuple[float, float]:
        # there every single belief is on one side of the mean
        return float(g.min()) + shift, float(g.max()) + shift

    # a good guess needs no bracket
    low, high = (-np.inf, np.inf) if price is not None else ends()
    nu = price if price is not None else 0.5 * (low + high)
    workers = Workers() if workers is None else workers
    for _ in range(MAX_STEPS):
        fill = partial(_fill, g, nu, temperature, weight, p, q)
        total, slope, bend = np.sum(workers.share(fill, u, WORK_PER_ROW), axis=0).tolist()
        error = total - mean
        if abs(error) <= tol:
            break
        if error < 0.0:
            low = nu
        else:
            high = nu
        # the third order of Halley saves a pass of exponentials against Newton
        curve = slope - 0.5 * error * bend / slope if slope > 0.0 else 0.0
        step = error * temperature / curve if curve > 0.0 else np.inf
        new = nu - step
        if not low < new < high:
            first, last = ends()
            low, high = max(low, first), min(high, last)
            new = 0.5 * (low + high)
        if new in (low, high, nu):
            break
        nu = new
    return p, q, float(nu)


@compiled
def _soft_costs(g, nu, temperature, p, q, start, stop):
    total = 0.0
    for j in range(start, stop):
        total += min(g[j], nu) - q[j] * nu
        large = max(p[j], q[j])
        if large < 1.0:
            total += temperature * np.log(large)
    return total


def mean_soft_cost(
    g: Floats,
    price: float,
    temperature: float,
    p: Floats,
    q: Floats,
    workers: Workers | None = None,
) -> float:
    """Give the mean of p g + T (p log p + q log q) for what `binary_beliefs` found.

    There log(p / q) = (price - g) / T, which leaves one logarithm a row.
    """
    return _mean(partial(_soft_costs, g, price, temperature, p, q), len(p), workers)


@compiled
def _entropy(p, q, start, stop):
    """Sum of -(p log p + q log q) over rows start..stop, natural logarithm.

    Beliefs within 1e-12 of certainty are left out: they add less than 3e-11.
    """
    total = 0.0
    for j in range(start, stop):
        m = min(p[j], q[j])
        if m > 1e-12:
            total -= m * np.log(m) + (1.0 - m) * np.log1p(-m)
    return total


@compiled
def _divergence(p, q, p_old, q_old, start, stop):
    """Sum over rows start..stop of the Kullback-Leibler divergence from (p_old, q_old)."""
    tiny = 1e-300
    total = 0.0
    for j in range(start, stop):
        change = p[j] - p_old[j]
        if abs(change) <= 1e-4 * min(p_old[j], q_old[j]):
            # logarithms would lose digits here, and time
            total += 0.5 * change * change / (p_old[j] * q_old[j] + tiny)
        else:
            total += p[j] * np.log(max(p[j], tiny) / max(p_old[j], tiny))
            total += q[j] * np.log(max(q[j], tiny) / max(q_old[j], tiny))
    return total


def mean_entropy(p: Floats, q: Floats, workers: Workers | None = None) -> float:
    """Give the mean of -(p log p + q log q)."""
    return _mean(partial(_entropy, p, q), len(p), workers)


def mean_kl(
    p: Floats, q: Floats, p_old: Floats, q_old: Floats, workers: Workers | None = None
) -> float:
    """Give the mean Kullback-Leibler divergence of (p, q) from (p_old, q_old)."""
    return _mean(partial(_divergence, p, q, p_old, q_old), len(p), workers)


def _mean(total: Callable[[int, int], float], u: int, workers: Workers | None) -> float:
    workers = Workers() if workers is None else workers
    return sum(workers.share(total, u, WORK_PER_ROW)) / u


@compiled
def mean_entropy_of(p):
    """Mean entropy of the rows of beliefs (n, m), natural logarithm."""
    total = 0.0
    for i in range(p.shape[0]):
        for y in range(p.shape[1]):
            if p[i, y] > 1e-300:
                total -= p[i, y] * np.log(p[i, y])
    return total / max(p.shape[0], 1)


@compiled
def mean_kl_of(p, p_old):
    """Mean Kullback-Leibler divergence of rows of beliefs (n, m) from older ones."""
    tiny = 1e-300
    total = 0.0
    for i in range(p.shape[0]):
        for y in range(p.shape[1]):
            if p[i, y] != p_old[i, y] and p[i, y] > 0.0:
                total += p[i, y] * np.log(p[i, y] / max(p_old[i, y], tiny))
    return total / max(p.shape[0], 1)
