"""Rough cost of a fit, by the size of the data."""

from dataclasses import dataclass, replace
from typing import Any

NANO = 1e-9
DENSE = 0.1
"""An entry of a dense matrix costs about so much of one of a sparse matrix."""
FULL = 1.5
"""A stored entry of CSR takes so many times the memory of an entry of an array."""
FEW_COLUMNS = 15
"""Number of columns up to which an array is small, however many zeros it has."""


@dataclass(frozen=True)
class Size:
    """The size of data.

    Attributes
    ----------
    n_rows, n_columns : int
    n_entries : int
        Stored ones of a sparse matrix, all of a dense one.
    is_sparse : bool
    n_classes : int
    """

    n_rows: int
    n_columns: int
    n_entries: int
    is_sparse: bool
    n_classes: int

    @classmethod
    def of(cls, X: Any, n_classes: int) -> "Size":
        """Measure a matrix."""
        n_rows, n_columns = X.shape
        stored = getattr(X, "nnz", None)
        n_entries = n_rows * n_columns if stored is None else int(stored)
        return cls(n_rows, n_columns, n_entries, stored is not None, n_classes)

    @property
    def suits_array(self) -> bool:
        """Whether the rows are an array, or an array of them would be as small."""
        full = self.n_rows * self.n_columns <= FULL * self.n_entries
        return not self.is_sparse or full or self.n_columns <= FEW_COLUMNS

    def with_rows(self, n: int) -> "Size":
        """Return the size of more rows, or fewer, of the same kind."""
        return replace(self, n_rows=n, n_entries=round(self.n_entries * n / max(self.n_rows, 1)))

    @property
    def n_scores(self) -> int:
        """Scores of a row: two classes share one."""
        return 1 if self.n_classes <= 2 else self.n_classes


@dataclass(frozen=True)
class Cost:
    """Nanoseconds of a fit with the defaults, on one core.

    They are good enough to separate seconds, minutes and hours; `python -m benchmarks
    costs` prints them beside measured times.

    Attributes
    ----------
    entry : float
        For each entry and each column of a sparse X, for each score: what passes over the
        data cost.
    near : float
        For each pair of sparse rows: neighbours. An array, or what an array can hold as well,
        costs `DENSE` of it.
    pair : float
        For each pair of rows: kernels.
    triple : float
        For each triple of rows: factors and eigenvectors of a matrix over the rows.
    """

    entry: float = 0.0
    near: float = 0.0
    pair: float = 0.0
    triple: float = 0.0

    def seconds(self, size: Size) -> float:
        """Estimate the time of a fit."""
        n = float(size.n_rows)
        passes = float(size.n_scores * (size.n_entries + size.n_columns))
        passes *= 1.0 if size.is_sparse else DENSE
        pair = self.pair + self.near * (DENSE if size.suits_array else 1.0)
        return NANO * (self.entry * passes + pair * n**2 + self.triple * n**3)
