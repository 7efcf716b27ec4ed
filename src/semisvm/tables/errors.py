"""Errors about files and data."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from semisvm.text import did_you_mean, listing


class DataError(ValueError):
    """A file that cannot be read, or written, as asked.

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
        return self.with_place(self.message)

    def with_place(self, message: str) -> str:
        """Put the file, line and column before a message."""
        place = [] if self.path is None else [self.path]
        if self.line is not None:
            place.append(f"{self.word} {self.line}")
        if self.column is not None:
            named = isinstance(self.column, str)
            place.append(f"column {self.column!r}" if named else f"column {self.column}")
        return f"{', '.join(place)}: {message}" if place else message


class ModelFileError(ValueError):
    """A model that cannot be written, or a file that cannot be read as a model."""

    def __init__(self, message: str, path: str | Path | None = None) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        super().__init__(message, self.path)

    def __str__(self) -> str:
        return self.message if self.path is None else f"{self.path}: {self.message}"


class DataWarning(UserWarning):
    """Data that can be used but look like a mistake."""


def missing_column(name: str, there: Iterable[str], path: str | Path | None) -> DataError:
    """Return that a column is missing, which ones exist, and which one may be meant."""
    known = list(there)
    hint = did_you_mean(name, known)
    return DataError(f"there is no column {name!r}.{hint} The columns are {listing(known)}.", path)


def require(module: str, message: str, path: str | Path) -> None:
    """Raise an error with what to install if an optional package is missing."""
    try:
        import_module(module)
    except ImportError as error:
        raise DataError(message, path) from error


def in_short(error: BaseException) -> str:
    """Return the first line of an error of another package, or the name of the error."""
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT or NA, which differ from themselves."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        return not hasattr(cell, "__len__")  # an array, say
