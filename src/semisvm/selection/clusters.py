"""Rows in the middle of clusters: something like every row is among them."""

from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from semisvm.clusters.descent import Clustering, cluster, members
from semisvm.designs.base import Index
from semisvm.selection.base import Selection
from semisvm.validation import check_count, check_finite_model

N_COMPONENTS = 100


class KMedianSelection(Selection):
    """Chooses the rows nearest to the centres of clusters.

    `KMedian` finds as many clusters as rows are asked for, and the row nearest to each
    centre is chosen, that of the largest cluster first. Rows that have a label already
    are centres that stay where they are: the new centres go where nothing is labelled.

    Columns count by their scale: standardise them first. Sparse rows with many columns,
    such as text, are reduced to their leading singular vectors and scaled to length one,
    because medians of sparse columns are zero.

    Parameters
    ----------
    n_clusters : int or None, default=None
        None makes as many clusters as rows are asked for. With fewer, the nearest rows of
        all clusters come first, then the second nearest, and so on.
    n_components : int or None, default=100
        Singular vectors that sparse data with more columns are reduced to; None uses the
        rows as they are.
    n_init : int, default=3
        Descents from different first centres.
    max_iter : int, default=300
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.selection import KMedianSelection
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
        n_init: int = 3,
        max_iter: int = 300,
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
        rng = check_random_state(self.random_state)
        points = self._reduced(X, rng)
        found = cluster(
            points,
            n if self.n_clusters is None else min(n, int(self.n_clusters)),
            rng,
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
            fixed=np.flatnonzero(~free),
        )
        check_finite_model(np.append(found.centers.ravel(), found.objective), X)
        return spread_rows(found, free)[:n]

    def _reduced(self, X: Any, rng: np.random.RandomState) -> Any:
        thin: bool = sparse.issparse(X)
        if not thin or self.n_components is None or X.shape[1] <= self.n_components:
            return X
        rank = min(int(self.n_components), X.shape[0])
        reduced = TruncatedSVD(rank, random_state=rng).fit_transform(X)
        return np.ascontiguousarray(normalize(reduced))


def spread_rows(found: Clustering, free: Any) -> Index:
    """Order the free rows: the nearest of each cluster, largest first, then the second nearest.

    Rows around fixed centres come last, the farthest first.

    Parameters
    ----------
    found : Clustering
    free : bool array of shape (n,)
    """
    queues = [rows[free[rows]] for rows in members(found)]
    own = [rows[np.argsort(found.distances[rows], kind="stable")] for rows in queues]
    largest = sorted(own[found.n_fixed :], key=len, reverse=True)
    turns = chain.from_iterable(zip_longest(*largest))
    first = [int(row) for row in turns if row is not None]
    rest = np.concatenate([*queues[: found.n_fixed], np.empty(0, dtype=np.intp)])
    rest = rest[np.argsort(-found.distances[rest], kind="stable")]
    return np.concatenate([np.array(first, dtype=np.intp), rest])
