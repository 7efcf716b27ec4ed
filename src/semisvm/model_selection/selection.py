"""Selections of rows to label next: from data, a budget and the labels so far.

At random, the baseline; by the margin, rows about which a model is least certain; and rows in the
middle of clusters, which together represent all rows.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from semisvm.designs.base import Index
from semisvm.designs.validation import read_rows
from semisvm.estimators.interop import fit_partly, scores_of
from semisvm.estimators.margins import margins
from semisvm.estimators.newton import NewtonSVC
from semisvm.labels.partial import rows_to_choose
from semisvm.maps.representatives import MAX_ITER, N_COMPONENTS, N_INIT, representatives
from semisvm.validation import check_count


class Selection(BaseEstimator, ABC):
    """Choose which rows to label next; subclasses define how.

    A selection is stateless: pass the labels of the first rows in ``y`` of the next call.
    """

    unlabeled: Any

    def select(self, X: Any, n: int, y: ArrayLike | None = None) -> Index:
        """Choose unlabelled rows, the most useful first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, d)
        n : int
            Number of rows to choose.
        y : array-like of shape (n_rows,), optional
            The labels so far; unlabelled rows hold the marker. None if there are no labels.

        Returns
        -------
        rows : int array of shape (n,)
            Row numbers without repetition.
        """
        check_count("n", n)
        X = read_rows(X)
        free = rows_to_choose(X, int(n), y, self.unlabeled)
        return self._choose(X, int(n), free, y)

    @abstractmethod
    def _choose(self, X: Any, n: int, free: Any, y: ArrayLike | None) -> Index:
        """Choose n of the rows where ``free``, a bool array, is True."""


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
    >>> from semisvm.model_selection import RandomSelection
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
    >>> from semisvm.model_selection import MarginSelection
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


class KMedianSelection(Selection):
    """Choose the rows nearest to the centres of clusters.

    `KMedian` finds as many clusters as rows are wanted, and the row nearest to each
    centre is chosen, starting with the largest cluster. Rows that already have a label are
    fixed centres, so the new centres go where nothing is labelled.

    The clusters depend on the scale of the columns: standardise them first. Sparse rows
    with many columns, such as text, are reduced to their leading singular vectors and
    scaled to length one, because medians of sparse columns are zero.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters; None is one per row wanted. With fewer, the nearest rows of
        all clusters come first, then the second nearest, and so on.
    n_components : int or None, default=100
        Number of singular vectors to which sparse data with more columns are reduced; None
        uses the rows as they are.
    n_init : int, default=3
        Number of runs of k-median from different first centres.
    max_iter : int, default=300
        Maximum number of steps per run.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import KMedianSelection
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [20.0], [21.0], [22.0], [50.0]])
    >>> selection = KMedianSelection(random_state=0)
    >>> selection.select(X, 2).tolist()
    [2, 6]
    >>> selection.select(X, 1, ["a", *[None] * 5, "b", None, None]).tolist()
    [8]
    """

    def __init__(
        self,
        *,
        n_clusters: int | None = None,
        n_components: int | None = N_COMPONENTS,
        n_init: int = N_INIT,
        max_iter: int = MAX_ITER,
        unlabeled: Any = -1,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _choose(self, X: Any, n: int, free: Any, y: ArrayLike | None) -> Index:
        check_count("n_clusters", self.n_clusters, optional=True)
        check_count("n_components", self.n_components, optional=True)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        return representatives(
            X,
            n,
            free,
            check_random_state(self.random_state),
            n_clusters=self.n_clusters,
            n_components=self.n_components,
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
        )
