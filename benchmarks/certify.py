"""Rows that are certified by random labels: how often the bound is broken, and how many there are.

A model is fitted to 100 labels of each set. Random labels of the other rows are drawn again and
again, and `certify` finds the rows that may take their predicted label. A bound is broken where a
larger share of these is predicted wrongly; that may happen in at most 5% of the draws.

"oracle" knows the true errors, and thus the one cutoff at which a test of as many random labels
gives the most rows in the mean; by class, one for each. `certify` is ahead of it where it goes on
beyond this cutoff when a sample allows it. They are compared where the oracle has at least a
twentieth of the rows: what is certified by luck alone has no scale. "limit" is the largest number
of rows that meets the bound, which only all labels can find.
"""

import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from papers.data import Ints
from papers.table import Report, verdict
from scipy.stats import hypergeom

from benchmarks.coverage import read
from semisvm import NewtonSVC
from semisvm.estimators.margins import margins
from semisvm.labels.partial import hide_labels
from semisvm.model_selection import certify
from semisvm.model_selection.risk_control import chance_of_few

REPEAT = 1000
SETS = ("text1_pcmac", "wdbc", "r8_tfidf", "lasvm_reuters", "usps_ssl", "optdigits")
N_FIT = 100
N_SAMPLE = (100, 200, 400)
BAR_AT = 200
ERRORS = (0.02, 0.05)
CONFIDENCE = 0.95
REG = 1e-2
OUTLOOK = "semisvm.model_selection.certification.MORE_LABELS"
ENOUGH = 0.9
NOTABLE = 0.05
"""Share of the rows from which those of the oracle are compared with."""


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
    certainty: NDArray[Any], wrong: NDArray[Any], n_sample: int, error: float, level: float
) -> tuple[float, int]:
    """Return the mean number of rows of the best single test, and of rows that meet the bound."""
    n = len(wrong)
    if not 0 < n_sample < n:
        return 0.0, 0
    n_rows, n_wrong = np.arange(1, n + 1), np.cumsum(wrong[np.argsort(-certainty, kind="stable")])
    others = n_rows - np.round(n_rows * n_sample / n)
    allowed = np.floor(error * others).astype(np.intp)
    power = np.zeros(n)
    for k in range(int(2.0 * error * n_sample) + 2):
        few = np.full(n, k, dtype=np.intp)
        rejects = chance_of_few(n, n_sample, few, allowed) <= level
        if not rejects.any():
            break
        power[rejects] = hypergeom.cdf(few[rejects], n, n_wrong[rejects], n_sample)
    meets = np.flatnonzero(n_wrong <= error * n_rows)
    return float(np.max(power * others)), int(others[meets[-1]]) if len(meets) else 0


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
    best = [oracle(certainty[g], wrong[g], round(share * g.sum()), error, level) for g in groups]
    mean, most = float(np.mean(counts)), sum(rows for rows, _ in best)
    comparable = most >= NOTABLE * (len(y) - n_sample)
    noise = 200.0 * np.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / repeat)
    return {
        "rows": len(y) - n_sample,
        "wrong": 100.0 * float(wrong.mean()),
        "certified": mean,
        "oracle": most,
        "limit": sum(limit for _, limit in best),
        "of oracle": 100.0 * mean / most if comparable else None,
        "broken": 100.0 * broken / repeat,
        "refused": 100.0 * refused / repeat,
        "bound": verdict(100.0 * broken / repeat <= 100.0 * (1.0 - CONFIDENCE) + noise),
    }


def summaries(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average over the sets, for every number of labels and bound."""
    found = []
    for n_sample in N_SAMPLE:
        for error in ERRORS:
            own = [r for r in rows if (r["labels"], r["error"]) == (n_sample, error)]
            known = [r["of oracle"] for r in own if r["of oracle"] is not None]
            broken = float(np.mean([r["broken"] for r in own])) if own else 0.0
            if known:
                mean, bar = float(np.mean(known)), n_sample == BAR_AT
                found.append(
                    {"labels": n_sample, "error": error, "sets": len(known), "mean": mean}
                    | {"least": min(known), "broken": broken}
                    | {"bar": verdict(mean >= 100.0 * ENOUGH) if bar else ""}
                )
    return found


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print a table for all rows together, and one by class."""
    report = Report("certify", draws=repeat, confidence=CONFIDENCE)
    tables: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for name in sets or SETS:
        model, y = scored(folder, name)
        for by_class, rows in tables.items():
            for n_sample in N_SAMPLE:
                for error in ERRORS:
                    # what more labels would give is not judged here
                    with warnings.catch_warnings(), patch(OUTLOOK, ()):
                        warnings.simplefilter("ignore", UserWarning)
                        found = measured(model, y, n_sample, error, by_class, repeat)
                    rows.append({"set": name, "labels": n_sample, "error": error, **found})
    for by_class, rows in tables.items():
        report.table("by class" if by_class else "together", rows)
        report.table("% of the oracle's rows, over the sets", summaries(rows))
    return report.result()
