"""Conversion of files by the workers of a cluster: each file by one of them.

A worker counts what is in a file, and writes its rows to a folder of their own. The driver adds up
the counts and puts the folders together, in the order of the files. So the result is that of one
process, except for the last bits of means of numbers, and medians of more than 100,000 rows,
which are those of another sample.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.designs.disk import open_rows
from semisvm.distributed.connecting import in_order
from semisvm.tables.labels import Codes, LabelCodes
from semisvm.tables.opening import CHUNK_ROWS, Options
from semisvm.tables.reading import read_pieces
from semisvm.tables.rows_writing import MOST_COLUMNS, RowsWriter, rows_writer
from semisvm.tables.streaming import StreamedFeatures
from semisvm.tables.table import Table

PARTS = "parts"


@dataclass(frozen=True)
class OneFile:
    """A file, and how it is to be read; ``apart`` if its labels are in another file."""

    path: Path
    label: str | None
    apart: bool
    options: Options
    format: str | None


@dataclass
class Written:
    """Rows that a worker wrote: codes of their labels, and the squares of their features."""

    n_rows: int
    labels: LabelCodes
    streamed: StreamedFeatures | None = None


def tables_of(file: OneFile, columns: list[str] | None = None) -> Iterator[Table]:
    """Yield the rows of a table, some at a time."""
    absent = columns is not None
    options = replace(file.options, columns=columns, chunk_rows=CHUNK_ROWS, absent=absent)
    for piece in read_pieces(file.path, file.format, options):
        assert isinstance(piece, Table)
        yield piece


def codes_of(labels: LabelCodes, file: OneFile, piece: Table) -> Codes:
    """Return the codes of the label column of some rows."""
    name = file.label
    assert name is not None
    return labels.of_cells(
        piece.column(name), file.options, lambda message, row: piece.error(message, row, name)
    )


def count_table(file: OneFile, streamed: StreamedFeatures, columns: list[str]) -> StreamedFeatures:
    """Count what is in a file."""
    for piece in tables_of(file, columns):
        streamed.count(piece)
    return streamed


def write_table(
    file: OneFile, folder: Path, streamed: StreamedFeatures, columns: list[str]
) -> Written:
    """Write the features of a file, which are not yet scaled, to a folder."""
    features, labels = streamed.features, LabelCodes()
    streamed.begin()
    width = features.n_features_out_ if streamed.is_dense else None
    with rows_writer(folder, features.dtype, width) as writer:
        for piece in tables_of(file, columns):
            writer.add(streamed.transform(piece), piece.path)
            if file.label is not None:
                writer.add_codes(codes_of(labels, file, piece))
        width = features.n_features_out_
        writer.finish(width, max_columns=width, classes=labels.numbered())
    return Written(writer.n_rows, labels, streamed)


def add_svmlight(
    writer: RowsWriter, labels: LabelCodes, file: OneFile, progress: Any = None
) -> None:
    """Append the rows of a svmlight file, with its own indices, and the codes of its labels."""
    from semisvm.tables.svmlight import block_labels, read_blocks

    for block in read_blocks(file.path, file.options, blank_rows=file.apart):
        writer.add_entries(block.indptr, block.indices, block.values, file.path)
        if not file.apart:
            values: Any = [None] * len(block.labels)
            if block.has_labels:
                values = block_labels(block.labels, block.lines, file.path, file.options).tolist()
            writer.add_codes(labels.of_values(values))
        if progress is not None:
            progress.rows = writer.n_rows


def write_svmlight(file: OneFile, folder: Path, dtype: np.dtype[Any]) -> Written:
    """Write the rows of a svmlight file to a folder."""
    labels = LabelCodes()
    with rows_writer(folder, dtype) as writer:
        add_svmlight(writer, labels, file)
        writer.finish(max_columns=MOST_COLUMNS, classes=labels.numbered())
    return Written(writer.n_rows, labels)


class OnCluster:
    """The conversion of several files by the workers of a cluster.

    ``done`` is called with file and rows when a pass over a file has ended.
    """

    def __init__(
        self, client: Any, files: Sequence[OneFile], done: Callable[[OneFile, int], None]
    ) -> None:
        self._client = client
        self._files = files
        self._done = done

    def count(self, streamed: StreamedFeatures, columns: list[str]) -> None:
        """Count what is in all files."""
        calls = [(file, streamed.empty(), columns) for file in self._files]
        for file, found in self._results(count_table, calls):
            streamed.merge_counts(found)
            self._done(file, found.n_rows)

    def write_tables(
        self, writer: RowsWriter, labels: LabelCodes, streamed: StreamedFeatures, columns: list[str]
    ) -> None:
        """Write the features of all files."""
        streamed.begin()
        for written in self._written(writer, labels, write_table, streamed, columns):
            assert written.streamed is not None
            streamed.merge_statistics(written.streamed)

    def write_svmlight(self, writer: RowsWriter, labels: LabelCodes, dtype: np.dtype[Any]) -> None:
        """Write the rows of all files."""
        for _ in self._written(writer, labels, write_svmlight, dtype):
            pass

    def _written(
        self, writer: RowsWriter, labels: LabelCodes, function: Callable[..., Written], *more: Any
    ) -> Iterator[Written]:
        """Have each file written to a folder of its own, and append the folders in order."""
        parts = (writer.folder / PARTS).absolute()
        parts.mkdir()
        places = [parts / f"{number}.rows" for number in range(len(self._files))]
        calls = [(file, place, *more) for file, place in zip(self._files, places, strict=True)]
        for place, (file, written) in zip(places, self._results(function, calls), strict=True):
            _append(writer, labels, place, written)
            self._done(file, written.n_rows)
            yield written
        shutil.rmtree(parts)

    def _results(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[OneFile, Any]]:
        results = in_order(self._client, function, calls)
        yield from zip(self._files, results, strict=True)


def _append(writer: RowsWriter, labels: LabelCodes, place: Path, written: Written) -> None:
    """Move the rows of a file to those before them."""
    X = open_rows(place)
    for part in X.parts():
        if X.is_sparse:
            writer.add_entries(part.indptr, part.indices, part.data, place)
        else:
            writer.add(part, place)
    if X.codes is not None:
        # the code -1 is the last entry
        writer.add_codes(np.append(labels.merged(written.labels), np.int32(-1))[X.codes])
    shutil.rmtree(place)
