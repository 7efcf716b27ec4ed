r"""Soft labels for two classes at a temperature, under a fixed mean.

Minimising, over beliefs p in [0, 1]^u with mean r, the expected loss plus T times the
negative entropy gives ::

    p_j = 1 / (1 + exp((g_j - nu) / T)),      mean(p) = r

where g_j is the loss of the positive label minus that of the negative one. The price nu
is the root of an increasing function of one variable.
"""

from collections.abc import Callable

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.label_steps._soft_kernels import fill_beliefs

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
) -> float:
    """Find the price at which beliefs have a given mean, by Halley's method in a bracket.

    Parameters
    ----------
    sums : price -> mean, slope, bend
        Mean of the beliefs at a price, and its first two derivatives by price / temperature.
        The last call is at the returned price.
    ends : () -> low, high
        Range of the gaps, called only if the guess is not good enough.
    temperature : float
    mean : float
        Strictly between 0 and 1.
    price : float, optional
        A guess, for instance the last price; a good one needs no bracket.
    tol : float
        Error of the mean at which to stop.
    """
    shift = temperature * np.log(mean / (1.0 - mean))

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
