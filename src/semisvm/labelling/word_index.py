"""Finding rows by their words, quickly."""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from time import sleep

import numpy as np
from numpy.typing import NDArray

PIECE = 1 << 20
"""Characters that are searched in one call, during which no other thread can run."""
REMEMBERED = 8
"""Searches whose rows are kept: the next page of a list, and the same words after an answer."""

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Piece:
    """Some rows as one text in lower case.

    Attributes
    ----------
    first : int
        Number of the first row.
    starts : list of int
        Where its rows begin in the text.
    text : str
    """

    first: int
    starts: list[int]
    text: str

    def rows_with(self, word: str) -> Iterator[int]:
        """Yield the rows in which a word occurs, in order."""
        starts, find, last = self.starts, self.text.find, len(self.starts)
        place = find(word)
        while place >= 0:
            following = bisect_right(starts, place)
            yield self.first + following - 1
            if following == last:
                return
            place = find(word, starts[following])

    def has(self, row: int, word: str) -> bool:
        """Return whether a word occurs in a row."""
        k = row - self.first
        end = self.starts[k + 1] if k + 1 < len(self.starts) else len(self.text)
        return self.text.find(word, self.starts[k], end) >= 0


class WordIndex:
    """Texts of rows, in lower case and end to end.

    A search goes through long texts by `str.find`, which takes milliseconds where a loop over
    100,000 rows takes most of a second.

    Parameters
    ----------
    columns : function
        Returns the columns to be searched, as texts. It is called once, when needed.
    """

    def __init__(self, columns: Callable[[], Sequence[Sequence[str]]]) -> None:
        self._columns = columns
        self._pieces: list[Piece] | None = None
        self._building = threading.Lock()
        self._search = lru_cache(REMEMBERED)(self._rows_with_all)

    def build(self) -> list[Piece]:
        """Make the texts ready, if they are not."""
        with self._building:
            if self._pieces is None:
                self._pieces = list(_pieces(self._columns()))
            return self._pieces

    def build_soon(self) -> None:
        """Make the texts ready in a thread, before the first search."""
        if self._pieces is None:
            threading.Thread(target=self.build, name="semisvm-words", daemon=True).start()

    def find(self, words: str) -> Rows:
        """Return the rows in which all words occur, in any case and any column.

        Parameters
        ----------
        words : str
            At least one.
        """
        # the longest word is the rarest one, so that few rows are looked at for the others
        wanted = sorted(set(words.casefold().split()), key=lambda word: (-len(word), word))
        return self._search(tuple(wanted))

    def _rows_with_all(self, words: tuple[str, ...]) -> Rows:
        found: list[int] = []
        for piece in self.build():
            there = piece.rows_with(words[0])
            others = words[1:]
            found += [row for row in there if all(piece.has(row, word) for word in others)]
            sleep(0)  # others may want to run
        rows = np.array(found, dtype=np.intp)
        rows.flags.writeable = False  # it is remembered
        return rows


def _pieces(columns: Sequence[Sequence[str]]) -> Iterator[Piece]:
    """Join the rows to texts of about `PIECE` characters; words do not go across a line."""
    rows: list[str] = []
    first = size = 0
    for cells in zip(*columns, strict=True):
        row = "\n".join(cells).casefold()
        rows.append(row)
        size += len(row) + 1
        if size >= PIECE:
            yield _piece(first, rows)
            first, rows, size = first + len(rows), [], 0
    if rows:
        yield _piece(first, rows)


def _piece(first: int, rows: list[str]) -> Piece:
    starts = [0, *accumulate(len(row) + 1 for row in rows)]
    return Piece(first, starts[:-1], "\n".join(rows))
