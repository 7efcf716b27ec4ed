"""How a file is to be read, and how many columns a sparse matrix may have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from semisvm.tables.errors import missing_column

CHUNK_ROWS = 10_000


@dataclass(frozen=True)
class Options:
    """How a file is to be read; `semisvm.tables.read` explains the fields."""

    label: str | None = None
    columns: Sequence[str] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quotes: bool = True
    sheet: str | None = None
    unlabeled: str | None = None
    na_is_class: bool = False
    zero_based: bool | Literal["auto"] = "auto"
    n_features: int | None = None
    max_columns: int | None = None
    chunk_rows: int | None = None
    absent: bool = False
    seen: Callable[[int], object] | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """What stands for "no label" in a label column, besides blank."""
        return () if self.unlabeled is None else (self.unlabeled,)

    @property
    def label_columns(self) -> list[str]:
        """The label column, if there is one."""
        return [] if self.label is None else [self.label]

    def wanted(self, there: Sequence[str], path: str | Path) -> list[str]:
        """Return the feature columns to keep, or raise if one is not there."""
        known = set(there)
        for name in (*(self.columns or ()), *self.label_columns):
            if name not in known:
                raise missing_column(name, there, path)
        chosen = there if self.columns is None else list(dict.fromkeys(self.columns))
        return [name for name in chosen if name != self.label]


ALWAYS_COLUMNS = 1 << 24
"""A matrix of so many columns is read, however few values it has: 128 MiB per vector of weights."""

COLUMNS_PER_VALUE = 100
"""And a wider one if there is a value for so many columns."""


def too_wide(n_columns: int, n_values: int, max_columns: int | None) -> str | None:
    """Return why a matrix may not have so many columns; None if it may.

    A model has a weight for every column, whether or not there is a value in it. So an
    index that is large by mistake, or a hash of 31 bits, asks for gigabytes.

    Parameters
    ----------
    n_columns, n_values : int
    max_columns : int, optional
        Maximum number of columns, instead of the rule of thumb.
    """
    if max_columns is not None:
        if n_columns <= max_columns:
            return None
        return f"{n_columns:,} columns, but at most {max_columns:,} are allowed."
    if n_columns <= max(ALWAYS_COLUMNS, COLUMNS_PER_VALUE * n_values):
        return None
    return (
        f"{n_columns:,} columns, which is {n_columns * 8 / 2**30:.1f} GiB for every vector of "
        f"weights, but the file has {n_values:,} values. If this is intended, use "
        f"max_columns={n_columns}; if the columns are hashes, take them modulo "
        f"{ALWAYS_COLUMNS:,} or less."
    )
