"""Vectors as features: from a column of embeddings, or of texts by a function of the user's."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.blocks import Arrays, State
from semisvm.tables.errors import DataError, in_short
from semisvm.tables.kinds import TEXT, VECTOR, find_kind
from semisvm.tables.table import Table, as_table
from semisvm.tables.vector_files import read_vectors, with_vectors

Encoder = Callable[[list[str]], Any]
"""From n texts to an array of shape (n, k)."""

BATCH = 256
SUFFIX = "__encoded"
"""What the name of a column of encoded texts ends with."""


def encode_texts(
    data: Any,
    columns: Sequence[str] | None,
    encoder: Encoder,
    *,
    batch: int = BATCH,
    tell: Callable[[int, int], object] | None = None,
) -> Table:
    """Add a column of vectors, ``column__encoded``, for each of some text columns.

    Parameters
    ----------
    data : Table, dict of columns, or data frame
    columns : sequence of str, optional
        Text columns; by default those that look like text.
    encoder : (list of str) -> array of shape (n, k)
        Gets up to ``batch`` texts at a time. A missing text is "".
    batch : int, default=256
    tell : (done, all) -> None, optional
        Called before each batch with numbers of texts.

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
    total = len(names) * len(table)
    for number, name in enumerate(names):
        texts, parts = table.text(name), []
        for start in range(0, len(texts), batch):
            if tell is not None:
                tell(number * len(table) + start, total)
            parts.append(_encoded(encoder, texts[start : start + batch], name, table))
        if len({part.shape[1] for part in parts}) > 1:
            widths = sorted({part.shape[1] for part in parts})
            raise DataError(
                f"the encoder returned vectors of {widths[0]} and of {widths[-1]} numbers.",
                table.path,
                None,
                name,
            )
        table = with_vectors(table, name + SUFFIX, np.concatenate(parts))
    return table


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


@dataclass
class VectorBlock:
    """The vectors of a column, less their mean; a missing vector counts as the mean.

    Directions and distances between vectors mean something, so single coordinates are not
    standardised. The mean is subtracted because vectors of many encoders share a large part,
    which distinguishes no rows but would take up the length that the block is allowed.

    Attributes
    ----------
    column : str
    mean : array of shape (k,)
        Of the training rows.
    """

    column: str
    mean: NDArray[np.float64]
    kind = VECTOR

    @classmethod
    def fit(cls, table: Table, column: str) -> Self:
        """Learn the mean."""
        tally = VectorTally(column)
        tally.add(table)
        return cls(column, tally.mean(table.path))

    @property
    def columns(self) -> list[str]:
        """The column that is read."""
        return [self.column]

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """Compute the centred vectors."""
        centred = read_vectors(table, self.column, self.width()) - self.mean
        return np.nan_to_num(centred, copy=False, nan=0.0)

    def width(self) -> int:
        """Return the number of features."""
        return len(self.mean)

    def sources(self) -> list[str]:
        """Return the column once per feature."""
        return [self.column] * self.width()

    def names(self) -> list[str]:
        """Return ``column[0]`` and so on."""
        return [f"{self.column}[{k}]" for k in range(self.width())]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        return {"column": self.column, "n_columns": self.width()}, {"mean": self.mean}

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        if arrays["mean"].shape != (state["n_columns"],):
            raise ValueError("the vectors and their mean differ in length.")
        return cls(state["column"], arrays["mean"])


class VectorTally:
    """The mean of a column of vectors that comes piece by piece."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._sum: NDArray[np.float64] | None = None
        self._count = 0

    def add(self, table: Table) -> None:
        """Count the vectors of some rows."""
        cells = table.column(self.column)
        if not isinstance(cells, np.ndarray) and all(cell is None for cell in cells):
            return  # a piece in which all are missing has no length
        values = read_vectors(table, self.column, None if self._sum is None else len(self._sum))
        self._include(np.nansum(values, axis=0), int((~np.isnan(values[:, 0])).sum()))

    def merge(self, other: "VectorTally") -> None:
        """Add what was counted in other rows."""
        if other._sum is not None:
            self._include(other._sum, other._count)

    def _include(self, total: NDArray[np.float64], count: int) -> None:
        if self._sum is not None and len(self._sum) != len(total):
            message = f"there are vectors of {len(self._sum):,} and of {len(total):,} numbers."
            raise DataError(message, None, None, self.column)
        self._sum = total if self._sum is None else self._sum + total
        self._count += count

    def mean(self, path: str | None) -> NDArray[np.float64]:
        """Return the mean of the vectors that are not missing."""
        if self._sum is None or self._count == 0:
            raise DataError("the column has no vector.", path, None, self.column)
        return np.asarray(self._sum / self._count)
