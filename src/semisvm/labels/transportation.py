r"""The exact label step: a transportation problem with few classes.

Given costs c_iy and counts n(y) that sum to n, choose labels ::

    min sum_i c_{i, y_i}    with exactly n(y) rows of class y

Its dual has one price a class, max_nu sum_i min_y (c_iy - nu_y) + sum_y n(y) nu_y: at the
optimal prices every row has a favourite class. The step starts from favourites at guessed
prices and moves the rows in excess along shortest paths in the graph of the m classes,
whose edge y -> z costs the cheapest move of a row of y to z. Few classes make every path
cheap; good prices make the paths few.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Floats
from semisvm.labels import _transport_kernels as kernels
from semisvm.labels.result import LabelStep, check_costs, chosen_cost
from semisvm.partial_labels import prior_counts

# Prices of a sample of this size are so good that few rows are left to move.
SAMPLE = 500
SAMPLE_SHARE = 8
# Heap entries to prepare for every row in excess, and at least for every pair of classes.
ENTRIES_PER_ROW = 8
ENTRIES_PER_PAIR = 8


def dual_value(costs: ArrayLike, counts: ArrayLike, prices: ArrayLike) -> float:
    """Give the dual objective at class prices: a lower bound on the cost of any labels.

    It equals the cost of `exact`'s labels at `exact`'s prices, which proves them optimal.
    """
    table, whole = check_costs(costs, counts)
    nu = np.asarray(prices, dtype=np.float64)
    return float((table - nu).min(axis=1).sum()) + float(whole @ nu)


def exact(costs: ArrayLike, counts: ArrayLike, prices: ArrayLike | None = None) -> LabelStep:
    """Choose the labels of least cost under class counts.

    Parameters
    ----------
    costs : array-like of shape (n, m)
    counts : array-like of shape (m,)
        Whole numbers that sum to n.
    prices : array-like of shape (m,), optional
        Start, for instance the prices of the last call on similar costs.

    Returns
    -------
    LabelStep
        With prices that certify the optimum: see `dual_value`.

    Examples
    --------
    >>> from semisvm.labels import exact
    >>> step = exact([[0, 1], [0, 3], [0, 2]], [1, 2])
    >>> step.labels.tolist(), step.cost
    ([1, 0, 1], 3.0)
    """
    table, whole = check_costs(costs, counts)
    used = np.flatnonzero(whole)
    nu = np.zeros(len(whole))
    labels = np.zeros(len(table), dtype=np.int64)
    if len(used) == len(whole):
        labels, nu = _solve(table, whole, prices)
    elif len(used):
        start = None if prices is None else np.asarray(prices)[used]
        part_labels, nu[used] = _solve(np.ascontiguousarray(table[:, used]), whole[used], start)
        labels = used[part_labels]
        _price_empty_classes(table, whole, labels, nu)
    chosen = labels.astype(np.intp, copy=False)
    return LabelStep(chosen, nu, chosen_cost(table, chosen))


def _solve(
    costs: Floats, counts: NDArray[np.int64], prices: ArrayLike | None
) -> tuple[NDArray[np.int64], Floats]:
    n, m = costs.shape
    nu = np.array(_sample_prices(costs, counts) if prices is None else prices, dtype=np.float64)
    labels, found = np.empty(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    kernels.assign(costs, nu, labels, found)
    excess = found - counts
    growth = 1.0
    while excess.any():
        reach = _reach(costs, nu, labels, int(np.abs(excess).sum()), growth)
        if kernels.balance(costs, nu, labels, excess, reach):
            break
        growth *= 8.0
    return labels, nu


def _sample_prices(costs: Floats, counts: NDArray[np.int64]) -> Floats:
    """Give the prices of a regular sample of the rows, found in the same way."""
    n, m = costs.shape
    size = max(SAMPLE, n // SAMPLE_SHARE)
    if n < 2 * size:
        return np.zeros(m)
    sample = np.ascontiguousarray(costs[:: n // size])
    return exact(sample, prior_counts(counts / n, len(sample))).prices


def _reach(costs: Floats, nu: Floats, labels: NDArray[np.int64], rows: int, growth: float) -> float:
    """Guess how expensive a move may get, from the gaps of a sample of the rows."""
    n, m = costs.shape
    entries = growth * (ENTRIES_PER_ROW * rows + ENTRIES_PER_PAIR * m * m)
    if entries >= n * (m - 1):
        return np.inf
    rows_seen = np.arange(0, n, max(1, n // SAMPLE))
    gaps = costs[rows_seen] - nu
    gaps -= gaps[np.arange(len(rows_seen)), labels[rows_seen]][:, np.newaxis]
    share = entries / (n * (m - 1))
    others = np.sort(gaps, axis=1)[:, 1:].ravel()
    return float(np.quantile(others, share))


def _price_empty_classes(
    costs: Floats, counts: NDArray[np.int64], labels: NDArray[np.int64], nu: Floats
) -> None:
    """Price classes of count zero so that no row wants them."""
    empty = np.flatnonzero(counts == 0)
    own = costs[np.arange(len(costs)), labels] - nu[labels]
    nu[empty] = (costs[:, empty] - own[:, np.newaxis]).min(axis=0)
