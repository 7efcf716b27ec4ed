"""Rows in the middle of clusters: something like every row is among them."""

from itertools import chain, zip_longest
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from semisvm.designs.base import Index
from semisvm.designs.validation import is_sparse
from semisvm.maps.kmedian import Clustering, cluster, members
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
        Reduction(X, n_components, rng).rows,
        n if n_clusters is None else min(n, int(n_clusters)),
        rng,
        n_init=n_init,
        max_iter=max_iter,
        fixed=np.flatnonzero(~free),
    )
    check_finite_model(found.centers, X, found.objective)
    return spread_rows(found, free)[:n]


class Reduction:
    """Rows as k-median can use them: sparse ones by their leading singular vectors.

    Parameters
    ----------
    X : CSR matrix or array of shape (n, d)
    n_components : int or None
        Singular vectors that sparse data with more columns are reduced to; None for none.
    rng : RandomState

    Attributes
    ----------
    rows : CSR matrix or array of shape (n, at most n_components)
    """

    def __init__(self, X: Any, n_components: int | None, rng: np.random.RandomState) -> None:
        self._vectors: Any = None
        self.rows = X
        if is_sparse(X) and n_components is not None and X.shape[1] > n_components:
            self._vectors = TruncatedSVD(min(int(n_components), X.shape[0]), random_state=rng)
            self.rows = _of_length_one(self._vectors.fit_transform(X))

    def reduce(self, X: Any) -> Any:
        """Reduce other rows in the same way."""
        return X if self._vectors is None else _of_length_one(self._vectors.transform(X))


def _of_length_one(rows: Any) -> Any:
    return np.ascontiguousarray(normalize(rows))


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
