r"""The exact label step: a transportation problem with few classes.

Given costs c_iy and counts n(y) that sum to n, choose labels ::

    min sum_i c_{i, y_i}    with exactly n(y) rows of class y

Its dual has one price per class, max_nu sum_i min_y (c_iy - nu_y) + sum_y n(y) nu_y: at the
optimal prices each row gets its cheapest class. The step assigns the cheapest classes at
guessed prices, and moves the rows in excess along shortest paths in the graph of the m
classes, in which edge y -> z costs as much as the cheapest move of a row from y to z. With
few classes each path is cheap to find; with good prices there are few paths.

`LabelStep` and `check_costs` are what all label steps return and take.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Floats
from semisvm.label_steps import _transport_kernels as kernels
from semisvm.labels.partial import prior_counts
from semisvm.labels.weights import UNIT_WEIGHT, Counts, has_weights, of_rows

# Prices of a sample of this size leave few rows to move.
SAMPLE = 500
SAMPLE_SHARE = 8
# Heap entries to prepare per row in excess, and per pair of classes.
ENTRIES_PER_ROW = 8
ENTRIES_PER_PAIR = 8
# Nodes of the heaps at first.
FIRST_NODES = 1024
# Work of one call of compiled code, during which signals wait: at most some tenths of a second.
CELLS_PER_CALL = 250_000
GOES_ON = (kernels.UNFINISHED, kernels.NO_ROOM)

Labels = NDArray[np.int64]
Heaps = tuple[Any, ...]
"""Heaps of rows to move: arrays, as compiled code takes them."""


@dataclass(frozen=True)
class LabelStep:
    """The result of a label step.

    Attributes
    ----------
    labels : int array of shape (n,)
        Class of each row; for soft labels the most probable one.
    prices : array of shape (m,)
        Class prices of the exact and the entropic step; zeros for the heuristic steps.
    cost : float
        Total cost of the labels, or expected cost of the beliefs.
    beliefs : array of shape (n, m), optional
        Probabilities, for soft labels.
    n_loops : int
        Number of rounds of the step.
    """

    labels: NDArray[np.intp]
    prices: Floats
    cost: float
    beliefs: Floats | None = None
    n_loops: int = 1


def check_costs(
    costs: ArrayLike, counts: ArrayLike, mass: Floats = UNIT_WEIGHT
) -> tuple[Floats, NDArray[Any]]:
    """Return costs as a C-contiguous float64 array and counts as integers; raise if invalid.

    The counts of rows with masses are sums of these, as they stand.
    """
    table = np.ascontiguousarray(costs, dtype=np.float64)
    wanted = np.asarray(counts)
    if table.ndim != 2 or wanted.shape != (table.shape[1],):
        raise ValueError(
            "costs must have one column per class and counts one entry per class, got shapes "
            f"{table.shape} and {wanted.shape}."
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0].tolist()
        raise ValueError(f"costs must be finite, but row {row}, column {column} is not.")
    if has_weights(mass):
        if mass.shape != (len(table),) or not np.isclose(wanted.sum(), mass.sum()):
            raise ValueError(
                f"counts must sum to the masses of the {len(table)} rows, {mass.sum():.6g}, got "
                f"{wanted.tolist()}."
            )
        return table, wanted.astype(np.float64)
    whole = np.round(wanted).astype(np.int64)
    if not np.array_equal(whole, wanted) or np.any(whole < 0) or whole.sum() != len(table):
        raise ValueError(
            f"counts must be whole numbers >= 0 that sum to the {len(table)} rows, got "
            f"{wanted.tolist()}. semisvm.labels.partial.prior_counts rounds shares to counts."
        )
    return table, whole


def chosen_cost(costs: Floats, labels: NDArray[np.intp], mass: Floats = UNIT_WEIGHT) -> float:
    """Sum the costs of hard labels, each times the mass of its row."""
    return float(kernels.chosen_cost(costs, labels, mass))


class Near(NamedTuple):
    """The rows of a table that a move within reach may concern.

    Attributes
    ----------
    rows : int array of shape (k,)
    costs : array of shape (k, m)
    labels : int array of shape (k,)
    mass : array of shape (k,), or (1,) if all rows count once
    limit : array of shape (m, m)
        The cheapest move from y to z among the other rows.
    """

    rows: Labels
    costs: Floats
    labels: Labels
    mass: Floats
    limit: Floats


class CostRows(Protocol):
    """What the exact step needs from the rows, which may be in several blocks."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def has_weights(self) -> bool:
        """Whether rows have masses of their own."""
        ...

    def sample(self, step: int) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row."""
        ...

    def assign(self, prices: Floats) -> Counts:
        """Assign each row its cheapest class at the prices; sum the masses per class."""
        ...

    def balance(self, prices: Floats, excess: Counts, reach: float) -> bool:
        """Move rows along shortest paths until no class has an excess; see the kernel.

        Prices and excess are changed.
        """
        ...


class CostTable:
    """Rows of costs of a single shard, with their labels.

    Attributes
    ----------
    costs : array of shape (n, m)
    labels : int array of shape (n,)
    mass : array of shape (n,), or (1,) if all rows count once
    """

    def __init__(self, costs: Floats, mass: Floats = UNIT_WEIGHT) -> None:
        self.costs = costs
        self.mass = mass
        self.labels = np.zeros(len(costs), dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.costs)

    @property
    def has_weights(self) -> bool:
        """Whether rows have masses of their own."""
        return has_weights(self.mass)

    def sample(self, step: int, first: int = 0) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row."""
        some = slice(first, None, step)
        mass = self.mass[some] if self.has_weights else UNIT_WEIGHT
        return np.ascontiguousarray(self.costs[some]), self.labels[some], mass

    def assign(self, prices: Floats) -> Counts:
        """Assign each row its cheapest class at the prices; sum the masses per class."""
        found = np.empty(self.costs.shape[1], dtype=np.int64)
        kernels.assign(self.costs, prices, self.labels, found)
        if self.has_weights:
            return np.bincount(self.labels, self.mass, minlength=len(found))
        return found

    def balance(self, prices: Floats, excess: Counts, reach: float) -> bool:
        """Move rows along shortest paths until no class has an excess."""
        limit = np.full((len(prices), len(prices)), np.inf)
        known = (self.costs, prices, self.labels)
        return _balanced(*known, self.mass, excess, reach, limit)

    def near(self, prices: Floats, reach: float) -> Near:
        """Return the rows that a move within reach may concern."""
        limit = np.full((len(prices), len(prices)), np.inf)
        found = np.empty(len(self.costs), dtype=np.int64)
        rows = found[: kernels.near(self.costs, prices, self.labels, reach, limit, found)]
        mass = of_rows(self.mass, rows)
        return Near(rows, self.costs[rows], self.labels[rows], mass, limit)

    def relabel(self, rows: Labels, labels: Labels) -> None:
        """Set the labels of some rows."""
        self.labels[rows] = labels


def balance_gathered(
    parts: Sequence[Near],
    prices: Floats,
    excess: Counts,
    reach: float,
) -> tuple[bool, list[Labels]]:
    """Balance rows gathered from several tables by `CostTable.near`.

    Returns
    -------
    done : bool
    labels : list of arrays
        New labels of the rows, per part.
    """
    costs = np.concatenate([part.costs for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    mass = UNIT_WEIGHT
    if any(has_weights(part.mass) for part in parts):
        mass = np.concatenate([np.broadcast_to(part.mass, len(part.rows)) for part in parts])
    limit = np.min([part.limit for part in parts], axis=0)
    done = _balanced(costs, prices, labels, mass, excess, reach, limit)
    return done, np.split(labels, np.cumsum([len(part.rows) for part in parts])[:-1])


def _balanced(
    costs: Floats,
    prices: Floats,
    labels: Labels,
    mass: Floats,
    excess: Counts,
    reach: float,
    limit: Floats,
) -> bool:
    """Move rows, or parts of rows with masses; a row in parts gets the class of the largest.

    Prices, labels, excess and limit are changed. False if a row beyond ``reach`` may be needed.
    """
    if has_weights(mass):
        return _balanced_masses(costs, prices, labels, mass, excess, reach, limit)
    known = (costs, prices, labels, mass, excess, reach, limit)
    # in parts, so that Ctrl-C is handled between them
    state, heaps = kernels.UNFINISHED, _no_heaps(len(prices))
    while state in GOES_ON:
        heaps = _with_room(heaps, state)
        state = kernels.balance(*known, heaps, CELLS_PER_CALL)
    return bool(state == kernels.DONE)


def _balanced_masses(
    costs: Floats,
    prices: Floats,
    labels: Labels,
    mass: Floats,
    excess: Counts,
    reach: float,
    limit: Floats,
) -> bool:
    """Move parts of rows; only the limit has changed if the result is False."""
    # A call may end between two paths, with rows in parts that labels cannot express. So a try
    # works on copies, and is thrown away if its reach was too short.
    n, m = costs.shape
    amount, place = np.zeros(n * m), np.full(n * m, kernels.NONE)
    pieces = np.arange(n) * m + labels
    amount[pieces], place[pieces] = mass, labels
    nu, over = prices.copy(), excess.copy()
    known = (costs, nu, labels, mass, over, reach, limit)
    state, heaps = kernels.UNFINISHED, _no_heaps(m)
    # a path counts as m * m cells
    left = kernels.PATHS_PER_PIECE * n * m**3
    while state in GOES_ON and left > 0:
        heaps, cells = _with_room(heaps, state), min(left, CELLS_PER_CALL)
        state = kernels.balance_masses(*known, heaps, amount, place, cells)
        left -= cells if state == kernels.UNFINISHED else 0
    if state == kernels.BEYOND_REACH:
        return False
    labels[:] = amount.reshape(n, m).argmax(axis=1)
    prices[:], excess[:] = nu, 0.0
    return True


def _no_heaps(m: int) -> Heaps:
    """Return heaps without rows; see `kernels.balance`."""
    n_nodes = max(FIRST_NODES, 2 * m * m)
    nodes, key = np.empty((3, n_nodes), dtype=np.int64), np.empty(n_nodes)
    edge, sizes = np.empty((m, m)), np.zeros(2, dtype=np.int64)
    return np.full((m, m), kernels.NONE), edge, nodes, key, sizes


def _with_room(heaps: Heaps, state: int) -> Heaps:
    """Return the heaps, with room for twice as many nodes if they need more."""
    if state != kernels.NO_ROOM:
        return heaps
    roots, edge, nodes, key, sizes = heaps
    more = np.empty((3, 2 * len(key)), dtype=np.int64), np.empty(2 * len(key))
    more[0][:, : len(key)], more[1][: len(key)] = nodes, key
    return roots, edge, *more, sizes


def dual_value(costs: ArrayLike, counts: ArrayLike, prices: ArrayLike) -> float:
    """Return the dual objective at class prices: a lower bound on the cost of any labels.

    It equals the cost of `exact`'s labels at `exact`'s prices, which proves them optimal.
    """
    table, whole = check_costs(costs, counts)
    nu = np.asarray(prices, dtype=np.float64)
    return float((table - nu).min(axis=1).sum()) + float(whole @ nu)


def exact(
    costs: ArrayLike,
    counts: ArrayLike,
    prices: ArrayLike | None = None,
    *,
    mass: Floats = UNIT_WEIGHT,
) -> LabelStep:
    """Choose the labels of least cost under class counts.

    Parameters
    ----------
    costs : array-like of shape (n, m)
    counts : array-like of shape (m,)
        Whole numbers that sum to n.
    prices : array-like of shape (m,), optional
        Where to start, for instance the prices of the last call on similar costs.
    mass : array of shape (n,), optional
        For how many rows each row counts. The counts are then sums of masses, and need not be
        whole. The prices are those of the problem in which rows may be divided; at most m - 1
        have to be, and get the class of their largest part.

    Returns
    -------
    LabelStep
        With prices that certify the optimum; see `dual_value`.

    Examples
    --------
    >>> from semisvm.label_steps import exact
    >>> step = exact([[0, 1], [0, 3], [0, 2]], [1, 2])
    >>> step.labels.tolist(), step.cost
    ([1, 0, 1], 3.0)
    """
    table, whole = check_costs(costs, counts, mass)
    used = np.flatnonzero(whole)
    nu = np.zeros(len(whole))
    labels = np.zeros(len(table), dtype=np.int64)
    if len(used):
        everything = len(used) == len(whole)
        rows = CostTable(table if everything else np.ascontiguousarray(table[:, used]), mass)
        start = None if prices is None else np.asarray(prices, dtype=np.float64)[used]
        nu[used] = transport(rows, whole[used], start)
        labels = used[rows.labels]
        if not everything:
            empty = np.flatnonzero(whole == 0)
            nu[empty] = cheapest_moves(table, labels, nu, empty)
    chosen = labels.astype(np.intp, copy=False)
    return LabelStep(chosen, nu, chosen_cost(table, chosen, mass))


def transport(rows: CostRows, counts: Counts, prices: Floats | None) -> Floats:
    """Label rows at the least cost under nonzero counts; return the prices."""
    # The cheapest class at any prices is optimal for the counts that it happens to give. So prices
    # near the final ones leave a small excess, and only that is moved along shortest paths.
    nu = _sample_prices(rows, counts) if prices is None else prices.copy()
    excess, growth = rows.assign(nu) - counts, 1.0
    if rows.has_weights:
        # sums of masses are rounded; a tiny excess would ask for a path of its own
        excess[np.abs(excess) <= kernels.ROUNDING * counts.sum()] = 0.0
    while excess.any():
        reach = _reach(rows, nu, int(np.abs(excess).sum()), growth)
        # Without masses, what was moved before the reach proved too short stays: labels are
        # cheapest at the prices after every path, so the next try has only the rest of the excess.
        if rows.balance(nu, excess, reach):
            break
        if reach == np.inf:
            raise FloatingPointError(
                "the label step has costs that are not finite numbers. Scale the columns of X, "
                "for instance with sklearn.preprocessing.StandardScaler."
            )
        growth *= 8.0
    return nu


def _sample_prices(rows: CostRows, counts: Counts) -> Floats:
    """Compute the prices of a regular sample of the rows, by the same method."""
    n = rows.n_rows
    size = max(SAMPLE, n // SAMPLE_SHARE)
    if n < 2 * size:
        return np.zeros(len(counts))
    costs, _, mass = rows.sample(n // size)
    # the few rows may not suffice for the counts without labels that are forbidden
    costs = with_high_costs(costs)
    if rows.has_weights:
        sample = CostTable(costs, np.ascontiguousarray(mass))
        return transport(sample, counts / counts.sum() * mass.sum(), np.zeros(len(counts)))
    return exact(costs, prior_counts(counts / n, len(costs))).prices


def with_high_costs(costs: Floats) -> Floats:
    """Replace infinite costs by some so high that labels avoid them where they can."""
    finite = np.isfinite(costs)
    if finite.all():
        return costs
    values = costs[finite]
    # as much as a path through all classes
    high = float(values.max()) + costs.shape[1] * float(np.ptp(values)) + 1.0
    return np.where(finite, costs, high)


def _reach(rows: CostRows, nu: Floats, n_moves: int, growth: float) -> float:
    """Estimate how expensive a move may get, from the gaps of a sample of the rows."""
    n, m = rows.n_rows, len(nu)
    # most rows are far from a tie and would fill the heaps for nothing; the entries that the paths
    # may take are those with the smallest gaps
    entries = growth * (ENTRIES_PER_ROW * n_moves + ENTRIES_PER_PAIR * m * m)
    if entries >= n * (m - 1):
        return np.inf
    costs, labels, _ = rows.sample(max(1, n // SAMPLE))
    gaps = np.empty(len(labels) * (m - 1))
    kernels.gaps(costs, nu, labels, gaps)
    rank = int(entries / n * len(labels))
    gaps.partition(rank)
    return float(gaps[rank])


def cheapest_moves(costs: Floats, labels: Labels, nu: Floats, classes: Labels) -> Floats:
    """Return, for each of some classes, the least cost of moving a row there at the prices.

    Used as prices of classes with count zero, they keep all rows away from them.
    """
    own = costs[np.arange(len(costs)), labels] - nu[labels]
    found: Floats = (costs[:, classes] - own[:, np.newaxis]).min(axis=0)
    return found
