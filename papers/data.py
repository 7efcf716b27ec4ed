"""Data sets from a folder, and problems in which most of the labels are hidden."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

UNLABELED = -1

Matrix = Any
Ints = NDArray[np.intp]
Floats = NDArray[np.float64]


class MissingDataError(Exception):
    """The data folder, or a set in it, is not there."""


def data_folder(given: str | Path | None, default: Path | None = None) -> Path:
    """Find the data: the given folder, else SEMISVM_DATA, else the default one."""
    folder = given or os.environ.get("SEMISVM_DATA") or default
    if folder is None or not Path(folder).is_dir():
        there = "no data folder" if folder is None else f"no data folder {str(folder)!r}"
        raise MissingDataError(f"{there}: name one with --data DIR or in SEMISVM_DATA")
    return Path(folder)


def load(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set as it is stored, sparse or dense: X and its labels."""
    place = folder / name
    try:
        thin = (place / "X.npz").exists()
        X = sparse.load_npz(place / "X.npz") if thin else np.load(place / "X.npy")
        y = np.load(place / "y.npy")
    except FileNotFoundError as error:
        raise MissingDataError(f"the folder {str(folder)!r} has no set {name!r}") from error
    return X, y.astype(np.intp)


def load_coded(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set with classes from 0 on."""
    X, y = load(folder, name)
    return X, np.unique(y, return_inverse=True)[1].astype(np.intp)


def load_rows_of_splits(folder: Path, name: str) -> dict[str, Ints]:
    """Load the published splits of a set: labelled rows, one split a row, by their keys."""
    try:
        splits = np.load(folder / name / "splits.npz")
    except FileNotFoundError as error:
        raise MissingDataError(
            f"the folder {str(folder)!r} has no splits of the set {name!r}"
        ) from error
    return {key: splits[key].astype(np.intp) for key in splits}


@dataclass(frozen=True)
class PartlyLabeled:
    """Rows of classes 0 and 1 of which few are labelled.

    Attributes
    ----------
    X : CSR matrix of shape (n, d)
    labels : int array of shape (n,)
        What a method is given: 0, 1, or -1 for an unlabelled row.
    y : int array of shape (n,)
        The truth, -1 where nobody knows it.
    """

    X: Matrix
    labels: Ints
    y: Ints

    @property
    def unlabeled(self) -> Ints:
        """Indices of the unlabelled rows."""
        return np.flatnonzero(self.labels == UNLABELED)

    @property
    def prior(self) -> Floats | None:
        """True shares of the classes among the unlabelled rows; None where unknown."""
        hidden = self.y[self.unlabeled]
        if np.any(hidden == UNLABELED):
            return None
        return np.bincount(hidden, minlength=2) / len(hidden)


def hide(X: Matrix, y: Ints, labeled: Ints) -> PartlyLabeled:
    """Keep the labels of the listed rows only."""
    labels = np.full(len(y), UNLABELED, dtype=np.intp)
    labels[labeled] = y[labeled]
    return PartlyLabeled(X, labels, y)


def stratified_rows(y: Ints, size: int, seed: int) -> tuple[Ints, Ints]:
    """Draw rows that keep the shares of the classes; give them and the rest."""
    drawn, rest = train_test_split(
        np.arange(len(y)), train_size=size, stratify=y, random_state=seed
    )
    return drawn, rest


def random_rows(y: Ints, size: int, seed: int) -> Ints:
    """Draw rows at random, again and again while a class is missing."""
    rng, n_classes = np.random.default_rng(seed), len(np.unique(y))
    while True:
        drawn = rng.choice(len(y), size, replace=False)
        if len(np.unique(y[drawn])) == n_classes:
            return np.sort(drawn)


def rows_of_each_class(y: Ints, size: int, seed: int) -> Ints:
    """Draw as many rows of every class."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y[y != UNLABELED])
    drawn = [rng.choice(np.flatnonzero(y == k), size, replace=False) for k in classes]
    return np.sort(np.concatenate(drawn))
