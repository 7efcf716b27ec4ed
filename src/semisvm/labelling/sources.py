"""Weak labels in a session: how often they are right, and where one more answer says most about it.

Rows that are alike and have the same label of a source share a belief in it: a Beta distribution
of the probability that this label is right there, which begins at how often the source is right
elsewhere. An answer to one of these rows moves its mean by E|change| = 2 a b / (s^2 (s + 1)), with
s = a + b, for all open rows that share it. A row is worth the sum of that over its sources.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.answer_store import Mark
from semisvm.labelling.estimates import wilson
from semisvm.labelling.records import RANDOM
from semisvm.maps.kmedian import cluster, nearest
from semisvm.maps.representatives import Reduction
from semisvm.text import counted

MOST_ROWS = 3000
"""Rows from which clusters are found; the others go to the nearest one."""
N_COMPONENTS = 50
MAX_ITER = 30
ROWS_OF_CLUSTER = 25
"""Rows per cluster, on average, up to `MOST_CLUSTERS` of them."""
MOST_CLUSTERS = 8
"""With 20 or 40 a session would check too few labels of each."""
STRENGTH = 2.0
"""Answers that the belief of a source elsewhere is worth."""
PART = 20_000

Index = NDArray[np.intp]
Weak = Mapping[str, Mapping[int, str]]
"""Source of weak labels -> row -> its label."""


def right_of(votes: Mapping[int, str], answers: Mapping[int, str]) -> tuple[int, int]:
    """Count the answers that a source agrees with, and those to rows with a label of it."""
    found = [votes[row] == value for row, value in answers.items() if row in votes]
    return sum(found), len(found)


def about_sources(weak: Weak, marks: Iterable[tuple[int, Mark]]) -> list[str]:
    """Describe how often each source is right, as random rows show it.

    Parameters
    ----------
    weak : mapping
    marks : iterable of (int, Mark)
    """
    if not weak:
        return []
    random = {
        row: mark.value
        for row, mark in marks
        if mark.value is not None
        and mark.reason == RANDOM
        # who sees a guess tends to agree with it
        and not mark.facts.get("seen_guess")
    }
    found = []
    for name, votes in weak.items():
        right, n = right_of(votes, random)
        if n == 0:
            found.append(
                f"{name}: {counted(len(votes), 'weak label')}, not checked on random rows yet."
            )
            continue
        low, high = wilson(n - right, n)
        found.append(f"{name}: right on {right:,} of {n:,} random rows ({low:.0%} to {high:.0%}).")
    return found


class Doubts:
    """Finds the rows whose answer would change the belief in weak labels most.

    Parameters
    ----------
    X : CSR matrix or array of shape (n, d)
    weak : mapping
    seed : int
    """

    def __init__(self, X: Any, weak: Weak, seed: int) -> None:
        self._rng = np.random.RandomState(seed)
        self._weak = weak
        self._cells, self._n_cells = _shared(_clusters(X, self._rng), weak)

    def find(self, count: int, answers: Mapping[int, str], closed: Iterable[int]) -> list[int]:
        """Return open rows, the one that would change most first.

        Each is chosen as if the answers to those before it were known to be as expected.

        Parameters
        ----------
        count : int
        answers : mapping
            Row -> answer.
        closed : iterable of int
            Rows that are not to be chosen: those with an answer, or skipped.
        """
        cells, size = self._cells, self._n_cells
        a, b = self._beliefs(answers)
        is_open = np.ones(cells.shape[1], dtype=bool)
        is_open[list(closed)] = False
        rows = self._rng.permutation(np.flatnonzero(is_open & (cells >= 0).any(axis=0)))
        own = cells[:, rows]
        there = own >= 0
        n_open = np.bincount(own[there], minlength=size).astype(np.float64)
        left, found = np.ones(len(rows), dtype=bool), []
        for _ in range(min(count, len(rows))):
            s = a + b
            worth = np.append(n_open * 2.0 * a * b / (s**2 * (s + 1.0)), 0.0)
            place = int(np.where(left, worth[own].sum(axis=0), -1.0).argmax())
            left[place] = False
            found.append(int(rows[place]))
            for cell in own[there[:, place], place]:
                share = a[cell] / s[cell]
                a[cell], b[cell], n_open[cell] = (
                    a[cell] + share,
                    b[cell] + 1.0 - share,
                    n_open[cell] - 1,
                )
        return found

    def _beliefs(self, answers: Mapping[int, str]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the two parameters of the belief of each cell."""
        right, wrong = (np.zeros(self._n_cells) for _ in range(2))
        for k, votes in enumerate(self._weak.values()):
            n_right, n = right_of(votes, answers)
            share = (n_right + 1.0) / (n + 2.0)
            own = np.unique(self._cells[k])
            own = own[own >= 0]
            right[own], wrong[own] = STRENGTH * share, STRENGTH * (1.0 - share)
            for row, value in answers.items():
                if row in votes:
                    side = right if votes[row] == value else wrong
                    side[self._cells[k, row]] += 1.0
        return right, wrong


def _clusters(X: Any, rng: np.random.RandomState) -> Index:
    """Return the cluster of each row."""
    n = X.shape[0]
    some = np.sort(rng.permutation(n)[:MOST_ROWS])
    reduction = Reduction(X[some], N_COMPONENTS, rng)
    wanted = min(MOST_CLUSTERS, max(1, len(some) // ROWS_OF_CLUSTER))
    none = np.zeros(0, dtype=np.intp)
    centers = cluster(reduction.rows, wanted, rng, n_init=1, max_iter=MAX_ITER, fixed=none).centers
    parts = (X[start : start + PART] for start in range(0, n, PART))
    return np.concatenate([nearest(reduction.reduce(part), centers)[0] for part in parts])


def _shared(clusters: Index, weak: Weak) -> tuple[Index, int]:
    """Return which belief the label of each source and row shares, (s, n), and their number.

    Rows without a label of a source have -1.
    """
    found, n_cells = np.full((len(weak), len(clusters)), -1, dtype=np.intp), 0
    for k, votes in enumerate(weak.values()):
        rows = np.fromiter(votes, dtype=np.intp, count=len(votes))
        labels = np.unique(list(votes.values()), return_inverse=True)[1] if votes else rows
        pairs, own = np.unique(
            np.stack([clusters[rows], labels.reshape(-1)]), axis=1, return_inverse=True
        )
        found[k, rows] = n_cells + own.reshape(-1)
        n_cells += pairs.shape[1]
    return found, n_cells
