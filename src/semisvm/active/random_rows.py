"""Rows drawn at random: the baseline for the other selections."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from semisvm.active.base import Selection
from semisvm.designs.base import Index


class RandomSelection(Selection):
    """Choose rows at random.

    Parameters
    ----------
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.active import RandomSelection
    >>> X, y = np.eye(6), [0, 1, -1, -1, -1, -1]
    >>> sorted(RandomSelection(random_state=0).select(X, 4, y).tolist())
    [2, 3, 4, 5]
    """

    def __init__(self, *, unlabeled: Any = -1, random_state: Any = None) -> None:
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _choose(self, X: Any, n: int, free: Any, y: ArrayLike | None) -> Index:
        rng = check_random_state(self.random_state)
        return np.asarray(rng.permutation(np.flatnonzero(free))[:n])
