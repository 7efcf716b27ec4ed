"""Inner products of rows: the matrix of a dual, of which a solver needs parts."""

from typing import Protocol

import numpy as np

from semisvm.designs import Design, Floats, Index

ROOM = 4_096
"""Maximum number of rows at once: their products take 128 MB."""


class Gram(Protocol):
    """A positive semi-definite matrix."""

    @property
    def room(self) -> int:
        """Maximum number of rows at once."""
        ...

    def among(self, rows: Index) -> Floats:
        """Return the part of the matrix with these rows and columns."""
        ...

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        ...


class WholeGram:
    """A small matrix, held as a whole."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = np.ascontiguousarray(matrix)

    @property
    def room(self) -> int:
        """Maximum number of rows at once."""
        return len(self._matrix)

    def among(self, rows: Index) -> Floats:
        """Return the part of the matrix with these rows and columns."""
        return self._matrix[np.ix_(rows, rows)]

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        out += np.einsum("k,kn->n", change, self._matrix[rows])


class RowGram:
    """Inner products of all rows of a design, never held as a whole.

    A product with a vector goes through the weights, ``X (X^T v)``: two passes over the data,
    and no column of the matrix is stored.
    """

    room = ROOM

    def __init__(self, design: Design) -> None:
        self._design = design

    def among(self, rows: Index) -> Floats:
        """Return the part of the matrix with these rows and columns."""
        return self._design.gram(self._design.rows(rows))

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        design, spread = self._design, np.zeros(self._design.n_rows)
        spread[rows] = change
        w = design.pull_back(spread, design.rows(rows), np.empty(design.n_weights))
        out += design.scores(w, design.all_rows, spread)
