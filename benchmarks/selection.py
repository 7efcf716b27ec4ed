"""Which rows to have labelled: clusters, margins and chance with the same budget.

Accuracy of the supervised SVM on the other rows, so that nothing but the choice of rows
differs. "clusters, not reduced" is k-median on the sparse rows themselves, where they are
few; "then margin" takes half of the rows from clusters, and for the other half the rows of which
a machine on the first half is least sure. Large sets are cut to a sample, columns of dense ones
are standardised.
"""

from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Floats, Ints, Matrix, hide, load
from papers.table import Report, verdict
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from semisvm import NewtonSVC
from semisvm.model_selection import KMedianSelection, MarginSelection, RandomSelection

REPEAT = 8
N_LABELS = 50
TOPICS = ("text_ssl", "text1_pcmac", "r8_tfidf")
OTHERS = ("webkb_tfidf", "imdb_tfidf", "optdigits", "digit1", "wdbc", "australian", "pima", "g241c")
SMALL = ("text_ssl", "text1_pcmac")
MOST_ROWS = 2000
NOT_A_CLASS = {"imdb_tfidf": 2}


def rows_of(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set, or a sample of it, with classes from 0 on."""
    X, labels = load(folder, name)
    known = np.flatnonzero(labels != NOT_A_CLASS.get(name, UNLABELED - 1))
    if len(known) > MOST_ROWS:
        known = np.sort(np.random.default_rng(0).choice(known, MOST_ROWS, replace=False))
    y = np.unique(labels[known], return_inverse=True)[1].astype(np.intp)
    is_sparse: bool = sparse.issparse(X)
    if is_sparse:
        return X.tocsr()[known], y
    return normalised(StandardScaler().fit_transform(X[known])), y


def normalised(X: Matrix) -> Matrix:
    """Divide by the root mean square of the lengths of rows, for the default regularisation."""
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1)))


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
    """Return the accuracy on the rows that were not chosen, in per cent."""
    labels = hide(X, y, rows).labels
    rest = labels == UNLABELED
    return 100.0 * float(NewtonSVC().fit(X, labels).score(X[rest], y[rest]))


def measure(X: Matrix, y: Ints, repeat: int, with_sparse: bool) -> dict[str, Floats]:
    """Return the accuracies of every way."""
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
    for name in (*TOPICS, *OTHERS):
        X, y = rows_of(folder, name)
        found = measure(X, y, repeat, name in SMALL)
        for way, values in found.items():
            error = float(values.std() / np.sqrt(len(values)))
            judged = way == "clusters" and name in TOPICS
            bar = verdict(values.mean() > found["random"].mean()) if judged else None
            figures = {"accuracy %": round(float(values.mean()), 1), "s.e.": round(error, 1)}
            rows.append({"set": name, "rows": way, **figures, "above random": bar})
    report.table("supervised SVM on chosen rows", rows)
    return report.result()
