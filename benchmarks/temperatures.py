"""Temperatures of annealing: evenly spaced, or closer where much is decided at once.

True class shares, default settings, several draws of labels. The objective, the accuracy on the
unlabelled rows and the passes over the data, against evenly spaced temperatures.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import UNLABELED, Floats, PartlyLabeled, hide, load_coded, random_rows
from papers.many import draw, load_many
from papers.table import Report
from sklearn.preprocessing import normalize

from benchmarks.manyspeed import N_LABELED, N_ROWS
from semisvm import AnnealedSVC
from semisvm.methods.annealing import DECIDING, Annealing, Cooling

REPEAT = 5
TWO_CLASSES = ("text1_pcmac", "text_ssl", "usps_ssl", "g241c", "digit1")
N_LABELED_OF_TWO = 50
EVEN, NEVER_EVEN = np.inf, -np.inf
# 5 % of the entropy of two equal classes
EARLY = 0.05 * float(np.log(2.0))
LOSSES = ("squared_hinge", "log")


def of_many(folder: Path, name: str, repeat: int) -> Iterator[PartlyLabeled]:
    """Draw the rows of a set with many classes."""
    X, y = load_many(folder, name)
    for seed in range(repeat):
        rows = draw(X, y, N_LABELED[name], N_ROWS - N_LABELED[name], seed)
        yield PartlyLabeled(rows.X, rows.labels, rows.y)


def of_two(folder: Path, name: str, repeat: int) -> Iterator[PartlyLabeled]:
    """Draw labels of a set with two classes."""
    X, y = load_coded(folder, name)
    for seed in range(repeat):
        yield hide(normalize(X), y, random_rows(y, N_LABELED_OF_TWO, seed))


def figures(problem: PartlyLabeled, deciding: float, loss: str) -> list[float]:
    """Return objective, accuracy and passes of a fit with a limit for even steps."""
    model = AnnealedSVC(class_prior=problem.prior, loss=loss)
    with patch.object(Cooling, "deciding", deciding), patch.object(Annealing, "deciding", deciding):
        model.fit(problem.X, problem.labels)
    free = problem.labels == UNLABELED
    accuracy = 100.0 * float(np.mean(model.transduction_[free] == problem.y[free]))
    return [model.objective_, accuracy, model.trace_[-1]["passes"]]


def row(name: str, loss: str, limit: float, values: Floats) -> dict[str, Any]:
    """Compare with even steps; values are (draws, even and not, figures)."""
    even, found = values[:, 0], values[:, 1]
    ratio = found / even
    return {
        "set": name,
        "loss": loss,
        "closer above": limit,
        "draws": len(values),
        "objective %": 100.0 * (float(ratio[:, 0].mean()) - 1.0),
        "lowest %": 100.0 * (float(ratio[:, 0].min()) - 1.0),
        "highest %": 100.0 * (float(ratio[:, 0].max()) - 1.0),
        "accuracy, even %": float(even[:, 1].mean()),
        "closer %": float(found[:, 1].mean()),
        "passes": float(ratio[:, 2].mean()),
    }


def compared(
    name: str, problems: list[PartlyLabeled], limits: tuple[float, ...], loss: str
) -> list[dict[str, Any]]:
    """Compare limits on one set."""
    even = [figures(problem, EVEN, loss) for problem in problems]
    found = []
    for limit in limits:
        closer = [figures(problem, limit, loss) for problem in problems]
        found.append(row(name, loss, limit, np.stack([even, closer], axis=1)))
    return found


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print both comparisons."""
    report = Report("temperatures", draws=repeat, rows=N_ROWS)
    for loss in LOSSES:
        rows = [
            found
            for name in N_LABELED
            for found in compared(name, list(of_many(folder, name, repeat)), (DECIDING,), loss)
        ]
        report.table(f"many classes, {loss}", rows)
    rows = [
        found
        for name in TWO_CLASSES
        for found in compared(
            name, list(of_two(folder, name, repeat)), (EARLY, NEVER_EVEN), "squared_hinge"
        )
    ]
    report.table("two classes", rows)
    return report.result()
