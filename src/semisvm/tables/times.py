"""Columns of dates and times: parts of the calendar, and time that has passed."""

import re
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.errors import is_missing
from semisvm.tables.table import Table

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PARTS = ("elapsed", "year_sin", "year_cos", *DAYS, "hour_sin", "hour_cos")
"""Days since 1970; place in the year, day of the week and place in the day."""
OF_CLOCK = PARTS.index("hour_sin")
"""From here on, parts that a time without a date has too."""

WRITTEN = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.,+Z-]*)?|\d\d:\d\d:\d\d(\.\d+)?")
"""ISO 8601: a date, a date with a time, or a time."""

DAY = np.timedelta64(1, "D")
THURSDAY = 3
"""Day of the week of 1970-01-01."""


def as_time(cell: Any) -> date | time | None:
    """Return what a cell holds if it is a date or time, or one in ISO 8601; else None."""
    if isinstance(cell, (date, time)):
        return cell
    text = cell.strip() if isinstance(cell, str) else ""
    if WRITTEN.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text) if "-" in text[:5] else time.fromisoformat(text)
    except ValueError:
        return None


def read_times(table: Table, name: str) -> NDArray[np.float64]:
    """Compute the `PARTS` of the cells of a column, shape (n, 12); NaN where one is missing.

    Times are those that clocks show; zones are not converted.

    Raises
    ------
    DataError
        With the row, if a cell is no date or time.
    """
    cells = table.column(name)
    moments = np.full(len(cells), "NaT", dtype="M8[us]")
    is_clock = np.zeros(len(cells), dtype=bool)
    for row, cell in enumerate(cells):
        if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
            continue
        found = as_time(cell)
        if found is None:
            raise table.error(f"{cell!r:.40} is not a date or time.", row, name)
        is_clock[row] = isinstance(found, time)
        moments[row] = _moment(found)
    parts = _parts(moments)
    parts[is_clock, :OF_CLOCK] = np.nan
    return parts


def _moment(found: date | time) -> Any:
    if isinstance(found, time):
        found = datetime.combine(date(1970, 1, 1), found)
    elif not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day)
    return np.datetime64(found.replace(tzinfo=None, microsecond=found.microsecond), "us")


def _parts(moments: NDArray[Any]) -> NDArray[np.float64]:
    there = ~np.isnat(moments)
    known = moments[there]
    days, years = known.astype("M8[D]"), known.astype("M8[Y]")
    first, last = years.astype("M8[D]"), (years + 1).astype("M8[D]")
    of_year = 2.0 * np.pi * ((known - first) / (last - first))
    of_day = 2.0 * np.pi * ((known - days) / DAY)
    weekday = (days.astype(np.int64) + THURSDAY) % len(DAYS)
    parts = np.full((len(moments), len(PARTS)), np.nan)
    parts[there] = np.column_stack(
        [
            (known - np.datetime64(0, "D")) / DAY,
            *(np.sin(of_year), np.cos(of_year)),
            *(weekday == day for day in range(len(DAYS))),
            *(np.sin(of_day), np.cos(of_day)),
        ]
    )
    return parts
