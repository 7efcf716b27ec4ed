"""Live progress of a fit, through the callback of the estimators."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from semisvm.homotopy import Callback

FIRST_WEIGHTS = {"switching": 1e-5, "assigning": 1e-4, "multipliers": 1e-4}
"""Weight of the unlabelled rows with which each loop begins."""

COOLED = 1e-3
"""Share of the first temperature at which labels are usually hard."""


def share_done(row: Mapping[str, Any], hottest: float, final_weight: float) -> float:
    """Guess how much of a fit is done, from a row of its trace.

    Parameters
    ----------
    row : mapping
    hottest : float
        First temperature, for annealing.
    final_weight : float
        Of the unlabelled rows.
    """
    phase, value = row["phase"], float(row["value"])
    if phase == "annealing":
        share = math.log(hottest / value) / -math.log(COOLED) if value > 0 else 1.0
    elif phase in FIRST_WEIGHTS and 0 < value < final_weight:
        first = min(FIRST_WEIGHTS[phase], value)
        share = math.log(value / first) / math.log(final_weight / first)
    else:
        share = 0.0 if phase == "supervised" else 0.95
    return min(max(share, 0.0), 0.95)


@contextmanager
def watching(wanted: bool, hottest: float, final_weight: float) -> Iterator[Callback | None]:
    """Give a callback that draws a line on the terminal, or None where there is none."""
    with _line(wanted) as draw:
        if draw is None:
            yield None
            return

        def update(row: Mapping[str, Any]) -> None:
            done = share_done(row, hottest, final_weight)
            draw(done, describe(row, done))

        yield update


@contextmanager
def counting(wanted: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function of what was fitted, how many fits are done, and of how many."""
    with _line(wanted) as draw:
        if draw is None:
            yield None
            return
        start = perf_counter()

        def tell(what: str, done: int, total: int) -> None:
            nonlocal start
            if done == 1:
                start = perf_counter()
            left = (perf_counter() - start) / max(done - 1, 1) * (total - done)
            soon = f", about {left:.0f} s left" if done > 1 else ""
            draw(done / total, f"{what}: fit {done} of {total}{soon}")

        yield tell


@contextmanager
def _line(wanted: bool) -> Iterator[Callable[[float, str], None] | None]:
    """Give a function that draws a share and a text, or None where there is no terminal."""
    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield None
        return
    columns = (
        BarColumn(20),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=1.0)
        yield lambda done, text: progress.update(task, completed=done, description=text)


def describe(row: Mapping[str, Any], done: float) -> str:
    """Say in a line where a fit is."""
    parts = [f"{row['phase']}, level {row['level']}", f"objective {row['objective']:.5g}"]
    moved = row.get("switched", row.get("changed"))
    if moved is not None:
        parts.append(f"{moved} switched")
    if 0.05 < done < 0.95:
        parts.append(f"about {row['seconds'] * (1 - done) / done:.0f} s left")
    return ", ".join(parts)
