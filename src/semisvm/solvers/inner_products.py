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

    def among(self, rows: Index) -> tuple[Floats, Index]:
        """Return a part of the matrix, and where these rows and columns are in it."""
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

    def among(self, rows: Index) -> tuple[Floats, Index]:
        """Return the matrix, and where these rows and columns are in it."""
        return self._matrix, rows

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        out += np.einsum("k,kn->n", change, self._matrix[rows])


class RowGram:
    """Inner products of all rows of a design, of which at most those of ``ROOM`` rows are held.

    Working sets have many rows in common, also those of different classes, so the products
    of the rows seen last are kept. A product with a vector goes through the weights,
    ``X (X^T v)``: two passes over the data.
    """

    room = ROOM

    def __init__(self, design: Design) -> None:
        self._design = design
        # where each row is among the kept ones, and their products; -1 for other rows
        self._at = np.full(design.n_rows, -1, dtype=np.intp)
        self._kept: Index = np.empty(0, dtype=np.intp)
        self._products: Floats = np.empty((0, 0))

    def among(self, rows: Index) -> tuple[Floats, Index]:
        """Return the products that are kept, and where these rows and columns are in them."""
        missing = rows[self._at[rows] < 0]
        if len(self._kept) + len(missing) > self.room:
            self._at[self._kept] = -1
            self._kept, self._products, missing = self._kept[:0], np.empty((0, 0)), rows
        if len(missing):
            self._keep(missing)
        return self._products, self._at[rows]

    def _keep(self, rows: Index) -> None:
        """Compute the products of some rows with the kept rows and with each other."""
        n, k = len(self._kept), len(rows)
        self._kept = np.concatenate([self._kept, rows])
        self._at[rows] = np.arange(n, n + k)
        self._reserve(n, n + k)
        design = self._design
        found = design.products(design.rows(rows), design.rows(self._kept))
        self._products[n : n + k, : n + k] = found
        self._products[:n, n : n + k] = found[:, :n].T

    def _reserve(self, n: int, size: int) -> None:
        """Make room for the products of more rows, for twice as many where that fits."""
        if size > len(self._products):
            most = min(self.room, self._design.n_rows)
            larger = np.empty((max(size, min(2 * size, most)),) * 2)
            larger[:n, :n] = self._products[:n, :n]
            self._products = larger

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        design, spread = self._design, np.zeros(self._design.n_rows)
        spread[rows] = change
        w = design.pull_back(spread, design.rows(rows), np.empty(design.n_weights))
        out += design.scores(w, design.all_rows, spread)
