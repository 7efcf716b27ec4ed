"""Columns of dates and times: parts of the calendar, and the time that has passed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.blocks import SAME, Arrays, BlockOptions, Cells, Kind, OneColumn, State
from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.number_columns import NumberTally
from semisvm.tables.schema import Array, Record, flag, text
from semisvm.tables.table import Table

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


class TimeTally(NumberTally):
    """The parts of a column of dates and times."""

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        super().__init__(list(PARTS), options)
        (self.column,) = columns
        self._missing = False

    def _values(self, table: Table) -> NDArray[np.float64]:
        values = read_times(table, self.column)
        self._missing |= bool(np.isnan(values).all(axis=1).any())
        return values

    def merge(self, other: NumberTally) -> None:
        """Add what was counted in other rows."""
        super().merge(other)
        self._missing |= isinstance(other, TimeTally) and other._missing

    def _draw(self, values: NDArray[np.float64]) -> None:
        """Keep no rows: medians are of no use here."""

    def block(  # type: ignore[override]
        self, columns: list[str], n_rows: int, path: str | None
    ) -> "TimeBlock":
        """Return the block."""
        variance = self._squares / np.maximum(self._present, 1.0)
        sums = (self._low, self._high, self._mean, variance)
        return TimeBlock.of_sums(self.column, *sums, self._missing, path)


@dataclass
class TimeBlock(OneColumn):
    """Parts of dates and times, standardised; a missing one counts as the mean.

    The time that has passed is cut to that of the training rows, since what later rows would add is
    not known.

    Attributes
    ----------
    column : str
    low, high, mean, scale : arrays of shape (12,)
        Of the `PARTS` in the training rows. Those with ``low == high`` are no features.
    indicated : bool
        Whether cells were missing in training, so that an indicator is a feature.
    """

    column: str
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    indicated: bool
    kind = "time"
    title = "dates or times"
    tally = TimeTally
    is_single = is_indicator = is_dense = True
    shown_as = "category"
    stored = Record(
        {
            "kind": text,
            "column": text,
            "indicated": flag,
            "low": Array("f", ("parts",)),
            "high": Array("f", ("parts",)),
            "mean": Array("f", ("parts",)),
            "scale": Array("f", ("parts",), above=0.0),
        }
    )

    @classmethod
    def recognise(cls, cells: Cells) -> Kind | None:
        """Recognise dates and times, or texts that are all written so."""
        words = cells.words
        if words and not cells.repeats and all(map(SLASHES.fullmatch, words)):
            return Kind(
                None,
                f"day and month of its dates, such as {words[0]!r}, have no known order; write "
                "them as 2025-12-31, which pandas.to_datetime does",
            )
        written = bool(words) and all(
            WRITTEN.fullmatch(word) or DOTS.fullmatch(word) for word in words
        )
        if not written and not any(isinstance(cell, (date, time)) for cell in cells.present):
            return None
        there = [cell for cell in cells.present if str(cell).strip()]
        read = [as_time(cell) for cell in there]
        if None in read:
            other = there[read.index(None)]
            return Kind(None, f"{other!r:.40} is not a date or time, as others are")
        if len({*map(str, read)}) == 1:
            return Kind(None, SAME)
        return Kind(cls.kind, "its values are dates or times")

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Learn ranges, means and scales."""
        (column,) = columns
        values = read_times(table, column)
        n = (~np.isnan(values)).sum(axis=0)
        mean = np.nansum(values, axis=0) / np.maximum(n, 1)
        squares = np.nansum((values - mean) ** 2, axis=0)
        low = np.fmin.reduce(values, axis=0, initial=np.inf)
        high = np.fmax.reduce(values, axis=0, initial=-np.inf)
        missing = bool(np.isnan(values).all(axis=1).any())
        variance = squares / np.maximum(n, 1)
        block = cls.of_sums(column, low, high, mean, variance, missing, table.path)
        return block, block.matrix(table)

    @classmethod
    def of_sums(
        cls,
        column: str,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        mean: NDArray[np.float64],
        variance: NDArray[np.float64],
        missing: bool,
        path: str | None,
    ) -> Self:
        """Make a block of what was summed up; parts without a value, or with one, are left out."""
        varies = low < high
        if not varies.any():
            raise DataError("the column has no two dates or times that differ.", path, None, column)
        scale = np.where(varies & (variance > 0.0), np.sqrt(variance), 1.0)
        low, high, mean = (np.where(varies, part, 0.0) for part in (low, high, mean))
        return cls(column, low, high, mean, scale, missing)

    @property
    def _kept(self) -> NDArray[np.bool_]:
        return np.asarray(self.low < self.high)

    @classmethod
    def values(cls, table: Table, column: str) -> NDArray[Any]:
        """Return parts of times."""
        return read_times(table, column)

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """Compute standardised parts, then the indicator."""
        values = read_times(table, self.column)
        missing = np.isnan(values).all(axis=1)
        standard = (np.clip(values, self.low, self.high) - self.mean) / self.scale
        found = np.nan_to_num(standard[:, self._kept], nan=0.0)
        return np.column_stack([found, missing]) if self.indicated else found

    def width(self) -> int:
        """Return the number of features."""
        return int(self._kept.sum()) + self.indicated

    def names(self) -> list[str]:
        """Return ``column__elapsed``, ``column__Monday`` and so on."""
        parts = [part for part, kept in zip(PARTS, self._kept, strict=True) if kept]
        return [f"{self.column}__{part}" for part in parts + ["missing"] * self.indicated]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        arrays = {name: getattr(self, name) for name in ("low", "high", "mean", "scale")}
        return {"column": self.column, "indicated": self.indicated}, arrays

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        parts = [arrays[name] for name in ("low", "high", "mean", "scale")]
        if any(part.shape != (len(PARTS),) for part in parts):
            raise ValueError("the parts of times and their statistics differ in number.")
        low, high, mean, scale = parts
        return cls(state["column"], low, high, mean, scale, state["indicated"])
