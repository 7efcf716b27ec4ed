"""Rows that stay on the disk, as X for estimators.

The arrays of their folder are mapped, and parts of them are brought into memory.
"""

import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.disk_header import (
    CSR,
    FEATURES,
    HEAD_BYTES,
    LABELS,
    ORDER,
    ArrayFact,
    Header,
    RowsError,
    read_header,
)

PLACES = 1 << 15
"""Entries whose places are computed at a time where rows are taken one by one."""
PIECE = 1 << 18


def mapped(folder: Path, name: str, fact: ArrayFact) -> NDArray[Any]:
    """Map an array; its size on the disk is checked, since reading beyond the end is fatal.

    Raises
    ------
    RowsError
    """
    file, dtype = folder / f"{name}.npy", np.dtype(fact.dtype).newbyteorder("<")
    wanted = HEAD_BYTES + math.prod(fact.shape) * dtype.itemsize
    try:
        size = file.stat().st_size
    except OSError as error:
        raise RowsError(f"{file.name} cannot be read ({error.strerror}).", folder) from error
    if size != wanted:
        raise RowsError(
            f"{file.name} has {size:,} bytes, but the header declares {wanted:,}: it is damaged. "
            "Convert the data again, or copy the folder again.",
            folder,
        )
    shape = tuple(fact.shape)
    if math.prod(shape) == 0:
        return np.empty(shape, dtype=dtype)  # nothing cannot be mapped
    found = np.memmap(file, dtype=dtype, mode="r", offset=HEAD_BYTES, shape=shape)
    # compiled code takes plain arrays without a detour
    return np.asarray(found)


def checksum(array: NDArray[Any]) -> int:
    """Return the CRC-32 of the values."""
    crc, flat = 0, array.reshape(-1)
    for k in range(0, len(flat), PIECE):
        crc = zlib.crc32(flat[k : k + PIECE].data, crc)
    return crc


def row_numbers(rows: Any, n: int) -> NDArray[np.intp]:
    """Return the rows that a slice, a list of numbers or a mask stands for.

    Raises
    ------
    IndexError
    """
    index = np.arange(n)[rows] if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
    if index.dtype == bool:
        if index.shape != (n,):
            raise IndexError(f"the mask has shape {index.shape}, but there are {n} rows.")
        return np.flatnonzero(index)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise IndexError("rows are taken by a slice, a list of row numbers, or a mask.")
    index = index.astype(np.intp)
    index = np.where(index < 0, index + n, index)
    if index.size and (index.min() < 0 or index.max() >= n):
        raise IndexError(f"a row number is out of range: there are {n} rows.")
    return index


def gathered(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], rows: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return values, indices and ends of some rows, in memory."""
    ends = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(indptr[rows + 1] - indptr[rows], out=ends[1:])
    taken, columns = np.empty(ends[-1], values.dtype), np.empty(ends[-1], indices.dtype)
    start = 0
    while start < len(rows):
        # places of some entries at a time: they take more memory than the entries
        stop = int(np.searchsorted(ends, ends[start] + PLACES, "right")) - 1
        stop = min(max(stop, start + 1), len(rows))
        part = slice(ends[start], ends[stop])
        first = indptr[rows[start:stop]] - ends[start:stop]
        at = np.repeat(first, np.diff(ends[start : stop + 1]))
        at += np.arange(part.start, part.stop)
        taken[part], columns[part] = values[at], indices[at]
        start = stop
    return taken, columns, ends


SPAN_ENTRIES = 1 << 18
"""Entries that are looked at, or brought into memory, at a time."""
SPAN_ROWS = 1 << 16
MOST_LOADED = 1 << 30
"""Bytes of rows that are brought into memory for a method that needs all of them there."""
UNLABELED = -1
BYTES_PER_ROW, BYTES_PER_COLUMN = 200, 300
"""What a fit takes; see docs/scale.md."""
FREE_BYTES, MAX_RATIO = 64 << 20, 100
"""Memory for a fit that rows and columns may take, by themselves or for each byte of the folder:
the rule of model files. Folders that were written here are far within it."""


class RowsOnDisk:
    """A matrix in a folder, of which only what is needed at the moment is read.

    `TransductiveSVC`, `AnnealedSVC` and `NewtonSVC` with the linear kernel read it row by row
    through memory maps: they keep a few vectors over rows and columns, and no copy of the
    matrix. So does the prediction of every estimator. Other methods bring all rows into memory
    if these are at most 1 GiB, and refuse them otherwise.

    Indexing with a slice, row numbers or a mask returns these rows as a CSR matrix or an array in
    memory; ``X[:]`` is the whole matrix. A pickle holds the path only.

    Attributes
    ----------
    path : Path
    shape : tuple (n, d)
    dtype : dtype
        float64 or float32.
    nnz : int
        Number of stored entries.
    nbytes : int
        Bytes of a copy in memory.
    y : array of shape (n,), or None
        Labels, if there were any: numbers with -1 for unlabelled rows, or else objects with None.
    classes : list or None
        Classes in ``y``, sorted.
    notes : list of str
        About the conversion.
    """

    ndim = 2

    def __init__(self, path: Path, header: Header, bounds: tuple[int, int] | None = None) -> None:
        self.path = path
        self.header = header
        self._bounds = bounds
        n, d = header.shape
        self.shape = (int(n), int(d))
        self._codes = self._array(LABELS) if LABELS in header.arrays else None
        self.order = np.array(self._array(ORDER)) if ORDER in header.arrays else None
        self.values = self._array("values")
        self.is_sparse = header.layout == CSR
        if self.is_sparse:
            self.indptr = self._array("indptr")
            self.indices = self._array("indices")
            if len(self.indptr) and (self.indptr[0] != 0 or self.indptr[-1] != len(self.values)):
                raise self._damaged("indptr")
        self._check_small()
        self._largest: float | None = None
        if bounds is not None:
            self._narrow(*bounds)

    def _narrow(self, start: int, stop: int) -> None:
        """Keep the rows from start to stop."""
        if not 0 <= start <= stop <= self.shape[0]:
            raise RowsError(
                f"there are no rows {start:,} to {stop:,}: the folder has {self.shape[0]:,} rows.",
                self.path,
            )
        self.shape = (stop - start, self.shape[1])
        self._codes = None if self._codes is None else self._codes[start:stop]
        if not self.is_sparse:
            self.values = self.values[start:stop]
            return
        ends = self._ends(start, stop)
        low, high = int(ends[0]), int(ends[-1])
        self.indptr = ends - low
        self.values, self.indices = self.values[low:high], self.indices[low:high]

    def split(self, n_parts: int) -> "list[RowsOnDisk]":
        """Return the rows in parts of about as many entries each, for a fit on several workers.

        Parameters
        ----------
        n_parts : int
            Number of parts; there may be fewer if there are few rows.

        Returns
        -------
        parts : list of RowsOnDisk
            Consecutive rows of the same folder. A pickle holds the path and the rows.
        """
        first = 0 if self._bounds is None else self._bounds[0]
        n = self.shape[0]
        if self.is_sparse:
            wanted = self.nnz * np.arange(1, n_parts) // n_parts
            cuts = np.searchsorted(self.indptr, wanted)
        else:
            cuts = n * np.arange(1, n_parts) // n_parts
        ends = np.unique([0, *cuts.tolist(), n]).tolist()
        return [
            RowsOnDisk(self.path, self.header, (first + start, first + stop))
            for start, stop in itertools.pairwise(ends)
        ]

    def _ends(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return where the rows from start to stop begin and end, of which that must be true."""
        ends = np.array(self.indptr[start : stop + 1])
        if ends[0] < 0 or ends[-1] > len(self.values) or np.any(ends[1:] < ends[:-1]):
            raise self._damaged("indptr", ": row ends before it begins, or after the last entry")
        return ends

    def _array(self, name: str) -> NDArray[Any]:
        return mapped(self.path, name, self.header.arrays[name])

    def _damaged(self, name: str, detail: str = "") -> RowsError:
        return RowsError(f"{name}.npy is damaged{detail}. Convert the data again.", self.path)

    def _check_small(self) -> None:
        """Check what compiled code or NumPy would trust, except the entries."""
        order, (n, d) = self.order, self.shape
        needed = BYTES_PER_ROW * n + BYTES_PER_COLUMN * d
        arrays = self.header.arrays
        there = sum(self._array(name).nbytes for name in arrays)
        if needed > max(FREE_BYTES, MAX_RATIO * there):
            raise RowsError(
                f"the header declares {n:,} rows and {d:,} columns, but the arrays have {there:,} "
                "bytes: it is damaged. Convert the data again.",
                self.path,
            )
        if order is not None:
            fine = len(order) == d and (d == 0 or (order.min() >= 0 and order.max() < d))
            if not fine or np.bincount(order, minlength=1).max(initial=1) > 1:
                raise self._damaged(ORDER)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n, d = self.shape
        layout = f"{self.nnz:,} stored entries" if self.is_sparse else "dense"
        return f"RowsOnDisk({str(self.path)!r}, {n:,} rows, {d:,} columns, {layout}, {self.dtype})"

    def __reduce__(self) -> tuple[Callable[..., "RowsOnDisk"], tuple[Any, ...]]:
        return _opened, (self.path.absolute(), self._bounds)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.values.size)

    @property
    def nbytes(self) -> int:
        """Bytes of a copy in memory."""
        if not self.is_sparse:
            return int(self.values.nbytes)
        index = self._index_type().itemsize
        return int(self.values.nbytes) + index * (self.nnz + len(self.indptr))

    @property
    def classes(self) -> list[Any] | None:
        """Classes of the labels, sorted."""
        return self.header.classes

    @property
    def codes(self) -> NDArray[np.int32] | None:
        """Positions of the labels in ``classes``, -1 for unlabelled rows."""
        return None if self._codes is None else self._checked_codes(self._codes)

    @property
    def notes(self) -> list[str]:
        """What was noticed when the rows were written."""
        return list(self.header.notes)

    @property
    def y(self) -> NDArray[Any] | None:
        """Labels: numbers with -1 for unlabelled rows, or else objects with None."""
        classes = self.classes
        if self._codes is None or classes is None:
            return None
        if any(type(label) is not int for label in classes) or UNLABELED in classes:
            return self.labels()
        values = np.array([*classes, UNLABELED], dtype=np.int64)
        return values[self._checked_codes(self._codes)]

    def labels(self) -> NDArray[np.object_] | None:
        """Return the labels as objects, None for rows without one; None if there are no labels."""
        if self._codes is None or self.classes is None:
            return None
        values = np.empty(len(self.classes) + 1, dtype=object)
        values[:-1] = self.classes
        # code -1 is the last entry
        return np.asarray(values[self._checked_codes(self._codes)])

    def _checked_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        if len(codes) and not UNLABELED <= codes.min() <= codes.max() < len(self.classes or ()):
            raise self._damaged(LABELS, ": label out of range")
        return codes

    def features(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return the state of the features that made the columns; None for other matrices."""
        if self.header.features is None:
            return None
        path = self.path / f"{FEATURES}.json"
        try:
            text = path.read_bytes()
            if zlib.crc32(text) != self.header.features:
                raise ValueError("its checksum does not match")
            kept = json.loads(text)
            state, cells = kept["state"], kept["arrays"]
            if not isinstance(state, dict):
                raise ValueError("its state is not an object")
            return state, {name: np.array(entries) for name, entries in cells.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RowsError(f"{path.name} cannot be read ({error}).", self.path) from error

    def facts_of_entries(self) -> list[tuple[Any, ...]]:
        """Return what identifies the matrix: its arrays with their checksums, and its rows."""
        arrays = sorted(self.header.arrays.items())
        found: list[tuple[Any, ...]] = [
            (name, fact.dtype, fact.shape, fact.crc32) for name, fact in arrays if name != LABELS
        ]
        return found if self._bounds is None else [*found, self._bounds]

    def spans(self, entries: int = SPAN_ENTRIES) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows with about so many entries each."""
        n, d = self.shape
        start = 0
        while start < n:
            if self.is_sparse:
                low = int(self.indptr[start])
                if not 0 <= low <= len(self.values):
                    raise self._damaged("indptr", ": row begins after the last entry")
                stop = int(np.searchsorted(self.indptr, low + entries, "right")) - 1
            else:
                stop = start + entries // max(d, 1)
            stop = min(max(stop, start + 1), start + SPAN_ROWS, n)
            yield start, stop
            start = stop

    def check(self) -> float:
        """Check that all entries are where they may be and finite; return the largest one.

        It is one pass over the data, and done once.

        Raises
        ------
        RowsError
        """
        if self._largest is None:
            if self.is_sparse:
                self._check_indptr()
            self._largest = max((self._check_span(*span) for span in self.spans()), default=0.0)
        return self._largest

    def _check_indptr(self) -> None:
        for start in range(0, self.shape[0], SPAN_ENTRIES):
            part = self.indptr[start : start + SPAN_ENTRIES + 1]
            if np.any(part[1:] < part[:-1]):
                raise self._damaged("indptr", ": row ends before it begins")

    def _check_span(self, start: int, stop: int) -> float:
        if self.is_sparse:
            low, high = int(self.indptr[start]), int(self.indptr[stop])
            values, indices = self.values[low:high], self.indices[low:high]
            if len(indices) and int(indices.max()) >= self.shape[1]:
                raise self._damaged("indices", ": column out of range")
        else:
            values = self.values[start:stop]
        if not values.size:
            return 0.0
        largest = max(abs(float(values.max())), abs(float(values.min())))
        if not np.isfinite(largest):
            raise self._damaged("values", f": rows {start} to {stop - 1} have NaN or infinity")
        return largest

    def verify(self) -> None:
        """Compare the checksums of all arrays, which reads the whole folder.

        Raises
        ------
        RowsError
        """
        for name, fact in self.header.arrays.items():
            if checksum(self._array(name)) != fact.crc32:
                raise self._damaged(name, ": its checksum does not match")
        self.features()

    def __getitem__(self, rows: Any) -> Any:
        """Return rows in memory: a CSR matrix or an array, columns in the order of the source."""
        if isinstance(rows, tuple):
            rows, *rest = rows
            if any(other is not Ellipsis and other != slice(None) for other in rest):
                raise IndexError("rows on disk are taken whole: X[rows], without columns.")
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(self.shape[0])
            return self._range(start, max(start, stop))
        index = row_numbers(rows, self.shape[0])
        if not self.is_sparse:
            return np.array(self.values[index])
        self._lengths(index)
        return self._matrix(*gathered(self.values, self.indices, self.indptr, index))

    def _range(self, start: int, stop: int) -> Any:
        if not self.is_sparse:
            return np.array(self.values[start:stop])
        ends = self._ends(start, stop)
        part = slice(int(ends[0]), int(ends[-1]))
        return self._matrix(np.array(self.values[part]), self.indices[part], ends - ends[0])

    def _lengths(self, index: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the numbers of entries of rows, which must be entries that there are."""
        low, high = self.indptr[index], self.indptr[index + 1]
        if index.size and (low.min() < 0 or np.any(high < low) or high.max() > len(self.values)):
            raise self._damaged("indptr", ": row ends before it begins, or after the last entry")
        return high - low

    def _matrix(self, values: NDArray[Any], indices: NDArray[Any], ends: NDArray[Any]) -> Any:
        if len(indices) and int(indices.max()) >= self.shape[1]:
            raise self._damaged("indices", ": column out of range")
        index = self._index_type()
        columns = indices.astype(index) if self.order is None else self._columns(index)[indices]
        shape = (len(ends) - 1, self.shape[1])
        return sparse.csr_matrix((values, columns, ends.astype(index)), shape=shape)

    def _columns(self, index: np.dtype[Any]) -> NDArray[Any]:
        assert self.order is not None
        return self.order.astype(index, copy=False)

    def _index_type(self) -> np.dtype[Any]:
        """Return the type of indices of a copy in memory, for which scipy has one type."""
        return np.dtype(np.int32 if max(self.nnz, *self.shape) < 2**31 else np.int64)

    def parts(self) -> Iterator[Any]:
        """Yield all rows, some megabytes of them at a time, in memory."""
        for start, stop in self.spans():
            yield self._range(start, stop)

    def load(self) -> Any:
        """Return all rows in memory, for a method that needs them there.

        Raises
        ------
        RowsError
            If they are more than 1 GiB; ``X[:]`` has no such limit.
        """
        self._check_size(self.nbytes, "all rows")
        return self[:]

    def take(self, rows: Any) -> Any:
        """Return some rows in memory, as ``X[rows]`` does.

        Raises
        ------
        RowsError
            If they are more than 1 GiB; ``X[rows]`` has no such limit.
        """
        index = row_numbers(rows, self.shape[0])
        self._check_size(self._bytes_of(index), f"{len(index):,} of the rows")
        return self[index]

    def project(self, line: NDArray[Any]) -> NDArray[np.float64]:
        """Return the product of each row with a vector, part by part."""
        self.check()
        products = [np.asarray(part @ line, dtype=np.float64).ravel() for part in self.parts()]
        return np.concatenate(products) if products else np.empty(0)

    def can_load(self, rows: Any = None) -> bool:
        """Return whether all rows, or the listed ones, are few enough for `load` or `take`."""
        if rows is None:
            return self.nbytes <= MOST_LOADED
        return self._bytes_of(row_numbers(rows, self.shape[0])) <= MOST_LOADED

    def _bytes_of(self, index: NDArray[np.intp]) -> int:
        each = self.nbytes // max(self.nnz, 1)
        if not self.is_sparse:
            return len(index) * self.shape[1] * each
        return int(self._lengths(index).sum()) * each

    def _check_size(self, n_bytes: int, what: str) -> None:
        if n_bytes > MOST_LOADED:
            raise RowsError(
                f"this needs {what} in memory, which are {n_bytes / 2**30:.1f} GiB; up to "
                f"{MOST_LOADED >> 30} GiB are loaded. TransductiveSVC, AnnealedSVC and NewtonSVC "
                "(tsvm, da and svm) with the linear kernel read the rows from the disk. If the "
                "memory is there, pass X[:] in place of X.",
                self.path,
            )


def open_rows(path: str | Path) -> RowsOnDisk:
    """Open a folder that ``semisvm convert`` or `write_rows` has written.

    Nothing but the header is read. The size of every array is compared with it; `check`, which
    every fit does first, looks at all entries, and `verify` at the checksums.

    Parameters
    ----------
    path : str or Path
        A folder, usually ``.rows``.

    Returns
    -------
    X : RowsOnDisk
        To be passed to estimators; its labels are ``X.y``.

    Raises
    ------
    RowsError
        If it is not such a folder, damaged, or of another version.
    """
    return _opened(Path(path))


def _opened(folder: Path, bounds: tuple[int, int] | None = None) -> RowsOnDisk:
    return RowsOnDisk(folder, read_header(folder), bounds)
