"""Which row comes next.

Rows from clusters come first, as in CVS3VM. After that three kinds of rows take
turns: uncertain ones, rows from clusters in which nothing is labelled, and random rows. The last
ones are for the estimates: they are drawn by chance alone. If there are weak labels, rows whose
answer changes the belief in these most take the place of uncertain ones.

An uncertain row is the one of a random handful of which the model is least certain. The least
certain of *all* rows are much alike, and where classes overlap they are those whose answers teach
little. A handful follows the density of the rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.labelling.records import CLUSTER, RANDOM, SOURCE, UNCERTAIN
from semisvm.maps.kmedian import cluster
from semisvm.maps.representatives import Reduction, spread_rows

MOST_ROWS = 3000
"""Rows that are clustered; of more rows a sample is."""
N_COMPONENTS = 50
MAX_ITER = 30
FEW_COLUMNS = 20
"""Columns up to which any row of a cluster may stand for it. In few dimensions the rows near a
centre are alike in all respects and inform little about slopes; in many, they are the typical ones
(few: australian, wbc; many: ionosphere, sonar, coil_ssl, text1_pcmac)."""


class Centres:
    """Finds rows near the centres of clusters, as `semisvm.model_selection.KMedianSelection` does.

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


FIRST = 8
"""Rows from clusters before anything else; and at least two per class."""
SHARES = {UNCERTAIN: 0.2, CLUSTER: 0.2, RANDOM: 0.6}
"""Of the rows after that. Two fifths of random rows, with twice as many uncertain ones, gave no
better models (see ``benchmarks/labelling.py``) and lost more where they lost; and the estimates
rest on random rows."""

HANDFUL = 10
"""Random rows, of which the least certain one is asked for."""

WORDS = {
    CLUSTER: "It is one of many similar rows, none of which has an answer yet.",
    SOURCE: "Many similar rows have its weak label, which was hardly checked there.",
    UNCERTAIN: f"Of {HANDFUL} random rows, the model is least certain about this one.",
    RANDOM: "It was drawn at random: such rows show how accurate the model is.",
}
"""Why a row was picked."""


def least_certain(
    margins: NDArray[np.float32], rows: NDArray[np.intp], most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the least certain row of each random handful.

    Parameters
    ----------
    margins : float32 array of shape (n,)
        How certain the model is about each row.
    rows : int array
        Those that may be asked for.
    most : int
        How many are wanted at most.
    rng : Generator
    """
    size = max(1, min(HANDFUL, len(rows)))
    hands = rng.permutation(rows)[: min(most, len(rows) // size) * size].reshape(-1, size)
    return np.asarray(hands[np.arange(len(hands)), margins[hands].argmin(axis=1)])


class Policy:
    """Queues of candidates, and whose turn it is.

    Parameters
    ----------
    n_rows : int
    rng : Generator
        Draws the order of the random rows.
    doubtful : {"uncertain", "source"}
        What a fifth of the rows is asked for: "source" if there are weak labels.
    """

    def __init__(self, n_rows: int, rng: np.random.Generator, doubtful: str = UNCERTAIN) -> None:
        self.doubtful = doubtful
        self._shares = {doubtful if k == UNCERTAIN else k: share for k, share in SHARES.items()}
        self.n_rows = n_rows
        self._random = rng.permutation(n_rows)
        self._place = 0
        self._queues: dict[str, list[int]] = {CLUSTER: [], doubtful: []}

    def in_random_order(self, rows: Iterable[int]) -> list[int]:
        """Return rows in the order in which random ones are drawn."""
        rank = np.empty(len(self._random), dtype=np.intp)
        rank[self._random] = np.arange(len(rank))
        return sorted(rows, key=lambda row: int(rank[row]))

    def fill(self, reason: str, rows: Sequence[int]) -> None:
        """Replace a queue of candidates, best first."""
        self._queues[reason] = [int(row) for row in reversed(rows)]

    def next(
        self, queries: Mapping[str, int], n_classes: int, free: Callable[[int], bool]
    ) -> tuple[int, str] | None:
        """Return the next row and its kind; None if no row is free.

        Parameters
        ----------
        queries : mapping
            Reason -> number of rows that were asked for so far.
        n_classes : int
        free : function
            Returns whether a row may be shown.
        """
        for reason in self._turns(queries, n_classes):
            row = self._take(reason, free)
            if row is not None:
                return row, reason
        return None

    def _turns(self, queries: Mapping[str, int], n_classes: int) -> list[str]:
        """Order the kinds by how far each is behind its share."""
        first = max(FIRST, 2 * n_classes)
        total = sum(queries.get(reason, 0) for reason in self._shares)
        if total < first:
            return [CLUSTER, RANDOM, self.doubtful]
        behind = {
            reason: share * (total - first + 1) - queries.get(reason, 0)
            for reason, share in self._shares.items()
        }
        behind[CLUSTER] += first
        return sorted(behind, key=lambda reason: -behind[reason])

    def _take(self, reason: str, free: Callable[[int], bool]) -> int | None:
        if reason == RANDOM:
            return self._take_random(free)
        queue = self._queues[reason]
        while queue:
            row = queue.pop()
            if free(row):
                return row
        return None

    def _take_random(self, free: Callable[[int], bool]) -> int | None:
        n = len(self._random)
        for _ in range(n):
            row = int(self._random[self._place])
            self._place = (self._place + 1) % n
            if free(row):
                return row
        return None
