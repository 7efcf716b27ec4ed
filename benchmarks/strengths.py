"""The regularisation of a supervised SVM by the typical variance of the rows.

Sets as in `ranks`, with few labels; accuracy in % on the unlabelled rows, mean over the draws. The
column "suited" has the regularisation that `auto` tries besides the default, where they differ.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED
from papers.table import Report

from benchmarks.ranks import chosen_on, labelled, names_of, prepared
from semisvm import NewtonSVC
from semisvm.designs.validation import typical_variance
from semisvm.model_selection.candidates import suited_reg

REPEAT = 5
REGS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def measure(folder: Path, name: str, seed: int) -> tuple[float, dict[str, float]]:
    """Return the variance of one draw, and the accuracy by the regularisation."""
    X, y = prepared(folder, name, seed)
    partly = labelled(y, min(max(4 * (int(y.max()) + 1), 20), len(y) // 2), seed)
    free, suited = partly == UNLABELED, suited_reg(X)
    regs = {f"{reg:g}": reg for reg in REGS}
    regs["suited"] = NewtonSVC().fit(X, partly).reg_ if suited is None else suited
    models = {column: NewtonSVC(reg=reg).fit(X, partly) for column, reg in regs.items()}
    return typical_variance(X), {
        column: 100.0 * float(np.mean(model.predict(X[free]) == y[free]))
        for column, model in models.items()
    }


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print a row per set, ordered by the variance of its rows."""
    report = Report("strengths", draws=repeat)
    rows = []
    for name in names_of(folder, sets):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [measure(folder, name, seed) for seed in range(repeat)]
        means = {c: float(np.mean([a[c] for _, a in found])) for c in found[0][1]}
        role = "" if chosen_on(folder, name) else "not chosen on"
        variance = float(np.mean([v for v, _ in found]))
        rows.append({"set": name, "variance": variance, **means, "role": role})
    report.table("accuracy by regularisation", sorted(rows, key=lambda row: row["variance"]))
    return report.result()
