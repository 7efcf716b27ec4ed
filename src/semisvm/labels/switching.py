"""Hard labels for two classes under a fixed count of positives.

For every loss here l(o) - l(-o) falls with o, so exchanging the labels of a positive row
and a negative row lowers the loss exactly where the positive one has the smaller score.
The best labels under a count are therefore the top scores, and switching pairs walks
there without ever breaking the count.
"""

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats

Signs = NDArray[np.bool_]


def top_labels(scores: Floats, n_positive: int) -> Signs:
    """Label the ``n_positive`` largest scores positive; ties go to the earlier row."""
    u = len(scores)
    if n_positive <= 0 or n_positive >= u:
        return np.full(u, n_positive > 0)
    threshold = np.partition(scores, u - n_positive)[u - n_positive]
    labels = scores > threshold
    tied = np.flatnonzero(scores == threshold)
    labels[tied[: n_positive - int(np.count_nonzero(labels))]] = True
    return labels


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
        Pairs switched; equal scores are never switched, so ties cannot cycle.
    """
    positive, negative = np.flatnonzero(labels), np.flatnonzero(~labels)
    if len(positive) == 0 or len(negative) == 0:
        return labels, 0
    # only rows beyond the other side's extreme can be part of an improving pair
    lowest, highest = scores[positive].min(), scores[negative].max()
    down = positive[scores[positive] < highest]
    up = negative[scores[negative] > lowest]
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
