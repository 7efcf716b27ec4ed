"""Fig. 1 of Keerthi, Sundararajan and Shevade (2012): cost over time of the label steps.

The first label step of Algorithm 1 with the margin loss, the paper's own: costs of a supervised
machine with 100 labels, true counts, from the greedy labels. The paper compares the transportation
simplex method (100 seconds on ohscal) with switching (below one second); `exact` is this
package's own step, which needs no start. Processor seconds, the median of the rounds.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from semisvm import NewtonSVC
from semisvm.label_steps import LabelStep, exact, simplex, switching
from semisvm.losses import CRAMMER_SINGER
from semisvm.reproduce.data import Floats, Ints
from semisvm.reproduce.many import NEWS, SUPERVISED_TOL, draw, load_many
from semisvm.reproduce.plans import Curve, Found, Part, Plan
from semisvm.reproduce.table import verdict
from semisvm.reproduce.timing import interleaved

REPEAT = 3
N_LABELED = 100
SETS = {"ohscal": 5_581, NEWS: 10_000}
LOSS = CRAMMER_SINGER
LOOPS = (1, 2, 4, 8, 16)
PARTS = (0.1, 0.25, 0.5, 0.75)
ALL_CELLS = "best of all cells enters"
DRAWN = (f"simplex, {ALL_CELLS}", "switching", "simplex", "exact")
GRID = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Milliseconds at which the figure looks."""


def first_costs(folder: Path, name: str) -> tuple[Floats, Ints]:
    """Return the costs of the first label step, and the true counts."""
    rows = draw(*load_many(folder, name), N_LABELED, SETS[name], seed=0)
    model = NewtonSVC(loss=LOSS.name, tol=SUPERVISED_TOL).fit(rows.X, rows.labels)
    assert LOSS.many is not None
    hidden = rows.y[rows.n_labeled :]
    scores = model.decision_function(rows.X[rows.n_labeled :])
    return LOSS.many.costs(scores), np.bincount(hidden, minlength=len(model.classes_))


def ways(costs: Floats, counts: Ints) -> dict[str, Callable[[], LabelStep]]:
    """Return the steps, each also cut short, so that cost over time can be seen."""
    n, most = len(costs), simplex(costs, counts).n_loops
    found: dict[str, Callable[[], LabelStep]] = {"exact": partial(exact, costs, counts)}
    for loops in LOOPS:
        found[f"switching, {loops} loops"] = partial(switching, costs, counts, max_loops=loops)
    found["switching"] = partial(switching, costs, counts)
    for part in PARTS:
        cut = partial(simplex, costs, counts, max_loops=int(part * most))
        found[f"simplex, {100 * part:.0f}% of its pivots"] = cut
    found["simplex"] = partial(simplex, costs, counts)
    found[f"simplex, {ALL_CELLS}"] = partial(simplex, costs, counts, block=n)
    return found


def measure(folder: Path, name: str, rounds: int) -> list[dict[str, Any]]:
    """Return, for every step and every cut, seconds and what is left to gain."""
    costs, counts = first_costs(folder, name)
    steps = ways(costs, counts)
    timings = interleaved(steps, rounds).on_processor()
    best = timings.results["exact"].cost
    start = switching(costs, counts, max_loops=0).cost
    return [
        {
            "label step": step,
            "loops": timings.results[step].n_loops,
            "ms": 1e3 * timings.median(step),
            "left to gain %": 100.0 * (timings.results[step].cost - best) / (start - best),
        }
        for step in steps
    ]


def rows_of(name: str, rounds: int, found: Found) -> list[dict[str, Any]]:
    """Judge whether the steps that claim so are optimal."""
    return [
        {**row, "optimal": verdict(abs(row["left to gain %"]) < 1e-4) if is_whole(row) else None}
        for row in found[name, rounds]
    ]


def is_whole(row: dict[str, Any]) -> bool:
    """Tell whether a row is the simplex method, not cut short."""
    return row["label step"].startswith("simplex") and "%" not in row["label step"]


def reached(rows: list[dict[str, Any]], ms: float) -> float:
    """Return the least that is left to gain after some milliseconds, in per cent."""
    return min((row["left to gain %"] for row in rows if row["ms"] <= ms), default=100.0)


def curves(name: str, rounds: int, found: Found) -> list[Curve]:
    """Return Fig. 1: what is left to gain over time."""
    steps: dict[str, list[dict[str, Any]]] = {way: [] for way in DRAWN}
    for row in found[name, rounds]:
        whole, _, cut = row["label step"].partition(", ")
        steps[row["label step"] if cut == ALL_CELLS else whole].append(row)
    lines = {way: [[reached(rows, ms)] for ms in GRID] for way, rows in steps.items()}
    axes = {"x_name": "processor milliseconds", "y_name": "left to gain, per cent"}
    return [Curve(f"{name} (Fig. 1)", GRID, lines, {}, **axes)]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table for each set."""
    parts = [
        Part(
            f"{name}, {n} unlabelled rows",
            measure,
            [(name, repeat)],
            partial(rows_of, name, repeat),
            partial(curves, name, repeat),
            timed=True,
        )
        for name, n in SETS.items()
    ]
    return Plan({"rounds": repeat, "labelled": N_LABELED, "loss": LOSS.name}, parts)
