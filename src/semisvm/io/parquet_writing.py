"""Rows written to a Parquet file, piece by piece, by pyarrow, which is an extra."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from semisvm.io.errors import DataError, in_short
from semisvm.io.parquet import require_pyarrow
from semisvm.io.writing import write_bytes

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
        Rows are dicts with the same keys. The first rows say of which type a column is.
    """
    require_pyarrow(path)
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
