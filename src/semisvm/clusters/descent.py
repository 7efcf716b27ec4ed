"""k-median: seeds, and the two steps that lower the sum of distances until nothing changes.

Some centres may be fixed; the others then find their places among them.
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
        The fixed ones first.
    labels : int array of shape (n,)
        Centre of every row.
    distances : array of shape (n,)
        How far it is.
    n_fixed : int
    converged : bool
        Whether no row wants another centre.
    objectives, moved : lists
        Sum of distances, and rows with a new centre, of every step.
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
        """Count the rows of every centre, shape (k,)."""
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
    """Find clusters from several seeds, and give those with the least sum of distances.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        C-contiguous, or without duplicate entries.
    n_clusters : int
        Centres besides the fixed ones.
    rng : RandomState
    n_init : int, default=1
    max_iter : int, default=300
    fixed : int array, optional
        Rows that are centres and stay so.
    """
    rows = np.empty(0, dtype=np.intp) if fixed is None else fixed
    runs = (descend(X, seeds(X, n_clusters, rng, rows), len(rows), max_iter) for _ in range(n_init))
    return min(runs, key=lambda run: run.objective)


def seeds(X: Any, n_clusters: int, rng: np.random.RandomState, fixed: Index) -> Floats:
    """Draw rows as first centres, each with a chance in proportion to its distance.

    That is how k-means++ does it, with the distances of k-median in place of squared ones.
    Of a few draws the one that lowers the sum of distances most is taken.
    """
    n, draws = X.shape[0], 2 + int(np.log(n_clusters))
    chosen = fixed.tolist()
    closest = nearest(X, _dense(X[fixed]))[1] if len(fixed) else None
    for _ in range(n_clusters):
        total = 0.0 if closest is None else float(closest.sum())
        if closest is None or not 0.0 < total < np.inf:
            # nothing is chosen yet, or every row is where a centre is
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
    """Move centres to the medians of their rows, and rows to nearer centres, in turns.

    No step raises the sum of distances: a median is a best centre of its rows, and a row
    moves to a nearer centre only. So no assignment comes back, and the descent ends.
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
    """Give each empty cluster the row that is farthest from its centre.

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
    """List the rows of every cluster."""
    order = np.argsort(found.labels, kind="stable")
    return np.split(order, np.cumsum(found.sizes())[:-1])


def median(rows: Any) -> Floats:
    """Give the median of every column; of two middle values, their mean.

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
    # zeros that are more than half of a column are its median; the other columns are not
    # sparse, and few
    filled = np.flatnonzero(2 * np.bincount(rows.indices, minlength=d) >= m)
    center = np.zeros(d)
    if len(filled):
        center[filled] = np.median(rows[:, filled].toarray(), axis=0)
    return center


def _dense(rows: Any) -> Floats:
    thin: bool = sparse.issparse(rows)
    return np.asarray(rows.toarray() if thin else rows, dtype=np.float64)
