"""The pcmac rows of Tables 2 and 3 of Sindhwani and Keerthi (SIGIR 2006)."""

from pathlib import Path
from typing import Any

import numpy as np

from semisvm.reproduce.data import Ints, Matrix, hide, load, stratified_rows
from semisvm.reproduce.methods import METHODS, REG, UNLABELED_WEIGHT, fitted
from semisvm.reproduce.table import Report, verdict

REPEAT = 10
TRAINING_ROWS = 1460
LABELED = (37, 73, 110, 146, 183, 220)
PUBLISHED_ERROR = {
    "SVM": (18.0, 12.1, 9.7, 8.0, 7.4, 6.7),
    "TSVM": (7.4, 6.9, 6.0, 5.7, 5.1, 4.7),
    "DA": (5.2, 5.0, 4.6, 4.7, 4.4, 4.3),
}
PUBLISHED_OBJECTIVE = {"TSVM": (0.136, 0.137, 0.138, 0.139, 0.141, 0.142)}
ERROR_BAR = 1.0
OBJECTIVE_BAR = 0.003


def measure(X: Matrix, y: Ints, n_labeled: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return error (percent of the test rows) and objective of every method on one split."""
    training, test = stratified_rows(y, TRAINING_ROWS, seed)
    labeled, _ = stratified_rows(y[training], n_labeled, seed)
    problem = hide(X[training], y[training], labeled)
    models = {name: fitted(name, problem) for name in METHODS}
    return {
        name: (100.0 * (1.0 - model.score(X[test], y[test])), model.objective_)
        for name, model in models.items()
    }


def error_row(n_labeled: int, name: str, errors: list[float], published: float) -> dict[str, Any]:
    """Compare a mean error with the published one."""
    mean = float(np.mean(errors))
    return {
        "method": name,
        "labelled": n_labeled,
        "error %": round(mean, 2),
        "s.e.": round(float(np.std(errors) / np.sqrt(len(errors))), 2),
        "published": published,
        "difference": round(mean - published, 2),
        "within 1.0": verdict(abs(mean - published) <= ERROR_BAR),
    }


def objective_row(
    n_labeled: int, name: str, objectives: list[float], published: float | None
) -> dict[str, Any]:
    """Compare a mean objective with the published one, where there is one."""
    mean = float(np.mean(objectives))
    excess = None if published is None else mean - published
    return {
        "method": name,
        "labelled": n_labeled,
        "objective": round(mean, 5),
        "published": published,
        "difference": None if excess is None else round(excess, 5),
        "at most 0.003 above": None if excess is None else verdict(excess <= OBJECTIVE_BAR),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print errors and objectives beside the published ones."""
    X, labels = load(folder, "text1_pcmac")
    y = (labels == 1).astype(np.intp)
    report = Report(
        "pcmac", splits=repeat, training=TRAINING_ROWS, reg=REG, unlabeled_weight=UNLABELED_WEIGHT
    )
    splits = [[measure(X, y, n, seed) for seed in range(repeat)] for n in LABELED]
    errors, objectives = [], []
    for name in METHODS:
        for k, n in enumerate(LABELED):
            found = [split[name] for split in splits[k]]
            errors.append(error_row(n, name, [e for e, _ in found], PUBLISHED_ERROR[name][k]))
            if name != "SVM":
                published = PUBLISHED_OBJECTIVE[name][k] if name in PUBLISHED_OBJECTIVE else None
                objectives.append(objective_row(n, name, [o for _, o in found], published))
    report.table("mean test error (Table 3)", errors)
    report.table("mean objective (Table 2; the row of DA is not at hand)", objectives)
    return report.result()
