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

from papers.data import Floats, Ints
from papers.many import NEWS, SUPERVISED_TOL, draw, load_many
from papers.plans import Curve, Found, Part, Plan
from papers.table import verdict
from papers.timing import interleaved
from semisvm import NewtonSVC
from semisvm.label_steps import LabelStep, exact, simplex, switching
from semisvm.losses import CRAMMER_SINGER

REPEAT = 3
N_LABELED = 100
SETS = {"ohscal": 5_581, NEWS: 10_000}
LOSS = CRAMMER_SINGER
LOOPS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24)
PARTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Where switching is cut short, in loops, and the simplex method, in parts of its pivots."""
ALL_CELLS = "simplex, all cells"
"""Whose pivots take the best of all cells, as the paper describes it."""


def first_costs(folder: Path, name: str) -> tuple[Floats, Ints]:
    """Return the costs of the first label step, and the true counts."""
    rows = draw(*load_many(folder, name), N_LABELED, SETS[name], seed=0)
    model = NewtonSVC(loss=LOSS.name, tol=SUPERVISED_TOL).fit(rows.X, rows.labels)
    assert LOSS.many is not None
    hidden = rows.y[rows.n_labeled :]
    scores = model.decision_function(rows.X[rows.n_labeled :])
    return LOSS.many.costs(scores), np.bincount(hidden, minlength=len(model.classes_))


def ways(costs: Floats, counts: Ints) -> dict[tuple[str, int | None], Callable[[], LabelStep]]:
    """Return the steps, each also cut short after some loops, so that cost over time is seen."""
    pivoting = {ALL_CELLS: partial(simplex, costs, counts, block=len(costs))}
    pivoting["simplex"] = partial(simplex, costs, counts)
    found: dict[tuple[str, int | None], Callable[[], LabelStep]] = {}
    for way, step in pivoting.items():
        most = step().n_loops
        for loops in dict.fromkeys(int(part * most) for part in PARTS):
            found[way, loops] = partial(step, max_loops=loops)
        found[way, None] = step
    for loops in LOOPS:
        found["switching", loops] = partial(switching, costs, counts, max_loops=loops)
    found["switching", None] = partial(switching, costs, counts)
    found["exact", None] = partial(exact, costs, counts)
    return found


def measure(folder: Path, name: str, rounds: int) -> list[dict[str, Any]]:
    """Return, for every step and every cut, seconds and what is left to gain."""
    costs, counts = first_costs(folder, name)
    steps = ways(costs, counts)
    timings = interleaved({str(key): step for key, step in steps.items()}, rounds).on_processor()
    cost = {key: timings.results[str(key)].cost for key in steps}
    best, start = cost["exact", None], cost["switching", 0]
    return [
        {
            "label step": key[0],
            "cut after": key[1],
            "loops": timings.results[str(key)].n_loops,
            "ms": 1e3 * timings.median(str(key)),
            "left to gain %": 100.0 * (cost[key] - best) / (start - best),
        }
        for key in steps
    ]


def rows_of(name: str, rounds: int, found: Found) -> list[dict[str, Any]]:
    """Judge whether the steps that claim so are optimal."""
    return [
        {**row, "optimal": verdict(abs(row["left to gain %"]) < 1e-4) if is_whole(row) else None}
        for row in found[name, rounds]
    ]


def is_whole(row: dict[str, Any]) -> bool:
    """Tell whether a row is the simplex method, not cut short."""
    return row["label step"].startswith("simplex") and row["cut after"] is None


def path(rows: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return what is left to gain over the milliseconds, from the start on."""
    times = np.maximum.accumulate([row["ms"] for row in rows]).tolist()
    left = [abs(row["left to gain %"]) for row in rows]
    # a step that cannot be cut has gained nothing before its end
    start = [] if len(rows) > 1 else [(times[0], 100.0)]
    return start + list(zip(times, left, strict=True))


def curves(name: str, rounds: int, found: Found) -> list[Curve]:
    """Return Fig. 1: what is left to gain over time."""
    steps: dict[str, list[dict[str, Any]]] = {}
    for row in found[name, rounds]:
        steps.setdefault(row["label step"], []).append(row)
    paths = {way: path(rows) for way, rows in steps.items()}
    names = ("processor milliseconds", "left to gain, per cent")
    return [Curve(f"{name} (Fig. 1)", (), {}, {}, *names, paths)]


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
