"""Rows that a model is least sure of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from semisvm.designs.base import Floats, Index
from semisvm.selection.base import Selection


class MarginSelection(Selection):
    r"""Chooses the rows that a model is least sure of.

    A model is fitted to the labels so far. The margin of a row is the distance of its two
    highest scores, for two classes \|f(x)\|; the rows with the smallest margins are chosen.
    It needs labels of two classes: begin with `KMedianSelection`.

    Parameters
    ----------
    estimator : classifier, default=None
        Has ``decision_function``, and takes partly labelled data with the same marker.
        None is `NewtonSVC` with its defaults.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.selection import MarginSelection
    >>> X = np.array([[-2.0], [-1.5], [0.1], [1.0], [2.0]])
    >>> MarginSelection().select(X, 2, ["left", None, None, None, "right"]).tolist()
    [2, 3]
    """

    def __init__(self, estimator: Any = None, *, unlabeled: Any = -1) -> None:
        self.estimator = estimator
        self.unlabeled = unlabeled

    def _choose(self, X: Any, n: int, free: Any, y: ArrayLike | None) -> Index:
        if y is None or free.all():
            raise ValueError(
                "MarginSelection asks a model, which needs labels: choose the first rows with "
                "KMedianSelection, and pass their labels as y."
            )
        rows = np.flatnonzero(free)
        scores = np.asarray(self._model().fit(X, y).decision_function(X[rows]))
        return rows[np.argsort(margins(scores), kind="stable")[:n]]

    def _model(self) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        from semisvm.estimators import NewtonSVC

        return NewtonSVC(unlabeled=self.unlabeled)


def margins(scores: Floats) -> Floats:
    """Give the distance of the two highest scores of every row.

    Parameters
    ----------
    scores : array of shape (n,) or (n, m)
    """
    if scores.ndim == 1:
        return np.abs(scores)
    top = np.sort(scores, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])
