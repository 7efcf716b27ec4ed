"""What a column holds: text, numbers, categories, dates, or nothing to learn from.

`read_times` makes features of dates and times: parts of the calendar, and time that has passed.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.errors import is_missing
from semisvm.tables.table import Column, Table, holds_vectors, is_vector, with_thousands

TEXT, NUMERIC, CATEGORICAL, VECTOR = "text", "numeric", "categorical", "vector"
TIME = "time"
"""Dates, with or without a time, and times of the day."""

FEW_LEVELS = 50
"""Up to so many distinct short values are categories, whatever the number of rows."""

LEVEL_SHARE = 0.2
"""Beyond them, distinct short values are categories if they are at most this share of the rows."""

TEXT_WORDS = 3.0
"""Values of so many words on average are text."""

TEXT_LENGTH = 60.0
"""And so are values of so many characters on average, with or without spaces."""

ENOUGH_ROWS = 10
"""In fewer rows, values that are all distinct may well be measurements or categories."""

NAMED_SHARE = 0.5
"""Whole numbers of which so many are distinct are identifiers if the column is named like one."""

ID_NAME = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|key|index|idx|rowid|nr|no)$)|[a-z]I[dD]$|^Unnamed: \d+$"
)
"""The last one is what pandas calls the column of row numbers that it has written."""

ID_TEXT = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}|[0-9a-fA-F]{16,}")
"""A UUID, or a hash of 64 bits or more."""

DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
FEW_OTHERS = 0.2
"""Up to this share of other values, a column is one of numbers with mistakes."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PARTS = ("elapsed", "year_sin", "year_cos", *DAYS, "hour_sin", "hour_cos")
"""Days since 1970; place in the year, day of the week and place in the day."""
OF_CLOCK = PARTS.index("hour_sin")
"""From here on, parts that a time without a date has too."""

WRITTEN = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.,+Z-]*)?|\d\d:\d\d:\d\d(\.\d+)?")
"""ISO 8601: a date, a date with a time, or a time."""

DOTS = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})(?: (\d\d?:\d\d)(:\d\d)?)?")
"""A day, month and year, as in 31.12.2025, perhaps with a time."""

SLASHES = re.compile(r"\d\d?/\d\d?/\d{2,4}([ T].*)?")
"""A date whose parts have another order in another country."""

DAY, YEAR = np.timedelta64(1, "D"), np.timedelta64(1, "Y")
THURSDAY = 3
"""Day of the week of 1970-01-01."""


@dataclass(frozen=True)
class Kind:
    """What a column was found to be.

    Attributes
    ----------
    name : str or None
        "text", "numeric", "categorical", "vector", "time", or None if the column is left out.
    reason : str
        In words.
    """

    name: str | None
    reason: str


def find_kind(table: Table, name: str) -> Kind:
    """Find out what a column holds."""
    cells = table.column(name)
    if holds_vectors(cells):
        return Kind(VECTOR, "its cells are lists of numbers")
    if isinstance(cells, np.ndarray):
        present_numbers = cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells
        return _kind_of_numbers(present_numbers, name)
    present = [cell for cell in cells if not is_missing(cell)]
    if any(map(is_vector, present)):
        return Kind(None, "its cells are lists of numbers, but not all of the same length")
    if any(isinstance(cell, (list, tuple, dict, bytes, np.ndarray)) for cell in present):
        return Kind(None, "its cells are not text or numbers")
    if any(isinstance(cell, (date, time)) for cell in present):
        return _kind_of_times(present)
    if any(isinstance(cell, bool) for cell in present):
        return _kind_of_strings([str(cell) for cell in present])
    numbers = _as_numbers(present)
    if numbers is not None:
        return _kind_of_numbers(numbers[~np.isnan(numbers)], name)
    return _kind_of_strings([text for cell in present if (text := str(cell).strip())])


def _as_numbers(cells: Column) -> NDArray[np.float64] | None:
    numbers = []
    for cell in cells:
        number = with_thousands(cell)
        if number is None:
            return None
        numbers.append(number)
    return np.array(numbers, dtype=np.float64)


def _kind_of_numbers(values: NDArray[Any], name: str) -> Kind:
    if len(values) == 0:
        return Kind(None, "it is empty")
    if np.all(values == values[0]):
        return Kind(None, "all its values are the same")
    if values.dtype.kind == "f" and np.any(values != np.round(values)):
        return Kind(NUMERIC, "its values are numbers")
    if len(values) >= ENOUGH_ROWS:
        why = _why_identifier(values, name)
        if why is not None:
            return Kind(None, f"{why}; to use it, name it with numeric=")
    return Kind(NUMERIC, "its values are numbers")


def _why_identifier(values: NDArray[Any], name: str) -> str | None:
    """Return why whole numbers number the rows; None if they may be measurements.

    That they hardly repeat is no reason: weights in grams do not either.
    """
    found, n = np.unique(values), len(values)
    if len(found) == n and found[-1] - found[0] == n - 1:
        if found[0] in (0, 1):
            return f"it numbers the rows from {int(found[0])} to {int(found[-1])}"
        if np.array_equal(found, values):
            return f"it counts the rows, from {int(found[0])} to {int(found[-1])}"
    if ID_NAME.search(name) is not None and len(found) >= NAMED_SHARE * n:
        return f"by its name it is an identifier, and {len(found)} of its {n} values are distinct"
    return None


def _kind_of_strings(values: list[str]) -> Kind:
    if not values:
        return Kind(None, "it is empty")
    distinct, n = len(set(values)), len(values)
    if distinct == 1:
        return Kind(None, "all its values are the same")
    if all(WRITTEN.fullmatch(value) or DOTS.fullmatch(value) for value in values):
        return _kind_of_times(values)
    if distinct > LEVEL_SHARE * n and all(ID_TEXT.fullmatch(value) for value in values):
        return Kind(None, f"{distinct} of its {n} values are distinct hashes, like an identifier")
    words = sum(value.count(" ") + 1 for value in values) / n
    length = sum(map(len, values)) / n
    few = distinct <= min(FEW_LEVELS, max(n // 2, 1))
    if not few and (words >= TEXT_WORDS or length >= TEXT_LENGTH):
        return Kind(TEXT, f"{distinct} distinct values of {words:.0f} words on average")
    if few or distinct <= LEVEL_SHARE * n:
        return Kind(CATEGORICAL, f"{distinct} distinct values")
    if all(SLASHES.fullmatch(value) for value in values):
        return Kind(
            None,
            f"day and month of its dates, such as {values[0]!r}, have no known order; write them "
            "as 2025-12-31, which pandas.to_datetime does",
        )
    if words >= 1.5:
        return Kind(TEXT, f"{distinct} distinct values of {words:.1f} words on average")
    if distinct == n and n < ENOUGH_ROWS:
        return Kind(CATEGORICAL, f"{distinct} distinct values")
    return Kind(
        None,
        _why_no_number(values)
        or f"{distinct} of its {n} values are distinct and short, like an identifier",
    )


def _kind_of_times(cells: list[Any]) -> Kind:
    read = [as_time(cell) for cell in cells]
    if None in read:
        return Kind(None, f"{cells[read.index(None)]!r:.40} is not a date or time, as others are")
    if len({*map(str, read)}) == 1:
        return Kind(None, "all its values are the same")
    return Kind(TIME, "its values are dates or times")


def _why_no_number(values: list[str]) -> str | None:
    """Return what is wrong with values that are meant to be numbers; None if they are not."""
    others = [value for value in values if with_thousands(value) is None]
    if all(DECIMAL_COMMA.fullmatch(value) for value in others):
        return f"its numbers have decimal commas, such as {others[0]!r}; write decimal points"
    if len(others) <= FEW_OTHERS * len(values):
        return (
            f"{len(others)} of its {len(values)} values are not numbers, such as {others[0]!r}; "
            "correct them, or leave their cells blank"
        )
    return None


def as_time(cell: Any) -> date | time | None:
    """Return what a cell holds if it is a date or time, or is written like one; else None."""
    if isinstance(cell, (date, time)):
        return cell
    text = str(cell).strip()  # a period of pandas, for instance
    dotted = DOTS.fullmatch(text)
    if dotted is not None:
        day, month, year, clock, seconds = dotted.groups()
        text = f"{year}-{month:0>2}-{day:0>2} {clock or '00:00':0>5}{seconds or ''}"
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
    first, last = years.astype("M8[D]"), (years + YEAR).astype("M8[D]")
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
