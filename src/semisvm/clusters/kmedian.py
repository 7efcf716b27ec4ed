"""k-median as a scikit-learn clusterer."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from semisvm.clusters.descent import Clustering, cluster
from semisvm.clusters.distances import distances, nearest
from semisvm.designs.base import Floats, Index
from semisvm.loop import Trace
from semisvm.rows import read_rows
from semisvm.validation import check_count, check_finite_model


class KMedian(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""k-median clustering in the 1-norm.

    Finds k centres that make the sum of distances small::

        sum_i  min_c  ||x_i - c||_1

    Rows go to the nearest centre and centres to the median of their rows, until nothing
    changes. A median is a best centre in the 1-norm and is robust to outliers. The first
    centres are drawn as in k-means++, with probability proportional to the distance. An
    empty cluster gets the row that is farthest from its centre.

    Sparse rows stay sparse, also in the search for medians. But a median is zero if more
    than half of a column is: in the 1-norm, clusters of text have centres near the origin.
    Reduce text first (see the guide).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=3
        Number of runs from different first centres; the best is taken.
    max_iter : int, default=300
        Maximum number of steps per run.
    random_state : int, RandomState or None, default=None
        Seed of the first centres.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
    labels_ : int array of shape (n,)
        Cluster of each row.
    inertia_ : float
        Sum of the distances of the rows to their centres.
    n_iter_ : int
        Number of steps of the best run.
    trace_ : Trace
        The objective, and the number of rows that moved, per step of that run.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Bradley, Mangasarian and Street, Clustering via concave minimization, NIPS 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import KMedian
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [8.0, 9.0], [9.0, 8.0], [20.0, 9.0]])
    >>> model = KMedian(2, random_state=0).fit(X)
    >>> model.cluster_centers_[model.predict([[7.0, 7.0]])]
    array([[9., 9.]])
    >>> float(model.inertia_)
    15.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 3,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : ignored
        """
        for name in ("n_clusters", "n_init", "max_iter"):
            check_count(name, getattr(self, name))
        X = self._rows(X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the number of rows: X has "
                f"n_samples={X.shape[0]}. Use fewer clusters."
            )
        found = cluster(
            X,
            int(self.n_clusters),
            check_random_state(self.random_state),
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
        )
        check_finite_model(found.centers, X, found.objective)
        self._warn(found)
        self.cluster_centers_ = found.centers
        self.labels_, lengths = nearest(X, found.centers)
        self.inertia_ = float(lengths.sum())
        self.n_iter_ = len(found.objectives)
        steps = zip(found.objectives, found.moved, strict=True)
        self.trace_ = Trace(
            [{"iteration": k, "objective": o, "moved": m} for k, (o, m) in enumerate(steps)]
        )
        return self

    def _warn(self, found: Clustering) -> None:
        n_found = int(np.count_nonzero(found.sizes()))
        if not found.converged:
            message = f"KMedian did not converge in {self.max_iter} steps; raise max_iter."
        elif n_found < self.n_clusters:
            message = (
                f"KMedian found {n_found} clusters instead of n_clusters={self.n_clusters}: X has "
                "no more distinct rows."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def predict(self, X: Any) -> Index:
        """Return the nearest centre of each row, shape (n,); the first of equally near ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        """
        check_is_fitted(self)
        return nearest(self._rows(X), self.cluster_centers_)[0]

    def transform(self, X: Any) -> Floats:
        """Compute the distances of all rows to all centres, shape (n, n_clusters).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        """
        check_is_fitted(self)
        return distances(self._rows(X), self.cluster_centers_)

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of the distances of rows to their nearest centre.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : ignored
        """
        check_is_fitted(self)
        return -float(nearest(self._rows(X), self.cluster_centers_)[1].sum())

    def _rows(self, X: Any, reset: bool = False) -> Any:
        return read_rows(X, self, reset=reset)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
