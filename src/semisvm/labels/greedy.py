"""Labels by scores in falling order, while there is room in the class."""

import numpy as np
from numpy.typing import ArrayLike

from semisvm.labels.result import LabelStep, check_costs, chosen_cost


def greedy(scores: ArrayLike, counts: ArrayLike) -> LabelStep:
    """Fill classes with the rows that score highest in them.

    Every round, each free row asks for its best class among those with room; rows are
    served by falling score; a class that is full turns the others away, who ask again in
    the next round. It is how Algorithm 1 of Keerthi, Sundararajan and Shevade (2012)
    labels the unlabelled rows at first.

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
    >>> from semisvm.labels import greedy
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
