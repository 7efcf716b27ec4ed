"""What goes wrong with files, said once and clearly."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any


class DataError(ValueError):
    """A file that cannot be read as asked.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    path : str or Path, optional
    line : int, optional
        Counted from 1.
    column : int or str, optional
        Position in the line, counted from 1, or the name of a column.
    word : str, default="line"
        "row" for files without lines.
    """

    def __init__(
        self,
        message: str,
        path: str | Path | None = None,
        line: int | None = None,
        column: int | str | None = None,
        word: str = "line",
    ) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        self.column = column
        self.word = word
        super().__init__(message, self.path, line, column, word)

    def __str__(self) -> str:
        place = [] if self.path is None else [self.path]
        if self.line is not None:
            place.append(f"{self.word} {self.line}")
        if self.column is not None:
            named = isinstance(self.column, str)
            place.append(f"column {self.column!r}" if named else f"column {self.column}")
        return f"{', '.join(place)}: {self.message}" if place else self.message


class DataWarning(UserWarning):
    """Data that can be used but look like a mistake."""


def missing_column(name: str, there: Iterable[str], path: str | Path | None) -> DataError:
    """Say that a column is not there, which ones are, and which one may be meant."""
    known = list(there)
    near = near_match(name, known)
    hint = f" Did you mean {near!r}?" if near else ""
    return DataError(f"there is no column {name!r}.{hint} The columns are {listing(known)}.", path)


def near_match(name: str, known: Iterable[str]) -> str | None:
    """Give the known name that a misspelt one is probably meant for."""
    by_fold = {known_name.casefold().strip(): known_name for known_name in known}
    found = get_close_matches(name.casefold().strip(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None


def listing(names: Iterable[str], most: int = 20) -> str:
    """Write names in a row, the first ones of many."""
    known = [repr(name) for name in names]
    rest = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + rest


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is None, NaN, NaT or NA, which differ from themselves."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        return not isinstance(cell, (list, dict))
