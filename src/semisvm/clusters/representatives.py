"""Rows in the middle of clusters: something like every row is among them."""

from itertools import chain, zip_longest
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from semisvm.clusters.descent import Clustering, cluster, members
from semisvm.designs.base import Index
from semisvm.validation import check_finite_model

N_COMPONENTS = 100
N_INIT = 3
MAX_ITER = 300


def representatives(
    X: Any,
    n: int,
    free: Any,
    rng: np.random.RandomState,
    *,
    n_clusters: int | None = None,
    n_components: int | None = N_COMPONENTS,
    n_init: int = N_INIT,
    max_iter: int = MAX_ITER,
) -> Index:
    """Choose free rows near the centres of clusters; the other rows are centres already.

    Parameters
    ----------
    X : CSR matrix or array of shape (n_rows, d)
    n : int
        How many rows to choose, at most as many as are free.
    free : bool array of shape (n_rows,)
    rng : RandomState
    n_clusters : int or None, default=None
        None is n.
    n_components : int or None, default=100
        Singular vectors that sparse data with more columns are reduced to.
    n_init, max_iter : int
        Of the descents.
    """
    found = cluster(
        _reduced(X, n_components, rng),
        n if n_clusters is None else min(n, int(n_clusters)),
        rng,
        n_init=n_init,
        max_iter=max_iter,
        fixed=np.flatnonzero(~free),
    )
    check_finite_model(np.append(found.centers.ravel(), found.objective), X)
    return spread_rows(found, free)[:n]


def _reduced(X: Any, n_components: int | None, rng: np.random.RandomState) -> Any:
    thin: bool = sparse.issparse(X)
    if not thin or n_components is None or X.shape[1] <= n_components:
        return X
    rank = min(int(n_components), X.shape[0])
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
