"""The grid behind the default regularisation of every loss.

Seven sets, few labels, true class counts: mean Macro F over the regularisation, for the
supervised machine with and without the counts, Algorithm 1 and annealing.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.manysets import N_LABELED, SETS, draw_of
from semisvm.multi_losses import DEFAULT_REGS
from semisvm.reproduce.many import NEWS, Draw, compare, draw, in_parallel, load_many
from semisvm.reproduce.newsgroups import N_LABELED as N_LABELED_NEWS
from semisvm.reproduce.newsgroups import SLOW
from semisvm.reproduce.table import Report

REPEAT = 2
N_UNLABELED = 4_000
REGS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
LOSSES = ("squared_hinge", "log", "crammer_singer", "squared")
METHODS = ("supervised", "counts", "annealing", "DA")


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
    methods = [m for m in METHODS if (loss, m) not in SLOW]
    return compare(rows_of(folder, name, seed), methods, loss=loss, reg=reg)


def table_of(results: dict[tuple[str, float], dict[str, float]]) -> list[dict[str, Any]]:
    """Lay out a row for each method and regularisation, a column for each set."""
    names = list(dict.fromkeys(name for name, _ in results))
    methods = list(next(iter(results.values())))
    return [line(results, names, method, reg) for method in methods for reg in REGS]


def line(
    results: dict[tuple[str, float], dict[str, float]], names: list[str], method: str, reg: float
) -> dict[str, Any]:
    """Give Macro F of one method and regularisation: the sets, their mean and worst lag."""
    found = {name: results[name, reg][method] for name in names}
    best = {name: max(results[name, other][method] for other in REGS) for name in names}
    return {
        "method": method,
        "reg": reg,
        **{name.removesuffix("_tfidf"): round(value, 3) for name, value in found.items()},
        "mean": round(float(np.mean(list(found.values()))), 3),
        "worst lag": round(max(best[name] - found[name] for name in names), 3),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print a table for each loss; a lag is what a set loses against its best value."""
    report = Report("regs", runs=repeat, labelled=N_LABELED, defaults=str(DEFAULT_REGS))
    names = (NEWS, *SETS, "digits")
    calls = [
        (folder, name, seed, loss, reg)
        for loss in LOSSES
        for name in names
        for reg in REGS
        for seed in range(repeat)
    ]
    found = in_parallel(measure, calls)
    for loss in LOSSES:
        results = {}
        for name in names:
            for reg in REGS:
                runs = [next(found) for _ in range(repeat)]
                results[name, reg] = {m: float(np.mean([r[m] for r in runs])) for m in runs[0]}
        report.table(f"mean Macro F, {loss}", table_of(results))
    return report.result()
