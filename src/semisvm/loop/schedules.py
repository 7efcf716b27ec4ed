"""Schedules: the levels of a fit, which make the problem gradually harder.

A schedule is a list. Annealing may end before the end of its list, once the labels are hard.
"""

from dataclasses import dataclass
from itertools import cycle
from math import log

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
    """

    value: float
    tol: float
    last: bool
    progress: float = SETTLING


def settling(value: float, tol: float) -> list[Level]:
    """Stay at one value: first a loose level, while labels still change, then a tight one."""
    loose = [Level(value, LOOSE_TOL, last=False)] if tol < LOOSE_TOL else []
    return [*loose, Level(value, tol, last=True)]


def rising(start: float, stop: float, rate: float, tol: float) -> list[Level]:
    """Multiply by ``rate`` from ``start`` up to ``stop`` and settle there."""
    values, value = [], start
    while value < stop:
        values.append(value)
        value *= rate
    return [*_leading(values, tol), *settling(stop, tol)]


def decades(start: float, stop: float, tol: float) -> list[Level]:
    """Multiply by 3 and 10/3 alternately from ``start`` up to ``stop`` and settle there."""
    values, value, factors = [], start, cycle((3.0, 10.0 / 3.0))
    while value < 0.999 * stop:
        values.append(value)
        value *= next(factors)
    return [*_leading(values, tol), *settling(stop, tol)]


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
