"""Rows about which a model is least certain."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.active.base import Selection
from semisvm.designs.base import Index
from semisvm.estimators.interop import fit_partly, scores_of
from semisvm.estimators.newton import NewtonSVC
from semisvm.margins import margins


class MarginSelection(Selection):
    r"""Choose the rows about which a model is least certain (uncertainty sampling).

    A model is fitted to the labels so far. The margin of a row is the difference between its
    two highest scores, for two classes \|f(x)\|; the rows with the smallest margins are
    chosen. It needs labels of two classes: begin with `KMedianSelection`.

    Parameters
    ----------
    estimator : classifier, default=None
        One that takes no unlabelled rows is fitted to the labelled rows. None is `NewtonSVC`
        with its defaults.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.active import MarginSelection
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
                "MarginSelection fits a model, which needs labels: choose the first rows with "
                "KMedianSelection, and pass their labels as y."
            )
        rows = np.flatnonzero(free)
        scores = scores_of(fit_partly(self._model(), X, y, self.unlabeled), X[rows])
        return rows[np.argsort(np.abs(margins(scores)), kind="stable")[:n]]

    def _model(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return NewtonSVC(unlabeled=self.unlabeled)
