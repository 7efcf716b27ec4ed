"""k-median as a scikit-learn clusterer.

From seeds, two steps lower the sum of 1-norm distances of rows to centres until nothing changes.
Some centres may be fixed; only the others move. Rows are sparse or dense; distances are computed
block by block.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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

from semisvm.designs.base import Floats, Index, read_only
from semisvm.designs.validation import is_sparse, read_rows
from semisvm.maps.distances import csr_1_norms, dense_1_norms
from semisvm.solvers.trace import Trace
from semisvm.validation import check_count, check_finite_model

BLOCK = 1 << 17
"""Number of distances held at a time when only the nearest centre is needed."""


def distances(X: Any, centers: Floats) -> Floats:
    """Compute the distances of all rows to all centres.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        C-contiguous, or without duplicate entries.
    centers : array of shape (k, d)

    Returns
    -------
    distances : array of shape (n, k)
    """
    out = np.empty((X.shape[0], len(centers)))
    _filler(X, centers)(0, X.shape[0], out)
    return out


def nearest(X: Any, centers: Floats, labels: Index | None = None) -> tuple[Index, Floats]:
    """Find the nearest centre of each row, and its distance.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    centers : array of shape (k, d)
    labels : int array of shape (n,), optional
        The current centre of each row, which it keeps unless another one is nearer. Without
        it the first of equally near centres is taken.

    Returns
    -------
    labels : int array of shape (n,)
    distances : array of shape (n,)
    """
    n, k = X.shape[0], len(centers)
    found, length = np.empty(n, dtype=np.intp), np.empty(n)
    fill = _filler(X, centers)
    block = np.empty((min(n, max(1, BLOCK // k)), k))
    for start, stop in _blocks(n, len(block)):
        here = block[: stop - start]
        fill(start, stop, here)
        found[start:stop] = here.argmin(axis=1)
        length[start:stop] = here.min(axis=1)
        if labels is not None:
            own = labels[start:stop]
            kept = here[np.arange(len(own)), own] <= length[start:stop]
            found[start:stop][kept] = own[kept]
    return found, length


def _blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + size, n)) for start in range(0, n, size))


def _filler(X: Any, centers: Floats) -> Callable[[int, int, Floats], None]:
    """Return a function that writes the distances of the rows start..stop."""
    columns = read_only(np.ascontiguousarray(centers.T))
    if not is_sparse(X):
        rows = read_only(X)
        return lambda start, stop, out: dense_1_norms(rows, columns, start, stop, out)
    norms = np.abs(centers).sum(axis=1)
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    indptr = X.indptr.astype(np.int64, copy=False)
    arrays = (read_only(indptr), read_only(X.indices.view(unsigned)), read_only(X.data))
    return lambda start, stop, out: csr_1_norms(*arrays, columns, norms, start, stop, out)


@dataclass
class Clustering:
    """Centres, and the rows around them.

    Attributes
    ----------
    centers : array of shape (k, d)
        The fixed centres come first.
    labels : int array of shape (n,)
        Centre of each row.
    distances : array of shape (n,)
        Distance of each row to its centre.
    n_fixed : int
    converged : bool
        Whether no row changed its centre in the last step.
    objectives, moved : lists
        Sum of distances, and number of rows with a new centre, per step.
    """

    centers: Floats
    labels: Index
    distances: Floats
    n_fixed: int = 0
    converged: bool = False
    objectives: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)

    @property
    def objective(self) -> float:
        """Sum of the distances."""
        return float(self.distances.sum())

    def sizes(self) -> Index:
        """Count the rows per centre, shape (k,)."""
        return np.bincount(self.labels, minlength=len(self.centers))


def cluster(
    X: Any,
    n_clusters: int,
    rng: np.random.RandomState,
    *,
    n_init: int = 1,
    max_iter: int = 300,
    fixed: Index | None = None,
) -> Clustering:
    """Find clusters from several seeds; return those with the smallest sum of distances.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        C-contiguous, or without duplicate entries.
    n_clusters : int
        Number of centres in addition to the fixed ones.
    rng : RandomState
    n_init : int, default=1
    max_iter : int, default=300
    fixed : int array, optional
        Rows that are fixed centres.
    """
    rows = np.empty(0, dtype=np.intp) if fixed is None else fixed
    runs = (descend(X, seeds(X, n_clusters, rng, rows), len(rows), max_iter) for _ in range(n_init))
    return min(runs, key=lambda run: run.objective)


def seeds(X: Any, n_clusters: int, rng: np.random.RandomState, fixed: Index) -> Floats:
    """Draw rows as first centres, with probability proportional to their distance.

    This is k-means++ with the distances of k-median instead of squared ones. Of a few draws
    the one that lowers the sum of distances most is taken.
    """
    n, draws = X.shape[0], 2 + int(np.log(n_clusters))
    chosen = fixed.tolist()
    closest = nearest(X, _dense(X[fixed]))[1] if len(fixed) else None
    for _ in range(n_clusters):
        total = 0.0 if closest is None else float(closest.sum())
        if closest is None or not 0.0 < total < np.inf:
            # nothing is chosen yet, or every row coincides with a centre
            candidates = rng.randint(n, size=1)
        else:
            ladder = np.cumsum(closest)
            candidates = np.searchsorted(ladder, ladder[-1] * rng.uniform(size=draws), "right")
            candidates = np.minimum(candidates, n - 1)
        lengths = distances(X, _dense(X[candidates]))
        if closest is not None:
            np.minimum(lengths, closest[:, None], out=lengths)
        best = int(lengths.sum(axis=0).argmin())
        closest = lengths[:, best]
        chosen.append(int(candidates[best]))
    return _dense(X[chosen])


def descend(X: Any, centers: Floats, n_fixed: int, max_iter: int) -> Clustering:
    """Alternate: move centres to the medians of their rows, and rows to nearer centres.

    No step raises the sum of distances: a median is a best centre of its rows, and a row
    moves only to a nearer centre. So no assignment repeats, and the descent ends.
    """
    found = Clustering(centers, *nearest(X, centers), n_fixed)
    for _ in range(max_iter):
        fill_empty(found)
        _move_to_medians(X, found)
        labels, found.distances = nearest(X, found.centers, found.labels)
        moved = int(np.count_nonzero(labels != found.labels))
        found.labels = labels
        found.objectives.append(found.objective)
        found.moved.append(moved)
        if moved == 0:
            found.converged = True
            break
    return found


def fill_empty(found: Clustering) -> None:
    """Move the row that is farthest from its centre to each empty cluster.

    A cluster stays empty if every other row is at its centre, or alone in its cluster.
    """
    sizes = found.sizes()
    for empty in np.flatnonzero(sizes == 0):
        if empty < found.n_fixed:
            continue
        alone = (sizes[found.labels] == 1) & (found.labels >= found.n_fixed)
        lengths = np.where(alone, 0.0, found.distances)
        row = int(lengths.argmax())
        if lengths[row] == 0.0:
            return
        sizes[found.labels[row]] -= 1
        sizes[empty] = 1
        found.labels[row], found.distances[row] = empty, 0.0


def _move_to_medians(X: Any, found: Clustering) -> None:
    centers = found.centers.copy()
    for c, rows in enumerate(members(found)):
        if c >= found.n_fixed and len(rows):
            centers[c] = median(X[rows])
    found.centers = centers


def members(found: Clustering) -> list[Index]:
    """List the rows per cluster."""
    order = np.argsort(found.labels, kind="stable")
    return np.split(order, np.cumsum(found.sizes())[:-1])


def median(rows: Any) -> Floats:
    """Compute the median of each column; the mean of the two middle values if there are two.

    Parameters
    ----------
    rows : array or CSR matrix of shape (m, d)

    Returns
    -------
    median : array of shape (d,)
    """
    if not is_sparse(rows):
        return np.median(rows, axis=0).astype(np.float64)
    m, d = rows.shape
    # the median of a column is zero if more than half of it is; the other columns are few
    filled = np.flatnonzero(2 * np.bincount(rows.indices, minlength=d) >= m)
    center = np.zeros(d)
    if len(filled):
        center[filled] = np.median(rows[:, filled].toarray(), axis=0)
    return center


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


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
