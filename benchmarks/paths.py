"""A path of ten regularisations against one fit, and what the search chooses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import PartlyLabeled, hide, load, stratified_rows
from papers.table import Report, verdict
from papers.timing import interleaved

from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import build
from semisvm.labels.partial import encode
from semisvm.methods.loop import LOOSE_TOL
from semisvm.model_selection import AnnealedSVCCV, TransductiveSVCCV
from semisvm.model_selection.search import Grid, PathPoint

REPEAT = 3
REG = 1e-3
REGS = np.geomspace(1e-1, 1e-4, 10).tolist()
BAR = 3.0
METHODS = {"TSVM": (TransductiveSVC, TransductiveSVCCV), "DA": (AnnealedSVC, AnnealedSVCCV)}
# name of the set, which labels are the second class, rows, labels
SETS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "text1_pcmac": (lambda y: y == 1, 1946, 50),
    "20news_tfidf": (lambda y: y >= 10, 8000, 46),
    "lasvm_reuters": (lambda y: y == 1, 8000, 100),
}


def problem(folder: Path, name: str, seed: int) -> PartlyLabeled:
    """Draw rows and labels."""
    positive, size, n_labels = SETS[name]
    X, y = load(folder, name)
    y = positive(y).astype(np.intp)
    rows = np.arange(len(y)) if size >= len(y) else stratified_rows(y, size, seed)[0]
    labeled, _ = stratified_rows(y[rows], n_labels, seed)
    return hide(X[rows], y[rows], labeled)


def walk(single: Any, data: PartlyLabeled, prior: Any) -> list[PathPoint]:
    """Solve all regularisations for the labels at hand, the design included."""
    labels = encode(data.labels)

    def make(reg: float, weight: float) -> Any:
        return single(reg=reg, unlabeled_weight=weight, tol=LOOSE_TOL)

    with Workers(1) as workers:
        design = make_design(data.X, 1.0, workers)
        grid = Grid(make, REGS, [1.0], design, build(None, labels.classes))
        return list(grid.path(labels, prior))


def cost_row(name: str, method: str, data: PartlyLabeled, repeat: int) -> dict[str, Any]:
    """Time a path and a single fit in turns."""
    single, _ = METHODS[method]
    prior = data.prior
    tasks = {
        "fit": lambda: single(reg=REG, class_prior=prior).fit(data.X, data.labels),
        "path": lambda: walk(single, data, prior),
    }
    timings = interleaved(tasks, repeat)
    ratio = timings.ratio("path", "fit")
    return {
        "set": name,
        "method": method,
        "one fit, s": round(timings.median("fit"), 3),
        "path of 10 / one fit": str(ratio),
        "at most 3": verdict(ratio.median <= BAR),
    }


def quality_row(name: str, method: str, draws: list[PartlyLabeled]) -> dict[str, Any]:
    """Compare the default regularisation with the chosen one on the unlabelled rows."""
    single, search = METHODS[method]
    found: dict[str, list[float]] = {"default": [], "chosen": []}
    regs = []
    for data in draws:
        free = data.unlabeled
        models = {
            "default": single(reg=REG, class_prior=data.prior),
            "chosen": search(class_prior=data.prior),
        }
        for key, model in models.items():
            model.fit(data.X, data.labels)
            found[key].append(100.0 * model.score(data.X[free], data.y[free]))
        regs.append(models["chosen"].reg_)
    means = {f"{key} accuracy %": round(float(np.mean(v)), 1) for key, v in found.items()}
    return {"set": name, "method": method, **means, "median reg": float(np.median(regs))}


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print costs of paths and accuracies of what they choose."""
    report = Report("paths", repeat=repeat, reg=REG, regs="0.1 to 0.0001", threads=1)
    draws = {name: [problem(folder, name, seed) for seed in range(repeat)] for name in SETS}
    costs = [cost_row(name, method, draws[name][0], repeat) for name in SETS for method in METHODS]
    report.table("a path of 10 regularisations in one fold against one fit from scratch", costs)
    rows = [quality_row(name, method, draws[name]) for name in SETS for method in METHODS]
    report.table("accuracy on the unlabelled rows, true class prior given", rows)
    return report.result()
