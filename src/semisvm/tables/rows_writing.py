"""Writing rows to a folder of arrays, piece by piece."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.disk_header import (
    CSR,
    DENSE,
    FEATURES,
    HEAD_BYTES,
    HEADER,
    LABELS,
    ORDER,
    ArrayFact,
    Header,
    array_head,
)
from semisvm.designs.validation import is_sparse
from semisvm.tables.errors import DataError
from semisvm.tables.folders import write_folder
from semisvm.tables.labels import codes_of_array
from semisvm.tables.opening import too_wide
from semisvm.tables.writing import explained, sync

NUMBERED_FROM = 4_096
"""Columns from which on frequent ones come first: fewer weights are in the first-level cache
anyway. Designs in memory make a copy of the indices for it; here it costs nothing."""
MOST_COLUMNS = 2**31 - 1
RAW = "raw"
ARRAY_PIECE = 1 << 20
"""Entries that are changed at a time, in the last step."""


class ArrayFile:
    """A ``.npy`` file that grows.

    Parameters
    ----------
    folder : Path
    name : str
    dtype : dtype
    path : str or Path
        What the user calls the folder.
    width : int, optional
        Number of columns of a matrix; by default it is a vector.
    """

    def __init__(
        self, folder: Path, name: str, dtype: Any, path: str | Path, width: int | None = None
    ) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.file = folder / f"{name}.npy"
        self._path, self._width = path, width
        self._length = self._crc = 0
        with explained(path):
            self._stream: BinaryIO = open(self.file, "wb")  # noqa: SIM115
            self._stream.write(bytes(HEAD_BYTES))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of what is there."""
        return (self._length,) if self._width is None else (self._length, self._width)

    def add(self, values: NDArray[Any]) -> None:
        """Append values, or rows of them."""
        part = np.ascontiguousarray(values, dtype=self.dtype)
        content = part.reshape(-1).view(np.uint8).data
        self._crc = zlib.crc32(content, self._crc)
        with explained(self._path):
            self._stream.write(content)
        self._length += len(part)

    def stop(self) -> None:
        """Close the file, complete or not."""
        with suppress(OSError):
            self._stream.close()

    def close(self) -> ArrayFact:
        """Complete the file; return its entry in the header."""
        with explained(self._path), self._stream as stream:
            stream.seek(0)
            stream.write(array_head(self.dtype, self.shape))
            sync(stream, self._path)
        return self._fact()

    def _fact(self) -> ArrayFact:
        return ArrayFact(self.dtype.name, list(self.shape), self._crc)

    def discard(self) -> None:
        """Remove the file."""
        self.stop()
        self.file.unlink(missing_ok=True)

    def mapped(self, mode: Any = "r") -> NDArray[Any]:
        """Map what is there."""
        if not self._stream.closed:
            self._stream.flush()
        if self._length == 0:
            return np.empty(self.shape, dtype=self.dtype)
        return np.memmap(self.file, self.dtype, mode, HEAD_BYTES, self.shape)

    def change(self, new: Callable[[slice, NDArray[Any]], NDArray[Any]]) -> ArrayFact:
        """Replace all values after `close`, some at a time."""
        array, crc = self.mapped("r+"), 0
        with explained(self._path):
            for part in pieces_of(len(array), ARRAY_PIECE // max(self._width or 1, 1)):
                array[part] = new(part, array[part])
                crc = zlib.crc32(np.ascontiguousarray(array[part]).view(np.uint8).data, crc)
            if isinstance(array, np.memmap):
                array.flush()
        self._crc = crc
        return self._fact()


def pieces_of(n: int, step: int = ARRAY_PIECE) -> Iterator[slice]:
    """Yield slices that cover n entries."""
    step = max(step, 1)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


class RowsWriter:
    """Rows of a matrix, appended piece by piece and completed by `finish`.

    Parameters
    ----------
    folder : Path
        Where to write; see `write_folder`.
    path : str or Path
        What the user calls it.
    dtype : float64 or float32
    width : int, optional
        Number of columns of a dense matrix; by default the matrix is sparse.
    """

    def __init__(
        self, folder: Path, path: str | Path, dtype: Any = np.float64, width: int | None = None
    ) -> None:
        self.folder, self.path = folder, path
        self.layout = CSR if width is None else DENSE
        self.n_rows = self.n_values = 0
        self._values = ArrayFile(folder, "values", dtype, path, width)
        self._labels: ArrayFile | None = None
        if width is None:
            self._indices = ArrayFile(folder, RAW, np.int32, path)
            self._indptr = ArrayFile(folder, "indptr", np.int64, path)
            self._indptr.add(np.zeros(1, dtype=np.int64))
        self._smallest, self._largest = np.iinfo(np.int64).max, -1

    @property
    def smallest(self) -> int:
        """Smallest index so far."""
        return int(self._smallest)

    def stop(self) -> None:
        """Close all files, complete or not."""
        files = [self._values, self._labels]
        files += [self._indices, self._indptr] if self.layout == CSR else []
        for file in files:
            if file is not None:
                file.stop()

    def add(self, X: Any, source: str | Path | None = None) -> None:
        """Append rows, CSR with any indices or dense.

        Raises
        ------
        DataError
            With row and column, if a value is not finite.
        """
        if self.layout == DENSE:
            dense = np.asarray(X.toarray() if is_sparse(X) else X)
            self._check_finite(dense, source)
            self._values.add(dense)
            self.n_values += dense.size
            self.n_rows += len(dense)
            return
        rows = sparse.csr_matrix(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        self.add_entries(rows.indptr, rows.indices, rows.data, source)

    def add_entries(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        source: str | Path | None = None,
    ) -> None:
        """Append rows by their entries, of which no two are at the same place."""
        low, high = int(indptr[0]), int(indptr[-1])
        indices, values = indices[low:high], values[low:high]
        self._check_finite(values, source, indptr, indices)
        if len(indices):
            self._smallest = min(self._smallest, int(indices.min()))
            self._largest = max(self._largest, int(indices.max()))
        if self._largest >= MOST_COLUMNS:
            raise DataError(f"the column {self._largest} is too large.", source)
        self._indptr.add(indptr[1:].astype(np.int64) - low + self.n_values)
        self._indices.add(indices)
        self._values.add(values)
        self.n_values += len(values)
        self.n_rows += len(indptr) - 1

    def _check_finite(
        self,
        values: NDArray[Any],
        source: str | Path | None,
        indptr: NDArray[Any] | None = None,
        indices: NDArray[Any] | None = None,
    ) -> None:
        with np.errstate(over="ignore"):
            kept = values.astype(self._values.dtype, copy=False)
        if not kept.size or np.isfinite(kept).all():
            return
        first = int(np.argmin(np.isfinite(kept).ravel()))
        if indptr is None or indices is None:
            row, column = divmod(first, values.shape[1])
        else:
            row = int(np.searchsorted(indptr, first + int(indptr[0]), "right")) - 1
            column = int(indices[first])
        value = values.ravel()[first]
        what = "too large for single precision" if np.isfinite(value) else "not a finite number"
        message = f"the value {value} is {what}. Correct it, or impute it first."
        raise DataError(message, source, self.n_rows + row + 1, column + 1, "row")

    def add_codes(self, codes: NDArray[np.int32]) -> None:
        """Append the labels of rows as codes, -1 for none."""
        if self._labels is None:
            self._labels = ArrayFile(self.folder, LABELS, np.int32, self.path)
        self._labels.add(codes)

    def finish(
        self,
        n_columns: int | None = None,
        *,
        first: int = 0,
        max_columns: int | None = None,
        column_scales: NDArray[np.float64] | None = None,
        classes: tuple[list[Any], NDArray[np.int32]] | None = None,
        features: tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]] | None = None,
        **entries: Any,
    ) -> Header:
        """Complete the arrays, and write the header last.

        Parameters
        ----------
        n_columns : int, optional
            By default as many as the largest index needs.
        first : int, default=0
            Index of the first column.
        max_columns : int, optional
        column_scales : array of shape (d,), optional
            What to multiply columns by.
        classes : list and array, optional
            Names of the classes, and the class of every code.
        features : state and arrays, optional
            Of the features that made the columns.
        **entries
            Other entries of the header.
        """
        if self.n_rows == 0:
            raise DataError("there are no rows to write.", self.path)
        arrays = {"values": self._values.close()}
        if self.layout == DENSE:
            n_columns = self._values.shape[1]
        else:
            width = max(self._largest + 1 - first, 0)
            n_columns = width if n_columns is None else n_columns
            self._check_width(n_columns, width, max_columns)
            arrays |= self._finish_indices(n_columns, first)
        if column_scales is not None and np.any(column_scales != 1.0):
            arrays["values"] = self._scale(column_scales, first)
        if self.layout == CSR:
            self._indices.discard()
        if self._labels is not None and classes is not None:
            arrays[LABELS] = self._finish_labels(classes[1])
            entries["classes"] = classes[0]
        elif self._labels is not None:
            self._labels.discard()
        entries["features"] = None if features is None else self._write_features(*features)
        header = Header(self.layout, [self.n_rows, n_columns], arrays, **entries)
        self._write(HEADER, header.text().encode())
        return header

    def _check_width(self, n_columns: int, width: int, max_columns: int | None) -> None:
        wrong = too_wide(n_columns, self.n_values, max_columns)
        if wrong is not None:
            raise DataError(f"the largest index, {self._largest}, needs {wrong}", self.path)
        if width > n_columns:
            raise DataError(
                f"the index {self._largest} is beyond the {n_columns} columns.", self.path
            )

    def _finish_indices(self, n_columns: int, first: int) -> dict[str, ArrayFact]:
        """Renumber the columns: frequent ones first if there are many, in as few bytes as needed.

        The order is that of a design in memory, so that both give the same result.
        """
        raw = self._indices.mapped()
        dtype = np.min_scalar_type(max(n_columns - 1, 2**16 - 1))
        arrays = {"indptr": self._indptr.close()}
        rank = None
        if n_columns >= NUMBERED_FROM:
            counts = np.zeros(n_columns, dtype=np.int64)
            # each piece has a count of its own
            for part in pieces_of(len(raw), max(ARRAY_PIECE, n_columns)):
                counts += np.bincount(raw[part] - first, minlength=n_columns)
            order = np.argsort(-counts, kind="stable")
            rank = np.empty(n_columns, dtype=dtype)
            rank[order] = np.arange(n_columns, dtype=dtype)
            kept = ArrayFile(self.folder, ORDER, np.int64, self.path)
            kept.add(order)
            arrays[ORDER] = kept.close()
        out = ArrayFile(self.folder, "indices", dtype, self.path)
        for part in pieces_of(len(raw)):
            columns = raw[part] - first
            out.add(columns if rank is None else rank[columns])
        arrays["indices"] = out.close()
        return arrays

    def _scale(self, scales: NDArray[np.float64], first: int) -> ArrayFact:
        if self.layout == DENSE:
            return self._values.change(lambda _, values: values * scales)
        raw = self._indices.mapped()
        return self._values.change(lambda part, values: values * scales[raw[part] - first])

    def _finish_labels(self, classes: NDArray[np.int32]) -> ArrayFact:
        assert self._labels is not None
        self._labels.close()
        # the code -1 is the last entry
        new = np.append(classes, np.int32(-1))
        return self._labels.change(lambda _, codes: new[codes])

    def _write_features(self, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> int:
        plain = {name: array.tolist() for name, array in arrays.items()}
        content = json.dumps({"state": state, "arrays": plain}).encode()
        self._write(f"{FEATURES}.json", content)
        return zlib.crc32(content)

    def _write(self, name: str, content: bytes) -> None:
        with explained(self.path), open(self.folder / name, "wb") as stream:
            stream.write(content)
            sync(stream, self.path)


@contextmanager
def rows_writer(
    path: str | Path, dtype: Any = np.float64, width: int | None = None
) -> Iterator[RowsWriter]:
    """Open a folder for rows; it takes its name when the block, with `finish`, has ended well."""
    with write_folder(path) as folder:
        writer = RowsWriter(folder, path, dtype, width)
        try:
            yield writer
        finally:
            writer.stop()


def write_rows(
    path: str | Path, X: Any, y: Any = None, *, unlabeled: Any = -1, dtype: Any = None
) -> None:
    """Write a matrix to a folder that `semisvm.open_rows` opens.

    The folder takes its name when it is complete; older rows there are replaced, unless the
    folder holds anything else.

    Parameters
    ----------
    path : str or Path
        A folder, usually ``.rows``.
    X : {array-like, sparse matrix} of shape (n, d), or iterable of such
        Pieces of an iterable have the same columns, and only one of them is in memory at a time.
    y : array-like of shape (n,), optional
        Labels of all rows.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    dtype : float64 or float32, optional
        By default that of X; float64 if it is neither.

    Raises
    ------
    DataError
        If a value is not finite, pieces do not fit each other, or the place cannot be written to.
    """
    pieces = iter([X] if _is_matrix(X) else X)
    first = next(pieces, None)
    if first is None:
        raise DataError("there are no rows to write.", path)
    first = first if is_sparse(first) else np.asarray(first)
    n_columns = first.shape[1]
    kind = np.dtype(dtype or (np.float32 if first.dtype == np.float32 else np.float64))
    width = None if is_sparse(first) else n_columns
    with rows_writer(path, kind, width) as writer:
        for piece in chain([first], pieces):
            part = piece if is_sparse(piece) else np.asarray(piece)
            if part.ndim != 2 or part.shape[1] != n_columns:
                message = f"a piece has shape {part.shape}, but the first has {n_columns} columns."
                raise DataError(message, path)
            writer.add(part)
        classes = None
        if y is not None:
            codes, names = codes_of_array(y, unlabeled, path)
            if len(codes) != writer.n_rows:
                message = f"there are {len(codes)} labels for {writer.n_rows} rows."
                raise DataError(message, path)
            writer.add_codes(codes)
            classes = names, np.arange(len(names), dtype=np.int32)
        # a matrix in memory has its width
        writer.finish(n_columns, max_columns=n_columns, classes=classes)


def _is_matrix(X: Any) -> bool:
    """Return whether X is a matrix, or else pieces of one."""
    if hasattr(X, "shape"):
        return True
    return isinstance(X, (list, tuple)) and not any(getattr(part, "ndim", 1) == 2 for part in X)
