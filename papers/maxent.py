"""Two classes, maxent: methods that know the class shares, beside the order of the paper.

Section 4 and Fig. 5 of Keerthi, Sundararajan and Shevade (2012). Their sets, gcat and aut-avn,
are not at hand: these are two tasks of 20 newsgroups, 8,000 unlabelled rows, the rest for the
test; true class shares. F of the positive class is measured twice: for the predictions, and for
the n(+) test rows with the highest scores, which does not depend on a threshold. The residual
is the largest difference of a mean probability of the unlabelled rows and its share.

Besides the methods of Fig. 5 there are the variants that the text names: entropy regularisation
without the constraint, expectation regularisation, which is a penalty in place of the
constraint, and posterior regularisation with the paper's C = 0.1, read as the weight of a sum
over the unlabelled rows (as equation 13 is printed) and of their mean (as equation 4 is). "All
labels" is the supervised machine that knows the labels of the unlabelled rows too.

The paper's lambda = 1e-3 stands beside a mean over the labelled rows. With few labels the weights
are then so short that hardly a probability is far from the class share, and F at the threshold
one half is small whatever the method. The last table reads lambda as standing beside a sum, that
is 1e-3 divided by the number of labels.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from papers.data import Ints
from papers.many import NEWS, Draw, draw, load_many
from papers.plans import Curve, Found, Part, Plan, draws, mean, standard_error
from papers.table import verdict
from semisvm import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    NewtonSVC,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)
from semisvm.label_steps import top_labels

REPEAT = 5
TASKS = {"balanced": tuple(range(10, 20)), "26% positive": (1, 2, 3, 4, 5)}
"""Name -> groups that are positive: the second half of the names, and comp."""
LABELED = (16, 32, 64, 128, 256, 512)
"""Of Fig. 5."""
FEW, SEVERAL, MANY = 16, 64, 256
SUM_RUNS = 2
"""Draws of the table with the other reading of lambda: fits with less regularisation are slower."""
N_UNLABELED = 8_000
REG = 1e-3
RESIDUAL_BAR = 1e-4
C_KL = 0.1
ALL = "all labels"

Make = Callable[..., Any]
PRINTED_ORDER: dict[str, Make] = {
    "entropy": EntropyRegularizedClassifier,
    "transductive": partial(TransductiveSVC, loss="log"),
    "expectation": ExpectationConstrainedClassifier,
    "posterior": PosteriorRegularizedClassifier,
    "supervised": partial(NewtonSVC, loss="log", tol=1e-5),
}
"""The paper's methods, best first; the first two are close, and so are the next two."""
VARIANTS: dict[str, Make] = {
    "entropy, no constraint": partial(EntropyRegularizedClassifier, constraint_weight=0.0),
    "expectation, penalty 1": partial(ExpectationConstrainedClassifier, constraint_weight=1.0),
    "expectation, penalty 100": partial(ExpectationConstrainedClassifier, constraint_weight=100.0),
    "posterior, C = 0.1 of the sum": partial(
        PosteriorRegularizedClassifier, kl_weight=C_KL * N_UNLABELED
    ),
    "posterior, C = 0.1 of the mean": partial(PosteriorRegularizedClassifier, kl_weight=C_KL),
}
METHODS = {**PRINTED_ORDER, **VARIANTS, ALL: PRINTED_ORDER["supervised"]}
SUPERVISED = ("supervised", ALL)
CONSTRAINED = ("entropy", "expectation")
DRAWN = ("supervised", "transductive", "entropy", "expectation", "posterior")
"""The lines of Fig. 5."""


def measure(
    folder: Path, task: str, intercept: bool, method: str, n_labeled: int, seed: int
) -> dict[str, float]:
    """Fit a method to one draw."""
    return fitted(folder, task, method, n_labeled, seed, reg=REG, fit_intercept=intercept)


def measure_sum(
    folder: Path, task: str, method: str, n_labeled: int, seed: int
) -> dict[str, float]:
    """Fit a method to one draw, with lambda beside a sum over the labelled rows."""
    return fitted(folder, task, method, n_labeled, seed, reg=REG / n_labeled)


def fitted(
    folder: Path, task: str, method: str, n_labeled: int, seed: int, **parameters: Any
) -> dict[str, float]:
    """Fit a method with given parameters, and judge it."""
    X, groups = load_many(folder, NEWS)
    y = np.isin(groups, TASKS[task]).astype(np.intp)
    rows = draw(X, y, n_labeled, N_UNLABELED, seed)
    told = {} if method in SUPERVISED else {"class_prior": rows.prior}
    model = METHODS[method](**parameters, **told)
    return judge(model.fit(rows.X, rows.y if method == ALL else rows.labels), rows)


def judge(model: Any, rows: Draw) -> dict[str, float]:
    """Return both F, and how far the class shares are missed."""
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


def row(found: Found, task: str, intercept: bool, method: str, n_labeled: int) -> dict[str, Any]:
    """Average the runs; the constraint must hold in all of them."""
    runs = draws(found, task, intercept, method, n_labeled)
    worst = max(run["residual"] for run in runs)
    ok = verdict(worst <= RESIDUAL_BAR) if method in CONSTRAINED else None
    return {
        "task": task,
        "labels": n_labeled,
        "method": method,
        "F": round(mean([run["F"] for run in runs]), 3),
        "F of top": round(mean([run["F of top"] for run in runs]), 3),
        "s.e.": round(standard_error([run["F of top"] for run in runs]), 3),
        "largest residual": worst,
        "<= 1e-4": ok,
    }


def table_rows(intercept: bool, found: Found) -> list[dict[str, Any]]:
    """Return the methods in the order of the paper, then the variants, with few labels."""
    return [
        row(found, task, intercept, method, n)
        for task in TASKS
        for n in (FEW, SEVERAL)
        for method in (*PRINTED_ORDER, *VARIANTS)
    ]


def sum_rows(found: Found) -> list[dict[str, Any]]:
    """Return both F of every method with the other reading of lambda."""
    rows = []
    for task in TASKS:
        for n in (FEW, SEVERAL, MANY):
            row: dict[str, Any] = {"task": task, "labels": n, "reg": REG / n}
            for method in DRAWN:
                runs = draws(found, task, method, n)
                values = [mean([run[score] for run in runs]) for score in ("F", "F of top")]
                row[method] = "{:.2f} ({:.2f})".format(*values)
            rows.append(row)
    return rows


def fig_rows(found: Found) -> list[dict[str, Any]]:
    """Return Fig. 5 as a table."""
    return [
        {"task": task, "labels": n, "measure": score, **_fig_cells(found, task, n, score)}
        for task in TASKS
        for score in ("F", "F of top")
        for n in LABELED
    ]


def _fig_cells(found: Found, task: str, n: int, score: str) -> dict[str, float]:
    points = {(method, n) for method in DRAWN} | {(ALL, LABELED[-1])}
    return {
        method: round(mean([run[score] for run in draws(found, task, True, method, at)]), 3)
        for method, at in sorted(points, key=lambda point: (*DRAWN, ALL).index(point[0]))
    }


def fig_curves(found: Found) -> list[Curve]:
    """Return the panels of Fig. 5: both tasks, by predictions and by ranks."""
    curves = []
    for task in TASKS:
        for score, name in (("F", "F"), ("F of top", "F of the n(+) highest scores")):
            lines = {
                m: [[r[score] for r in draws(found, task, True, m, n)] for n in LABELED]
                for m in DRAWN
            }
            known = mean([r[score] for r in draws(found, task, True, ALL, LABELED[-1])])
            curves.append(Curve(f"{task} (Fig. 5)", LABELED, lines, {ALL: known}, y_name=name))
    return curves


def plan(folder: Path, repeat: int) -> Plan:
    """Plan both F of every method, with and without an intercept, and Fig. 5."""
    seeds, parts = range(repeat), []
    for intercept in (True, False):
        title = f"mean F of the positive class, {'with' if intercept else 'without'} intercept"
        calls = [
            (task, intercept, method, n, seed)
            for task in TASKS
            for method in (*PRINTED_ORDER, *VARIANTS)
            for n in (FEW, SEVERAL)
            for seed in seeds
        ]
        parts.append(Part(title, measure, calls, partial(table_rows, intercept)))
    points = [(m, n) for m in DRAWN for n in LABELED] + [(ALL, LABELED[-1])]
    calls = [(task, True, *point, seed) for task in TASKS for point in points for seed in seeds]
    parts.append(Part("F over labelled rows (Fig. 5)", measure, calls, fig_rows, fig_curves))
    sums = [
        (task, method, n, seed)
        for task in TASKS
        for n in (FEW, SEVERAL, MANY)
        for method in DRAWN
        for seed in range(min(repeat, SUM_RUNS))
    ]
    title = "F (of the highest scores), lambda beside a sum over the labelled rows"
    parts.append(Part(title, measure_sum, sums, sum_rows))
    return Plan({"runs": repeat, "unlabelled": N_UNLABELED, "reg": REG}, parts)
