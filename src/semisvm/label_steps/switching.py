"""Hard labels by switching pairs, and greedily by score.

For two classes and all losses here l(o) - l(-o) falls with o, so exchanging the labels of a
positive and a negative row lowers the loss exactly if the positive row has the smaller score.
The best labels under a count are therefore the top scores, and switching pairs reaches them
without ever changing the count. For many classes switching pairs is a heuristic;
`semisvm.label_steps.exact` is not. It starts from `greedy`, which assigns labels by descending
score while the class has room.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.compiling import compiled
from semisvm.designs.base import Floats
from semisvm.label_steps.transportation import LabelStep, check_costs, chosen_cost
from semisvm.labels.weights import UNIT_WEIGHT, has_weights
from semisvm.losses import Signs


def top_labels(scores: Floats, n_positive: float, mass: Floats = UNIT_WEIGHT) -> Signs:
    """Label the ``n_positive`` largest scores positive; ties go to the earlier row.

    Rows with masses are not divided: those above a threshold have a mass that is as near as
    possible to the one wanted.
    """
    if has_weights(mass):
        order = np.argsort(-scores, kind="stable")
        above = np.append(0.0, np.cumsum(mass[order]))
        off = np.abs(above - n_positive)
        if 0.0 < n_positive < above[-1]:
            # a wanted class has a row, even one whose mass is lost in the digits of the others
            empty = (above == 0.0) | (above == above[-1])
            off[[0, -1] if empty.all() else empty] = np.inf
        positive = np.zeros(len(scores), dtype=np.bool_)
        positive[order[: int(np.argmin(off))]] = True
        return positive
    return _top(scores, int(n_positive))


def _top(scores: Floats, n_positive: int) -> Signs:
    u = len(scores)
    if n_positive <= 0 or n_positive >= u:
        return np.full(u, n_positive > 0)
    threshold = np.partition(scores, u - n_positive)[u - n_positive]
    labels = scores > threshold
    tied = np.flatnonzero(scores == threshold)
    labels[tied[: n_positive - int(np.count_nonzero(labels))]] = True
    return labels


@compiled
def _crossing(scores, labels, down, up):
    """List the rows that can be in an improving pair: those beyond the other side's extreme.

    Returns the numbers of rows that may go down and up.
    """
    lowest, highest = np.inf, -np.inf
    for j in range(scores.shape[0]):
        lowest = min(lowest, scores[j] if labels[j] else np.inf)
        highest = max(highest, -np.inf if labels[j] else scores[j])
    n_down = n_up = 0
    for j in range(scores.shape[0]):
        down[n_down] = j
        n_down += labels[j] & (scores[j] < highest)
        up[n_up] = j
        n_up += (not labels[j]) & (scores[j] > lowest)
    return n_down, n_up


def switch_pairs(scores: Floats, labels: Signs, max_pairs: int | None = None) -> tuple[Signs, int]:
    """Switch pairs of labels while each switch lowers the loss.

    Parameters
    ----------
    scores : array of shape (u,)
    labels : bool array of shape (u,)
        True for positive; not changed.
    max_pairs : int or None
        None switches all that improve; 1 is the single switch of Joachims.

    Returns
    -------
    labels : bool array of shape (u,)
    n_switched : int
        Number of pairs switched; equal scores are never switched, so ties cannot cycle.
    """
    down, up = np.empty((2, len(scores)), dtype=np.intp)
    n_down, n_up = _crossing(scores, labels, down, up)
    if n_down == 0 or n_up == 0:
        return labels, 0
    down, up = down[:n_down], up[:n_up]
    down = down[np.argsort(scores[down], kind="stable")]
    up = up[np.argsort(-scores[up], kind="stable")]
    k = min(len(down), len(up), max_pairs if max_pairs is not None else len(labels))
    n_switched = int(np.count_nonzero(scores[down[:k]] < scores[up[:k]]))
    if n_switched == 0:
        return labels, 0
    labels = labels.copy()
    labels[down[:n_switched]] = False
    labels[up[:n_switched]] = True
    return labels, n_switched


@compiled
def _switch_in_order(order, first, second, labels, moved, most):
    """Exchange the labels of the listed pairs, at most ``most``; a row moves only once."""
    switched = 0
    for k in order:
        if switched == most:
            break
        i, j = first[k], second[k]
        if moved[i] or moved[j]:
            continue
        labels[i], labels[j] = labels[j], labels[i]
        moved[i] = True
        moved[j] = True
        switched += 1
    return switched


def switching(
    costs: ArrayLike,
    counts: ArrayLike,
    start: ArrayLike | None = None,
    *,
    max_loops: int | None = None,
    max_pairs: int | None = None,
) -> LabelStep:
    """Lower the cost by switching pairs of labels between classes (Algorithm 2).

    Each loop lists, for each pair of classes, the rows of both by the cost of moving them to
    the other, pairs them up, and switches the pairs that gain, best first, each row at most
    once. For two classes the result is optimal; for more it is close.

    Parameters
    ----------
    costs : array-like of shape (n, m)
    counts : array-like of shape (m,)
        Whole numbers that sum to n.
    start : int array-like of shape (n,), optional
        Labels that keep the counts; by default those of `greedy` for minus the costs.
    max_loops : int or None
        None loops until no pair gains.
    max_pairs : int or None
        Maximum number of pairs to switch; None switches all that gain, 1 the best pair.

    References
    ----------
    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012.

    Examples
    --------
    >>> from semisvm.label_steps import switching
    >>> switching([[0, 1], [0, 3], [0, 2]], [1, 2]).labels.tolist()
    [1, 0, 1]
    """
    table, whole = check_costs(costs, counts)
    labels = start_labels(table, whole, start)
    n_loops, n_switched = 0, 0
    most = np.iinfo(np.int64).max if max_pairs is None else max_pairs
    while n_switched < most and (max_loops is None or n_loops < max_loops):
        first, second, gain = _gaining_pairs(table, labels)
        if len(gain) == 0:
            break
        n_loops += 1
        order = np.argsort(gain, kind="stable")
        moved = np.zeros(len(labels), dtype=bool)
        n_switched += _switch_in_order(order, first, second, labels, moved, most - n_switched)
    return LabelStep(labels, np.zeros(len(whole)), chosen_cost(table, labels), n_loops=n_loops)


def start_labels(
    costs: Floats, counts: NDArray[np.int64], start: ArrayLike | None
) -> NDArray[np.intp]:
    """Return a copy of the labels to start from, or those of `greedy`; raise if invalid."""
    if start is None:
        return greedy(-costs, counts).labels
    labels = np.array(start, dtype=np.intp)
    if len(labels) != len(costs) or not np.array_equal(
        np.bincount(labels, minlength=len(counts)), counts
    ):
        raise ValueError("start must hold one class per row and keep the counts.")
    return labels


def _gaining_pairs(
    costs: Floats, labels: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """List pairs of rows whose switch lowers the cost, with the change."""
    members = [np.flatnonzero(labels == y) for y in range(costs.shape[1])]
    # moves[y][:, z]: costs of moving the rows of class y to class z
    moves = [costs[rows] - costs[rows, y][:, np.newaxis] for y, rows in enumerate(members)]
    cheapest = np.array([m.min(axis=0) if len(m) else np.full(len(members), np.inf) for m in moves])
    firsts, seconds, gains = [], [], []
    for y, z in zip(*np.nonzero(np.triu(cheapest + cheapest.T < 0.0, 1)), strict=True):
        # a row can only be in a gaining pair with the other side's cheapest
        out = np.flatnonzero(moves[y][:, z] + cheapest[z, y] < 0.0)
        back = np.flatnonzero(moves[z][:, y] + cheapest[y, z] < 0.0)
        out = out[np.argsort(moves[y][out, z], kind="stable")]
        back = back[np.argsort(moves[z][back, y], kind="stable")]
        k = min(len(out), len(back))
        gain = moves[y][out[:k], z] + moves[z][back[:k], y]
        k = int(np.count_nonzero(gain < 0.0))
        firsts.append(members[y][out[:k]])
        seconds.append(members[z][back[:k]])
        gains.append(gain[:k])
    if not gains:
        return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0)
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(gains)


def greedy(scores: ArrayLike, counts: ArrayLike) -> LabelStep:
    """Fill classes with the rows that score highest in them.

    In each round every free row proposes its best class among those with room. Rows are
    served by descending score; those that a full class rejects propose again in the next
    round. Algorithm 1 of Keerthi, Sundararajan and Shevade (2012) uses it for the first
    labels of the unlabelled rows.

    Parameters
    ----------
    scores : array-like of shape (n, m)
        Higher is better.
    counts : array-like of shape (m,)
        Whole numbers that sum to n.

    Returns
    -------
    LabelStep
        Its cost is minus the sum of the chosen scores.

    Examples
    --------
    >>> from semisvm.label_steps import greedy
    >>> greedy([[3, 1], [2, 0], [1, 0]], [1, 2]).labels.tolist()
    [0, 1, 1]
    """
    table, room = check_costs(scores, counts)
    room = room.copy()
    labels = np.full(len(table), -1, dtype=np.intp)
    free = np.arange(len(table))
    n_loops = 0
    while len(free):
        n_loops += 1
        open_classes = np.flatnonzero(room)
        offers = table[np.ix_(free, open_classes)]
        best = offers.argmax(axis=1)
        order = np.argsort(-offers[np.arange(len(free)), best], kind="stable")
        wanted = open_classes[best[order]]
        for y in open_classes:
            served = free[order[wanted == y][: room[y]]]
            labels[served] = y
            room[y] -= len(served)
        free = free[labels[free] < 0]
    return LabelStep(labels, np.zeros(len(room)), chosen_cost(-table, labels), n_loops=n_loops)
