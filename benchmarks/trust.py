"""Whether probabilities and sets of classes can be trusted, and verdicts on the unlabelled rows.

shift: 200 new rows are drawn with other shares of the classes, twenty times, any shares with the
same probability. Errors of the estimated shares, in points of a class: predictions counted,
`Model.adapt`, and QuaPy's EMQ around LogisticRegression, as it comes and with calibration, where
QuaPy is installed and its calibration does not fail.

Every third unlabelled row is kept away from the fits: a new row. Probabilities are judged on these,
sets of classes on these and on the unlabelled rows of the fit, each by a model made for that use.
"""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Ints, Matrix, PartlyLabeled, hide, load
from papers.table import Report
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import normalize, scale

from semisvm import Model, NewtonSVC, TransductiveSVC
from semisvm.model_selection import CalibratedPartialClassifier, choose, compare

REPEAT = 6
REG = 1e-3
N_ROWS = 2000
# set and numbers of labels
PROBABILITIES = {
    "text1_pcmac": (20, 50, 150),
    "20news_tfidf": (100,),
    "r8_tfidf": (100,),
}
# set and numbers of labels
SETS_OF_CLASSES = {
    "text1_pcmac": (20, 50, 150),
    "wdbc": (30,),
    "20news_tfidf": (100,),
    "r8_tfidf": (100,),
    "optdigits": (100,),
}
COVERAGES = (0.8, 0.9)
SHIFT: dict[str, tuple[int, ...]] = dict.fromkeys(
    ("australian", "digit1", "g50c", "ionosphere", "lasvm_reuters", "text1_pcmac"), (20, 100)
)
SHIFTS, SHIFTED_ROWS = 20, 200
SHIFT_COLUMNS = ("counted", "adapt", "EMQ", "EMQ, calibrated", "accuracy %", "adapted %")
VERDICTS = {
    "text1_pcmac": (20, 40, 100),
    "20news_tfidf": (50,),
    "australian": (20, 60),
    "ionosphere": (20, 60),
}


def read(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set with classes 0, 1, ...; the newsgroups as two classes."""
    X, y = load(folder, name)
    if isinstance(X, np.ndarray):
        X = normalize(scale(X))
    if name == "20news_tfidf":
        y = (y >= 10).astype(np.intp)
    return X, np.unique(y, return_inverse=True)[1].astype(np.intp)


def draw(X: Matrix, y: Ints, n_labels: int, seed: int) -> PartlyLabeled:
    """Draw rows, and labels at random, again while a class has fewer than five."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:N_ROWS]
    fewest = 5 if y.max() == 1 else 2
    while True:
        labeled = rng.choice(len(rows), n_labels, replace=False)
        if np.bincount(y[rows][labeled], minlength=y.max() + 1).min() >= fewest:
            return hide(X[rows], y[rows], labeled)


def raw_probabilities(model: Any, X: Matrix) -> Any:
    """Take the scores for logarithms of probabilities, which they are not."""
    scores = model.estimator_.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return softmax(scores, axis=1)


def without_new(data: PartlyLabeled) -> tuple[PartlyLabeled, Ints]:
    """Return the rows of the fit, and the numbers of the new rows."""
    new = data.unlabeled[::3]
    kept = np.setdiff1d(np.arange(len(data.y)), new)
    return PartlyLabeled(data.X[kept], data.labels[kept], data.y[kept]), new


def calibrated(data: PartlyLabeled) -> dict[str, float]:
    """Return log loss, accuracy and mean confidence on new rows."""
    fit, new = without_new(data)
    classes, hidden, found = np.unique(data.y), data.y[new], {}
    folds = 2 if len(classes) > 2 else 5
    for method in ("temperature", "sigmoid"):
        model = CalibratedPartialClassifier(TransductiveSVC(reg=REG), method=method, cv=folds)
        model.fit(fit.X, fit.labels)
        ways = {method: model.predict_proba(data.X[new])}
        if method == "temperature":
            ways["raw"] = raw_probabilities(model, data.X[new])
        for way, p in ways.items():
            right = np.mean(p.argmax(axis=1) == hidden)
            found[f"{way} log loss"] = float(log_loss(hidden, p, labels=classes))
            found[f"{way} accuracy %"] = 100.0 * float(right)
            found[f"{way} confidence %"] = 100.0 * float(p.max(axis=1).mean())
    return found


def calibration_rows(
    name: str, n_labels: int, runs: list[dict[str, float]]
) -> list[dict[str, Any]]:
    """Average the draws of a setting."""
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    columns = [f"{way} log loss" for way in ("raw", "temperature", "sigmoid")]
    columns += [f"temperature {what} %" for what in ("accuracy", "confidence")]
    columns += [f"sigmoid {what} %" for what in ("accuracy", "confidence")]
    shown = {key: round(mean[key], 1 if key.endswith("%") else 3) for key in columns}
    return [{"set": name, "labels": n_labels, **shown}]


def covered(data: PartlyLabeled) -> dict[str, dict[str, float]]:
    """Return coverage and size of sets of classes, of a linear model and of one with a kernel.

    One row for the unlabelled rows of the fit, one for new rows.
    """
    fit, new = without_new(data)
    judged = {
        "transduction": ("unlabelled", fit.X[fit.unlabeled], fit.y[fit.unlabeled]),
        "new_rows": ("new", data.X[new], data.y[new]),
    }
    folds = 2 if data.y.max() > 1 else 5
    ways: dict[str, dict[str, Any]] = {"linear": {}, "kernel": {"kernel": "rbf"}}
    found: dict[str, dict[str, float]] = {}
    for use, (rows, X, hidden) in judged.items():
        row = found.setdefault(rows, {})
        for way, parameters in ways.items():
            estimator = TransductiveSVC(reg=REG, **parameters)
            model = CalibratedPartialClassifier(estimator, cv=folds, use=use)
            model.fit(fit.X, fit.labels)
            row[f"{way} accuracy %"] = 100.0 * float(model.score(X, hidden))
            for coverage in COVERAGES:
                inside = model.predict_sets(X, coverage)
                held = inside[np.arange(len(hidden)), hidden]
                row[f"{way} {coverage:.0%}"] = 100.0 * float(held.mean())
                row[f"{way} {coverage:.0%} size"] = float(inside.sum(axis=1).mean())
    return found


def coverage_rows(
    name: str, n_labels: int, runs: list[dict[str, dict[str, float]]]
) -> list[dict[str, Any]]:
    """Average the draws of a setting."""
    found = []
    for rows, first in runs[0].items():
        mean = {key: float(np.mean([run[rows][key] for run in runs])) for key in first}
        shown = {key: round(value, 2 if key.endswith("size") else 1) for key, value in mean.items()}
        found.append({"set": name, "labels": n_labels, "rows": rows, **shown})
    return found


def judged(data: PartlyLabeled) -> dict[str, Any]:
    """Compare on the labelled rows, and look up the truth on the others."""
    free = data.unlabeled
    methods = {"SVM": NewtonSVC(reg=REG), "TSVM": TransductiveSVC(reg=REG, class_prior="estimate")}
    difference = compare(methods, data.X, data.labels).differences[0]
    scores = [
        method.fit(data.X, data.labels).score(data.X[free], data.y[free])
        for method in methods.values()
    ]
    truth = scores[1] - scores[0]
    low, high = difference.interval
    return {"verdict": difference.verdict, "truth": truth, "covered": low <= truth <= high}


def shifted(data: PartlyLabeled) -> dict[str, float]:
    """Return errors of estimated class shares, and accuracies, of new rows with other shares."""
    fit, new = without_new(data)
    model = Model.of(choose(fit.X, fit.labels).make().fit(fit.X, fit.labels))
    known = fit.labels != UNLABELED
    counters = quantifiers(fit.X[known], fit.labels[known])
    p, X, y = model.predict_proba(data.X[new]), data.X[new], data.y[new]
    rng, found = np.random.default_rng(0), []
    for _ in range(SHIFTS):
        counts = rng.multinomial(SHIFTED_ROWS, rng.dirichlet(np.ones(y.max() + 1)))
        rows = [rng.choice(np.flatnonzero(y == k), c) for k, c in enumerate(counts) if c]
        own = np.concatenate(rows)
        truth = counts / counts.sum()
        shares = {
            "counted": np.bincount(p[own].argmax(axis=1), minlength=len(counts)) / len(own),
            "adapt": model.estimate_shares(p[own]),
            **{name: count(X[own]) for name, count in counters.items()},
        }
        adapted = model.adapt(shares["adapt"])
        found.append(
            {name: 100.0 * float(np.abs(q - truth).mean()) for name, q in shares.items()}
            | {"accuracy %": 100.0 * float(np.mean(p[own].argmax(axis=1) == y[own]))}
            | {"adapted %": 100.0 * float(np.mean(adapted.predict(X[own]) == y[own]))}
        )
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def quantifiers(X: Matrix, y: Ints) -> dict[str, Any]:
    """Return functions of QuaPy that estimate shares of rows, if it is installed."""
    if find_spec("quapy") is None:
        return {}
    from quapy.method.aggregative import EMQ  # type: ignore[import-not-found]

    found = {}
    for name, calibration in (("EMQ", None), ("EMQ, calibrated", "bcts")):
        model = EMQ(LogisticRegression(C=10.0, max_iter=1000), calib=calibration)
        with suppress(RuntimeError):
            found[name] = model.fit(X, y).predict
    return found


def shift_rows(name: str, n_labels: int, runs: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Average the draws of a setting."""
    there = [key for key in SHIFT_COLUMNS if any(key in run for run in runs)]
    means = {key: float(np.mean([run.get(key, np.nan) for run in runs])) for key in there}
    return [{"set": name, "labels": n_labels, **means}]


def verdict_rows(name: str, n_labels: int, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count the verdicts of the draws."""
    words = [run["verdict"] for run in runs]
    wrong = sum(
        (run["verdict"] == "helped" and run["truth"] <= 0.0)
        or (run["verdict"] == "hurt" and run["truth"] >= 0.0)
        for run in runs
    )
    row = {
        "set": name,
        "labels": n_labels,
        "true gain %": round(100.0 * float(np.mean([run["truth"] for run in runs])), 1),
        "helped": words.count("helped"),
        "no evidence": words.count("no evidence"),
        "hurt": words.count("hurt"),
        "wrong": wrong,
        "interval covers": f"{sum(run['covered'] for run in runs)} of {len(runs)}",
    }
    return [row]


TABLES: dict[str, tuple[str, dict[str, tuple[int, ...]], Any, Any]] = {
    "probabilities": (
        "probabilities of TransductiveSVC on new rows",
        PROBABILITIES,
        calibrated,
        calibration_rows,
    ),
    "classes": (
        "coverage by sets of classes",
        SETS_OF_CLASSES,
        covered,
        coverage_rows,
    ),
    "shift": (
        "errors of estimated class shares, in points",
        SHIFT,
        shifted,
        shift_rows,
    ),
    "verdicts": (
        "verdicts of compare: TransductiveSVC against NewtonSVC",
        VERDICTS,
        judged,
        verdict_rows,
    ),
}


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print the tables; ``sets`` are some of them: probabilities, classes, shift, verdicts."""
    report = Report("trust", draws=repeat, reg=REG, rows=N_ROWS)
    for title, sizes_of, measure, rows_of in (TABLES[name] for name in sets or TABLES):
        rows = []
        for name, sizes in sizes_of.items():
            X, y = read(folder, name)
            for n in sizes:
                found = [measure(draw(X, y, n, seed)) for seed in range(repeat)]
                rows += rows_of(name, n, found)
        report.table(title, rows)
    return report.result()
