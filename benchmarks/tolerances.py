"""Features of a Gaussian kernel and predictions that change, by the tolerance of the factor.

Width: the average distance of two rows. One published split of each set, true class prior,
`TransductiveSVC`, against a tolerance of 1e-10.
"""

from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED
from papers.published import Problem, load_splits
from papers.table import Report

from semisvm import TransductiveSVC

REPEAT = 1
SETS = {"g50c": "lab_50", "digit1": "lab_10", "usps_ssl": "lab_100", "text1_pcmac": "lab_50"}
EXACT = 1e-10
TOLS = (1e-6, 1e-4, 1e-3, 1e-2)


def fitted(problem: Problem, split: int, tol: float) -> Any:
    """Fit one split."""
    model = TransductiveSVC(
        kernel="rbf", gamma="mean_distance", kernel_tol=tol, class_prior=problem.prior(split)
    )
    return model.fit(problem.X, problem.labels(split))


def rows(name: str, problem: Problem, split: int) -> list[dict[str, Any]]:
    """Compare all tolerances with the exact factor."""
    free = np.flatnonzero(problem.labels(split) == UNLABELED)
    exact = fitted(problem, split, EXACT).predict(problem.X[free])
    found = []
    for tol in TOLS:
        model = fitted(problem, split, tol)
        changed = float(np.mean(model.predict(problem.X[free]) != exact))
        size = {"set": name, "rows": len(problem.y), "tolerance": tol}
        found.append({**size, "rank": model.kernel_map_.rank, "changed %": 100.0 * changed})
    return found


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print ranks and changes."""
    report = Report("tolerances", splits=repeat, width="average distance")
    for name, key in SETS.items():
        problem = load_splits(folder, name, key)
        report.table(name, [row for k in range(repeat) for row in rows(name, problem, k)])
    return report.result()
