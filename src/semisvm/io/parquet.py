"""Parquet files, by pyarrow, which is an extra."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.io.errors import DataError
from semisvm.io.labels import text_labels
from semisvm.io.options import CHUNK_ROWS, Options
from semisvm.io.table import Column, Table


def read_parquet(path: str | Path, options: Options) -> Iterator[Table]:
    """Read a Parquet file, ``options.chunk_rows`` rows at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(
            "Parquet files need pyarrow: pip install 'semisvm[parquet]'.", path
        ) from error
    try:
        yield from _read(path, options, pq)
    except FileNotFoundError as error:
        raise DataError("there is no such file.", path) from error
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"this Parquet file cannot be read ({error}).", path) from error


def _read(path: str | Path, options: Options, pq: Any) -> Iterator[Table]:
    with pq.ParquetFile(path) as file:
        names = list(file.schema_arrow.names)
        wanted = options.wanted(names, path)
        if file.metadata.num_rows == 0:
            raise DataError("the file has no rows.", path)
        label = [] if options.label is None else [options.label]
        first = 1
        size = options.chunk_rows or max(CHUNK_ROWS, file.metadata.num_rows)
        for batch in file.iter_batches(size, columns=[*wanted, *label]):
            if batch.num_rows:
                yield _table(batch, first, wanted, path, options)
                first += batch.num_rows


def _table(batch: Any, first: int, wanted: list[str], path: str | Path, options: Options) -> Table:
    lines = np.arange(first, first + batch.num_rows, dtype=np.int64)
    columns = {name: _column(batch.column(name)) for name in wanted}
    labels = None
    if options.label is not None:
        labels = text_labels(batch.column(options.label).to_pylist(), options.markers)
    return Table(columns, labels, str(path), lines, word="row")


def _column(cells: Any) -> Column:
    import pyarrow as pa

    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        return np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return list(cells.to_pylist())
