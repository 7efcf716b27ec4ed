"""Published splits with few labels: error on the unlabelled rows, beside the papers.

`text1_pcmac` (linear) and `g50c` (Gaussian kernel of half the median distance) with the
true class prior; `uspst` and `coil_ssl` (many classes, Gaussian kernel) with the labelled
fractions and with the true ones, because there the prior decides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from semisvm import (
    AnnealedSVC,
    GradientTSVC,
    LowDensitySeparation,
    NewtonSVC,
    TransductiveSVC,
)
from semisvm.reproduce.data import UNLABELED, Floats, Ints, Matrix, MissingDataError
from semisvm.reproduce.table import Report, verdict

REPEAT = 10


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
        """Give what a method is told in split k."""
        told = np.full(len(self.y), UNLABELED)
        told[self.splits[k]] = self.y[self.splits[k]]
        return told

    def prior(self, k: int) -> Floats:
        """Give the true shares among the unlabelled rows of split k."""
        hidden = self.y[self.labels(k) == UNLABELED]
        return np.bincount(hidden, minlength=int(self.y.max()) + 1) / len(hidden)


def load_splits(folder: Path, name: str, key: str) -> Problem:
    """Load a set and its splits."""
    X, y = load_rows(folder, name)
    try:
        splits = np.load(folder / name / "splits.npz")[key]
    except FileNotFoundError as error:
        raise MissingDataError(f"the set {name!r} has no splits") from error
    return Problem(X, y, splits)


def load_rows(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set, sparse or dense, with its classes from 0 on."""
    place = folder / name
    try:
        thin = (place / "X.npz").exists()
        X = sparse.load_npz(place / "X.npz") if thin else np.load(place / "X.npy")
        y = np.load(place / "y.npy")
    except FileNotFoundError as error:
        raise MissingDataError(f"the data folder has no set {name!r}") from error
    return X, np.unique(y, return_inverse=True)[1].astype(np.intp)


def error(problem: Problem, k: int, make: Callable[..., Any], prior: bool) -> float:
    """Fit one split; give the share of wrong labels of unlabelled rows."""
    told = problem.labels(k)
    more = {"class_prior": problem.prior(k)} if prior else {}
    model = make(**more).fit(problem.X, told)
    free = told == UNLABELED
    return float(np.mean(model.transduction_[free] != problem.y[free]))


@dataclass(frozen=True)
class Entry:
    """A row of the table: a method, its figure in the papers, and the bar."""

    method: str
    make: Callable[..., Any]
    paper: float | None = None
    bar: float | None = None
    semi: bool = True


def of_kind(kind: type, reg: float, **fixed: Any) -> Callable[..., Any]:
    """Make estimators with some parameters fixed."""
    return lambda **more: kind(reg, **fixed, **more)


def text_entries() -> list[Entry]:
    """List the methods on sparse text."""
    return [
        Entry("supervised", of_kind(NewtonSVC, 1e-3), 18.9, 19.2, semi=False),
        Entry("TransductiveSVC", of_kind(TransductiveSVC, 1e-2), 7.44, 8.0),
        Entry("AnnealedSVC", of_kind(AnnealedSVC, 1e-3), 5.3, 5.7),
        Entry("GradientTSVC", of_kind(GradientTSVC, 1e-2), 5.71, 6.4),
        Entry("LowDensitySeparation", of_kind(LowDensitySeparation, 1e-2), 5.13, 6.0),
    ]


def kernel_entries(width: float, reg: float, bars: bool) -> list[Entry]:
    """List the methods with a Gaussian kernel."""
    shared = {"kernel": "rbf", "gamma": 0.5 / width**2}

    def entry(kind: type, paper: float, bar: float) -> Entry:
        make = of_kind(kind, reg, **shared)
        return Entry(kind.__name__, make, paper, bar) if bars else Entry(kind.__name__, make)

    return [
        Entry("supervised", of_kind(NewtonSVC, reg, **shared), semi=False),
        entry(TransductiveSVC, 6.87, 7.2),
        entry(AnnealedSVC, 5.28, 6.0),
        entry(GradientTSVC, 5.80, 6.2),
        Entry(
            "LowDensitySeparation",
            of_kind(LowDensitySeparation, 1e-2),
            *((5.62, 6.4) if bars else ()),
        ),
    ]


def row(name: str, problem: Problem, entry: Entry, repeat: int, prior: bool) -> dict[str, Any]:
    """Average the errors of a method over the splits."""
    runs = range(min(repeat, len(problem.splits)))
    mean = 100.0 * float(np.mean([error(problem, k, entry.make, prior) for k in runs]))
    return {
        "set": name,
        "prior": "-" if not entry.semi else "true" if prior else "labelled",
        "method": entry.method,
        "splits": len(runs),
        "error %": mean,
        "paper": entry.paper,
        "bar": entry.bar,
        "ok": None if entry.bar is None else verdict(mean <= entry.bar),
    }


def median_distance(X: Matrix) -> float:
    """Give the median distance of two rows."""
    distances = pairwise_distances(X)
    return float(np.median(distances[np.triu_indices(len(distances), 1)]))


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print a table for each set."""
    report = Report("splits", splits=repeat)
    text = load_splits(folder, "text1_pcmac", "lab_50")
    report.table("text", [row("text1_pcmac", text, e, repeat, e.semi) for e in text_entries()])
    g50c = load_splits(folder, "g50c", "lab_50")
    entries = kernel_entries(median_distance(g50c.X) / 2, 1e-2, bars=True)
    report.table("g50c", [row("g50c", g50c, e, repeat, e.semi) for e in entries])
    for name, key in (("uspst", "lab_50"), ("coil_ssl", "lab_100")):
        problem = load_splits(folder, name, key)
        entries = kernel_entries(median_distance(problem.X) / 2, 1e-3, bars=False)
        rows = [
            row(name, problem, e, min(repeat, 3), prior)
            for e in entries
            for prior in ((False, True) if e.semi else (False,))
        ]
        report.table(f"{name} (published 17.61 / 15.79 and 13.6)", rows)
    return report.result()
