"""Vectors of rows: arrays beside a table, and texts that are encoded."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.array_files import load_array
from semisvm.tables.encoders import Callback, Encoder, on_terminal, open_encoder
from semisvm.tables.errors import DataError, in_short
from semisvm.tables.frames import as_table
from semisvm.tables.kinds import TEXT, find_kind
from semisvm.tables.table import Column, Table, holds_vectors
from semisvm.tables.vector_columns import read_vectors

EMBEDDINGS = "embeddings"
"""Name of the column that an array becomes."""


@dataclass
class RowVectors:
    """An array with one row for each row of a table that may come piece by piece.

    Attributes
    ----------
    values : array of shape (n, k)
    path : str, optional
    used : int
        Rows that were given to pieces so far.
    """

    values: NDArray[Any]
    path: str | None = None
    used: int = 0

    @classmethod
    def load(cls, path: str | Path) -> "RowVectors":
        """Load a ``.npy`` file without pickle."""
        values = load_array(path)
        if values.ndim != 2 or values.dtype.kind not in "fiu" or values.shape[1] == 0:
            raise DataError(
                f"embeddings are an array of numbers with a row for each row of the data, but "
                f"this one has shape {values.shape} and type {values.dtype}.",
                path,
            )
        return cls(values, str(path))

    def join(self, table: Table) -> Table:
        """Return the next rows of the data with a column of their vectors."""
        stop = self.used + len(table)
        if stop > len(self.values):
            raise self._differ(f"more than {len(self.values):,}", table)
        joined = with_vectors(table, EMBEDDINGS, self.values[self.used : stop])
        self.used = stop
        return joined

    def finish(self) -> None:
        """Refuse vectors that no row is left for."""
        if self.used != len(self.values):
            raise self._differ(f"{self.used:,}")

    def _differ(self, rows: str, table: Table | None = None) -> DataError:
        name = "the data" if table is None or table.path is None else table.path
        return DataError(
            f"there are {len(self.values):,} vectors, but {name} has {rows} rows: the first vector "
            "belongs to the first row, and so on.",
            self.path,
        )


def with_vectors(table: Table, name: str, values: Column) -> Table:
    """Return a table with one more column, of vectors."""
    if name in table.columns:
        raise DataError(
            f"there is a column {name!r} already, which the vectors would replace: rename it.",
            table.path,
        )
    return replace(table, columns={**table.columns, name: values})


def without_vectors(table: Table) -> Table:
    """Return a table without its columns of vectors, which are not for reading."""
    return table.without([name for name in table.names if holds_vectors(table.columns[name])])


def vector_texts(table: Table, name: str) -> Sequence[str]:
    """Return the vectors of a column as text that is equal where they are."""
    return [row.tobytes().hex() for row in read_vectors(table, name)]


BATCH = 256
SUFFIX = "__encoded"
"""What the name of a column of encoded texts ends with."""


def encode_texts(
    data: Any,
    columns: Sequence[str] | None,
    encoder: str | Encoder,
    *,
    batch: int = BATCH,
    callback: Callback | None = None,
) -> Table:
    """Add a column of vectors, ``column__encoded``, for each of some text columns.

    Parameters
    ----------
    data : Table, dict of columns, or data frame
    columns : sequence of str, optional
        Text columns; by default those that look like text.
    encoder : str, or (list of str) -> array of shape (n, k)
        A name such as "model2vec:minishlab/potion-base-8M", as of `ColumnFeatures`, or a function,
        which gets up to ``batch`` texts at a time. Missing and blank texts are not encoded: their
        vectors are missing.
    batch : int, default=256
    callback : (done, all) -> None, optional
        Called before each batch with numbers of texts. By default a line on the terminal shows
        them if that takes long.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> from semisvm.tables import encode_texts
    >>> lengths = lambda texts: [[len(text), text.count(" ")] for text in texts]
    >>> table = encode_texts({"body": ["a cat", "two big dogs"]}, ["body"], lengths)
    >>> table.columns["body__encoded"].tolist()
    [[5.0, 1.0], [12.0, 2.0]]
    """
    table = as_table(data)
    names = text_columns(table) if columns is None else list(columns)
    if not names:
        raise DataError("no column looks like text: name one with text=.", table.path)
    function, total = open_encoder(encoder), len(names) * len(table)
    with on_terminal() as shown:
        report = shown if callback is None else callback
        for number, name in enumerate(names):
            texts, parts = table.text(name), []
            there = [row for row, text in enumerate(texts) if text.strip()]
            for start in range(0, len(there), batch):
                if report is not None:
                    report(number * len(table) + start, total)
                some = [texts[row] for row in there[start : start + batch]]
                parts.append(_encoded(function, some, name, table))
            table = with_vectors(table, name + SUFFIX, _spread(parts, there, name, table))
    return table


def _spread(parts: list[NDArray[Any]], there: list[int], name: str, table: Table) -> Column:
    """Return the vectors of all rows, of which some are missing; without any, a list of None."""
    if not parts:
        return [None] * len(table)
    if len({part.shape[1] for part in parts}) > 1:
        widths = sorted({part.shape[1] for part in parts})
        raise DataError(
            f"the encoder returned vectors of {widths[0]} and of {widths[-1]} numbers.",
            table.path,
            None,
            name,
        )
    found = np.concatenate(parts)
    if len(there) == len(table):
        return found
    values = np.full((len(table), found.shape[1]), np.nan, dtype=found.dtype)
    values[there] = found
    return values


def text_columns(table: Table) -> list[str]:
    """Return the columns that look like text."""
    return [name for name in table.names if find_kind(table, name).name == TEXT]


def _encoded(
    encoder: Encoder, texts: list[str], name: str, table: Table
) -> NDArray[np.floating[Any]]:
    try:
        found = np.asarray(encoder(texts))
    except Exception as error:
        what = f"{type(error).__name__}: {in_short(error)}"
        raise DataError(f"the encoder failed ({what}).", table.path, None, name) from error
    if found.ndim != 2 or len(found) != len(texts) or found.dtype.kind not in "fiu":
        raise DataError(
            f"the encoder must return an array of numbers with a row for each of {len(texts)} "
            f"texts, but its shape is {found.shape} and its type {found.dtype}.",
            table.path,
            None,
            name,
        )
    if found.shape[1] == 0 or not np.isfinite(found).all():
        raise DataError(
            "the encoder returned numbers that are not finite, or none.", table.path, None, name
        )
    return found.astype(np.float64) if found.dtype.kind != "f" else found


def load_encoder(name: str) -> Encoder:
    """Import a function by its name, ``module:function``, from a package or this folder.

    This runs the code of the module. Names come from a user who asks for it, never from a file.

    Raises
    ------
    ValueError
        With what is wrong with the name.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"an encoder is named as module:function, not {name!r}.")
    with _from_this_folder():
        try:
            found: Any = import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(
                f"the encoder {name!r} was not found: there is no module {error.name!r}."
            ) from error
        except Exception as error:
            what = f"{type(error).__name__}: {in_short(error)}"
            raise ValueError(f"the module {module!r} cannot be imported ({what}).") from error
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ValueError(f"the module {module!r} has no function {attribute!r}.")
    return found


@contextmanager
def _from_this_folder() -> Iterator[None]:
    """Have modules of the current folder found, as ``python -m`` does."""
    before = list(sys.path)
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path[:] = before
