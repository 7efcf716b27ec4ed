"""The sets of the book "Semi-supervised learning" and their published splits.

Chapelle, Schölkopf and Zien (eds.), MIT Press 2006, chapter 21: twelve splits each with 10
and with 100 labelled rows; what counts is the accuracy on the unlabelled ones. The figures
of the book and of Li, Kwok and Zhou (ICML 2009, Table 1) are here.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from papers.data import (
    Ints,
    Matrix,
    MissingDataError,
    PartlyLabeled,
    hide,
    load_coded,
    load_rows_of_splits,
)
from semisvm.maps.kernels import mean_distance

SETS = {
    "g241c": "g241c",
    "g241d": "g241d",
    "digit1": "Digit1",
    "usps_ssl": "USPS",
    "bci": "BCI",
    "text_ssl": "Text",
}
"""Folders of the sets and their names in the book."""
LABELED = (10, 100)

# In the order of SETS.
PUBLISHED = {
    10: {
        "1-NN": (52.12, 53.28, 86.35, 83.34, 51.00, 61.82),
        "SVM": (52.66, 53.34, 69.40, 79.97, 50.15, 54.63),
        "TSVM": (75.29, 49.92, 82.23, 74.80, 50.85, 68.79),
        "Cluster-Kernel": (51.72, 57.95, 81.27, 80.59, 51.69, 57.28),
        "LDS": (71.15, 49.37, 84.37, 82.43, 50.73, 63.85),
        "Laplacian RLS": (56.05, 54.32, 94.56, 81.01, 51.03, 66.32),
        "Laplacian SVM": (53.79, 54.85, 91.03, 80.95, 50.75, 62.72),
        "meanS3VM-iter": (72.22, 57.00, 82.98, 76.34, 51.88, 69.57),
        "meanS3VM-mkl": (65.48, 58.94, 83.00, 77.84, 52.07, 66.91),
    },
    100: {
        "1-NN": (56.07, 57.55, 96.11, 94.19, 51.33, 69.89),
        "SVM": (76.89, 75.36, 94.47, 90.25, 65.69, 73.55),
        "TSVM": (81.54, 77.58, 93.85, 90.23, 66.75, 75.48),
        "Cluster-Kernel": (86.51, 95.05, 96.21, 90.32, 64.83, 75.62),
        "LDS": (81.96, 76.26, 96.54, 95.04, 56.03, 76.85),
        "Laplacian RLS": (75.64, 73.54, 97.08, 95.32, 68.64, 76.43),
        "Laplacian SVM": (76.18, 73.64, 96.87, 95.30, 67.61, 76.14),
        "meanS3VM-iter": (80.00, 77.52, 95.68, 93.83, 71.31, 76.74),
        "meanS3VM-mkl": (80.25, 77.58, 95.91, 93.17, 71.44, 76.60),
    },
}


def published(method: str, name: str, n_labeled: int) -> float | None:
    """Return the accuracy in per cent that the papers print, or None."""
    row = PUBLISHED[n_labeled].get(method)
    return None if row is None else row[list(SETS).index(name)]


@dataclass(frozen=True)
class BookSet:
    """A set with its splits.

    Attributes
    ----------
    name : str
    X : matrix of shape (n, d)
    y : int array of shape (n,)
        Classes 0 and 1.
    splits : mapping of int to int arrays
        Labelled rows, one split a row, by their number.
    width : float
        Average distance of two rows.
    """

    name: str
    X: Matrix
    y: Ints
    splits: dict[int, Ints]
    width: float

    def problem(self, n_labeled: int, split: int) -> PartlyLabeled:
        """Return the rows with the labels of a split."""
        return hide(self.X, self.y, self.splits[n_labeled][split])


def present(folder: Path) -> list[str]:
    """List the sets that a folder has."""
    found = [name for name in SETS if (folder / name / "splits.npz").exists()]
    if not found:
        raise MissingDataError(f"the folder {str(folder)!r} has none of {', '.join(SETS)}")
    return found


@lru_cache(maxsize=2)
def load_book(folder: Path, name: str) -> BookSet:
    """Load a set."""
    X, y = load_coded(folder, name)
    splits = load_rows_of_splits(folder, name)
    known = {n: splits[f"lab_{n}"] for n in LABELED if f"lab_{n}" in splits}
    return BookSet(name, X, y, known, mean_distance(X))
