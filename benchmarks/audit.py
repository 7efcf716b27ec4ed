"""Labels that were made wrong on purpose: does the audit find them, and how far down its list."""

from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Ints, PartlyLabeled
from papers.table import Report

from benchmarks.trust import draw, read
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.model_selection import audit_labels

REPEAT = 5
N_LABELS = 200
FLIPPED = 0.05
SETS = ("text1_pcmac", "webkb_tfidf", "r8_tfidf", "optdigits", "wdbc", "australian", "house_votes")
METHODS = {"TSVM": TransductiveSVC, "SVM": NewtonSVC}


def flipped(data: PartlyLabeled, share: float, seed: int) -> tuple[Ints, Ints]:
    """Give some of the labelled rows another class; return the labels and these rows."""
    rng = np.random.default_rng(seed)
    labels, known = data.labels.copy(), np.flatnonzero(data.labels >= 0)
    wrong = rng.choice(known, round(share * len(known)), replace=False)
    m = int(data.y.max()) + 1
    labels[wrong] = (labels[wrong] + rng.integers(1, m, len(wrong))) % m
    return labels, wrong


def found_in(data: PartlyLabeled, method: Any, seed: int) -> dict[str, float]:
    """Flip labels, look for them, and count how many are found."""
    labels, wrong = flipped(data, FLIPPED, seed)
    audit = audit_labels(method(), data.X, labels)
    hits = np.isin(audit.rows, wrong)
    k = len(wrong)
    return {
        "at_k": float(hits[:k].sum() / k),
        "at_2k": float(hits[: 2 * k].sum() / k),
        "listed": float(hits.sum() / k),
        "doubts": float(len(audit)),
    }


def row_of(name: str, n_labels: int, n_classes: int, runs: list[dict[str, float]]) -> Any:
    """Average the draws of a set."""
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {
        "set": name,
        "classes": n_classes,
        "labels": n_labels,
        "precision at k %": round(100 * mean["at_k"], 1),
        "chance %": round(100 * FLIPPED, 1),
        "found at 2k %": round(100 * mean["at_2k"], 1),
        "found in all %": round(100 * mean["listed"], 1),
        "labels in doubt": round(mean["doubts"], 1),
    }


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print a table per method."""
    report = Report("audit", draws=repeat, flipped=FLIPPED)
    for method, estimator in METHODS.items():
        rows = []
        for name in sets or SETS:
            X, y = read(folder, name)
            n = min(N_LABELS, len(y) // 2)
            runs = [found_in(draw(X, y, n, seed), estimator, seed) for seed in range(repeat)]
            rows.append(row_of(name, n, int(y.max()) + 1, runs))
        report.table(f"wrong labels found by {method}; k is their number", rows)
    return report.result()
