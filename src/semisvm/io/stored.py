"""Rows in a folder, which stay on the disk."""

from collections.abc import Iterator
from pathlib import Path

from semisvm.io.errors import DataError
from semisvm.io.options import Options
from semisvm.io.table import MatrixData
from semisvm.ondisk import RowsError, RowsOnDisk, open_rows


def read_stored(path: str | Path, options: Options) -> Iterator[MatrixData]:
    """Open a folder of rows, whole or in pieces that are in memory.

    Labels come with the whole only.
    """
    try:
        X = open_rows(path)
        if options.n_features is not None and X.shape[1] != options.n_features:
            raise RowsError(
                f"the rows have {X.shape[1]} columns, but the model expects {options.n_features}.",
                path,
            )
        made_by, facts = X.features(), dict(X.header.facts)
        if options.chunk_rows is None:
            words = X.header.missing_words
            yield MatrixData(X, X.labels(), str(path), None, facts, words, made_by)
            return
        yield from _pieces(X, path, made_by)
    except RowsError as error:
        raise DataError(error.message, path) from error


def _pieces(X: RowsOnDisk, path: str | Path, made_by: object) -> Iterator[MatrixData]:
    X.check()
    for part in X.parts():
        yield MatrixData(part, None, str(path), made_by=made_by)
