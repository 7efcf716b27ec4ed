"""Sets with published splits: which rows were labelled in the papers."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.metrics import pairwise_distances

from papers.data import (
    UNLABELED,
    Floats,
    Ints,
    Matrix,
    load_coded,
    load_rows_of_splits,
)


@dataclass(frozen=True)
class Problem:
    """A set with its published splits.

    Attributes
    ----------
    X, y : the rows and the truth, classes from 0 on
    splits : int array of shape (k, l)
        Labelled rows of every split.
    """

    X: Matrix
    y: Ints
    splits: Ints

    def labels(self, k: int) -> Ints:
        """Return what a method is told in split k."""
        told = np.full(len(self.y), UNLABELED)
        told[self.splits[k]] = self.y[self.splits[k]]
        return told

    def prior(self, k: int) -> Floats:
        """Return the true shares among the unlabelled rows of split k."""
        hidden = self.y[self.labels(k) == UNLABELED]
        return np.bincount(hidden, minlength=int(self.y.max()) + 1) / len(hidden)


@lru_cache(maxsize=2)
def load_splits(folder: Path, name: str, key: str) -> Problem:
    """Load a set and its splits."""
    X, y = load_coded(folder, name)
    return Problem(X, y, load_rows_of_splits(folder, name)[key])


@lru_cache(maxsize=4)
def median_distance(folder: Path, name: str, key: str) -> float:
    """Return the median distance of two rows of a set."""
    distances = pairwise_distances(load_splits(folder, name, key).X)
    return float(np.median(distances[np.triu_indices(len(distances), 1)]))
