r"""Soft labels for many classes at a temperature, under class counts.

Minimising the expected cost minus T times the entropy under column sums n(y) gives ::

    p_iy = exp(-(c_iy - nu_y) / T) / sum_z exp(-(c_iz - nu_z) / T),    sum_i p_iy = n(y)

the Gibbs form, with one price a class. The prices maximise a smooth concave function of
m variables, whose gradient is n(y) - sum_i p_iy: Newton's method with a line search, from
the prices of `exact` when it is cold. For two classes this is the root of
`binary_beliefs`; as T goes to zero it becomes `exact`.
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.labels.result import LabelStep, check_costs
from semisvm.labels.transportation import exact

MAX_STEPS = 300
# Counts that are missed by less than this, in rows, are not worth a word.
NEGLIGIBLE = 1e-5
# A belief changes by a factor exp(20) when its price moves by 20 T: no step needs more.
LONGEST_STEP = 20.0
# Below this share of the spread of the costs the exact prices are the better start.
COLD = 0.1


@compiled
def _gibbs(costs, nu, temperature, p, sums):
    """Fill beliefs and column sums; return the sum of the soft minima of the rows."""
    n, m = costs.shape
    total = 0.0
    sums[:] = 0.0
    for i in range(n):
        low = np.inf
        for y in range(m):
            p[i, y] = (costs[i, y] - nu[y]) / temperature
            low = min(low, p[i, y])
        s = 0.0
        for y in range(m):
            gap = p[i, y] - low
            p[i, y] = np.exp(-gap) if gap < 45.0 else 0.0
            s += p[i, y]
        for y in range(m):
            p[i, y] /= s
            sums[y] += p[i, y]
        total += temperature * (low - np.log(s))
    return total


@compiled
def _hessian(p, sums, temperature):
    """Give -1 times the second derivatives of the dual function."""
    n, m = p.shape
    out = np.diag(sums)
    for i in range(n):
        for y in range(m):
            if p[i, y] > 1e-14:
                for z in range(m):
                    out[y, z] -= p[i, y] * p[i, z]
    return out / temperature


def entropic(
    costs: ArrayLike,
    counts: ArrayLike,
    temperature: float,
    prices: ArrayLike | None = None,
    *,
    tol: float = 1e-9,
) -> LabelStep:
    """Spread labels over classes by the Gibbs distribution that keeps the counts.

    Parameters
    ----------
    costs : array-like of shape (n, m)
    counts : array-like of shape (m,)
        Whole numbers that sum to n. Classes of count zero get no belief.
    temperature : float
        Above zero.
    prices : array-like of shape (m,), optional
        Start, for instance the prices of the last call on similar costs.
    tol : float
        Largest error of a column sum, in rows; rounding allows no less than 1e-14 n.

    Returns
    -------
    LabelStep
        With beliefs of shape (n, m).

    Examples
    --------
    >>> from semisvm.labels import entropic
    >>> step = entropic([[0, 1], [0, 3], [0, 2]], [1, 2], temperature=0.1)
    >>> step.beliefs.round(1).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    table, whole = check_costs(costs, counts)
    if not temperature > 0 or not np.isfinite(temperature):
        raise ValueError(f"temperature must be a finite number > 0, got {temperature!r}.")
    tol = max(tol, 1e-14 * len(table))
    used = np.flatnonzero(whole)
    beliefs = np.zeros_like(table)
    nu = np.full(len(whole), -np.inf)
    if len(used):
        part = np.ascontiguousarray(table[:, used])
        start = None if prices is None else np.asarray(prices, dtype=np.float64)[used]
        beliefs[:, used], nu[used], steps = _solve(part, whole[used], temperature, start, tol)
    cost = float(np.sum(table * beliefs))
    labels = beliefs.argmax(axis=1).astype(np.intp)
    return LabelStep(labels, nu, cost, beliefs, n_loops=steps if len(used) else 0)


def _solve(
    costs: Floats,
    counts: NDArray[np.int64],
    temperature: float,
    start: Floats | None,
    tol: float,
) -> tuple[Floats, Floats, int]:
    if start is not None and np.isfinite(start).all():
        p, nu, error, steps = _newton(costs, counts, temperature, start, tol)
        if error <= tol:
            return p, nu, steps
    nu = np.zeros(costs.shape[1])
    if temperature < COLD * float(np.ptp(costs)):
        nu = exact(costs, counts).prices
    p, nu, error, steps = _newton(costs, counts, temperature, nu, tol)
    if error > max(tol, NEGLIGIBLE):
        warnings.warn(
            f"the class counts are met to {error:.1e} rows only: the temperature "
            f"{temperature:g} is too low for double precision.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return p, nu, steps


def _newton(
    costs: Floats, counts: NDArray[np.int64], temperature: float, nu: Floats, tol: float
) -> tuple[Floats, Floats, float, int]:
    """Maximise the dual from ``nu``; return beliefs, prices, error and steps."""
    n, m = costs.shape
    p, sums = np.empty((n, m)), np.empty(m)
    value = _gibbs(costs, nu, temperature, p, sums) + float(counts @ nu)
    error = float(np.abs(counts - sums).max())
    for steps in range(MAX_STEPS):
        if error <= tol:
            return p, nu, error, steps
        gradient = counts - sums
        direction = _ascent(_hessian(p, sums, temperature), gradient, temperature)
        slope, t, before = float(gradient @ direction), 1.0, error
        while t > 1e-8:
            ahead = nu + t * direction
            new = _gibbs(costs, ahead, temperature, p, sums) + float(counts @ ahead)
            error = float(np.abs(counts - sums).max())
            # close to the end the value no longer resolves the gain; the gradient does
            if new >= value + 1e-4 * t * slope or error <= (1.0 - 0.1 * t) * before:
                break
            t *= 0.5
        nu, value = ahead, new
        if t <= 1e-8:
            break
    return p, nu, error, steps


def _ascent(hessian: Floats, gradient: Floats, temperature: float) -> Floats:
    """Solve for the Newton direction, no longer than the temperature allows."""
    m = len(gradient)
    # prices are free up to a constant, and decided classes have no curvature
    ridge = 1e-13 * np.trace(hessian) / m + 1e-300
    found = _solved(hessian + ridge * np.eye(m), gradient)
    # where every row is decided there is no curvature at all: go where the counts lack, far
    direction = 1e200 * (gradient - gradient.mean()) if found is None else found
    longest = float(np.abs(direction).max())
    return direction * min(1.0, LONGEST_STEP * temperature / max(longest, 1e-300))


def _solved(matrix: Floats, gradient: Floats) -> Floats | None:
    """Solve for a direction that sums to zero; None where numbers do not allow it."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            direction = np.linalg.solve(matrix, gradient)
            direction -= direction.mean()
    except np.linalg.LinAlgError:
        return None
    return np.asarray(direction, dtype=np.float64) if np.isfinite(direction).all() else None
