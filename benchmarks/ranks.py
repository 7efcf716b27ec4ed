"""Every method at its defaults, `auto`, and tuned rivals, on all sets at hand.

Sets of 2 to 20 classes, at most 2,250 rows drawn at random, unit rows; columns in different units
are standardised, counts become tf-idf. A third of the rows is kept away from the fits: new rows. Of
the others some have labels, drawn at random, two or more of every class: 20 (four per class if
there are more), and 100 (ten per class). Accuracy on the unlabelled rows of the fit, and on the new
ones. The rivals are tuned on the labels (`rivals.py`), ours are not.
A case is a set with a number of labels, averaged over the draws. Gains are points over `NewtonSVC`,
"over LR" points over the tuned LogisticRegression.
Seconds, and the time limit of `auto`, are those of the processor: a busy machine changes nothing.
Of the probabilities of `auto`: log-loss, mean confidence in the predicted class, and the expected
calibration error (ECE), the mean distance of confidence and accuracy in ten bins of confidence with
as many rows each; the bar is a mean ECE of 5% with 100 labels.

The rules of `auto` were chosen with other draws, on the sets marked "chosen on".
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import UNLABELED, load_coded
from papers.table import Report, verdict
from sklearn.preprocessing import normalize

from benchmarks.rivals import rivals, rotated
from semisvm.estimators import registry
from semisvm.model_selection import choose
from semisvm.tables.scaling import fit_scaling

REPEAT = 2
MOST_ROWS = 1_500
FIRST_SEED = 1_000
MOST_CLASSES = 20
BASE, AUTO, RIVAL = "svm", "auto", "LogisticRegression"
PLACES = ("unlabelled", "new")
METHODS = ("svm", "tsvm", "da", "lapsvm", "means3vm", "gradient")
Cases = dict[tuple[str, bool], dict[str, float]]
LEAST_GAIN, WORST, MOST_WORSE = 4.5, -2.5, 8.0
MOST_ECE = 5.0


def prepared(folder: Path, name: str, seed: int, most: int = MOST_ROWS) -> tuple[Any, Any]:
    """Load a set and draw rows; classes with fewer than four rows are left out."""
    X, y = load_coded(folder, name)
    if name == "imdb_tfidf":  # the last class is of rows without label
        X, y = X[np.flatnonzero(y < y.max())], y[y < y.max()]
    rows = np.random.default_rng(seed).permutation(len(y))[:most]
    rows = rows[np.bincount(y[rows])[y[rows]] >= 4]
    X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
    X = X if hasattr(X, "tocsr") else np.nan_to_num(X.astype(np.float64))
    scaling = fit_scaling(X)
    return normalize(X if scaling is None else scaling.transform(X)), y


def labelled(y: Any, n_labels: int, seed: int) -> Any:
    """Hide all labels but some: two of every class, the rest at random."""
    rng = np.random.default_rng(seed)
    classes = range(y.max() + 1)
    two = np.concatenate([rng.choice(np.flatnonzero(y == k), 2, replace=False) for k in classes])
    free = rng.permutation(np.setdiff1d(np.arange(len(y)), two))
    # random rows first, as long as they hold two of every class by themselves
    drawn = rng.choice(len(y), n_labels, replace=False)
    enough = np.bincount(y[drawn], minlength=len(classes)).min() >= 2
    rows = drawn if enough else np.concatenate([two, free[: max(n_labels - len(two), 0)]])
    partly = np.full(len(y), UNLABELED)
    partly[rows] = y[rows]
    return partly


def ours() -> dict[str, Callable[[Any, Any], Any]]:
    """Return functions that fit to partly labelled rows and give a model with predict."""
    return {**{name: registry.get(name).make().fit for name in METHODS}, AUTO: chosen}


def chosen(X: Any, y: Any) -> Any:
    """Let `auto` choose, and fit."""
    with patch("semisvm.compiling.perf_counter", process_time):
        return choose(X, y).make().fit(X, y)


def case(
    folder: Path, name: str, few: bool, seed: int, methods: list[str] | None = None
) -> tuple[dict[str, tuple[float, float, float]], dict[str, dict[str, float]]]:
    """Return accuracies in %, on unlabelled and on new rows, and seconds of every method.

    And the quality of the probabilities of `auto` in both places.
    """
    X, y = prepared(folder, name, seed, MOST_ROWS + MOST_ROWS // 2)
    n, m = 2 * len(y) // 3, int(y.max()) + 1
    n_labels = max(4 * m, 20) if few else max(10 * m, 100)
    partly = labelled(y[:n], min(n_labels, n // 2), seed)
    # rows come in random order, so the last third is a random one
    free, flat, found, quality = np.flatnonzero(partly == UNLABELED), rotated(X), {}, {}
    places = dict(zip(PLACES, (free, np.arange(n, len(y))), strict=True))
    wanted = None if methods is None else {BASE, RIVAL, *methods}
    for rows, fits in ((X, ours()), (flat, rivals())):
        for method, fit in fits.items():
            if wanted is not None and method not in wanted:
                continue
            start = process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fit(rows[:n], partly)
                right = 100.0 * (np.asarray(model.predict(rows)) == y)
            seconds = process_time() - start
            unlabelled, new = (float(right[part].mean()) for part in places.values())
            found[method] = (unlabelled, new, seconds)
            if method == AUTO:
                p = model.predict_proba(rows)
                quality = {place: reliability(p[part], y[part]) for place, part in places.items()}
    return found, quality


def reliability(p: Any, y: Any) -> dict[str, float]:
    """Return log-loss, accuracy, mean confidence and ECE of probabilities (n, m), in %."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence, kind="stable"), 10)
    gaps = [abs(confidence[rows].mean() - right[rows].mean()) * len(rows) for rows in bins]
    return {
        "log-loss": float(-np.mean(np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)))),
        "accuracy": 100.0 * float(right.mean()),
        "confidence": 100.0 * float(confidence.mean()),
        "ECE": 100.0 * float(np.sum(gaps) / len(y)),
    }


def names_of(folder: Path, wanted: list[str] | None) -> list[str]:
    """List the sets at hand that have few enough classes."""
    there = sorted(place.parent.name for place in folder.glob("*/y.npy"))
    return [name for name in wanted or there if _n_classes(folder, name) <= MOST_CLASSES]


def _n_classes(folder: Path, name: str) -> int:
    return len(np.unique(np.load(folder / name / "y.npy")))


def chosen_on(folder: Path, name: str) -> bool:
    """Return whether a set was used to choose the rules: every second one, by name."""
    return names_of(folder, None).index(name) % 2 == 0


def summaries(cases: Cases) -> Iterator[dict[str, Any]]:
    """Yield a row per method: gain and its interval over cases, worst case, cases worse, rank."""
    names = list(next(iter(cases.values())))
    table = np.array([[found[name] for name in names] for found in cases.values()])
    ranks = 1 + (table[:, :, None] < table[:, None, :] - 1e-9).sum(axis=2)
    gains = table - table[:, [names.index(BASE)]]
    for k, name in enumerate(names):
        yield {
            "method": name,
            "mean gain": float(gains[:, k].mean()),
            "± (95%)": float(1.96 * gains[:, k].std() / np.sqrt(len(gains))),
            "over LR": float((table[:, k] - table[:, names.index(RIVAL)]).mean()),
            "worst": float(gains[:, k].min()),
            "worst over LR": float((table[:, k] - table[:, names.index(RIVAL)]).min()),
            "worse %": 100.0 * float(np.mean(gains[:, k] < -0.5)),
            "mean rank": float(ranks[:, k].mean()),
        }


def run(
    folder: Path, repeat: int, sets: list[str] | None = None, methods: list[str] | None = None
) -> dict[str, Any]:
    """Print every case, and the summaries of all sets and of those not chosen on.

    With ``methods``, only these are fitted besides `NewtonSVC` and the tuned LogisticRegression.
    """
    report = Report("ranks", draws=repeat, rows=MOST_ROWS)
    cases: dict[str, Cases] = {place: {} for place in PLACES}
    times: dict[str, list[float]] = {}
    quality: list[dict[str, Any]] = []
    for name in names_of(folder, sets):
        rows = []
        for few in (True, False):
            cases_of = [case(folder, name, few, FIRST_SEED + k, methods) for k in range(repeat)]
            draws = [found for found, _ in cases_of]
            for k, place in enumerate(PLACES):
                found = {m: float(np.mean([d[m][k] for d in draws])) for m in draws[0]}
                cases[place][name, few] = found
                about = {"labels": "few" if few else "more", "rows": place}
                rows.append({**about, **found})
                quality += [{**about, **own[place]} for _, own in cases_of if own]
            for m in draws[0]:
                times.setdefault(m, []).extend(d[m][-1] for d in draws)
        role = "chosen on" if chosen_on(folder, name) else "not chosen on"
        report.table(f"{name} ({role})", rows)
    for place in PLACES:
        others = {key: v for key, v in cases[place].items() if not chosen_on(folder, key[0])}
        for title, part in (("all sets", cases[place]), ("sets not chosen on", others)):
            if part:
                rows = [_judged(row, times) for row in summaries(part)]
                report.table(f"{title}, {place} rows", rows)
    if quality:
        report.table(f"probabilities of {AUTO}, all sets", list(_qualities(quality)))
    return report.result()


def _qualities(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for labels, place in product(("few", "more"), PLACES):
        own = [row for row in rows if (row["labels"], row["rows"]) == (labels, place)]
        means = {key: float(np.mean([row[key] for row in own])) for key in list(own[0])[2:]}
        bar = verdict(means["ECE"] <= MOST_ECE) if labels == "more" else ""
        yield {"labels": labels, "rows": place, **means, "bar": bar}


def _judged(row: dict[str, Any], times: dict[str, list[float]]) -> dict[str, Any]:
    row["median seconds"] = float(np.median(times[row["method"]]))
    bars = row["mean gain"] >= LEAST_GAIN and row["worst"] > WORST and row["worse %"] <= MOST_WORSE
    row["bar"] = verdict(bars) if row["method"] == AUTO else ""
    return row
