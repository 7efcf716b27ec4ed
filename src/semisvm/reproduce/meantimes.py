"""Table 4 of Li, Kwok and Zhou (ICML 2009): seconds of a fit, all methods in one run.

One published split with 10 labels of each set of the book, linear kernel, true class
prior; methods take turns, and the median of the rounds counts. The yardstick is
scikit-learn's SVC on all labels, whose kernel and C are the same. Where classes overlap it
takes minutes with C = 100, so its steps are limited, and what is printed is a lower bound.
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from semisvm.reproduce.compared import ENTRIES, C, Setting
from semisvm.reproduce.plans import Found, Part, Plan
from semisvm.reproduce.ssl_book import SETS, BookSet, load_book, present
from semisvm.reproduce.table import verdict
from semisvm.reproduce.timing import interleaved

REPEAT = 5
SVC_STEPS = 200_000
YARDSTICK = "SVC, all labels"
JUDGED = "meanS3VM-iter"
PUBLISHED = {
    "TSVM": (552.19, 596.23, 1222.90, 560.05, 73.88, 6181.12),
    "Laplacian SVM": (7.08, 5.88, 6.54, 7.48, 0.19, 17.27),
    "meanS3VM-iter": (1.77, 0.53, 0.50, 0.58, 0.27, 0.55),
    "meanS3VM-mkl": (2.17, 0.94, 0.83, 1.25, 2.45, 14.12),
}
"""Seconds of 2009, in the order of the sets of the book."""


def fits(book: BookSet) -> dict[str, Callable[[], Any]]:
    """List what is timed."""
    problem = book.problem(10, 0)
    setting = Setting("linear", 0.5 / book.width**2, 10, problem.prior)
    calls: dict[str, Callable[[], Any]] = {
        entry.name: partial(entry.fitted, problem, setting) for entry in ENTRIES
    }
    calls[YARDSTICK] = lambda: SVC(C=C, kernel="linear", max_iter=SVC_STEPS).fit(book.X, book.y)
    return calls


def seconds(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the medians of rounds in turns, after one for compilation and caches."""
    timings = interleaved(calls, rounds)
    return {name: timings.median(name) for name in calls}


def measure(folder: Path, name: str, rounds: int) -> dict[str, float]:
    """Return the seconds of all methods on a set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return seconds(fits(load_book(folder, name)), rounds)


def rows_of(name: str, rounds: int, found: Found) -> list[dict[str, Any]]:
    """Put the seconds beside those of the yardstick and of the paper."""
    times, column = found[name, rounds], list(SETS).index(name)
    return [
        {
            "method": method,
            "seconds": round(value, 4),
            "share of SVC on all labels": round(value / times[YARDSTICK], 3),
            "paper (2009)": PUBLISHED[method][column] if method in PUBLISHED else None,
            "below 1": verdict(value < times[YARDSTICK]) if method == JUDGED else None,
        }
        for method, value in times.items()
    ]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table for each set."""
    parts = []
    for name in present(folder):
        title = f"{SETS[name]}, {load_book(folder, name).X.shape[0]} rows, 10 labels"
        rows = partial(rows_of, name, repeat)
        parts.append(Part(title, measure, [(name, repeat)], rows, timed=True))
    return Plan({"rounds": repeat, "C": C}, parts)
