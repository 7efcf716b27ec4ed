"""Rows from clusters in which nothing is labelled."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.clusters.descent import cluster
from semisvm.clusters.representatives import Reduction, spread_rows

MOST_ROWS = 3000
"""Rows that are clustered; of more rows a sample is."""
N_COMPONENTS = 50
MAX_ITER = 30
FEW_COLUMNS = 20
"""Columns up to which any row of a cluster may stand for it. In few dimensions the rows near a
centre are alike in all respects and say little about slopes; in many, they are the typical ones
(few: australian, wbc; many: ionosphere, sonar, coil_ssl, text1_pcmac)."""


class Centres:
    """Finds rows near the centres of clusters, as `semisvm.active.KMedianSelection` does.

    Of rows with few columns it takes any row of a cluster.

    The rows, or a sample of many, are reduced once; then each call takes a fraction of a second.

    Parameters
    ----------
    X : CSR matrix or array of shape (n, d)
    seed : int
    """

    def __init__(self, X: Any, seed: int) -> None:
        self._X = X
        self._rng = np.random.RandomState(seed)
        n = X.shape[0]
        some = self._rng.permutation(n)[:MOST_ROWS]
        self._rows = np.sort(some).astype(np.intp)
        self._reduction = Reduction(X[self._rows], N_COMPONENTS, self._rng)

    def find(self, count: int, answered: Iterable[int], skipped: Iterable[int] = ()) -> list[int]:
        """Return rows of clusters, the largest first.

        Parameters
        ----------
        count : int
            How many clusters there are besides those of the answered rows.
        answered : iterable of int
            Rows that are centres already.
        skipped : iterable of int
            Rows that are not to be chosen.
        """
        labelled = np.array(sorted(answered), dtype=np.intp)
        outside = np.setdiff1d(labelled, self._rows)
        rows = np.append(self._rows, outside)
        points = self._reduction.rows
        if len(outside):
            points = _stack(points, self._reduction.reduce(self._X[outside]))
        known = np.isin(rows, labelled)
        free = ~known & ~np.isin(rows, np.array(sorted(skipped), dtype=np.intp))
        count = min(count, int(np.count_nonzero(free)))
        if count == 0:
            return []
        found = cluster(
            points,
            count,
            self._rng,
            n_init=1,
            max_iter=MAX_ITER,
            fixed=np.flatnonzero(known),
        )
        if self._X.shape[1] <= FEW_COLUMNS:
            found = replace(found, distances=self._rng.random_sample(len(rows)))
        return [int(row) for row in rows[spread_rows(found, free)[:count]]]


def _stack(first: Any, second: Any) -> Any:
    is_sparse: bool = sparse.issparse(first)
    if is_sparse:
        return sparse.csr_matrix(sparse.vstack([first, second], format="csr"))
    return np.ascontiguousarray(np.vstack([first, second]))
