"""Do 95% intervals hold? Labels are drawn again and again, and the truth is known each time.

- folds: what `compare` reports, and `fit` and reports show. Labels are drawn at random, with
  unlabelled rows. The truth is the accuracy of the model that is fitted to all labels, on the
  unlabelled rows and on all others, with the same weight, as `compare` judges both; the
  difference of two such models; and that to the most frequent class.
- scores: other scores of the supervised machine on labels that were held out, in the same way.
- fresh: what `evaluate` reports of rows that had no part in the fit: the accuracy, and how far it
  is ahead of guessing the most frequent class.
- shares: the share of each class among all rows, by `prediction_powered_shares`; beside it the
  width of the interval from the labels alone.

Columns are in %. "under" and "over": the truth is below the interval, or above. The bar is a
coverage of 93 to 97% in the mean over the sets, within two standard errors of the simulation.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from papers.data import Ints, Matrix, load_coded
from papers.table import Report, verdict
from sklearn.preprocessing import normalize, scale

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.labels.partial import hide_labels
from semisvm.model_selection import compare, partial_scorer, prediction_powered_shares
from semisvm.model_selection.intervals import wilson_interval
from semisvm.model_selection.verdict import against_chance

REPEAT = 100
LABELS = (12, 30, 100, 200)
SETS = ("text1_pcmac", "wdbc", "r8_tfidf", "optdigits", "australian", "pima")
N_UNLABELED = 200
MOST_ROWS = 4_000
REG = 1e-2
OTHER_SCORES = ("balanced_accuracy", "f1_macro")
LEAST, MOST = 93.0, 97.0

Case = tuple[float, tuple[float, float]]
"""The truth, and an interval for it."""


def read(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load rows of length one and classes from 0 on."""
    X, y = load_coded(folder, name)
    X = normalize(scale(X)) if isinstance(X, np.ndarray) else normalize(X).tocsr()
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return X[rows], y[rows]


def drawn(y: Ints, n_labels: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Draw rows of a fit, their labels, of which the first are known, and the other rows."""
    rows = np.random.default_rng(seed).permutation(len(y))
    fit, new = np.split(rows, [n_labels + N_UNLABELED])
    return fit, hide_labels(y[fit], np.arange(len(fit)) >= n_labels), new


def folds(rows_of: tuple[Matrix, Ints], n_labels: int, seed: int) -> Iterator[tuple[str, Case]]:
    """Compare two methods on held-out labels, and on all rows that had no part."""
    X, y = rows_of
    fit, labels, new = drawn(y, n_labels, seed)
    if np.bincount(y[fit][:n_labels]).max() < 5:
        return
    methods = {"svm": NewtonSVC(reg=REG), "tsvm": TransductiveSVC(reg=REG)}
    found = compare(methods, X[fit], labels)
    parts = fit[n_labels:], new
    truth = {}
    for name, method in methods.items():
        model = method.fit(X[fit], labels)
        truth[name] = float(np.mean([model.score(X[part], y[part]) for part in parts]))
    for name, value in truth.items():
        yield name, (value, found[name].interval)
    yield "tsvm - svm", (truth["tsvm"] - truth["svm"], found.differences[0].interval)
    most = np.bincount(y[fit][:n_labels]).argmax()
    guess = float(np.mean([np.mean(y[part] == most) for part in parts]))
    chance = found["svm"].chance
    assert chance is not None
    yield "svm - guess", (truth["svm"] - guess, chance.interval)


def scores(rows_of: tuple[Matrix, Ints], n_labels: int, seed: int) -> Iterator[tuple[str, Case]]:
    """Judge a method by scores other than the accuracy."""
    X, y = rows_of
    fit, labels, new = drawn(y, n_labels, seed)
    if np.bincount(y[fit][:n_labels]).max() < 5:
        return
    model = NewtonSVC(reg=REG)
    for name in OTHER_SCORES:
        found = compare({"svm": model}, X[fit], labels, scoring=name)["svm"]
        score, fitted = partial_scorer(name), model.fit(X[fit], labels)
        parts = fit[n_labels:], new
        truth = float(np.mean([score(fitted, X[part], y[part]) for part in parts]))
        yield name, (truth, found.interval)


def fitted(rows_of: tuple[Matrix, Ints]) -> tuple[NDArray[Any], Ints]:
    """Fit a model to 60 labels; return its predictions for, and the classes of, the other rows."""
    X, y = rows_of
    rows = np.random.default_rng(0).permutation(len(y))
    model = NewtonSVC(reg=REG).fit(X[rows[:60]], y[rows[:60]])
    return model.predict(X[rows[60:]]), y[rows[60:]]


def fresh(
    judged: tuple[NDArray[Any], Ints], n_labels: int, seed: int
) -> Iterator[tuple[str, Case]]:
    """Judge one model by labels that it has not seen."""
    predicted, truth = judged
    rows = np.random.default_rng(seed).choice(len(truth), n_labels, replace=False)
    right = predicted == truth
    yield "accuracy", (float(right.mean()), wilson_interval(right[rows].mean(), n_labels))
    guess = truth == np.bincount(truth[rows]).argmax()
    ahead = against_chance(right[rows].tolist(), guess[rows].tolist(), n_labels, bounds=(0.0, 1.0))
    yield "ahead of a guess", (float(right.mean() - guess.mean()), ahead.interval)


def shares(
    judged: tuple[NDArray[Any], Ints], n_labels: int, seed: int
) -> Iterator[tuple[str, Case]]:
    """Estimate the share of each class among all rows."""
    predicted, truth = judged
    rows = np.random.default_rng(seed).choice(len(truth), n_labels, replace=False)
    labels = hide_labels(truth, ~np.isin(np.arange(len(truth)), rows))
    found = prediction_powered_shares(predicted, labels, np.unique(truth))
    for share in found:
        real = float(np.mean(truth == share.name))
        yield "with predictions", (real, share.interval)
        yield "labels alone", (real, share.labels_alone)


KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Iterator[tuple[str, Case]]]]] = {
    "folds": (lambda rows_of: rows_of, folds),
    "scores": (lambda rows_of: rows_of, scores),
    "fresh": (fitted, fresh),
    "shares": (fitted, shares),
}


def row_of(name: str, n_labels: int, what: str, cases: list[Case]) -> dict[str, Any]:
    """Count how often intervals hold the truth."""
    truth, low, high = np.array([(value, *interval) for value, interval in cases]).T
    return {
        "set": name,
        "labels": n_labels,
        "interval for": what,
        "cases": len(cases),
        "covered": 100.0 * float(np.mean((low <= truth) & (truth <= high))),
        "under": 100.0 * float(np.mean(truth < low)),
        "over": 100.0 * float(np.mean(truth > high)),
        "width": 100.0 * float(np.mean(high - low)),
        "least width": 100.0 * float(np.min(high - low)),
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average over the sets, and judge."""
    found = []
    for n_labels, what in dict.fromkeys((row["labels"], row["interval for"]) for row in rows):
        own = [r for r in rows if (r["labels"], r["interval for"]) == (n_labels, what)]
        covered = float(np.mean([row["covered"] for row in own]))
        noise = 200.0 * np.sqrt(0.05 * 0.95 / sum(row["cases"] for row in own))
        within = LEAST - noise <= covered <= MOST + noise
        ends = {"lowest": min(r["covered"] for r in own), "highest": max(r["covered"] for r in own)}
        width = float(np.mean([row["width"] for row in own]))
        degenerate = any(row["least width"] <= 0.0 for row in own)
        found.append(
            {"labels": n_labels, "interval for": what, "covered": covered, **ends, "width": width}
            | {"verdict": verdict(within and not degenerate)}
        )
    return found


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print tables for the kinds and sets, of all or of those named."""
    report = Report("coverage", draws=repeat)
    kinds = [kind for kind in KINDS if sets is None or kind in sets] or list(KINDS)
    names = [name for name in SETS if sets is None or name in sets] or list(SETS)
    for kind in kinds:
        rows = []
        for name in names:
            rows_of = read(folder, name)
            prepare, measure = KINDS[kind]
            prepared = prepare(rows_of)
            for n_labels in (n for n in LABELS if 2 * n + N_UNLABELED < len(rows_of[1])):
                cases: dict[str, list[Case]] = {}
                with warnings.catch_warnings():
                    # a class with one label is never held out: part of what is measured
                    warnings.simplefilter("ignore", UserWarning)
                    for seed in range(repeat):
                        for what, case in measure(prepared, n_labels, seed):
                            cases.setdefault(what, []).append(case)
                rows += [row_of(name, n_labels, what, each) for what, each in cases.items()]
        report.table(kind, rows)
        report.table(f"{kind}, mean over the sets", summary(rows))
    return report.result()
