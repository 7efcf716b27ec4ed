r"""Soft labels for many classes at a temperature, under class counts.

Minimising the expected cost minus T times the entropy under column sums n(y) gives ::

    p_iy = exp(-(c_iy - nu_y) / T) / sum_z exp(-(c_iz - nu_z) / T),    sum_i p_iy = n(y)

the Gibbs form, with one price per class. The prices maximise a smooth concave function of
m variables, whose gradient is n(y) - sum_i p_iy. Newton's method with a line search finds
them, starting from the prices of `exact` if the temperature is low. For two classes this is
the root of `binary_beliefs`; as T goes to zero it becomes `exact`.
"""

import warnings
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from semisvm.designs.base import Floats
from semisvm.label_steps.beliefs import gibbs
from semisvm.label_steps.transportation import LabelStep, check_costs, exact
from semisvm.labels.weights import UNIT_WEIGHT, Counts, has_weights

MAX_STEPS = 300
# Counts that are missed by less than this, in rows, cause no warning.
NEGLIGIBLE = 1e-5
# A belief changes by a factor exp(20) when its price moves by 20 T: no step needs more.
LONGEST_STEP = 20.0
# Where nearly all rows are decided the function is nearly linear, and prices may have a long way to
# go: a step is doubled while the slope along it stays above this part of what it was.
LINEAR = 0.5
# Error of the dual function, relative to the sums over rows that it is made of. Where costs are
# larger than the temperature by so many digits, prices are not found: the search ends after so
# many steps in a row that neither raised the function by more than that nor halved the error.
ROUNDING = 1e-12
MAX_IDLE_STEPS = 10
# Below this fraction of the range of the costs the exact prices are the better start.
COLD = 0.1


def second_moments(p: Floats, weight: Floats) -> Floats:
    """Sum over rows the outer product of the beliefs with themselves, each times its weight."""
    if has_weights(weight):
        return p.T @ (p * weight[:, np.newaxis])
    return weight[0] * (p.T @ p)


class SoftRows(Protocol):
    """What the entropic step needs from the rows, which may be in several blocks.

    The classes are those whose count is not zero.
    """

    def gibbs(self, prices: Floats, temperature: float) -> tuple[float, Floats]:
        """Set the beliefs at prices; return the sum of the soft minima and the column sums."""
        ...

    def second_moments(self) -> Floats:
        """Sum over rows the outer product of the beliefs with themselves."""
        ...

    def cost_range(self) -> float:
        """Return the largest difference between two costs."""
        ...

    def exact_prices(self) -> Floats:
        """Return the prices of the exact label step for the counts."""
        ...


class SoftTable:
    """Rows of costs of a single shard, with their beliefs; no count is zero."""

    def __init__(self, costs: Floats, counts: NDArray[np.int64]) -> None:
        self.costs = costs
        self.counts = counts
        self.p = np.empty_like(costs)

    def gibbs(self, prices: Floats, temperature: float) -> tuple[float, Floats]:
        """Set the beliefs at prices; return the sum of the soft minima and the column sums."""
        sums = np.empty(len(prices))
        return gibbs(self.costs, 1.0, prices, temperature, UNIT_WEIGHT, self.p, sums), sums

    def second_moments(self) -> Floats:
        """Sum over rows the outer product of the beliefs with themselves."""
        return second_moments(self.p, UNIT_WEIGHT)

    def cost_range(self) -> float:
        """Return the largest difference between two costs."""
        return float(np.ptp(self.costs))

    def exact_prices(self) -> Floats:
        """Return the prices of the exact label step for the counts."""
        return exact(self.costs, self.counts).prices


def entropic(
    costs: ArrayLike,
    counts: ArrayLike,
    temperature: float,
    prices: ArrayLike | None = None,
    *,
    tol: float = 1e-9,
) -> LabelStep:
    """Compute soft labels: the Gibbs distribution that keeps the class counts.

    Parameters
    ----------
    costs : array-like of shape (n, m)
    counts : array-like of shape (m,)
        Whole numbers that sum to n. Classes with count zero get no belief.
    temperature : float
        Above zero.
    prices : array-like of shape (m,), optional
        Where to start, for instance the prices of the last call on similar costs.
    tol : float
        Largest error of a column sum, in rows; at least 1e-14 n because of rounding.

    Returns
    -------
    LabelStep
        With beliefs of shape (n, m).

    Examples
    --------
    >>> from semisvm.label_steps import entropic
    >>> step = entropic([[0, 1], [0, 3], [0, 2]], [1, 2], temperature=0.1)
    >>> step.beliefs.round(1).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    table, whole = check_costs(costs, counts)
    if not temperature > 0 or not np.isfinite(temperature):
        raise ValueError(f"temperature must be a finite number > 0, got {temperature!r}.")
    used = np.flatnonzero(whole)
    beliefs, nu, steps = np.zeros_like(table), np.full(len(whole), -np.inf), 0
    if len(used):
        rows = SoftTable(np.ascontiguousarray(table[:, used]), whole[used])
        start = None if prices is None else np.asarray(prices, dtype=np.float64)[used]
        nu[used], _, steps = spread(rows, whole[used], temperature, start, tol)
        beliefs[:, used] = rows.p
    cost = float(np.sum(table * beliefs))
    labels = beliefs.argmax(axis=1).astype(np.intp)
    return LabelStep(labels, nu, cost, beliefs, n_loops=steps)


def spread(
    rows: SoftRows,
    counts: Counts,
    temperature: float,
    start: Floats | None,
    tol: float = 1e-9,
) -> tuple[Floats, float, int]:
    """Find the prices at which beliefs have the counts; the rows store the beliefs.

    Returns
    -------
    prices : array of shape (m,)
    value : float
        The expected cost minus T times the entropy, over all rows.
    steps : int
    """
    tol = max(tol, 1e-14 * float(counts.sum()))
    if start is not None and np.isfinite(start).all():
        nu, value, error, steps = _newton(rows, counts, temperature, start, tol)
        if error <= tol:
            return nu, value, steps
    nu = np.zeros(len(counts))
    # In the cold nearly all beliefs at wrong prices are 0 or 1: there is no curvature for Newton to
    # follow. The prices of hard labels are the limit at temperature zero.
    if temperature < COLD * rows.cost_range():
        nu = rows.exact_prices()
    nu, value, error, steps = _newton(rows, counts, temperature, nu, tol)
    if error > max(tol, NEGLIGIBLE):
        warnings.warn(
            f"the class counts are met only up to {error:.1e} rows: the temperature "
            f"{temperature:g} is too low for double precision.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return nu, value, steps


def _newton(
    rows: SoftRows, counts: Counts, temperature: float, nu: Floats, tol: float
) -> tuple[Floats, float, float, int]:
    """Maximise the dual from ``nu``; return prices, value, error and steps."""
    total, sums = rows.gibbs(nu, temperature)
    value, error = total + float(counts @ nu), float(np.abs(counts - sums).max())
    steps, idle, least = 0, 0, error
    while error > tol and steps < MAX_STEPS and idle < MAX_IDLE_STEPS:
        steps += 1
        gradient = counts - sums
        # -1 times the second derivatives of the dual function
        hessian = (np.diag(sums) - rows.second_moments()) / temperature
        direction = _ascent(hessian, gradient, temperature)
        slope, t, before = float(gradient @ direction), 1.0, error
        while t > 1e-8:
            ahead = nu + t * direction
            total, sums = rows.gibbs(ahead, temperature)
            new = total + float(counts @ ahead)
            error = float(np.abs(counts - sums).max())
            noise = ROUNDING * (abs(total) + float(counts @ np.abs(ahead)))
            if new >= value + 1e-4 * t * slope:
                break
            # near the optimum the value no longer resolves the gain; the gradient does. Elsewhere
            # a smaller gradient at a lower value would be one beyond the optimum
            if new >= value - noise and error <= (1.0 - 0.1 * t) * before:
                break
            t *= 0.5
        # the length of a direction is capped: where the slope hardly falls along it, go on
        while t >= 1.0 and new > value and float((counts - sums) @ direction) > LINEAR * slope:
            longer = nu + 2.0 * t * direction
            total, sums = rows.gibbs(longer, temperature)
            found = total + float(counts @ longer)
            if not found > new:
                total, sums = rows.gibbs(ahead, temperature)
                break
            t, ahead, new = 2.0 * t, longer, found
            error = float(np.abs(counts - sums).max())
        idle = 0 if new > value + noise or error < 0.5 * least else idle + 1
        nu, value, least = ahead, new, min(least, error)
        if t <= 1e-8:
            break
    return nu, value, error, steps


def _ascent(hessian: Floats, gradient: Floats, temperature: float) -> Floats:
    """Compute the Newton direction, no longer than the temperature allows."""
    m = len(gradient)
    # prices are free up to a constant, and decided classes have no curvature
    ridge = 1e-13 * np.trace(hessian) / m + 1e-300
    found = _solved(hessian + ridge * np.eye(m), gradient)
    # if every row is decided there is no curvature: take a long step towards the counts
    direction = 1e200 * (gradient - gradient.mean()) if found is None else found
    longest = float(np.abs(direction).max())
    return direction * min(1.0, LONGEST_STEP * temperature / max(longest, 1e-300))


def _solved(matrix: Floats, gradient: Floats) -> Floats | None:
    """Solve for a direction that sums to zero; None if it is not finite."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            direction = np.linalg.solve(matrix, gradient)
            direction -= direction.mean()
    except np.linalg.LinAlgError:
        return None
    return np.asarray(direction, dtype=np.float64) if np.isfinite(direction).all() else None
