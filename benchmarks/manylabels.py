"""Several labels per row: `MultiLabelSVC` against one fit per label.

One label per class of sets of many classes, known for a few rows. The yardstick is
``TransductiveSVC().fit(X, y)`` for every label, all of it: checks, share estimates and fits.
Processor time with one thread; F1 is the mean over labels, on the cells that nobody told.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from papers.many import draw_rows, load_many
from papers.table import Report, verdict
from papers.timing import interleaved
from sklearn.metrics import f1_score

from semisvm import MultiLabelSVC, TransductiveSVC

N_KNOWN = {
    "r8_tfidf": 400,
    "webkb_tfidf": 300,
    "la1": 200,
    "ohscal": 300,
    "usps": 200,
    "20news_tfidf": 400,
}
MOST_LABELS = 8
RATIO_BAR = 0.5
MARKER = -1
SEEDS = (0, 1)
REPEAT = 3


def problem_of(folder: Path, name: str, seed: int) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Return rows, the labels of all cells, and those that are told."""
    X, y = load_many(folder, name)
    truth = (y[:, None] == np.unique(y)[:MOST_LABELS]).astype(np.intp)
    known = draw_rows(y, N_KNOWN[name], seed)[: N_KNOWN[name]]
    told = np.full(truth.shape, MARKER)
    told[known] = truth[known]
    return X, truth, told


def separate(X: Any, told: NDArray[Any]) -> NDArray[Any]:
    """Fit every label on its own; return the chosen labels."""
    return np.column_stack([TransductiveSVC().fit(X, column).transduction_ for column in told.T])


def together(X: Any, told: NDArray[Any]) -> NDArray[Any]:
    """Fit all labels; return the chosen labels."""
    return np.asarray(MultiLabelSVC().fit(X, told).transduction_)


def mean_f1(truth: NDArray[Any], found: NDArray[Any], hidden: NDArray[np.bool_]) -> float:
    """Average F1 over labels, on hidden cells."""
    pairs = zip(truth.T, found.T, hidden.T, strict=True)
    return float(np.mean([f1_score(y[rows], z[rows]) for y, z, rows in pairs]))


def row(folder: Path, name: str, seed: int, repeat: int) -> dict[str, Any]:
    """Compare the two on one set."""
    X, truth, told = problem_of(folder, name, seed)
    fits = {"separate": partial(separate, X, told), "together": partial(together, X, told)}
    busy = interleaved(fits, repeat).on_processor()
    alone, joint = busy.results["separate"], busy.results["together"]
    hidden, ratio = told == MARKER, busy.ratio("together", "separate")
    return {
        "set": name,
        "seed": seed,
        "labels": truth.shape[1],
        "known rows": N_KNOWN[name],
        "separate, s": busy.median("separate"),
        "together / separate": ratio,
        "bar": RATIO_BAR,
        "cost ok": verdict(ratio.median <= RATIO_BAR),
        "F1, separate": mean_f1(truth, alone, hidden),
        "F1, together": mean_f1(truth, joint, hidden),
        "same cells": float(np.mean(alone[hidden] == joint[hidden])),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the cost and the F1 of every set."""
    report = Report("manylabels", bar=RATIO_BAR, labels=MOST_LABELS, rounds=repeat)
    rows = [row(folder, name, seed, repeat) for name in N_KNOWN for seed in SEEDS]
    report.table("several labels per row, processor seconds with one thread", rows)
    return report.result()
