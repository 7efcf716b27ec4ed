r"""The bagged cluster kernel, and votes of classifiers as features.

The cluster kernel is a kernel weighted by how often clusterings agree. k-means is run N times from
random rows. With c_p(x) the cluster of a row in run p, ::

    k_bag(x, z) = 1/N sum_p [c_p(x) = c_p(z)],      k(x, z) = k_base(x, z) k_bag(x, z)

Rows that nearly always share a cluster keep their kernel; for rows that never do it is zero.
A product of kernels is a kernel. In each run a row belongs to the centre m_c with the smallest ::

    ||x - m_c||^2 - v_c,        v_c = s_c^2 / n_c,    s_c^2 = 1/(n_c - 1) sum_i ||x_i - m_c||^2

where i are the n_c rows of the cluster. Their mean m_c is not the mean mu_c of the rows from which
they are drawn. With the expectation over them, of a row x that is not one of them, ::

    E ||x - m_c||^2 = ||x - mu_c||^2 + E ||m_c - mu_c||^2

and v_c is an estimate of the last term. Without v_c a new row would seldom belong to a cluster of
few rows. In many dimensions, where distances are nearly equal, that decides: rows of the fit keep
such a cluster, whose centre they have drawn to themselves, but new rows would crowd into the
largest one. A wide cluster beside narrow ones has an uncertain centre, and v_c would extend it into
these; so s_c^2 is at most the average over all clusters, as if these were equally wide.

`VoteMap` and `ScoreMap` have the votes or scores of classifiers as features, which turn an ensemble
into a linear model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs import Floats
from semisvm.designs.validation import in_kind, is_sparse, row_squares
from semisvm.maps.cholesky import Index
from semisvm.maps.distances import centre_of, moved
from semisvm.maps.feature_maps import KernelMap, factorise
from semisvm.maps.kernels import make_kernel

Codes = NDArray[np.intp]
KMEANS_STEPS = 30
"""Maximum number of steps per run: the clusters need not converge to the last row."""


@dataclass(frozen=True)
class ClusterMap(KernelMap):
    """Features of rows for the cluster kernel.

    Attributes
    ----------
    centres : array of shape (N, k, d)
    variances : array of shape (N, k)
        v_c, by which the squared distances from the centres are lowered.
    codes : int array of shape (rank, N)
        Clusters of the pivots.
    """

    centres: Floats
    variances: Floats
    codes: Codes

    def _values(self, X: Any) -> Floats:
        codes = assign(X, self.centres, self.variances)
        return super()._values(X) * agreement(codes, self.codes)


def assign(X: Any, centres: Floats, variances: Floats) -> Codes:
    """Find the cluster of each row in each run, shape (n, N)."""
    runs = zip(centres, variances, strict=True)
    return np.column_stack([_nearest(X, *run) for run in runs]).astype(np.intp)


def _nearest(X: Any, centres: Floats, variances: Floats) -> Codes:
    run = in_kind(centres, not is_sparse(X))
    centre = centre_of(run)
    near = moved(run, centre)
    # without ||x||^2, which is the same for all centres
    products = safe_sparse_dot(moved(X, centre), near.T, dense_output=True)
    return np.asarray(np.argmin(row_squares(near) - variances - 2.0 * products, axis=1))


def agreement(a: Codes, b: Codes) -> Floats:
    """Compute the share of runs in which rows have the same cluster: (n, N), (k, N) -> (n, k)."""
    shared = np.zeros((len(a), len(b)))
    for of_a, of_b in zip(a.T, b.T, strict=True):
        shared += of_a[:, None] == of_b
    return shared / a.shape[1]


def run_kmeans(X: Any, n_clusters: int, n_runs: int, random_state: Any) -> tuple[Floats, Floats]:
    """Run k-means from random rows; return the centres, (N, k, d), and their variances, (N, k)."""
    rng = check_random_state(random_state)
    k = min(n_clusters, distinct_rows(X, n_clusters))
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_runs)
    shared = {"n_clusters": k, "init": "random", "n_init": 1, "max_iter": KMEANS_STEPS}
    centre = centre_of(X)
    rows = _narrow(moved(X, centre))
    runs = [KMeans(random_state=int(seed), **shared).fit(rows) for seed in seeds]
    centres = np.array([run.cluster_centers_ for run in runs])
    variances = np.array([variances_of(rows, run.labels_, run.cluster_centers_) for run in runs])
    return centres if centre is None else centres + centre, variances


def variances_of(X: Any, labels: Codes, centres: Floats) -> Floats:
    """Estimate the variances v_c of the centres of one run, shape (k,)."""
    size = np.bincount(labels, minlength=len(centres))
    products = safe_sparse_dot(X, in_kind(centres, not is_sparse(X)).T, dense_output=True)
    own = (
        row_squares(X)
        + row_squares(centres)[labels]
        - 2.0 * products[np.arange(len(labels)), labels]
    )
    within = np.bincount(labels, np.maximum(own, 0.0), minlength=len(centres))
    free = size - 1
    average = within.sum() / max(int(free.sum()), 1)
    return np.minimum(within / np.maximum(free, 1), average) / np.maximum(size, 1)


def _narrow(X: Any) -> Any:
    """Return CSR with 32-bit indices, as k-means requires."""
    if not is_sparse(X) or X.indices.dtype == np.int32 == X.indptr.dtype:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise ValueError(
            f"X is too large for k-means: {X.nnz} stored entries, shape {X.shape}. Each may be at "
            "most 2**31 - 1; use fewer rows or columns."
        )
    narrow = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(narrow, shape=X.shape)


def distinct_rows(X: Any, enough: int) -> int:
    """Count distinct rows, up to ``enough``: k-means cannot have more clusters."""
    # equal rows have equal products with a random vector, and distinct rows different ones
    products = X @ np.random.default_rng(0).standard_normal(X.shape[1])
    return min(len(np.unique(products)), enough)


def fit_clusters(
    X: Any,
    kernel: str | Callable[..., float],
    *,
    n_clusters: int,
    n_runs: int,
    random_state: Any,
    n_components: int | None,
    tol: float,
    n_jobs: int | None = None,
    **parameters: Any,
) -> tuple[ClusterMap, Floats]:
    """Build the map of training rows; return it and their features.

    Parameters
    ----------
    X : matrix of shape (n, d)
    kernel : str or callable
        The base kernel.
    n_clusters, n_runs : int
    random_state : None, int or RandomState
    n_components : int, optional
        Maximum number of features; None leaves it to ``tol``.
    tol : float
        Fraction of the trace of the kernel matrix that the features may leave out.
    n_jobs : int, optional
        Number of threads of the factorisation.
    **parameters : parameters of the base kernel
    """
    known = make_kernel(kernel, X, **parameters)
    centres, variances = run_kmeans(X, n_clusters, n_runs, random_state)
    codes = assign(X, centres, variances)

    def entries(rows: Index, index: Index) -> Floats:
        return known.columns(X[rows], X[index], index) * agreement(codes[rows], codes[index])

    factor = factorise(known, X, entries, n_components=n_components, tol=tol, n_jobs=n_jobs)
    pivots = factor.pivots
    corner = factor.L[pivots]
    parts = (known, pivots, X[pivots], corner, factor.residual)
    found = ClusterMap(*parts, centres=centres, variances=variances, codes=codes[pivots])
    return found, factor.L


@dataclass(frozen=True)
class _Members:
    """Base of the maps by classifiers.

    Attributes
    ----------
    members : sequence of fitted classifiers
    """

    members: Sequence[Any]

    @property
    def pivots(self) -> NDArray[np.intp]:
        """None: only the members themselves may keep training rows."""
        return np.empty(0, dtype=np.intp)


class VoteMap(_Members):
    """One feature per classifier: 1 if it predicts class 1, -1 if it predicts class 0."""

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.members)

    def transform(self, X: Any) -> Floats:
        """Compute the votes of all members, shape (n, rank)."""
        return np.column_stack([vote(member, X) for member in self.members])


class ScoreMap(_Members):
    """The scores of classifiers: one feature per member for two classes, one per class for more."""

    @property
    def rank(self) -> int:
        """Number of features."""
        return sum(len(member.coef_) for member in self.members)

    def transform(self, X: Any) -> Floats:
        """Compute the scores of all members, shape (n, rank)."""
        return np.column_stack([member.decision_function(X) for member in self.members])


def vote(member: Any, X: Any) -> Floats:
    """Compute the votes of one classifier for the classes 0 and 1."""
    return np.where(np.asarray(member.predict(X)) == 1, 1.0, -1.0)
