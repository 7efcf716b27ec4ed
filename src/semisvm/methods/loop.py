"""The one loop of all methods, and its schedules.

A method alternates a weight step (labels fixed) and a label step (weights fixed) until
nothing changes. It does so along a schedule that makes the problem gradually harder: the
weight of the unlabelled rows rises, or a temperature falls.

A schedule is a list of levels. Annealing may end before the end of its list, once the labels are
hard.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from math import log
from typing import Any, Protocol

from semisvm.solvers.newton import State
from semisvm.solvers.trace import Recorder

LOOSE_TOL = 1e-3
"""Early levels only prepare the last one: solved this loosely they cost a sixth or less."""

COOLING_TOL = 1e-4
"""While a temperature falls, the path must stay in its valley; 1e-3 sometimes lost it."""

SETTLING = 0.95
"""Fraction of a fit that is done when the last levels begin."""

COOLED = 1e-3
"""Fraction of the first temperature at which labels are usually hard."""


@dataclass(frozen=True)
class Level:
    """One stage of a schedule.

    Attributes
    ----------
    value : float
        Weight of the unlabelled rows, or temperature.
    tol : float
        Certified relative error of the weight steps at this level.
    last : bool
        Whether the result is taken from this level.
    progress : float
        Estimated fraction of the fit that is done when the level begins.
    rows : int, optional
        Number of unlabelled rows of which the level takes a sample; None takes all.
    """

    value: float
    tol: float
    last: bool
    progress: float = SETTLING
    rows: int | None = None


def settling(value: float, tol: float, sizes: Sequence[int] = ()) -> list[Level]:
    """Stay at one value: first a loose level, while labels still change, then a tight one.

    With samples the loose level takes the smallest one; see `growing` for the others.
    """
    rows = sizes[0] if sizes else None
    loose = Level(value, max(LOOSE_TOL, tol), last=False, rows=rows)
    return [*([loose] if sizes or tol < LOOSE_TOL else []), Level(value, tol, last=True)]


def growing(value: float, tol: float, sizes: Sequence[int], first: int | None) -> list[Level]:
    """Stay at one value while a sample grows from a first size on, up to all rows."""
    if not sizes:
        return []
    loose, left = max(LOOSE_TOL, tol), [s for s in sizes if first is not None and s >= first]
    some = [Level(value, loose, last=False, rows=size) for size in left]
    return [*some, Level(value, tol, last=False)]


def on_sample(levels: Sequence[Level], sizes: Sequence[int]) -> list[Level]:
    """Have levels take the smallest sample, if there is one."""
    return [replace(level, rows=sizes[0]) if sizes else level for level in levels]


def rising(
    start: float, stop: float, rate: float, tol: float, sizes: Sequence[int] = ()
) -> list[Level]:
    """Multiply by ``rate`` from ``start`` up to ``stop`` and settle there."""
    values, value = [], start
    while value < stop:
        values.append(value)
        value *= rate
    return [*on_sample(_leading(values, tol), sizes), *settling(stop, tol, sizes)]


def decades(start: float, stop: float, tol: float, sizes: Sequence[int] = ()) -> list[Level]:
    """Multiply by 3 and 10/3 alternately from ``start`` up to ``stop`` and settle there."""
    values, value, factors = [], start, cycle((3.0, 10.0 / 3.0))
    while value < 0.999 * stop:
        values.append(value)
        value *= next(factors)
    return [*on_sample(_leading(values, tol), sizes), *settling(stop, tol, sizes)]


def _leading(values: list[float], tol: float) -> list[Level]:
    """Build the levels before the last value."""
    each = SETTLING / max(len(values), 1)
    return [
        Level(value, max(LOOSE_TOL, tol), last=False, progress=k * each)
        for k, value in enumerate(values)
    ]


def falling(start: float, floor: float, rate: float, tol: float) -> list[Level]:
    """Divide by ``rate`` from ``start`` until ``floor`` is reached."""
    levels, value = [], start
    while value > floor:
        done = min(log(start / value) / -log(COOLED), SETTLING)
        levels.append(Level(value, max(COOLING_TOL, tol), last=False, progress=done))
        value /= rate
    return levels


class Steps(Protocol):
    """What the loop needs from a method: its two steps."""

    def enter(self, level: Level) -> None:
        """Enter a new level."""
        ...

    def weight_step(self, level: Level) -> State:
        """Fit the weights to the labels."""
        ...

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Choose labels for the weights; return whether they settled, and facts to record."""
        ...


class Resumable(Steps, Protocol):
    """A method that can continue from the end of a round, also in another process.

    A snapshot is small: vectors over columns, and numbers, in dicts and lists. All vectors over
    rows follow from it. What a method does after ``restore`` must depend on nothing else that
    happened before: see `semisvm.solvers.snapshots`.
    """

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round, as copies."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken; it stays as it is."""
        ...


def follow(
    phase: str,
    levels: Sequence[Level],
    method: Steps,
    recorder: Recorder,
    max_rounds: int,
    finished: Callable[[], bool] | None = None,
    stride: Callable[[], int] | None = None,
) -> tuple[int, bool]:
    """Run a method along its schedule.

    Parameters
    ----------
    phase : str
        Name of the loop in the trace.
    levels : sequence of Level
    method : Steps
    recorder : Recorder
    max_rounds : int
        Maximum number of rounds (weight step, label step) per level.
    finished : () -> bool, optional
        Called before each level; True skips the rest of the schedule.
    stride : () -> int, optional
        Called after each level; how many levels further the next one is, by default 1.

    Returns
    -------
    rounds : int
        Number of rounds over all levels.
    settled : bool
        Whether the last level ended because nothing changed.
    """
    journal = recorder.journal
    place = journal.begin(phase, method)
    while place.level < len(levels):
        number, first = place.level, place.iteration
        level = levels[number]
        if first == 0:
            if recorder.stopped or (finished is not None and finished()):
                break
            method.enter(level)
        for iteration in range(first, max_rounds):
            weights = method.weight_step(level)
            place.settled, facts = method.label_step(level)
            place.rounds += 1
            recorder.record(
                phase,
                weights,
                level=number,
                value=level.value,
                iteration=iteration,
                progress=level.progress,
                **facts,
            )
            ended = place.settled or iteration + 1 == max_rounds
            place.iteration = 0 if ended else iteration + 1
            if ended:
                place.level += 1 if stride is None else stride()
            journal.keep(place)
            if ended or recorder.stopped:
                break
        recorder.level_done()
        if recorder.stopped:
            break
    return place.rounds, place.settled
