"""Rows in the middle of clusters: together they represent all rows."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from semisvm.active.base import Selection
from semisvm.clusters.representatives import MAX_ITER, N_COMPONENTS, N_INIT, representatives
from semisvm.designs.base import Index
from semisvm.validation import check_count


class KMedianSelection(Selection):
    """Choose the rows nearest to the centres of clusters.

    `KMedian` finds as many clusters as rows are asked for, and the row nearest to each
    centre is chosen, starting with the largest cluster. Rows that already have a label are
    fixed centres, so the new centres go where nothing is labelled.

    The clusters depend on the scale of the columns: standardise them first. Sparse rows
    with many columns, such as text, are reduced to their leading singular vectors and
    scaled to length one, because medians of sparse columns are zero.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters; None is one per row asked for. With fewer, the nearest rows of
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
    >>> from semisvm.active import KMedianSelection
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
