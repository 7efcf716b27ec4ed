"""What a fit costs, beside the estimate of the registry, by rows, columns, classes and density.

The estimates decide what `semisvm compare` takes by default. They need to tell seconds from
minutes and hours; a ratio up to ten is as good as can be hoped for, since the work also depends on
how hard the data are.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Ints, Matrix, load_coded
from papers.table import Report
from papers.timing import seconds_of

from semisvm.designs.costs import Size
from semisvm.estimators.registry import Method, methods

REPEAT = 1
N_LABELS = 100
ROWS = (500, 1500, 5000)
SETS = ("20news_tfidf", "usps")
LONGEST = 20.0
"""Seconds of the estimate beyond which a fit is not tried."""
METHODS = [m for m in methods() if m.auto or (m.compared and m.suits.needs_unlabeled)]
"""Those that are compared where none are named."""


def sample(folder: Path, name: str, n: int, two: bool) -> tuple[Matrix, Ints, Size]:
    """Draw rows of which a hundred are labelled; give them and their size."""
    X, y = load_coded(folder, name)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[rows], (y[rows] % 2 if two else y[rows])
    if isinstance(X, np.ndarray):
        X = X / np.sqrt(np.mean(np.sum(X.astype(np.float64) ** 2, axis=1)))
    labels = np.where(np.arange(n) < N_LABELS, y, UNLABELED)
    return X, labels, Size.of(X, len(np.unique(labels)) - 1)


def measure(method: Method, X: Matrix, labels: Ints) -> float:
    """Return the seconds of a fit; the first one of a kind compiles, so it is made twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.make().fit(X[: 2 * N_LABELS], labels[: 2 * N_LABELS])
        return seconds_of(lambda: method.make().fit(X, labels))[0]


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print measured and estimated seconds of every method."""
    report = Report("costs", labels=N_LABELS)
    for name in SETS:
        for two in (True, False):
            rows = []
            for n in ROWS:
                X, labels, size = sample(folder, name, n, two)
                for method in METHODS:
                    estimate = method.cost.seconds(size)
                    if estimate > LONGEST:
                        continue
                    seconds = min(measure(method, X, labels) for _ in range(repeat))
                    rows.append(
                        {
                            "method": method.name,
                            "rows": n,
                            "classes": size.n_classes,
                            "seconds": round(seconds, 3),
                            "estimate": round(estimate, 3),
                        }
                    )
            report.table(f"{name}, {'two' if two else 'all'} classes", rows)
    return report.result()
