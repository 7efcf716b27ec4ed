"""Inner products of rows: the matrix of a dual, of which a solver asks for parts."""

from typing import Protocol

import numpy as np

from semisvm.designs import Design, Floats, Index
from semisvm.weights._pair_kernels import add_columns

BLOCK = 64
"""Columns that are made at a time: one pass over the rows serves all of them."""
MEMORY = 2**28
"""Bytes that columns may take; beyond, those that were not needed for longest make room."""


class Gram(Protocol):
    """A positive semi-definite matrix."""

    @property
    def room(self) -> int:
        """How many rows may be asked for at once."""
        ...

    def among(self, rows: Index) -> Floats:
        """Give the part of the matrix with these rows and columns."""
        ...

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add the product with a vector to ``out`` that is ``change`` on rows, else zero."""
        ...


class WholeGram:
    """A small matrix, all of it at hand."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = np.ascontiguousarray(matrix)

    @property
    def room(self) -> int:
        """How many rows may be asked for at once."""
        return len(self._matrix)

    def among(self, rows: Index) -> Floats:
        """Give the part of the matrix with these rows and columns."""
        return self._matrix[np.ix_(rows, rows)]

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add the product with a vector to ``out`` that is ``change`` on rows, else zero."""
        add_columns(self._matrix, rows, change, out)


class RowGram:
    """Inner products of all rows of a design, made when they are first asked for.

    Parameters
    ----------
    design : Design
    memory : int
        Bytes that the columns may take.
    """

    def __init__(self, design: Design, memory: int = MEMORY) -> None:
        n = design.n_rows
        room = min(n, max(memory // (8 * n), BLOCK))
        self._design = design
        self._columns = np.empty((room, n))
        self._place = np.full(n, -1)
        self._owner = np.full(room, -1)
        self._used = np.zeros(room, dtype=np.intp)
        self._clock = 0

    @property
    def room(self) -> int:
        """How many rows may be asked for at once."""
        return len(self._columns)

    @property
    def at_hand(self) -> Index:
        """Rows whose columns are kept."""
        return np.flatnonzero(self._place >= 0)

    def among(self, rows: Index) -> Floats:
        """Give the part of the matrix with these rows and columns."""
        return self._columns[np.ix_(self._bring(rows), rows)]

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add the product with a vector to ``out`` that is ``change`` on rows, else zero."""
        add_columns(self._columns, self._bring(rows), change, out)

    def _bring(self, rows: Index) -> Index:
        """Make the columns that are missing; give the places of all."""
        here = self._place[rows]
        self._clock += 1
        self._used[here[here >= 0]] = self._clock
        missing = rows[here < 0]
        for start in range(0, len(missing), BLOCK):
            self._make(missing[start : start + BLOCK])
        return self._place[rows]

    def _make(self, rows: Index) -> None:
        """Put new columns in the place of those that were not needed for longest."""
        places = np.argsort(self._used, kind="stable")[: len(rows)]
        gone = self._owner[places]
        self._place[gone[gone >= 0]] = -1
        self._columns[places] = self._design.inner_products(rows).T
        self._place[rows], self._owner[places] = places, rows
        self._used[places] = self._clock
