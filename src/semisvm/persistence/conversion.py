"""From files of any size to a folder of rows, piece by piece."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from semisvm.designs.disk import RowsOnDisk, open_rows
from semisvm.persistence.cluster_conversion import (
    OnCluster,
    OneFile,
    add_svmlight,
    codes_of,
    tables_of,
)
from semisvm.tables.errors import DataError
from semisvm.tables.feature_states import state_of
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.formats import ROWS, TABLES
from semisvm.tables.labels import LabelCodes
from semisvm.tables.opening import CHUNK_ROWS, Options
from semisvm.tables.reading import find_format, read_labels_file, read_whole
from semisvm.tables.row_vectors import EMBEDDINGS, RowVectors
from semisvm.tables.rows_writing import RowsWriter, rows_writer
from semisvm.tables.streaming import StreamedFeatures
from semisvm.tables.table import MatrixData, Table

FLOATS = ("float64", "float32")


@dataclass
class Progress:
    """How far a conversion is.

    Attributes
    ----------
    rows, bytes : int
        Read so far, in this pass.
    total : int
        Bytes of all files.
    passes, n_passes : int
        Passes over the files that are done, and how many there will be.
    doing : str
        What is done at the moment, in a word.
    """

    rows: int = 0
    bytes: int = 0
    total: int = 0
    passes: int = 0
    n_passes: int = 1
    doing: str = "writing"

    def seen(self, n_bytes: int) -> None:
        """Count bytes of a file."""
        self.bytes += n_bytes

    def next_pass(self) -> None:
        """Begin the next pass."""
        self.passes, self.doing = self.passes + 1, "writing"
        self.rows = self.bytes = 0

    @property
    def share(self) -> float:
        """Share of the work that is done."""
        done = min(self.bytes / self.total, 1.0) if self.total else 0.0
        return min((self.passes + done) / self.n_passes, 1.0)


@dataclass
class _Job:
    """What is converted, and how it is to be read."""

    paths: list[Path]
    label: str | None
    labels_file: str | Path | None
    options: Options
    format: str | None
    progress: Progress
    facts: dict[str, Any]
    cluster: Any = None
    embeddings: RowVectors | None = None
    codes: LabelCodes = field(default_factory=LabelCodes)

    def files(self, options: Options | None = None) -> list[OneFile]:
        """Return the files one by one."""
        apart, options = self.labels_file is not None, options or self.options
        return [OneFile(path, self.label, apart, options, self.format) for path in self.paths]

    def on_cluster(self) -> OnCluster | None:
        """Return the conversion by workers, if there are some and more than one file."""
        if self.cluster is None or len(self.paths) < 2:
            return None
        if self.embeddings is not None:
            raise DataError(
                "embeddings are joined to rows in one process: leave them out, or the cluster.",
                self.embeddings.path,
            )
        files = self.files(replace(self.options, seen=None))
        absolute = [replace(file, path=file.path.absolute()) for file in files]
        return OnCluster(self.cluster, absolute, self._done)

    def _done(self, file: OneFile, n_rows: int) -> None:
        self.progress.rows += n_rows
        self.progress.seen(file.path.stat().st_size)

    def labels_of(self, writer: RowsWriter) -> dict[str, Any]:
        """Return the part of the header about labels, when all rows are written."""
        self.progress.doing = "completing"
        if self.labels_file is not None:
            labels, words = read_labels_file(self.labels_file, self.options)
            if len(labels) != writer.n_rows:
                raise DataError(
                    f"there are {len(labels)} labels for {writer.n_rows} rows.", self.labels_file
                )
            self.codes.words.update(words)
            writer.add_codes(self.codes.of_values(labels.tolist()))
        words = dict(self.codes.words.most_common())
        return {"classes": self.codes.classes(), "missing_words": words}


def convert(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    label: str | None = None,
    features: ColumnFeatures | None = None,
    labels_file: str | Path | None = None,
    format: str | None = None,
    unlabeled: str | None = None,
    na_is_class: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
    sheet: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    max_columns: int | None = None,
    dtype: DTypeLike | None = None,
    embeddings: str | Path | None = None,
    progress: Progress | None = None,
    cluster: Any = None,
) -> RowsOnDisk:
    """Write the rows of files to a folder that estimators read without loading it.

    Files are read piece by piece: svmlight files once, and so are tables of text whose words are
    hashed. Other tables are read twice: the first pass counts words and levels and measures
    numbers, the second computes features. An ``.npz`` or ``.npy`` file is loaded whole. The memory
    does not grow with the number of rows.

    Parameters
    ----------
    sources : str, Path, or sequence of them
        Files of `semisvm.tables.read`, all of them tables, or all matrices; or patterns such as
        ``data/*.csv``. Rows are in the order of the files.
    output : str or Path
        A folder, usually ``.rows``. It takes its name when it is complete; older rows there are
        replaced, unless the folder holds anything else.
    features : ColumnFeatures, optional
        For tables; not fitted. By default one for all columns. What a column holds is found in
        the first 10,000 rows. The fitted features are kept with the rows.
    dtype : float64 or float32, optional
        By default that of the features; float64 for matrices.
    embeddings : str or Path, optional
        A ``.npy`` file with a vector for each row of the tables, in their order.
    progress : Progress, optional
        Is kept up to date.
    cluster : distributed.Client, optional
        Has tables and svmlight files, if there are several, each read by a worker. Workers must
        see files and output under the same paths.
    label, labels_file, format, unlabeled, na_is_class, encoding, delimiter, quotes, sheet, \
zero_based, max_columns
        As for `semisvm.tables.read`.

    Returns
    -------
    X : RowsOnDisk

    Raises
    ------
    DataError
        With what is wrong, in which file, line and column.
    """
    features = ColumnFeatures() if features is None else features
    kept = np.dtype(features.dtype if dtype is None else dtype)
    if kept.name not in FLOATS:
        raise ValueError(f"dtype must be float64 or float32, got {kept.name}.")
    if label is not None and labels_file is not None:
        raise DataError(f"labels come from the column {label!r} or from {labels_file}, not both.")
    paths = files_of(sources)
    _check_outside([*paths, labels_file, embeddings], output)
    kind = _kind(paths, format)
    progress = Progress() if progress is None else progress
    progress.total = sum(path.stat().st_size for path in paths)
    options = Options(
        encoding=encoding,
        delimiter=delimiter,
        quotes=quotes,
        sheet=sheet,
        unlabeled=unlabeled,
        na_is_class=na_is_class,
        zero_based=zero_based,
        max_columns=max_columns,
        seen=progress.seen,
    )
    given = {"label": label, "unlabeled": unlabeled, "na_is_class": na_is_class or None}
    facts = {name: value for name, value in given.items() if value is not None}
    vectors = None
    if embeddings is not None:
        vectors, facts = RowVectors.load(embeddings), {**facts, "embeddings": True}
        if kind not in TABLES:
            raise DataError(f"embeddings are joined to tables, but this is {kind}.", paths[0])
    job = _Job(paths, label, labels_file, options, format, progress, facts, cluster, vectors)
    if kind in TABLES:
        _convert_tables(job, output, features, kept)
    elif label is not None:
        raise DataError(f"a {kind} file has no named columns, so leave out the label.", paths[0])
    elif kind == "svmlight":
        _convert_svmlight(job, output, kept)
    else:
        _convert_arrays(job, output, kept)
    return open_rows(output)


def files_of(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that names and patterns stand for, or raise a DataError if there is none."""
    given = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    found: list[Path] = []
    for source in given:
        path = Path(source)
        if path.exists() or not glob.has_magic(str(source)):
            found.append(path)
            continue
        matches = sorted(glob.glob(str(source), recursive=True))
        if not matches:
            raise DataError("there is no such file, and none has a name like this.", source)
        found += map(Path, matches)
    if not found:
        raise DataError("there is no file to convert.")
    for path in found:
        if not path.exists():
            raise DataError("there is no such file.", path)
    return found


def _check_outside(sources: Sequence[str | Path | None], output: str | Path) -> None:
    """Refuse to read a file of the folder that is to be replaced."""
    folder = os.path.realpath(output)
    for source in sources:
        if source is not None and os.path.dirname(os.path.realpath(source)) == folder:
            raise DataError(
                f"this file is in {output}, which would be replaced: name a new folder.", source
            )


def _kind(paths: list[Path], given: str | None) -> str:
    """Return the format of files; all tables count as one."""
    kinds = [find_format(path, given) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind == ROWS:
            raise DataError("this is a folder; files are what is converted.", path)
        if kind != kinds[0] and not {kind, kinds[0]} <= set(TABLES):
            raise DataError(
                f"this is a {kind} file, but {paths[0]} is {kinds[0]}: convert them apart, or "
                "write them in one format.",
                path,
            )
    return kinds[0]


def _tables(job: _Job, columns: list[str] | None = None) -> Iterator[tuple[OneFile, Table]]:
    vectors = None if job.embeddings is None else replace(job.embeddings, used=0)
    if columns is not None and vectors is not None:
        columns = [name for name in columns if name != EMBEDDINGS]
    for file in job.files():
        for piece in tables_of(file, columns):
            yield file, piece if vectors is None else vectors.join(piece)
            job.progress.rows += len(piece)
    if vectors is not None:
        vectors.finish()


def _convert_tables(
    job: _Job, output: str | Path, features: ColumnFeatures, dtype: np.dtype[Any]
) -> None:
    features.set_params(dtype=dtype)
    if job.embeddings is not None and features.features is not None:
        # vectors that are given are used
        features.set_params(features=[*features.features, EMBEDDINGS])
    streamed = StreamedFeatures(features)
    label = [] if job.label is None else [job.label]
    first = next(_tables(job))[1]
    streamed.find_kinds(first.without(label))
    columns, on_cluster = [*streamed.columns, *label], job.on_cluster()
    job.progress.rows = job.progress.bytes = 0
    if streamed.needs_count:
        job.progress.n_passes, job.progress.doing = 2, "counting"
        if on_cluster is not None:
            on_cluster.count(streamed, columns)
        else:
            for _, piece in _tables(job, columns):
                streamed.count(piece)
        job.progress.next_pass()
    streamed.fit()
    width = features.n_features_out_ if streamed.is_dense else None
    with rows_writer(output, dtype, width) as writer:
        if on_cluster is not None:
            on_cluster.write_tables(writer, job.codes, streamed, columns)
        else:
            _write_tables(job, writer, streamed, columns)
        _check_label(job, first)
        scales = streamed.finish()
        writer.finish(
            features.n_features_out_,
            max_columns=features.n_features_out_,
            column_scales=scales,
            features=state_of(features),
            facts=job.facts,
            **job.labels_of(writer),
        )


def _write_tables(
    job: _Job, writer: RowsWriter, streamed: StreamedFeatures, columns: list[str]
) -> None:
    for file, piece in _tables(job, columns):
        writer.add(streamed.transform(piece), piece.path)
        if job.label is not None:
            writer.add_codes(codes_of(job.codes, file, piece))


def _check_label(job: _Job, first: Table) -> None:
    """Refuse the name of a label column that no file has.

    A key of a JSON lines file may come late, so that this is checked at the end; the readers of
    other files check it themselves.
    """
    if job.label is not None and job.codes.n_labeled == 0:
        first.column(job.label)


def _convert_svmlight(job: _Job, output: str | Path, dtype: np.dtype[Any]) -> None:
    on_cluster = job.on_cluster()
    with rows_writer(output, dtype) as writer:
        if on_cluster is not None:
            on_cluster.write_svmlight(writer, job.codes, dtype)
        else:
            for file in job.files():
                add_svmlight(writer, job.codes, file, job.progress)
        zero_based = job.options.zero_based
        if zero_based == "auto":
            zero_based = writer.smallest == 0
        writer.finish(
            first=0 if zero_based else 1,
            max_columns=job.options.max_columns,
            facts={**job.facts, "zero_based": zero_based},
            **job.labels_of(writer),
        )


def _convert_arrays(job: _Job, output: str | Path, dtype: np.dtype[Any]) -> None:
    pieces = _matrices(job)
    first = next(pieces)
    sparse, n_columns = hasattr(first.X, "nnz"), first.X.shape[1]
    with rows_writer(output, dtype, None if sparse else n_columns) as writer:
        for data in chain([first], pieces):
            if data.X.shape[1] != n_columns:
                message = f"the matrix has {data.X.shape[1]} columns, but the first {n_columns}."
                raise DataError(message, data.path)
            for start in range(0, len(data), CHUNK_ROWS):
                writer.add(data.X[start : start + CHUNK_ROWS], data.path)
                job.progress.rows = writer.n_rows
            if job.labels_file is None:
                labels = [None] * len(data) if data.labels is None else data.labels.tolist()
                writer.add_codes(job.codes.of_values(labels))
                job.codes.words.update(data.missing_words)
            job.progress.seen(Path(data.path or "").stat().st_size)
        writer.finish(n_columns, max_columns=n_columns, facts=job.facts, **job.labels_of(writer))


def _matrices(job: _Job) -> Iterator[MatrixData]:
    options = replace(job.options, seen=None)
    for path in job.paths:
        data = read_whole(path, job.format, options)
        assert isinstance(data, MatrixData)
        yield data
