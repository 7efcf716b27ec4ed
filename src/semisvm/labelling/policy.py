"""Which row comes next.

Rows from clusters come first, as in CVS3VM. After that three kinds of rows take
turns: uncertain ones, rows from clusters in which nothing is labelled, and random rows. The last
ones are for the estimates: nothing but chance decides on them.

An uncertain row is the one of a random handful of which the model is least certain. The least
certain of *all* rows are much alike, and where classes overlap they are those whose answers teach
little. A handful follows the density of the rows.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.records import CLUSTER, RANDOM, UNCERTAIN

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
    """

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._random = rng.permutation(n_rows)
        self._place = 0
        self._queues: dict[str, list[int]] = {CLUSTER: [], UNCERTAIN: []}

    def fill(self, reason: str, rows: Sequence[int]) -> None:
        """Replace a queue of candidates, best first."""
        self._queues[reason] = [int(row) for row in reversed(rows)]

    def next(
        self, asked: Mapping[str, int], n_classes: int, free: Callable[[int], bool]
    ) -> tuple[int, str] | None:
        """Take the next row, and say which kind it is of; None if no row is free.

        Parameters
        ----------
        asked : mapping
            Reason -> number of rows that were asked for so far.
        n_classes : int
        free : function
            Tells whether a row may be asked for.
        """
        for reason in self._turns(asked, n_classes):
            row = self._take(reason, free)
            if row is not None:
                return row, reason
        return None

    def _turns(self, asked: Mapping[str, int], n_classes: int) -> list[str]:
        """Order the kinds by how far each is behind its share."""
        first = max(FIRST, 2 * n_classes)
        total = sum(asked.get(reason, 0) for reason in SHARES)
        if total < first:
            return [CLUSTER, RANDOM, UNCERTAIN]
        behind = {
            reason: share * (total - first + 1) - asked.get(reason, 0)
            for reason, share in SHARES.items()
        }
        behind[CLUSTER] += first
        return sorted(SHARES, key=lambda reason: -behind[reason])

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
