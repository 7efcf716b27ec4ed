"""Reading files of every format: tables, matrices, labels, and rows that stay on the disk."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from semisvm.designs.disk import RowsOnDisk, open_rows
from semisvm.designs.disk_header import RowsError
from semisvm.tables.array_files import is_npy, load_array
from semisvm.tables.errors import DataError
from semisvm.tables.formats import EXCEL, FORMATS, ROWS, SUFFIXES, TABLES, load
from semisvm.tables.labels import Labels, array_labels, read_labels
from semisvm.tables.opening import CHUNK_ROWS, Options, is_workbook, open_text
from semisvm.tables.table import MatrixData, Table
from semisvm.text import did_you_mean


def find_format(path: str | Path, given: str | None = None) -> str:
    """Return the format of a file: the given one, or that of its suffix; "rows" for a folder.

    Excel workbooks are recognised by their content, whatever their name is. Other spreadsheets
    are refused.
    """
    excel = is_workbook(path)
    if given is not None:
        if given not in FORMATS:
            hint = did_you_mean(given, FORMATS)
            raise DataError(f"there is no format {given!r}.{hint} Formats: {', '.join(FORMATS)}.")
        if excel and given != EXCEL:
            raise DataError(
                f"this is an Excel file, not {given}: leave out the format, or use "
                f"format={EXCEL!r}.",
                path,
            )
        return given
    if excel:
        return EXCEL
    if Path(path).is_dir():
        return ROWS
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    found = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if found is None:
        raise DataError(
            f"the name does not show the format: set it with format=, one of {', '.join(FORMATS)}.",
            path,
        )
    return found


def read(
    path: str | Path,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    labels_file: str | Path | None = None,
    unlabeled: str | None = None,
    na_is_class: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
    sheet: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    max_columns: int | None = None,
) -> Table | MatrixData:
    """Read a file whole.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet`` and ``.xlsx`` become a `Table`; svmlight files
        (``.svm``, ``.svmlight``, ``.libsvm``, ``.dat``, ``.txt``), ``.npz`` and ``.npy``
        become `MatrixData`. Text formats may be gzipped, whatever their name. A folder of
        ``semisvm convert`` becomes `MatrixData` whose rows stay on the disk.
    label : str, optional
        Name of the label column of a table. Blank cells mean unlabelled rows, and so do
        the words for missing values: NA, N/A, NaN, None, null and the like, in any case.
    columns : sequence of str, optional
        Columns to keep, besides the label; all by default.
    format : str, optional
        "csv", "tsv", "jsonl", "parquet", "xlsx", "svmlight", "npz" or "rows", if the name does not
        show it.
    labels_file : str or Path, optional
        A separate file with one label per line, or a ``.npy`` array.
    unlabeled : str, optional
        Marker of rows without a label, besides blank. svmlight files and label files of
        matrices have 0 by default, arrays -1; "none" is for data with labels everywhere.
    na_is_class : bool, default=False
        Whether words of missing values are classes, as "NA" is where it means Namibia.
    encoding : str, optional
        By default UTF-8, or that of a byte order mark.
    delimiter : str, optional
    quotes : bool, default=True
        Whether ``"`` quotes cells of CSV and TSV files.
    sheet : str, optional
        Name of a sheet of an Excel workbook; by default the first one.
    zero_based : bool or "auto", default="auto"
        Whether the indices of svmlight files begin with 0. "auto" looks for a 0.
    n_features : int, optional
        Number of columns of a matrix, for files to be used with a model.
    max_columns : int, optional
        Maximum number of columns of a sparse matrix; a larger index is an error. By default
        2**24, or a hundred per value if that is more: a model has one weight per column.

    Raises
    ------
    DataError
        With what is wrong, in which file, line and column.
    """
    options = Options(
        label=label,
        columns=columns,
        encoding=encoding,
        delimiter=delimiter,
        quotes=quotes,
        sheet=sheet,
        unlabeled=unlabeled,
        na_is_class=na_is_class,
        zero_based=zero_based,
        n_features=n_features,
        max_columns=max_columns,
    )
    if labels_file is None:
        return read_whole(path, format, options)
    if label is not None:
        raise DataError(f"labels come from the column {label!r} or from {labels_file}, not both.")
    data = read_whole(path, format, replace(options, labels_apart=True))
    marker = unlabeled if unlabeled is not None or isinstance(data, Table) else "0"
    labels, words = read_labels_file(labels_file, replace(options, unlabeled=marker))
    return replace(data, labels=_as_many(labels, data, labels_file), missing_words=words)


def read_to_label(
    path: str | Path,
    *,
    label: str | None = None,
    unlabeled: str | None = None,
    na_is_class: bool = False,
    **options: Any,
) -> Table | MatrixData:
    """Read a file whose label column may be missing, as before its first label.

    Parameters
    ----------
    path : str or Path
    label : str, optional
        If there is no such column, no row has a label.
    unlabeled : str, optional
    na_is_class : bool, default=False
    **options
        Of `read`.
    """
    about = {"unlabeled": unlabeled, "na_is_class": na_is_class}
    kind = find_format(path, options.get("format"))
    if label is None or options.get("labels_file") is not None or kind not in TABLES:
        return read(path, label=label, **about, **options)  # type: ignore[arg-type]
    found = read(path, **options)
    assert isinstance(found, Table)
    if label not in found.columns:
        return found
    wanted = Options(label, unlabeled=unlabeled, na_is_class=na_is_class)
    return found.labelled(found.columns[label], wanted).without([label])


def read_chunks(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
    sheet: str | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
    absent: bool = False,
    seen: Callable[[int], object] | None = None,
) -> Iterator[Table | MatrixData]:
    """Read a file piece by piece, without labels, for prediction on files larger than memory.

    The parameters are those of `read`. Pieces of tables have ``chunk_rows`` rows; those
    of svmlight files some megabytes of text, and they need ``n_features``. With ``absent``, a
    column of a JSON lines file that no row has had so far is blank, and no error. ``seen`` is
    called with the number of further bytes that were read.
    """
    options = Options(
        columns=columns,
        encoding=encoding,
        delimiter=delimiter,
        quotes=quotes,
        sheet=sheet,
        zero_based=zero_based,
        n_features=n_features,
        chunk_rows=chunk_rows,
        absent=absent,
        seen=seen,
    )
    return read_pieces(path, format, options)


def read_whole(path: str | Path, format: str | None, options: Options) -> Table | MatrixData:
    """Do what `read` does, without a file of labels."""
    (whole,) = read_pieces(path, format, options)
    return whole


def read_pieces(
    path: str | Path, format: str | None, options: Options
) -> Iterator[Table | MatrixData]:
    """Read a file in pieces, or in one if the options have no ``chunk_rows``."""
    kind = find_format(path, format)
    if options.sheet is not None and kind != EXCEL:
        raise DataError(f"a {kind} file has no sheets, so leave out the sheet.", path)
    found = FORMATS[kind]
    if options.label is not None and not found.is_table:
        why = f"a {kind} file has no named columns"
        if kind == ROWS:
            why = "these rows have their labels from the conversion"
        raise DataError(f"{why}, so leave out the label.", path)
    return load(found.reader)(path, options)


def read_labels_file(path: str | Path, options: Options) -> tuple[Labels, dict[str, int]]:
    """Read one label per line, as SVMlin did; blank lines and the marker are unlabelled.

    A ``.npy`` file holds the labels as an array.

    Returns
    -------
    labels, words
        As those of `semisvm.tables.labels.read_labels`.
    """
    if is_npy(path):
        return array_labels(load_array(path), options, path)
    with open_text(path, options.encoding) as text:
        lines = [line.rstrip("\r\n") for line in text]
    return read_labels(lines, options, lambda message, row: DataError(message, path, row + 1))


def _as_many(labels: Labels, data: Table | MatrixData, labels_file: str | Path) -> Labels:
    if len(labels) != len(data):
        raise DataError(
            f"there are {len(labels)} labels for the {len(data)} rows of {data.path}.", labels_file
        )
    return labels


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
        yield from _stored_pieces(X, path, made_by)
    except RowsError as error:
        raise DataError(error.message, path) from error


def _stored_pieces(X: RowsOnDisk, path: str | Path, made_by: object) -> Iterator[MatrixData]:
    X.check()
    for part in X.parts():
        yield MatrixData(part, None, str(path), made_by=made_by)


def read_names(path: str | Path, n_columns: int, encoding: str | None = None) -> list[str]:
    """Read one name per line, such as the words of a vocabulary, in the order of the columns.

    Parameters
    ----------
    path : str or Path
    n_columns : int
        How many there must be.
    encoding : str, optional

    Raises
    ------
    DataError
    """
    with open_text(path, encoding) as text:
        names = [line.strip() for line in text]
    while names and not names[-1]:
        names.pop()
    if len(names) != n_columns:
        raise DataError(
            f"there are {len(names):,} names, but the model has {n_columns:,} columns: one line "
            "per column is needed, in their order.",
            path,
        )
    return names
