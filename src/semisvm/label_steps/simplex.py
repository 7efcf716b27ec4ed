"""The label step by the transportation simplex method, with which paper 003 compares its own.

A basis has one cell per row, that of its label, and m - 1 idle cells, in which nothing flows. A
row with an idle cell (row, z) joins its label to z; these m - 1 joints make a tree of the classes.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from semisvm.compiling import compiled
from semisvm.label_steps.switching import start_labels
from semisvm.label_steps.transportation import (
    CELLS_PER_CALL,
    LabelStep,
    cheapest_moves,
    check_costs,
    chosen_cost,
)

LEAST_BLOCK = 64
ROUNDING = 1e-12
"""Gains below this part of the largest cost are rounding errors."""
PATIENCE = 20
"""Pivots per class without a change of labels, until the rule that cannot cycle takes over."""


@compiled
def _first_joints(costs, labels, rows, idle):
    """Join class 0 to every other class by its row that is cheapest to move there."""
    n, m = costs.shape
    best = np.full(m, np.inf)
    for i in range(n):
        if labels[i] == 0:
            for z in range(1, m):
                move = costs[i, z] - costs[i, 0]
                if move < best[z]:
                    best[z] = move
                    rows[z - 1] = i
                    idle[z - 1] = z


@compiled
def _hang(costs, labels, rows, idle, prices, parent, joint, depth):
    """Hang the tree up at class 0, and make every basic cell of the same row equally cheap."""
    m = costs.shape[1]
    queue = np.empty(m, dtype=np.int64)
    depth[:] = -1
    depth[0], prices[0], joint[0], parent[0] = 0, 0.0, -1, 0
    queue[0] = 0
    n_found, k = 1, 0
    while k < n_found:
        p = queue[k]
        k += 1
        for e in range(m - 1):
            i = rows[e]
            a, b = labels[i], idle[e]
            if a != p and b != p:
                continue
            q = b if a == p else a
            if depth[q] < 0:
                depth[q], parent[q], joint[q] = depth[p] + 1, p, e
                prices[q] = prices[p] + costs[i, q] - costs[i, p]
                queue[n_found] = q
                n_found += 1


@compiled
def _entering(costs, labels, prices, first, block, eps, lowest_index):
    """Look for a cell that is cheaper than its row's label, block by block from a row on.

    Returns its row and class, or -1, and the row to go on from.
    """
    n, m = costs.shape
    best, row, column = -eps, -1, -1
    seen = 0
    i = 0 if lowest_index else first
    while seen < n:
        own = costs[i, labels[i]] - prices[labels[i]]
        for y in range(m):
            gain = costs[i, y] - prices[y] - own
            if gain < best:
                best, row, column = gain, i, y
                if lowest_index:
                    return row, column, first
        seen += 1
        i = i + 1 if i + 1 < n else 0
        if row >= 0 and seen % block == 0:
            break
    return row, column, i


@compiled
def _path(start, end, parent, joint, depth, edges, froms):
    """List the joints from one class to another, and the class from which each is entered."""
    n_up, n_down = 0, 0
    down = np.empty(len(parent), dtype=np.int64)
    p, q = start, end
    while p != q:
        if depth[p] >= depth[q]:
            edges[n_up], froms[n_up] = joint[p], p
            n_up += 1
            p = parent[p]
        else:
            down[n_down] = q
            n_down += 1
            q = parent[q]
    for k in range(n_down):
        node = down[n_down - 1 - k]
        edges[n_up + k], froms[n_up + k] = joint[node], parent[node]
    return n_up + n_down


@compiled
def _blocked(labels, rows, idle, edges, froms, n, m, lowest_index):
    """Return a joint on the path whose row cannot move on, or -1."""
    found, least = -1, -1
    for k in range(n):
        e = edges[k]
        if labels[rows[e]] == froms[k]:
            continue
        if not lowest_index:
            return e
        cell = rows[e] * m + idle[e]
        if found < 0 or cell < least:
            found, least = e, cell
    return found


@compiled
def _pivots(
    costs, labels, rows, idle, prices, block, eps, max_pivots, max_cells, first, idle_pivots
):
    """Exchange basic cells until no cell is cheaper than the label of its row.

    Also stop after ``max_pivots`` pivots, or soon after a look at ``max_cells`` cells: another call
    goes on from there, with the row to look at first and the number of idle pivots.

    Returns the number of pivots, whether the labels are optimal, and what the next call needs.
    """
    n, m = costs.shape
    parent, joint = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    depth, edges = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    froms = np.empty(m, dtype=np.int64)
    n_pivots, n_cells = 0, 0
    while True:
        _hang(costs, labels, rows, idle, prices, parent, joint, depth)
        careful = idle_pivots > PATIENCE * m
        i, y, after = _entering(costs, labels, prices, first, block, eps, careful)
        if i < 0 or n_pivots >= max_pivots or n_cells >= max_cells:
            return n_pivots, i < 0, first, idle_pivots
        # a search from the first row on ends at the row found, others at the row to go on from
        seen = i + 1 if careful else (after - first if after > first else after - first + n)
        n_cells += (seen + m) * m
        first = after
        n_pivots += 1
        length = _path(y, labels[i], parent, joint, depth, edges, froms)
        e = _blocked(labels, rows, idle, edges, froms, length, m, careful)
        if e >= 0:
            rows[e], idle[e] = i, y
            idle_pivots += 1
            continue
        for k in range(length):
            e = edges[k]
            labels[rows[e]], idle[e] = idle[e], froms[k]
        labels[i] = y
        idle_pivots = 0


def simplex(
    costs: ArrayLike,
    counts: ArrayLike,
    start: ArrayLike | None = None,
    *,
    block: int | None = None,
    max_loops: int | None = None,
) -> LabelStep:
    """Choose the labels of least cost under class counts, by the transportation simplex method.

    The result is that of `exact`, which is faster. A pivot moves one row to a cheaper class, and
    one row of every class on the way back through the tree of the basis, so that the counts
    stay. Many pivots move nothing, since all supplies are one; if too many follow each other,
    Bland's rule prevents cycles.

    Parameters
    ----------
    costs : array-like of shape (n, m)
    counts : array-like of shape (m,)
        Whole numbers that sum to n.
    start : int array-like of shape (n,), optional
        Labels that keep the counts; by default those of `greedy` for minus the costs.
    block : int, optional
        The cell that enters the basis is the best of so many rows; by default about the square
        root of their number. With n it is the best of all, as in the paper.
    max_loops : int, optional
        Maximum number of pivots.

    Returns
    -------
    LabelStep
        With the prices of the last basis, and ``n_loops`` pivots.

    Examples
    --------
    >>> from semisvm.label_steps import simplex
    >>> step = simplex([[0, 1], [0, 3], [0, 2]], [1, 2])
    >>> step.labels.tolist(), step.cost
    ([1, 0, 1], 3.0)
    """
    table, whole = check_costs(costs, counts)
    labels = start_labels(table, whole, start)
    used, nu, n_pivots = np.flatnonzero(whole), np.zeros(len(whole)), 0
    if len(used) > 1:
        part = np.ascontiguousarray(table[:, used])
        own = np.searchsorted(used, labels)
        rows, idle = np.zeros((2, len(used) - 1), dtype=np.int64)
        _first_joints(part, own, rows, idle)
        prices = np.zeros(len(used))
        size = max(LEAST_BLOCK, math.isqrt(len(part))) if block is None else block
        limit = np.iinfo(np.int64).max if max_loops is None else max_loops
        eps = ROUNDING * float(np.abs(part).max())
        known = (part, own, rows, idle, prices, size, eps)
        first, idle_pivots = 0, 0
        while True:
            # signals are handled between the calls
            most = (limit - n_pivots, CELLS_PER_CALL)
            more, done, first, idle_pivots = _pivots(*known, *most, first, idle_pivots)
            n_pivots += more
            if done or n_pivots >= limit:
                break
        nu[used], labels = prices, used[own]
    empty = np.flatnonzero(whole == 0)
    if len(empty) and len(table):
        nu[empty] = cheapest_moves(table, labels, nu, empty)
    return LabelStep(labels, nu, chosen_cost(table, labels), n_loops=n_pivots)
