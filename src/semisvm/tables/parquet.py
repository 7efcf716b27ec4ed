"""Parquet files, read and written piece by piece by pyarrow, which is an extra."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from semisvm.tables.errors import DataError, in_short, require
from semisvm.tables.frames import arrow_vectors
from semisvm.tables.opening import Options
from semisvm.tables.table import Column, Table, make_table
from semisvm.tables.writing import write_bytes
from semisvm.text import listing

NEEDS_PYARROW = "Parquet files need pyarrow: pip install 'semisvm[parquet]'."


def read_parquet(path: str | Path, options: Options) -> Iterator[Table]:
    """Read a Parquet file, ``options.chunk_rows`` rows at a time."""
    require("pyarrow", NEEDS_PYARROW, path)
    import pyarrow.parquet as pq

    with _explained(path):
        file = pq.ParquetFile(path)
    with file:
        wanted = _wanted(file, path, options)
        first = 1
        for n_rows, cells in _batches(file, [*wanted, *options.label_columns], path, options):
            if n_rows:
                _report(options, path, n_rows, file.metadata.num_rows)
                yield make_table(cells, range(first, first + n_rows), wanted, path, options, "row")
                first += n_rows
    if first == 1:
        raise DataError("the file has no rows.", path)


def _report(options: Options, path: str | Path, n_rows: int, total: int) -> None:
    """Report the bytes that so many rows have on average."""
    if options.seen is not None:
        options.seen(Path(path).stat().st_size * n_rows // max(total, 1))


def _wanted(file: Any, path: str | Path, options: Options) -> list[str]:
    with _explained(path):
        names = list(file.schema_arrow.names)
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise DataError(f"the file has the column names {listing(twice)} twice.", path)
    if not names:
        raise DataError("the file has no columns.", path)
    return options.wanted(names, path)


def _batches(
    file: Any, names: list[str], path: str | Path, options: Options
) -> Iterator[tuple[int, dict[str, Column]]]:
    """Yield rows and their cells, all at once or some at a time."""
    if options.chunk_rows is None:
        with _explained(path):
            batch = file.read(columns=names)
            cells = _cells(batch, names)
        yield batch.num_rows, cells
        return
    with _explained(path):
        batches = file.iter_batches(options.chunk_rows, columns=names)
    while True:
        with _explained(path):
            batch = next(batches, None)
            if batch is None:
                return
            cells = _cells(batch, names)
        yield batch.num_rows, cells


def _cells(batch: Any, names: list[str]) -> dict[str, Column]:
    return {name: _column(batch.column(name)) for name in names}


def _column(cells: Any) -> Column:
    import pyarrow as pa

    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        try:
            return np.asarray(cells.cast(pa.float64()), dtype=np.float64)
        except pa.ArrowInvalid:
            pass  # whole numbers that float64 cannot hold exactly stay as they are
    vectors = arrow_vectors(cells)
    if vectors is not None:
        return vectors
    return list(cells.to_pylist())


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Make one error of all that pyarrow raises, which for damaged files may be anything."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("there is no such file.", path) from error
    except Exception as error:
        raise DataError(f"this Parquet file cannot be read ({in_short(error)}).", path) from error


Rows = list[dict[str, Any]]

MOST_WAITING = 100_000
"""Rows that wait for the first value of a column, whose type is not known before."""


@contextmanager
def parquet_writer(path: str | Path) -> Iterator[Callable[[Rows], None]]:
    """Open a Parquet file for rows; it takes its name when all are written.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    write : (rows) -> None
        Rows are dicts with the same keys. The first rows decide of which type a column is.
    """
    require("pyarrow", NEEDS_PYARROW, path)
    with write_bytes(path) as stream:
        pieces = _Pieces(stream, path)
        try:
            yield pieces.write
            pieces.finish()
        finally:
            pieces.close()


class _Pieces:
    """A Parquet file being written."""

    def __init__(self, stream: BinaryIO, path: str | Path) -> None:
        self._stream, self._path = stream, path
        self._waiting: Rows = []
        self._writer: Any = None

    def write(self, rows: Rows) -> None:
        """Write rows, or keep them until the types of all columns are known."""
        self._waiting += rows
        if self._writer is None:
            schema = self._schema()
            unknown = any(str(field.type) == "null" for field in schema)
            if unknown and len(self._waiting) < MOST_WAITING:
                return
            self._open(schema)
        self._flush()

    def finish(self) -> None:
        """Write what is left."""
        if self._writer is None:
            self._open(self._schema())
        self._flush()

    def close(self) -> None:
        """Write the end of the file, while it is open: pyarrow would do so later, and fail."""
        if self._writer is not None:
            self._writer.close()

    def _schema(self) -> Any:
        import pyarrow as pa

        return self._table(None).schema if self._waiting else pa.schema([])

    def _open(self, schema: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for k, field in enumerate(schema):
            if pa.types.is_null(field.type):
                schema = schema.set(k, field.with_type(pa.string()))
        self._writer = pq.ParquetWriter(self._stream, schema)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(self._table(self._writer.schema))
            self._waiting = []

    def _table(self, schema: Any) -> Any:
        import pyarrow as pa

        try:
            return pa.Table.from_pylist(self._waiting, schema=schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                f"the values of a column are not all of one type ({in_short(error)}): write CSV or "
                "JSON lines instead.",
                self._path,
            ) from error
