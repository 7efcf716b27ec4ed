"""The label step by the transportation simplex method, with which paper 003 compares its own."""

import math

import numpy as np
from numpy.typing import ArrayLike

from semisvm.label_steps import _simplex_kernels as kernels
from semisvm.label_steps.result import LabelStep, check_costs, chosen_cost
from semisvm.label_steps.switching import start_labels
from semisvm.label_steps.transportation import CELLS_PER_CALL, cheapest_moves

LEAST_BLOCK = 64
ROUNDING = 1e-12
"""Gains below this part of the largest cost are rounding errors."""


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
        kernels.first_joints(part, own, rows, idle)
        prices = np.zeros(len(used))
        size = max(LEAST_BLOCK, math.isqrt(len(part))) if block is None else block
        limit = np.iinfo(np.int64).max if max_loops is None else max_loops
        eps = ROUNDING * float(np.abs(part).max())
        known = (part, own, rows, idle, prices, size, eps)
        first, idle_pivots = 0, 0
        while True:
            # signals are handled between the calls
            most = (limit - n_pivots, CELLS_PER_CALL)
            more, done, first, idle_pivots = kernels.pivots(*known, *most, first, idle_pivots)
            n_pivots += more
            if done or n_pivots >= limit:
                break
        nu[used], labels = prices, used[own]
    empty = np.flatnonzero(whole == 0)
    if len(empty) and len(table):
        nu[empty] = cheapest_moves(table, labels, nu, empty)
    return LabelStep(labels, nu, chosen_cost(table, labels), n_loops=n_pivots)
