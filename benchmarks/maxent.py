"""Two classes, maxent: methods that know the class shares, beside the order of the paper.

Two tasks of 20 newsgroups, 8,000 unlabelled rows, the rest for the test; true class
shares. F of the positive class is measured twice: for the predictions, and for the n(+)
test rows with the highest scores, which does not depend on a threshold. The residual is
the largest difference of a mean probability of the unlabelled rows and its share.
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from semisvm import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    NewtonSVC,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)
from semisvm.label_steps import top_labels
from semisvm.reproduce.data import Ints
from semisvm.reproduce.many import NEWS, Draw, draw, in_parallel, load_many
from semisvm.reproduce.table import Report, verdict

REPEAT = 5
TASKS = {"balanced": tuple(range(10, 20)), "26% positive": (1, 2, 3, 4, 5)}
"""Name -> groups that are positive: the second half of the names, and comp."""
LABELED = (16, 64)
N_UNLABELED = 8_000
REG = 1e-3
RESIDUAL_BAR = 1e-4
PRINTED_ORDER = ("entropy", "transductive", "expectation", "posterior", "supervised")
"""The paper's methods, best first; the first two are close, and so are the next two."""
CONSTRAINED = ("entropy", "expectation")


def machine(method: str, prior: Any, intercept: bool) -> Any:
    """Make the estimator of a method."""
    shared: dict[str, Any] = {"reg": REG, "fit_intercept": intercept}
    if method == "supervised":
        return NewtonSVC(loss="log", tol=1e-5, **shared)
    if method == "transductive":
        return TransductiveSVC(loss="log", class_prior=prior, **shared)
    made: dict[str, Any] = {
        "entropy": EntropyRegularizedClassifier,
        "expectation": ExpectationConstrainedClassifier,
        "posterior": PosteriorRegularizedClassifier,
    }
    return made[method](class_prior=prior, **shared)


def measure(
    folder: Path, task: str, n_labeled: int, seed: int, intercept: bool
) -> dict[str, dict[str, float]]:
    """Fit all methods to one draw."""
    X, groups = load_many(folder, NEWS)
    y = np.isin(groups, TASKS[task]).astype(np.intp)
    rows = draw(X, y, n_labeled, N_UNLABELED, seed)
    return {name: judge(machine(name, rows.prior, intercept), rows) for name in PRINTED_ORDER}


def judge(model: Any, rows: Draw) -> dict[str, float]:
    """Return both F, and how far the class shares are missed."""
    model.fit(rows.X, rows.labels)
    scores, truth = model.decision_function(rows.X_test), rows.y_test
    top = top_labels(scores, int(truth.sum())).astype(np.intp)
    return {"F": f(truth, scores > 0), "F of top": f(truth, top), "residual": residual(model, rows)}


def f(truth: Ints, found: Any) -> float:
    """Return F of the positive class; zero where nothing is found."""
    return float(f1_score(truth, found, zero_division=0.0))


def residual(model: Any, rows: Draw) -> float:
    """Compare mean probabilities of the unlabelled rows with the class shares."""
    p = model.predict_proba(rows.X[rows.n_labeled :])
    return float(np.abs(p.mean(axis=0) - rows.prior).max())


def row(task: str, n_labeled: int, method: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Average the runs; the constraint must hold in all of them."""
    worst = max(run["residual"] for run in runs)
    ok = verdict(worst <= RESIDUAL_BAR) if method in CONSTRAINED else None
    return {
        "task": task,
        "labels": n_labeled,
        "method": method,
        "F": round(float(np.mean([run["F"] for run in runs])), 3),
        "F of top": round(float(np.mean([run["F of top"] for run in runs])), 3),
        "s.e.": round(float(np.std([r["F of top"] for r in runs]) / np.sqrt(len(runs))), 3),
        "largest residual": worst,
        "<= 1e-4": ok,
    }


def rows_of(folder: Path, repeat: int, intercept: bool) -> list[dict[str, Any]]:
    """Measure all tasks; the methods are in the order of the paper."""
    settings = [(task, n) for task in TASKS for n in LABELED]
    calls = [(folder, *setting, s, intercept) for setting in settings for s in range(repeat)]
    results = in_parallel(measure, calls)
    rows = []
    for task, n in settings:
        runs = [next(results) for _ in range(repeat)]
        rows += [row(task, n, name, [run[name] for run in runs]) for name in PRINTED_ORDER]
    return rows


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print both F of every method, with and without an intercept."""
    report = Report("maxent", runs=repeat, unlabelled=N_UNLABELED, reg=REG)
    for intercept in (True, False):
        title = f"mean F of the positive class, {'with' if intercept else 'without'} intercept"
        report.table(title, rows_of(folder, repeat, intercept))
    return report.result()
