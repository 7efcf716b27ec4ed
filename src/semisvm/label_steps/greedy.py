"""Labels by descending score, while the class has room."""

import numpy as np
from numpy.typing import ArrayLike

from semisvm.label_steps.result import LabelStep, check_costs, chosen_cost


def greedy(scores: ArrayLike, counts: ArrayLike) -> LabelStep:
    """Fill classes with the rows that score highest in them.

    In each round every free row asks for its best class among those with room. Rows are
    served by descending score; those that a full class turns away ask again in the next
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
