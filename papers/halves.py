"""Tables 2 and 3 of Li, Kwok and Zhou (ICML 2009): small sets, and pairs of newsgroups.

A set is cut in two halves at random. In one of them few rows are labelled and the others
are not; the other half is the test. Linear kernel, C = 1, twenty draws. The papers do not
say how columns were scaled: here the small sets are standardised. Nor do they name the
five newsgroups: the first five of the alphabet are our choice, and nothing shows that they are
the paper's. Every method that uses the class prior runs with the true shares, and with those of
the labels.

heart, isolet, ethn and sat are included if the folder has them. `heart_cleveland` is a relative
of the paper's heart, with 303 rows (297 without missing values) instead of 270.

The column "setting" says how a method was made. Rows "..., default" are at the defaults of the
other tables, where these are not the paper's setting. Takes about a quarter of an hour.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from papers.book import TRUE, priors
from papers.compared import ENTRIES, Entry, Setting
from papers.data import (
    Ints,
    Matrix,
    MissingDataError,
    PartlyLabeled,
    hide,
    load,
    random_rows,
    rows_of_each_class,
)
from papers.plans import Found, Part, Plan, draws, mean, standard_error
from semisvm import LaplacianSVC, SemiBoostClassifier, TransductiveSVC

REPEAT = 20
C = 1.0
N_LABELED, N_EACH_GROUP = 10, 2
NEWS, GROUPS = "20news_tfidf", 5

Rows = tuple[Matrix, Ints]
METHODS = ("SVM", "SemiBoost", "LDS", "TSVM", "Laplacian SVM", "meanS3VM-iter", "meanS3VM-mkl")
"""Columns of Table 2; Table 3 is without the first."""
PUBLISHED = {
    "house_votes": (91.16, 90.65, 89.35, 86.55, 89.95, 91.72, 91.90),
    "heart": (70.59, 79.00, 77.11, 77.63, 77.96, 74.56, 73.22),
    "isolet": (89.58, 95.12, 92.07, 90.38, 93.93, 98.75, 98.98),
    "ethn": (67.04, 67.57, 67.16, 54.69, 74.60, 73.21, 73.57),
    "sat": (99.13, 87.71, 94.20, 98.26, 99.12, 99.56, 99.56),
    "vehicle": (78.28, 72.29, 66.28, 63.62, 71.38, 82.47, 82.15),
    "wdbc": (75.74, 88.82, 85.07, 86.40, 91.07, 79.39, 80.19),
    "australian": (65.64, 71.36, 66.00, 73.38, 74.38, 68.12, 67.59),
    "optdigits": (90.31, 96.35, 96.40, 92.34, 98.34, 98.93, 99.09),
    "heart_cleveland": (None,) * 7,
    "(1, 2)": (None, 70.74, 55.10, 75.44, 68.23, 84.72, 84.27),
    "(1, 3)": (None, 74.83, 58.88, 89.34, 71.34, 90.54, 90.83),
    "(1, 4)": (None, 78.47, 61.72, 88.71, 74.67, 88.33, 88.76),
    "(1, 5)": (None, 82.64, 66.45, 92.35, 78.01, 91.10, 91.14),
    "(2, 3)": (None, 64.06, 50.76, 66.05, 61.68, 66.48, 66.73),
    "(2, 4)": (None, 74.85, 50.32, 81.50, 70.95, 81.77, 81.71),
    "(2, 5)": (None, 80.12, 53.94, 84.94, 74.79, 77.13, 77.37),
    "(3, 4)": (None, 75.26, 50.08, 81.98, 71.45, 84.47, 84.12),
    "(3, 5)": (None, 78.31, 53.83, 77.38, 74.91, 81.65, 80.36),
    "(4, 5)": (None, 68.07, 52.39, 67.54, 65.05, 66.45, 72.85),
}


def _everything(X: Matrix, y: Ints) -> Rows:
    return X, y


def _known(X: Matrix, y: Ints) -> Rows:
    """Leave out the rows with a missing value."""
    return X[np.isfinite(X).all(axis=1)], y[np.isfinite(X).all(axis=1)]


def _pair_of(sizes: tuple[int, int]) -> Callable[[Matrix, Ints], Rows]:
    """Keep the two classes with as many rows as the paper's, unless there are only two."""

    def keep(X: Matrix, y: Ints) -> Rows:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) == 2:
            return X, y
        found = [k for k, n in zip(classes, counts, strict=True) if n in sizes]
        if len(found) != 2:
            raise MissingDataError(
                f"two classes are needed, of {sizes[0]} and {sizes[1]} rows; this set has "
                f"{len(classes)} classes, of {counts.min()} to {counts.max()} rows. Store the rows "
                "of two classes."
            )
        return _pair(*found)(X, y)

    return keep


def _complete(X: Matrix, y: Ints) -> Rows:
    """Leave out the rows with a missing vote, which is coded as zero."""
    return X[(X != 0).all(axis=1)], y[(X != 0).all(axis=1)]


def _pair(first: int, second: int) -> Callable[[Matrix, Ints], Rows]:
    """Keep two classes."""

    def keep(X: Matrix, y: Ints) -> Rows:
        chosen = np.flatnonzero((y == first) | (y == second))
        return X[chosen], y[chosen]

    return keep


# The pairs of classes are those that have as many rows as the paper says.
SMALL: dict[str, Callable[[Matrix, Ints], Rows]] = {
    "house_votes": _complete,
    "vehicle": _pair(0, 2),
    "wdbc": _everything,
    "australian": _everything,
    "optdigits": _pair(1, 3),
}
IF_THERE: dict[str, Callable[[Matrix, Ints], Rows]] = {
    "heart": _known,
    "heart_cleveland": _known,
    # the letters are not named; 300 rows each
    "isolet": _pair_of((300, 300)),
    "ethn": _everything,
    # of Statlog's classes only these two have 3,041 rows together
    "sat": _pair_of((1533, 1508)),
}
"""Small sets that are included if the folder has them."""
PAIRS = {f"({i + 1}, {j + 1})": _pair(i, j) for i, j in combinations(range(GROUPS), 2)}


def place(name: str) -> str:
    """Return the data set that a task is from."""
    return NEWS if name in PAIRS else name


@lru_cache(maxsize=2)
def load_rows(folder: Path, name: str) -> Rows:
    """Load a task: rows of two classes, 0 and 1."""
    X, y = load(folder, place(name))
    X, y = {**PAIRS, **SMALL, **IF_THERE}[name](X, y)
    if name not in PAIRS:
        X = StandardScaler().fit_transform(X)
    return X, np.unique(y, return_inverse=True)[1].astype(np.intp)


def labeled_rows(y: Ints, name: str, seed: int) -> Ints:
    """Draw the labelled rows of a half, some of both classes."""
    if name in PAIRS:
        return rows_of_each_class(y, N_EACH_GROUP, seed)
    return random_rows(y, N_LABELED, seed)


def halved(folder: Path, name: str, seed: int) -> tuple[PartlyLabeled, Rows]:
    """Draw the half with few labels, and the half for the test."""
    X, y = load_rows(folder, name)
    order = np.random.default_rng(seed).permutation(len(y))
    half = len(y) // 2
    train, test = np.sort(order[:half]), np.sort(order[half:])
    problem = hide(X[train], y[train], labeled_rows(y[train], name, seed))
    return problem, (X[test], y[test])


def setting_of(problem: PartlyLabeled, prior: str) -> Setting:
    """Return the paper's setting with the true class shares, or those of the labels."""
    n_labeled = len(problem.labels) - len(problem.unlabeled)
    return Setting("linear", 1.0, n_labeled, problem.prior if prior == TRUE else prior, C)


def measure(folder: Path, name: str, seed: int) -> list[tuple[str, str, float]]:
    """Run the methods on one draw; give method, prior and test accuracy."""
    problem, (X, y) = halved(folder, name, seed)
    found = []
    for entry in compared():
        for prior in priors(entry):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = entry.fitted(problem, setting_of(problem, prior))
            accuracy = 100.0 * float(np.mean(model.predict(X) == y))
            found.append((entry.name, prior, accuracy))
    return found


AS_IN_THE_PAPER: dict[str, Callable[[Setting], Any]] = {
    "TSVM": lambda s: TransductiveSVC(s.reg, loss="hinge", **s.shared),
    "Laplacian SVM": lambda s: LaplacianSVC(s.reg, kernel="linear"),
    "SemiBoost": lambda s: SemiBoostClassifier(SVC(C=s.C, kernel="linear")),
}
"""Linear machines with C = 1, where the entries of the other tables are made otherwise."""
SAME = "as the paper"
DIFFERENT = {
    # the paper names neither the last weight of the unlabelled rows nor a weight of the graph
    "TSVM": "as the paper; unlabelled rows weigh as much as labelled in all",
    "TSVM, default": "squared hinge",
    "LDS": "own kernel of distances along the data, reg = 0.01",
    "Laplacian SVM": "linear, C = 1, but squared hinge",
    "Laplacian SVM, default": "no kernel but the graph, squared hinge, reg = 1e-7",
    "SemiBoost, default": "squared hinge, reg = 1e-3",
}
"""What a setting is, where it is not known to be the paper's."""


def compared() -> list[Entry]:
    """List the methods of the tables that are here."""
    found = []
    for entry in ENTRIES:
        if entry.name in AS_IN_THE_PAPER:
            found.append(replace(entry, make=AS_IN_THE_PAPER[entry.name]))
            found.append(replace(entry, name=f"{entry.name}, default"))
        elif entry.name in METHODS:
            found.append(entry)
    return found


def rows_of(name: str, found: Found) -> list[dict[str, Any]]:
    """Average the draws of a task."""
    published, rows = dict(zip(METHODS, PUBLISHED[name], strict=True)), []
    for cells in zip(*draws(found, name), strict=True):
        ((method, prior),) = {(method, prior) for method, prior, _ in cells}
        values = [cell[-1] for cell in cells]
        rows.append(
            {
                "task": name,
                "method": method,
                "prior": prior,
                "accuracy %": round(mean(values), 2),
                "s.e.": round(standard_error(values), 2),
                "paper": published.get(method),
                "setting": DIFFERENT.get(method, SAME),
            }
        )
    return rows


def table_rows(tasks: list[str], found: Found) -> list[dict[str, Any]]:
    """Return the rows of all tasks of a table."""
    return [row for name in tasks for row in rows_of(name, found)]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan both tables."""
    there = [name for name in IF_THERE if (folder / name).is_dir()]
    tables = {
        "Table 2: small sets, 10 labels": [*SMALL, *there],
        "Table 3: pairs of newsgroups, 2 labels a class": list(PAIRS),
    }
    parts = [
        Part(
            title,
            measure,
            [(name, seed) for name in tasks for seed in range(repeat)],
            partial(table_rows, tasks),
        )
        for title, tasks in tables.items()
    ]
    return Plan({"draws": repeat, "C": C}, parts)
