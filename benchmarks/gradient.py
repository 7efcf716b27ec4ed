"""GradientTSVC with many classes: where it does harm, and whether its note says so.

Sets of `benchmarks shares` with more than two classes, and three of scikit-learn; at most 1,000
rows of length one, labels drawn at random (20, or 4 per class; then 100, or 10 per class), class
shares estimated. The note, and how far predictions may be from the class shares without one, was
chosen on the sets marked "choose", with other draws. Points of accuracy on the unlabelled rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Ints, Matrix
from papers.table import Report
from sklearn import datasets
from sklearn.preprocessing import normalize, scale

from benchmarks import shares
from semisvm import GradientTSVC, NewtonSVC, TransductiveSVC

REPEAT = 4
MOST_ROWS, FIRST_SEED = 1_000, 500
BUNDLED = ("digits", "iris", "wine")
NOTE = "miss the class shares"
OTHERS = ("SVM", "TSVM")


def read(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set with rows of length one; sets of scikit-learn but the digits are standardised."""
    if name not in BUNDLED:
        return shares.read(folder, name)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return normalize(X if name == "digits" else scale(X)), y.astype(np.intp)


def measure(case: shares.Case) -> dict[str, float]:
    """Return whether there is a note, and what it gains over the SVM and over the TSVM."""
    X, truth = case.X[case.free], case.y[case.free]
    model = GradientTSVC().fit(case.X, case.labels)
    prior = model.class_prior_
    found = 100.0 * model.score(X, truth)
    others = (NewtonSVC(), TransductiveSVC(class_prior=prior))
    svm, tsvm = (100.0 * other.fit(case.X, case.labels).score(X, truth) for other in others)
    noted = any(NOTE in note for note in model.trace_.notes)
    return {"noted": float(noted), "over SVM": found - svm, "over TSVM": found - tsvm}


def runs_of(folder: Path, names: Sequence[str], draws: int) -> Iterator[dict[str, Any]]:
    """Measure every draw of every set with more than two classes."""
    for name in names:
        X, y = read(folder, name)
        m = int(y.max()) + 1
        if m == 2:
            continue
        for n in (max(20, 4 * m), min(max(100, 10 * m), len(y) // 2)):
            for seed in range(FIRST_SEED, FIRST_SEED + draws):
                half = "choose" if name in shares.CHOOSE else "report"
                found = measure(shares.draw(X, y, n, seed, MOST_ROWS))
                yield {"set": name, "half": half, "labels": n, **found}


def line(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count the fits that lose more than half a point, and average the gains."""
    over_svm, over_tsvm = (np.array([run[f"over {other}"] for run in runs]) for other in OTHERS)
    return {
        "fits": len(runs),
        "worse than the SVM": int(np.count_nonzero(over_svm < shares.HARM)),
        "mean over SVM": round(float(over_svm.mean()), 1),
        "mean over TSVM": round(float(over_tsvm.mean()), 1),
    }


def run(folder: Path, repeat: int, sets: Sequence[str] | None = None) -> dict[str, Any]:
    """Print the sets, and the fits with and without a note by half of the sets."""
    report = Report("gradient", draws=repeat, rows=MOST_ROWS)
    runs = list(runs_of(folder, sets or (*shares.SETS, *BUNDLED), repeat))
    cases = dict.fromkeys((run["set"], run["half"], run["labels"]) for run in runs)
    rows = []
    for case in cases:
        some = [run for run in runs if (run["set"], run["half"], run["labels"]) == case]
        noted = int(sum(run["noted"] for run in some))
        rows.append({**dict(zip(("set", "half", "labels"), case, strict=True)), "noted": noted})
        rows[-1] |= line(some)
    report.table("GradientTSVC with many classes", rows)
    lines = []
    for half in ("choose", "report"):
        for note, value in (("yes", 1.0), ("no", 0.0)):
            some = [run for run in runs if (run["half"], run["noted"]) == (half, value)]
            if some:
                lines.append({"half": half, "note": note, **line(some)})
    report.table("with and without a note", lines)
    return report.result()
