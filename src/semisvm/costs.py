"""Rough cost of a fit, by the size of the data."""

from dataclasses import dataclass
from typing import Any

NANO = 1e-9
DENSE = 0.1
"""An entry of a dense matrix costs about so much of one of a sparse matrix."""


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
    def n_scores(self) -> int:
        """Scores of a row: two classes share one."""
        return 1 if self.n_classes <= 2 else self.n_classes


@dataclass(frozen=True)
class Cost:
    """Nanoseconds of a fit with the defaults, on one core.

    They are good for telling seconds from minutes and hours, not for more; `python -m benchmarks
    costs` prints them beside measured times.

    Attributes
    ----------
    entry : float
        For each entry and each column of a sparse X, for each score: what passes over the
        data cost.
    pair : float
        For each pair of rows: neighbours and kernels.
    triple : float
        For each triple of rows: factors and eigenvectors of a matrix over the rows.
    """

    entry: float = 0.0
    pair: float = 0.0
    triple: float = 0.0

    def seconds(self, size: Size) -> float:
        """Estimate the time of a fit."""
        n = float(size.n_rows)
        passes = float(size.n_scores * (size.n_entries + size.n_columns))
        passes *= 1.0 if size.is_sparse else DENSE
        return NANO * (self.entry * passes + self.pair * n**2 + self.triple * n**3)
