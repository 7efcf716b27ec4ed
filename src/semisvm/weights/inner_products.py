"""Inner products of rows, a column for each row that a solver asks for."""

from typing import Protocol

import numpy as np

from semisvm.designs import Design, Floats, Index

BLOCK = 64
"""Columns that are made at a time: one pass over the rows serves all of them."""
MEMORY = 2**28
"""Bytes that columns may take; beyond, those that were not needed for longest make room."""


class Gram(Protocol):
    """A positive semi-definite matrix of which some columns are at hand.

    Attributes
    ----------
    columns : array of shape (k, n)
        Columns, one a row.
    slot : int array of shape (n,)
        Where the columns are; -1 for those that are not at hand.
    used : int array of shape (k,)
        When each was last needed; solvers write it.
    diagonal : array of shape (n,)
    """

    columns: Floats
    slot: Index
    used: Index
    diagonal: Floats

    def fetch(self, wanted: Index) -> None:
        """Bring the first of the wanted columns, and some of the others, in their order."""
        ...


class WholeGram:
    """A small matrix, all of it at hand."""

    def __init__(self, matrix: Floats) -> None:
        self.columns = np.ascontiguousarray(matrix)
        self.slot = np.arange(len(matrix))
        self.used = np.zeros(len(matrix), dtype=np.intp)
        self.diagonal = np.ascontiguousarray(matrix.diagonal())

    def fetch(self, wanted: Index) -> None:
        """Do nothing: everything is here."""


class RowGram:
    """Inner products of all rows of a design, made when they are asked for.

    Parameters
    ----------
    design : Design
    memory : int
        Bytes that the columns may take.
    """

    def __init__(self, design: Design, memory: int = MEMORY) -> None:
        n = design.n_rows
        room = min(n, max(memory // (8 * n), 2 * BLOCK))
        self._design = design
        self._n_kept = 0
        self._owner = np.full(room, -1)
        self.columns = np.empty((room, n))
        self.slot = np.full(n, -1)
        self.used = np.zeros(room, dtype=np.intp)
        self.diagonal = design.squares()

    def fetch(self, wanted: Index) -> None:
        """Bring the first of the wanted columns, and some of the others, in their order."""
        new = wanted[self.slot[wanted] < 0][:BLOCK]
        places = self._places(len(new))
        gone = self._owner[places]
        self.slot[gone[gone >= 0]] = -1
        self.columns[places] = self._design.inner_products(new).T
        self.slot[new] = places
        self._owner[places] = new

    def _places(self, count: int) -> Index:
        """Give free places, then those whose columns were not needed for longest."""
        free = np.arange(self._n_kept, min(self._n_kept + count, len(self._owner)))
        self._n_kept += len(free)
        old = np.argsort(self.used[: self._n_kept], kind="stable")
        return np.concatenate([free, old[~np.isin(old, free)][: count - len(free)]])
