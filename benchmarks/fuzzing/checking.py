"""What must hold for every input: an error of ours or a right answer, never something else."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables import DataError, MatrixData, Table
from semisvm.tables.errors import is_missing
from semisvm.tables.kinds import find_kind
from semisvm.tables.labels import Labels
from semisvm.text import MISSING_WORDS

MEMORY_DISK = Path("/dev/shm")


class WrongError(AssertionError):
    """A file that was read, but not rightly."""


def expect(right: bool, what: str) -> None:
    """Raise if something does not hold."""
    if not right:
        raise WrongError(what)


@cache
def _folder(process: int) -> Path:
    place = MEMORY_DISK if os.access(MEMORY_DISK, os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="semisvm-fuzz-", dir=place)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def folder_of_process() -> Path:
    """Return a folder for the inputs of this process, in memory where there is such a disk."""
    return _folder(os.getpid())


def put(data: bytes, name: str) -> Path:
    """Write an input to a file of this process."""
    path = folder_of_process() / name
    path.write_bytes(data)
    return path


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or the error of ours that it raises.

    A reader that has run out of memory says so in an error of ours. Inputs are small, so
    that too is a finding.
    """
    try:
        return call()
    except DataError as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from None
        return error


def use_columns(table: Table) -> None:
    """Interpret every column in every way."""
    for name in table.names:
        for way in (table.text, table.numbers, table.levels):
            outcome(partial(way, name))
        outcome(partial(find_kind, table, name))


def check_pieces(whole: Any, pieces: Any) -> None:
    """Compare a table that was read at once with one that was read in pieces."""
    if isinstance(whole, DataError) or isinstance(pieces, DataError):
        expect(str(whole) == str(pieces), f"at once: {whole}; in pieces: {pieces}")
        return
    expect(sum(map(len, pieces)) == len(whole), "the pieces have other rows")
    for name in whole.names:
        cells = [cell for piece in pieces for cell in _cells(piece, name)]
        expect(same_cells(list(whole.columns[name]), cells), f"pieces differ in {name!r}")
    lines = np.concatenate([piece.lines for piece in pieces])
    expect(np.array_equal(lines, whole.lines), "the pieces have other lines")


def _cells(piece: Table, name: str) -> list[Any]:
    return list(piece.columns[name]) if name in piece.columns else [None] * len(piece)


def same_cells(a: list[Any], b: list[Any]) -> bool:
    """Tell whether cells are equal; one missing value equals another."""
    return len(a) == len(b) and all(map(_same_cell, a, b))


def _same_cell(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        # vectors are rows of an array where all of a piece have one length, else lists
        return np.array_equal(_vector(x), _vector(y), equal_nan=True)
    return bool(x is y or x == y or (is_missing(x) and is_missing(y)))


def _vector(cell: Any) -> NDArray[np.float64]:
    """Return a vector; a missing one has no numbers."""
    if cell is None:
        return np.empty(0)
    numbers = np.asarray([np.nan if n is None else n for n in cell], dtype=np.float64)
    return np.empty(0) if np.isnan(numbers).all() else numbers


def check_text_labels(cells: Iterable[str], labels: Labels) -> None:
    """See that labels say what stands in the cells, in one kind."""
    for cell, label in zip(cells, labels.tolist(), strict=True):
        text = cell.strip()
        if text == "" or text.casefold() in MISSING_WORDS:
            expect(label is None, f"{cell!r} became {label!r}")
        else:
            kept = label == text or str(label) == text.removesuffix(".0")
            expect(kept, f"{cell!r} became {label!r}")
    check_one_kind(labels)


def check_one_kind(labels: Labels | None) -> None:
    """See that labels are of one kind."""
    if labels is not None:
        kinds = {type(label) for label in labels.tolist() if label is not None}
        expect(len(kinds) <= 1 and kinds <= {int, float, str, bool}, f"labels are {kinds}")


def dense(data: MatrixData) -> NDArray[np.float64]:
    """Return the matrix as an array."""
    X = data.X
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())
