"""svmlight and libsvm files: a label, then ``index:value`` pairs, one row per line."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.tables import _svmlight_kernels as kernels
from semisvm.tables.errors import DataError, DataWarning
from semisvm.tables.labels import Labels, number_labels, number_marker
from semisvm.tables.opening import (
    PEEK,
    Options,
    find_encoding,
    open_bytes,
    refuse_foreign,
    too_wide,
)
from semisvm.tables.table import MatrixData

BLOCK = 1 << 24
"""Bytes that are parsed at a time; about this much is held besides the result."""

_MESSAGES = {
    kernels.NOT_A_LABEL: "the label {token} is not a number",
    kernels.MIXED: "this row {has} a label, unlike the rows above",
    kernels.NOT_AN_INDEX: "{token} is not an index:value pair",
    kernels.LARGE_INDEX: "the index of {token} is too large",
    kernels.NO_VALUE: "the value after the colon is missing",
    kernels.NOT_A_NUMBER: "the value {token} is not a finite number",
    kernels.DUPLICATE: "the index of {token} occurs twice in this row",
}


@dataclass
class Block:
    """The rows of one part of a file; column indices as they stand there."""

    labels: NDArray[np.float64]
    lines: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    labeled: int
    smallest: int
    largest: int

    @property
    def has_labels(self) -> bool:
        """Whether the rows begin with labels."""
        return self.labeled == kernels.LABELED


def read_svmlight(path: str | Path, options: Options) -> Iterator[MatrixData]:
    """Read an svmlight file, whole or block by block.

    Parameters
    ----------
    path : str or Path
    options : Options
        With ``chunk_rows`` the blocks of the file come one after the other, each of some
        megabytes; then ``n_features`` and ``zero_based`` must be known. If the labels are apart, a
        blank line is a row of zeros.
    """
    if options.columns is not None and options.chunk_rows:
        raise DataError(
            "an svmlight file is a matrix without named columns, which are needed.", path
        )
    blocks = read_blocks(path, options, options.labels_apart)
    if options.chunk_rows:
        if options.n_features is None or options.zero_based == "auto":
            raise ValueError("reading in chunks needs n_features and zero_based.")
        for block in blocks:
            yield _matrix([block], path, options)
    else:
        yield _matrix(list(blocks), path, options)


def read_blocks(path: str | Path, options: Options, blank_rows: bool = False) -> Iterator[Block]:
    """Parse a file, some megabytes at a time; for indices as they stand there.

    The parameters are those of `read_svmlight`.
    """
    first_line, labeled, found = 1, kernels.UNKNOWN, False
    with open_bytes(path, options.seen) as stream:
        for text in _whole_lines(stream, path):
            block = _parse(text, first_line, labeled, path, options, blank_rows)
            first_line += text.count(b"\n")
            labeled = block.labeled
            if len(block.labels):
                found = True
                yield block
    if not found:
        raise DataError("the file is empty.", path)


def _whole_lines(stream: BinaryIO, path: str | Path) -> Iterator[bytes]:
    """Cut a file into parts of about `BLOCK` bytes that end with a line."""
    head = stream.read(PEEK)
    refuse_foreign(head, path)
    if find_encoding(head, path) not in ("utf-8", "utf-8-sig"):
        raise DataError("svmlight files are plain text, but this one is UTF-16.", path, 1)
    parts = [head.removeprefix(b"\xef\xbb\xbf")]
    while piece := stream.read(BLOCK):
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            parts.append(piece)  # a line longer than a block
            continue
        yield b"".join([*parts, piece[:cut]])
        parts = [piece[cut:]]
    rest = b"".join(parts)
    if rest:
        yield rest


def _parse(
    text: bytes,
    first_line: int,
    labeled: int,
    path: str | Path,
    options: Options,
    blank_rows: bool,
) -> Block:
    data = np.frombuffer(text, dtype=np.uint8)
    n_rows, n_values = text.count(b"\n") + 1, text.count(b":")
    labels, lines = np.empty(n_rows), np.empty(n_rows, dtype=np.int64)
    indptr, indices = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_values, dtype=np.int32)
    values, slow = np.empty(n_values), np.empty((n_values + n_rows, 3), dtype=np.int64)
    status, position, line, labeled, rows, size, n_slow, unsorted, found = kernels.parse_rows(
        data, blank_rows, labeled, labels, lines, indptr, indices, values, slow
    )
    low, high, zero, zero_line = found
    lines += first_line - 1
    if status != kernels.FINE:
        raise _error(status, text, position, first_line + line - 1, labeled, path)
    _read_slow(text, slow[:n_slow], labels, values, lines, indptr[: rows + 1], path)
    if zero >= 0 and options.zero_based is False:
        message = "the index is 0, but indices should begin with 1: use zero_based=True."
        raise DataError(message, path, first_line + zero_line - 1, _column(text, zero))
    block = Block(
        labels[:rows],
        lines[:rows],
        indptr[: rows + 1],
        indices[:size],
        values[:size],
        labeled,
        low,
        high,
    )
    if unsorted:
        _sort(block, text, first_line, path)
    return block


def _read_slow(
    text: bytes,
    slow: NDArray[np.int64],
    labels: NDArray[np.float64],
    values: NDArray[np.float64],
    lines: NDArray[np.int64],
    indptr: NDArray[np.int64],
    path: str | Path,
) -> None:
    """Read the numbers that compiled code was not sure of."""
    for entry, start, stop in slow.tolist():
        number = float(text[start:stop])
        if not np.isfinite(number):
            row = -1 - entry if entry < 0 else int(np.searchsorted(indptr, entry, "right")) - 1
            message = f"{_token(text, start)} is too large for a number."
            raise DataError(message, path, int(lines[row]), _column(text, start))
        if entry < 0:
            labels[-1 - entry] = number
        else:
            values[entry] = number


def _sort(block: Block, text: bytes, first_line: int, path: str | Path) -> None:
    """Sort the indices of every row, and refuse duplicates that sorting shows."""
    shape = (len(block.labels), block.largest + 1)
    rows = sparse.csr_array((block.values, block.indices, block.indptr), shape=shape)
    rows.sort_indices()
    block.indices, block.values = rows.indices.astype(np.int32), rows.data
    same = np.flatnonzero(block.indices[1:] == block.indices[:-1]) + 1
    same = same[~np.isin(same, block.indptr)]
    if len(same):
        row = int(np.searchsorted(block.indptr, same[0], "right")) - 1
        line = int(block.lines[row])
        content = text.split(b"\n", line - first_line + 1)[line - first_line]
        pair = b"%d:" % block.indices[same[0]]
        column = _second(content, pair)
        raise DataError(
            f"the index {int(block.indices[same[0]])} occurs twice in this row.", path, line, column
        )


def _second(content: bytes, pair: bytes) -> int:
    """Return the column at which a token that begins with ``pair`` stands the second time."""
    padded = b" " + content.replace(b"\t", b" ")
    return padded.find(b" " + pair, padded.find(b" " + pair) + 1) + 1


def _error(
    status: int, text: bytes, position: int, line: int, labeled: int, path: str | Path
) -> DataError:
    has = "has" if labeled == kernels.UNLABELED else "does not have"
    message = _MESSAGES[status].format(token=_token(text, position), has=has)
    if status == kernels.NOT_A_LABEL and "," in message:
        message += ": several labels per row are not supported"
    return DataError(message + ".", path, line, _column(text, position))


def _token(text: bytes, position: int) -> str:
    words = text[position : position + 40].split()
    return repr(words[0].decode("utf-8", "replace") if words else "")


def _column(text: bytes, position: int) -> int:
    return position - text.rfind(b"\n", 0, position)


def _matrix(blocks: list[Block], path: str | Path, options: Options) -> MatrixData:
    zero_based = options.zero_based
    if zero_based == "auto":
        zero_based = min(block.smallest for block in blocks) == 0
    first = 0 if zero_based else 1
    n_columns = max(0, max(block.largest for block in blocks) + 1 - first)
    if options.n_features is None:
        _check_width(blocks, n_columns, path, options)
    indices = np.concatenate([block.indices for block in blocks]) - np.int32(first)
    values = np.concatenate([block.values for block in blocks])
    ends = _running([block.indptr for block in blocks])
    index_type = np.int32 if len(values) < 2**31 else np.int64
    X: Any = sparse.csr_matrix(
        (values, indices.astype(index_type), ends.astype(index_type)),
        shape=(len(ends) - 1, n_columns),
    )
    if options.n_features is not None:
        X = fit_width(X, options.n_features, path)
    lines = np.concatenate([block.lines for block in blocks])
    labels = None
    if blocks[0].has_labels and options.chunk_rows is None:
        numbers = np.concatenate([block.labels for block in blocks])
        labels = block_labels(numbers, lines, path, options)
    return MatrixData(X, labels, str(path), lines, {"zero_based": zero_based})


def _running(indptrs: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    parts, total = [np.zeros(1, dtype=np.int64)], 0
    for indptr in indptrs:
        parts.append(indptr[1:] + total)
        total += int(indptr[-1])
    return np.concatenate(parts)


def _check_width(blocks: list[Block], n_columns: int, path: str | Path, options: Options) -> None:
    wrong = too_wide(n_columns, sum(len(b.values) for b in blocks), options.max_columns)
    if wrong is None:
        return
    widest = max(blocks, key=lambda block: block.largest)
    place = int(np.argmax(widest.indices))
    row = int(np.searchsorted(widest.indptr, place, "right")) - 1
    message = f"the index {widest.largest} needs {wrong}"
    raise DataError(message, path, int(widest.lines[row]))


def block_labels(
    numbers: NDArray[np.float64], lines: NDArray[np.int64], path: str | Path, options: Options
) -> Labels:
    """Read the labels of rows; ``lines`` are their line numbers, for messages."""
    given = options.unlabeled
    marker = 0.0 if given is None else number_marker(given, path)
    return number_labels(numbers, marker, lambda what, row: DataError(what, path, int(lines[row])))


def fit_width(X: Any, n_features: int, path: str | Path) -> Any:
    """Return the matrix with the number of columns of a model; others are left out."""
    if X.shape[1] > n_features:
        beyond = int(np.count_nonzero(X.indices >= n_features))
        warnings.warn(
            f"{path}: {beyond} values are in columns after the {n_features} of the model; they are "
            "left out.",
            DataWarning,
            stacklevel=2,
        )
        return X[:, :n_features]
    if X.shape[1] < n_features:
        X.resize((X.shape[0], n_features))
    return X


def write_svmlight(stream: BinaryIO, X: Any, labels: Iterable[Any]) -> None:
    """Write rows so that reading gives the same numbers; None is written as 0.

    Parameters
    ----------
    stream : binary stream
    X : sparse matrix or array of shape (n, d)
    labels : iterable of numbers or None, of length n
    """
    rows = sparse.csr_array(X)
    for i, label in enumerate(labels):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
        cells = " ".join(f"{index + 1}:{float(value)!r}" for index, value in pairs)
        stream.write(f"{0 if label is None else label} {cells}".rstrip().encode() + b"\n")
