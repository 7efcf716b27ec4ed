"""Annealing of many classes: how far apart two fits end that differ in the order of the rows alone.

The same rows in two orders, 40 labels, true class shares, for a loss with a kink and one without.
Made-up rows have four classes, 300 columns and the given share of entries that are not zero. Of a
real set, 300 rows of the four largest classes are drawn, and ten labels of each. Differences are
per cent of the mean objective, and of the unlabelled rows.
"""

from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Ints, Matrix, load_coded
from papers.table import Report
from sklearn.preprocessing import normalize

from semisvm import AnnealedSVC

REPEAT = 4
N_ROWS, N_LABELED, N_CLASSES, N_COLUMNS = 300, 40, 4, 300
DENSITIES = (0.1, 0.3)
SETS = ("r8_tfidf",)
LOSSES = ("crammer_singer", "squared_hinge")


def made(density: float, rng: np.random.Generator) -> tuple[Matrix, Ints]:
    """Make rows around a mean per class, most of whose entries are zero."""
    y = rng.integers(0, N_CLASSES, N_ROWS)
    X = rng.standard_normal((N_CLASSES, N_COLUMNS))[y]
    X += 1.5 * rng.standard_normal(X.shape)
    return normalize(X * (rng.random(X.shape) < density)), y


def real(folder: Path, name: str, rng: np.random.Generator) -> tuple[Matrix, Ints]:
    """Draw rows of the largest classes of a set, first as many of each class as labels need."""
    X, y = load_coded(folder, name)
    largest = np.argsort(-np.bincount(y), kind="stable")[:N_CLASSES]
    rows = rng.permutation(np.flatnonzero(np.isin(y, largest)))
    first = np.concatenate([rows[y[rows] == c][: N_LABELED // N_CLASSES] for c in largest])
    rows = np.append(first, np.setdiff1d(rows[:N_ROWS], first))[:N_ROWS]
    return normalize(X[rows]), np.searchsorted(np.sort(largest), y[rows])


def ends(X: Matrix, y: Ints, loss: str, rng: np.random.Generator) -> list[list[float]]:
    """Fit in two orders of the unlabelled rows; return objectives and accuracies."""
    prior = np.bincount(y[N_LABELED:], minlength=N_CLASSES) / (len(y) - N_LABELED)
    found = []
    for rest in (np.arange(N_LABELED, len(y)), rng.permutation(np.arange(N_LABELED, len(y)))):
        order = np.append(np.arange(N_LABELED), rest)
        labels = np.where(np.arange(len(y)) < N_LABELED, y[order], UNLABELED)
        model = AnnealedSVC(loss=loss, class_prior=prior).fit(X[order], labels)
        right = model.transduction_[N_LABELED:] == y[rest]
        found.append([model.objective_, 100.0 * float(np.mean(right))])
    return found


def row(name: str, loss: str, values: Any) -> dict[str, Any]:
    """Compare the two orders; values are (draws, orders, objective and accuracy)."""
    objective, right = values[..., 0], values[..., 1]
    apart = 100.0 * np.abs(objective[:, 0] - objective[:, 1]) / objective.mean(axis=1)
    return {
        "set": name,
        "loss": loss,
        "objectives apart %": float(apart.mean()),
        "most %": float(apart.max()),
        "accuracies apart": float(np.abs(right[:, 0] - right[:, 1]).mean()),
        "accuracy": float(right.mean()),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the differences of both losses."""
    report = Report("roundings", draws=repeat, rows=N_ROWS, labels=N_LABELED)
    rows = []
    for source in (*DENSITIES, *SETS):
        values: dict[str, list[Any]] = {loss: [] for loss in LOSSES}
        for seed in range(repeat):
            rng = np.random.default_rng(seed)
            X, y = real(folder, source, rng) if isinstance(source, str) else made(source, rng)
            for loss in LOSSES:
                values[loss].append(ends(X, y, loss, np.random.default_rng(seed)))
        name = source if isinstance(source, str) else f"made up, {source:.0%}"
        rows += [row(name, loss, np.array(found)) for loss, found in values.items()]
    report.table("two orders of the rows", rows)
    return report.result()
