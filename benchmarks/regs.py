"""The grid behind the default regularisation of every loss.

Seven sets, few labels, true class counts: mean Macro F over the regularisation, for the
supervised machine with and without the counts, and for Algorithm 1.
"""

from pathlib import Path
from typing import Any

import numpy as np
from papers.many import NEWS, Draw, compare, draw, in_parallel, load_many
from papers.manysets import N_LABELED, SETS, draw_of
from papers.newsgroups import N_LABELED as N_LABELED_NEWS
from papers.table import Report

from semisvm.losses import LOSSES

REPEAT = 2
N_UNLABELED = 4_000
SETS_HERE = (NEWS, *SETS, "digits")
REGS = {
    "squared_hinge": (1e-4, 1e-3, 1e-2, 1e-1),
    "log": (1e-5, 1e-4, 1e-3, 1e-2),
    "crammer_singer": (1e-5, 1e-4, 1e-3, 1e-2),
    "squared": (1e-4, 1e-3, 1e-2, 1e-1),
}
METHODS = ("supervised", "counts", "annealing")

Means = dict[tuple[str, float], dict[str, float]]
"""(set, regularisation) -> method -> Macro F."""


def rows_of(folder: Path, name: str, seed: int) -> Draw:
    """Draw as the benchmark of the set does, but fewer rows of 20 newsgroups."""
    if name in SETS:
        return draw_of(folder, name, seed)
    X, y = load_many(folder, name)
    if name == NEWS:
        return draw(X, y, N_LABELED_NEWS, N_UNLABELED, seed, N_UNLABELED)
    return draw(X, y, N_LABELED, len(y) // 2, seed)


def measure(folder: Path, name: str, seed: int, loss: str, reg: float) -> dict[str, float]:
    """Fit the methods to one draw."""
    return compare(rows_of(folder, name, seed), METHODS, loss=loss, reg=reg)


def line(means: Means, method: str, reg: float) -> dict[str, Any]:
    """Return Macro F of one method and regularisation: the sets, their mean and worst lag."""
    names = list(dict.fromkeys(name for name, _ in means))
    found = {name: means[name, reg][method] for name in names}
    best = {name: max(m[method] for (n, _), m in means.items() if n == name) for name in names}
    return {
        "method": method,
        "reg": reg,
        **{name.removesuffix("_tfidf"): round(value, 3) for name, value in found.items()},
        "mean": round(float(np.mean(list(found.values()))), 3),
        "worst lag": round(max(best[name] - found[name] for name in names), 3),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print a table for each loss; a lag is what a set loses against its best value."""
    defaults = {name: loss.default_reg for name, loss in LOSSES.items()}
    report = Report("regs", runs=repeat, labelled=N_LABELED, defaults=str(defaults))
    seeds = range(repeat)
    cells = [(name, loss, reg) for loss in REGS for name in SETS_HERE for reg in REGS[loss]]
    calls = [(folder, name, seed, loss, reg) for name, loss, reg in cells for seed in seeds]
    found = in_parallel(measure, calls)
    for loss, regs in REGS.items():
        means: Means = {}
        for name in SETS_HERE:
            for reg in regs:
                runs = [next(found) for _ in seeds]
                means[name, reg] = {m: float(np.mean([r[m] for r in runs])) for m in METHODS}
        rows = [line(means, method, reg) for method in METHODS for reg in regs]
        report.table(f"mean Macro F, {loss}", rows)
    return report.result()
