"""k-median: seeds, and two steps that lower the sum of distances until nothing changes.

Some centres may be fixed; only the others move.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.clusters.distances import distances, nearest
from semisvm.designs.base import Floats, Index


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
    thin: bool = sparse.issparse(rows)
    if not thin:
        return np.median(rows, axis=0).astype(np.float64)
    m, d = rows.shape
    # the median of a column is zero if more than half of it is; the other columns are few
    filled = np.flatnonzero(2 * np.bincount(rows.indices, minlength=d) >= m)
    center = np.zeros(d)
    if len(filled):
        center[filled] = np.median(rows[:, filled].toarray(), axis=0)
    return center


def _dense(rows: Any) -> Floats:
    thin: bool = sparse.issparse(rows)
    return np.asarray(rows.toarray() if thin else rows, dtype=np.float64)
