"""Rows that are certified by random labels: how often the bound is broken, and how many there are.

A model is fitted to 100 labels of each set. Random labels of the other rows are drawn again and
again, and `certify` finds the rows that may take their predicted label. A bound is broken where a
larger share of these is predicted wrongly; that may happen in at most 5% of the draws.

"oracle" is the mean number of rows that one test gives with as many labels, of the certainty that
is best by the true errors. "limit" is the largest number of rows that meets the bound, which only
all labels can find. By class, the oracle has one test per class.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from papers.data import Ints
from papers.table import Report, verdict

from benchmarks.coverage import read
from semisvm import NewtonSVC
from semisvm.estimators.margins import margins
from semisvm.labels.partial import hide_labels
from semisvm.model_selection import certify
from semisvm.model_selection.risk_control import Bound, few_errors

REPEAT = 1000
SETS = ("text1_pcmac", "wdbc", "r8_tfidf", "lasvm_reuters", "usps_ssl", "optdigits")
N_FIT = 100
N_SAMPLE = (100, 200, 400)
ERRORS = (0.02, 0.05)
CONFIDENCE = 0.95
REG = 1e-2
ENOUGH = 0.9


class Scored:
    """A fitted model that looks up scores, shape (n,) or (n, m)."""

    def __init__(self, model: Any, X: Any) -> None:
        self.classes_ = model.classes_
        self._scores, self._labels = model.decision_function(X), model.predict(X)

    def decision_function(self, rows: Any) -> NDArray[Any]:
        """Return the scores of rows."""
        return np.asarray(self._scores[rows[:, 0]])

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the labels of rows."""
        return np.asarray(self._labels[rows[:, 0]])


def scored(folder: Path, name: str) -> tuple[Scored, Ints]:
    """Fit a model to a few rows; return it, and the classes of the others."""
    X, y = read(folder, name)
    rows = np.random.default_rng(0).permutation(len(y))
    model = NewtonSVC(reg=REG).fit(X[rows[:N_FIT]], y[rows[:N_FIT]])
    return Scored(model, X[rows[N_FIT:]]), y[rows[N_FIT:]]


def oracle(
    certainty: NDArray[Any], wrong: NDArray[Any], share: float, error: float, level: float
) -> tuple[float, int]:
    """Return the mean number of rows of the best single test, and of rows that meet the bound."""
    if len(wrong) == 0:
        return 0.0, 0
    order = np.argsort(-certainty, kind="stable")
    n_rows, n_wrong = np.arange(1, len(order) + 1), np.cumsum(wrong[order])
    drawn = np.round(share * n_rows).astype(np.intp)
    allowed = Bound(len(order), int(drawn[-1]), error, level).allowed_errors(n_rows, drawn)
    chances = few_errors(n_rows, n_wrong, drawn, max(int(allowed.max()), 0))
    power = np.where(allowed >= 0, chances[n_rows - 1, np.maximum(allowed, 0)], 0.0)
    meets = np.flatnonzero(n_wrong <= error * n_rows)
    best = float(np.max(power * (n_rows - drawn), initial=0.0))
    return best, int(meets[-1] + 1 - drawn[meets[-1]]) if len(meets) else 0


def measured(
    model: Scored, y: Ints, n_sample: int, error: float, by_class: bool, repeat: int
) -> dict[str, Any]:
    """Draw samples, and count rows and broken bounds."""
    rows = np.arange(len(y))[:, None]
    predicted, certainty = model.predict(rows), np.abs(margins(model.decision_function(rows)))
    wrong = predicted != y
    groups = [predicted == k for k in model.classes_] if by_class else [wrong == wrong]
    broken, counts, refused = 0, [], 0
    for seed in range(repeat):
        drawn = np.random.default_rng(seed).choice(len(y), n_sample, replace=False)
        known = hide_labels(y, ~np.isin(rows[:, 0], drawn))
        try:
            found = certify(
                model, rows, known, error=error, confidence=CONFIDENCE, by_class=by_class
            ).rows
        except ValueError:
            refused += 1
            continue
        counts.append(len(found))
        parts = [found[group[found]] for group in groups]
        broken += any(wrong[part].mean() > error for part in parts if len(part))
    share, level = n_sample / len(y), (1.0 - CONFIDENCE) / len(groups)
    best = [oracle(certainty[g], wrong[g], share, error, level) for g in groups]
    mean, most = float(np.mean(counts)), sum(rows for rows, _ in best)
    noise = 200.0 * np.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / repeat)
    return {
        "rows": len(y) - n_sample,
        "wrong": 100.0 * float(wrong.mean()),
        "certified": mean,
        "oracle": most,
        "limit": sum(limit for _, limit in best),
        "of oracle": 100.0 * mean / most if most else None,
        "broken": 100.0 * broken / repeat,
        "refused": 100.0 * refused / repeat,
        "bound": verdict(100.0 * broken / repeat <= 100.0 * (1.0 - CONFIDENCE) + noise),
    }


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print a table for all rows together, and one by class."""
    report = Report("certify", draws=repeat, confidence=CONFIDENCE)
    tables: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for name in sets or SETS:
        model, y = scored(folder, name)
        for by_class, rows in tables.items():
            for n_sample in N_SAMPLE:
                for error in ERRORS:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", UserWarning)
                        found = measured(model, y, n_sample, error, by_class, repeat)
                    rows.append({"set": name, "labels": n_sample, "error": error, **found})
    for by_class, rows in tables.items():
        report.table("by class" if by_class else "together", rows)
        known = [row for row in rows if row["labels"] == 200 and row["of oracle"] is not None]
        mean = float(np.mean([row["of oracle"] for row in known]))
        about = {"labels": 200, "of oracle": mean, "bar": verdict(mean >= 100.0 * ENOUGH)}
        report.table("mean over sets and bounds, % of the oracle's rows", [about])
    return report.result()
