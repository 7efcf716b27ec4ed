"""The pcmac rows of Tables 2 and 3 of Sindhwani and Keerthi (SIGIR 2006).

The figure is Table 3 as curves over the number of labels, the published errors as lines of
their own.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from papers.data import Ints, Matrix, PartlyLabeled, hide, load, stratified_rows
from papers.methods import METHODS, REG, UNLABELED_WEIGHT, fitted
from papers.plans import Curve, Found, Part, Plan, draws, mean, standard_error
from papers.table import verdict

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


@lru_cache(maxsize=1)
def load_pcmac(folder: Path) -> tuple[Matrix, Ints]:
    """Load the set with classes 0 and 1."""
    X, labels = load(folder, "text1_pcmac")
    return X, (labels == 1).astype(np.intp)


def draw_pcmac(folder: Path, n_labeled: int, seed: int) -> tuple[PartlyLabeled, Matrix, Ints]:
    """Draw training rows, of which some are labelled, and test rows with their classes."""
    X, y = load_pcmac(folder)
    training, test = stratified_rows(y, TRAINING_ROWS, seed)
    labeled, _ = stratified_rows(y[training], n_labeled, seed)
    return hide(X[training], y[training], labeled), X[test], y[test]


def error_of(model: Any, X: Matrix, y: Ints) -> float:
    """Return the error on test rows in per cent."""
    return 100.0 * (1.0 - float(model.score(X, y)))


def measure(folder: Path, n_labeled: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return error (percent of the test rows) and objective of every method on one split."""
    problem, X_test, y_test = draw_pcmac(folder, n_labeled, seed)
    models = {name: fitted(name, problem) for name in METHODS}
    return {
        name: (error_of(model, X_test, y_test), model.objective_) for name, model in models.items()
    }


def error_row(n_labeled: int, name: str, errors: list[float], published: float) -> dict[str, Any]:
    """Compare a mean error with the published one."""
    here = mean(errors)
    return {
        "method": name,
        "labelled": n_labeled,
        "error %": round(here, 2),
        "s.e.": round(standard_error(errors), 2),
        "published": published,
        "difference": round(here - published, 2),
        "within 1.0": verdict(abs(here - published) <= ERROR_BAR),
    }


def objective_row(
    n_labeled: int, name: str, objectives: list[float], published: float | None
) -> dict[str, Any]:
    """Compare a mean objective with the published one, where there is one."""
    here = mean(objectives)
    excess = None if published is None else here - published
    return {
        "method": name,
        "labelled": n_labeled,
        "objective": round(here, 5),
        "published": published,
        "difference": None if excess is None else round(excess, 5),
        "at most 0.003 above": None if excess is None else verdict(excess <= OBJECTIVE_BAR),
    }


def errors_of(found: Found, name: str, n_labeled: int) -> list[float]:
    """Return the errors of a method in all draws."""
    return [result[name][0] for result in draws(found, n_labeled)]


def error_rows(found: Found) -> list[dict[str, Any]]:
    """Return the rows of Table 3."""
    return [
        error_row(n, name, errors_of(found, name, n), PUBLISHED_ERROR[name][k])
        for name in METHODS
        for k, n in enumerate(LABELED)
    ]


def objective_rows(found: Found) -> list[dict[str, Any]]:
    """Return the rows of Table 2."""
    return [
        objective_row(
            n,
            name,
            [result[name][1] for result in draws(found, n)],
            PUBLISHED_OBJECTIVE[name][k] if name in PUBLISHED_OBJECTIVE else None,
        )
        for name in METHODS
        if name != "SVM"
        for k, n in enumerate(LABELED)
    ]


def curves(found: Found) -> list[Curve]:
    """Return Table 3 as curves, and as it was published."""
    ours = {name: [errors_of(found, name, n) for n in LABELED] for name in METHODS}
    theirs = {
        name: [[error] for error in PUBLISHED_ERROR[name][: len(LABELED)]] for name in METHODS
    }
    axis = "test error in per cent"
    return [
        Curve("pcmac, here", LABELED, ours, y_name=axis, scale=axis),
        Curve("pcmac, published", LABELED, theirs, y_name=axis, scale=axis),
    ]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan errors and objectives beside the published ones."""
    calls = [(n, seed) for n in LABELED for seed in range(repeat)]
    objectives = "mean objective (Table 2; the row of DA is not at hand)"
    return Plan(
        {
            "splits": repeat,
            "training": TRAINING_ROWS,
            "reg": REG,
            "unlabeled_weight": UNLABELED_WEIGHT,
        },
        [
            Part("mean test error (Table 3)", measure, calls, error_rows, curves),
            Part(objectives, measure, calls, objective_rows),
        ],
    )
