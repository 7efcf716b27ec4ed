"""Which rows to have labelled, on text: clusters, margins and chance with the same budget.

Accuracy of the supervised SVM on the other rows, so that nothing but the choice of rows
differs. "clusters, not reduced" is k-median on the sparse rows themselves, where they are
few; "then margin" takes half of the rows from clusters, and for the other half the rows of which
a machine on the first half is least sure.
"""

from pathlib import Path
from typing import Any

import numpy as np

from semisvm import NewtonSVC
from semisvm.reproduce.data import UNLABELED, Floats, Ints, Matrix, hide, load
from semisvm.reproduce.table import Report, verdict
from semisvm.selection import KMedianSelection, MarginSelection, RandomSelection

REPEAT = 5
N_LABELS = 50
SETS = ("text_ssl", "text1_pcmac", "r8_tfidf")
SMALL = ("text_ssl", "text1_pcmac")


def choices(X: Matrix, y: Ints, seed: int, with_sparse: bool) -> dict[str, Ints]:
    """Choose rows in every way."""
    clusters = KMedianSelection(random_state=seed)
    half = clusters.select(X, N_LABELS // 2)
    told = hide(X, y, half).labels
    rows = {
        "random": RandomSelection(random_state=seed).select(X, N_LABELS),
        "clusters": clusters.select(X, N_LABELS),
        "clusters, then margin": np.append(
            half, MarginSelection().select(X, N_LABELS - len(half), told)
        ),
    }
    if with_sparse:
        plain = KMedianSelection(n_components=None, random_state=seed)
        rows["clusters, not reduced"] = plain.select(X, N_LABELS)
    return rows


def accuracy(X: Matrix, y: Ints, rows: Ints) -> float:
    """Give the accuracy on the rows that were not chosen, in per cent."""
    labels = hide(X, y, rows).labels
    rest = labels == UNLABELED
    return 100.0 * float(NewtonSVC().fit(X, labels).score(X[rest], y[rest]))


def measure(X: Matrix, y: Ints, repeat: int, with_sparse: bool) -> dict[str, Floats]:
    """Give the accuracies of every way."""
    found: dict[str, list[float]] = {}
    for seed in range(repeat):
        chosen = choices(X, y, seed, with_sparse)
        for way, rows in chosen.items():
            found.setdefault(way, []).append(accuracy(X, y, rows))
    return {way: np.array(values) for way, values in found.items()}


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the accuracy of every way of choosing rows."""
    report = Report("selection", draws=repeat, labels=N_LABELS)
    rows = []
    for name in SETS:
        X, labels = load(folder, name)
        y = np.unique(labels, return_inverse=True)[1].astype(np.intp)
        found = measure(X.tocsr(), y, repeat, name in SMALL)
        for way, values in found.items():
            error = float(values.std() / np.sqrt(len(values)))
            bar = verdict(values.mean() > found["random"].mean()) if way == "clusters" else None
            figures = {"accuracy %": round(float(values.mean()), 1), "s.e.": round(error, 1)}
            rows.append({"set": name, "rows": way, **figures, "above random": bar})
    report.table("supervised SVM on chosen rows", rows)
    return report.result()
