"""Rows and labels of other libraries: data frames, lists of texts, arrays, paths.

Frames of pandas, polars, pyarrow and others are read by narwhals, columns by their types.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import is_sparse, refuse_lazy
from semisvm.labels.partial import encode, label_array
from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.labels import Labels, missing_words, objects
from semisvm.tables.table import Column, MatrixData, Table

TEXTS = "text"
"""Name of the column that a list of texts becomes."""
LONGEST_PATH = 1_000
CLASSES = (str, bool, int, float, np.generic)
"""Types of labels."""


def as_data(X: Any) -> Table | MatrixData:
    """Take a table or a matrix from what users have.

    Parameters
    ----------
    X : Table or MatrixData; data frame, dict of columns, list or array of texts, array or sparse \
matrix of numbers of shape (n, d), RowsOnDisk, or path of a file
        Frames are those of pandas, polars and pyarrow, and datasets of Hugging Face. Texts become
        a column ``"text"``.
    """
    if isinstance(X, (Table, MatrixData)):
        return X
    if isinstance(X, (str, os.PathLike)):
        from semisvm.tables.reading import read

        return read(_path(X))
    if isinstance(X, RowsOnDisk) or is_sparse(X):
        return MatrixData(X)
    if _is_columns(X):
        return as_table(X)
    if hasattr(X, "to_pylist"):  # a column of pyarrow
        X = X.to_pylist()
    if np.ndim(_plain(X)) == 1 and len(X) > 0 and _is_texts(X):
        return Table({TEXTS: _cells(X)})
    X = X if hasattr(X, "shape") else np.asarray(X)
    _refuse_cells(X)
    return MatrixData(X)


def _refuse_cells(X: Any) -> None:
    """Refuse an array whose cells are no numbers, with what to give instead."""
    if X.ndim == 0:
        kind = type(X[()]).__name__
        raise TypeError(f"X is one {kind}: give a list, an array, a data frame or a path.")
    if X.dtype.names is not None:
        raise TypeError("X is an array of records: give a data frame of them, pandas.DataFrame(X).")
    if X.dtype.kind not in "OU" or X.ndim > 2:
        return
    if X.ndim == 1 and any(isinstance(cell, Mapping) for cell in X):
        raise TypeError("X is a list of dicts: give a data frame of them, pandas.DataFrame(X).")
    if X.ndim == 2 and any(isinstance(cell, str) and not _is_number(cell) for cell in X.flat):
        raise ValueError(
            "X is an array with texts among its cells: give a data frame, whose columns have a "
            "kind each, as pandas.DataFrame(X).infer_objects()."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _path(text: Any) -> Any:
    """Return what may be the path of a file; refuse a text that is a row."""
    if isinstance(text, str) and ("\n" in text or len(text) > LONGEST_PATH):
        raise TypeError(
            "X is one text: put it in a list, as in [text], or give the path of a file."
        )
    return text


def _is_columns(data: Any) -> bool:
    """Return whether data have columns with names."""
    kind = type(data)  # a lazy frame would warn if it were asked for its columns
    return (
        isinstance(data, (Table, Mapping))
        or (hasattr(kind, "columns") and hasattr(kind, "__getitem__"))
        or _is_dataset(data)
    )


def _is_dataset(data: Any) -> bool:
    """Return whether data are a dataset of Hugging Face, or several of them."""
    return hasattr(data, "column_names") and hasattr(data, "with_format")


def _plain(X: Any) -> Any:
    """Return an array-like whose number of dimensions is that of the rows, without a conversion."""
    return X if hasattr(X, "shape") else X[:1] if isinstance(X, (list, tuple)) else np.asarray(X)


def _is_texts(X: Any) -> bool:
    cells = [cell for cell in X if not is_missing(cell)]
    return bool(cells) and all(isinstance(cell, str) for cell in cells)


def as_table(data: Any) -> Table:
    """Take a table from a `Table`, a mapping of columns, or a data frame.

    Parameters
    ----------
    data : Table, dict of columns, or data frame
        A frame of pandas, polars or pyarrow, or a dataset of Hugging Face.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, Mapping) and not _is_dataset(data):
        columns = {str(name): _cells(cells) for name, cells in data.items()}
    elif _is_columns(data):
        columns = _frame_columns(data)
    else:
        raise TypeError(
            "columns are read from a semisvm.tables.Table, a dict of columns or a data frame, got "
            f"{type(data).__name__}."
        )
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}.")
    return Table(columns)


def _frame_columns(data: Any) -> dict[str, Column]:
    frame = _read_frame(data)
    names = [str(name) for name in frame.columns]
    if len({*names}) < len(names):
        raise DataError("the data frame has column names twice: give every column its own name.")
    return {name: _column(frame[:, k]) for k, name in enumerate(names)}


def _read_frame(data: Any) -> Any:
    """Return a data frame of any library as one of narwhals."""
    import narwhals.stable.v2 as nw

    if _is_dataset(data):
        data = _arrow_table(data)
    if type(data).__name__ == "RecordBatch":
        import pyarrow as pa

        data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data)
    except TypeError as error:
        raise TypeError(f"a {type(data).__name__} is no data frame that is read here.") from error
    except Exception as error:  # narwhals has its own errors, of column names that occur twice
        raise DataError(f"the data frame cannot be read: {error}") from error
    refuse_lazy(frame)
    return frame


def _arrow_table(dataset: Any) -> Any:
    """Return the rows of a dataset of Hugging Face, those that were selected, in their order."""
    if isinstance(dataset, Mapping) or not hasattr(dataset, "__len__"):
        raise TypeError(
            f"a {type(dataset).__name__} is not one set of rows in memory: take one of its splits, "
            "as in dataset['train'], or load it without streaming."
        )
    return dataset.with_format("arrow")[:]


def _column(series: Any) -> Column:
    """Return the cells of a column of a frame."""
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind.is_float() or kind.is_integer():
        known = series if series.null_count() == 0 else series.cast(nw.Float64())
        return np.asarray(known.to_numpy())
    if kind == nw.List or kind == nw.Array:
        vectors = _vectors(series.to_native())
        if vectors is not None:
            return vectors
    return list(series.to_list())


def _vectors(native: Any) -> Column | None:
    """Return lists of numbers of one length as an array, without a Python object per number."""
    if hasattr(native, "to_arrow"):  # polars
        native = native.to_arrow() if _has_pyarrow() else native
    if not type(native).__module__.startswith("pyarrow"):
        return None
    return arrow_vectors(native)


def arrow_vectors(cells: Any) -> Column | None:
    """Return lists of numbers, all of one length, as an array; a missing one is NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(cells, pa.ChunkedArray):
        cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else cells.combine_chunks()
    if isinstance(cells.type, pa.BaseExtensionType):  # tensors of a fixed shape are such lists
        cells = cells.storage
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(cells.type) for is_kind in kinds):
        return None
    inner = cells.type.value_type
    lengths = pc.unique(pc.drop_null(pc.list_value_length(cells))).to_pylist()
    if not (pa.types.is_integer(inner) or pa.types.is_floating(inner)) or len(lengths) != 1:
        return None
    flat = cells.flatten()  # which leaves out lists that are missing
    if flat.null_count or not lengths[0]:
        return None
    values = np.full((len(cells), lengths[0]), np.nan)
    present = np.asarray(cells.is_valid())
    values[present] = np.asarray(flat.cast(pa.float64(), safe=False)).reshape(-1, lengths[0])
    return values


def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _cells(cells: Any) -> Column:
    array = np.asarray(cells) if hasattr(cells, "dtype") else None
    if array is not None and array.dtype.kind in "fiu":
        return array
    if array is not None and array.dtype.kind in "Mm":
        return cast(list[Any], array.astype(f"{array.dtype.kind}8[us]").tolist())
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(cells, name):
            return cast(list[Any], getattr(cells, name)())
    return list(cast(Sequence[Any], cells))


def with_labels(
    X: Any, y: Any, unlabeled: Any = -1, *, na_is_class: bool = False, classes: Any = None
) -> Table | MatrixData:
    """Take rows and their labels from what users have.

    Parameters
    ----------
    X : what `as_data` takes
    y : array-like of shape (n,), or name of a column of X
    unlabeled : scalar, default=-1
        Marker of rows without a label, besides what is missing.
    na_is_class : bool, default=False
        Whether words for missing values are classes.
    classes : array-like of shape (m,), optional
        All classes, where some have no label.
    """
    if isinstance(y, str) and isinstance(X, (str, os.PathLike)):
        from semisvm.tables.reading import read

        marker = None if unlabeled == -1 else str(unlabeled)
        return read(_path(X), label=y, unlabeled=marker, na_is_class=na_is_class)
    data = as_data(X)
    if isinstance(y, str):
        if not isinstance(data, Table):
            raise DataError(f"X has no columns with names, so y={y!r} is not one of them.")
        y, data = data.column(y), data.without([y])
    labels, words = as_labels(y, unlabeled, na_is_class=na_is_class)
    _check_labels(labels, unlabeled, classes)
    check_consistent_length(range(len(data)) if isinstance(data, Table) else data.X, labels)
    return replace(data, labels=labels, missing_words=words)


def as_labels(
    y: Any, unlabeled: Any = -1, *, na_is_class: bool = False
) -> tuple[Labels, dict[str, int]]:
    """Read labels from a column of a frame, an array or a list; classes keep their type.

    Rows without a label have None, NaN, NaT, NA, a blank text, the marker, or a word for missing
    values such as "nan", which is what numpy makes of NaN among texts.

    Parameters
    ----------
    y : array-like of shape (n,)
    unlabeled : scalar, default=-1
        The marker, besides what is missing.
    na_is_class : bool, default=False
        Whether words for missing values are classes.

    Returns
    -------
    labels : object array of shape (n,)
        None for a row without label.
    words : dict of int
        Words that were taken for "no label", with their numbers of rows.
    """
    values = _label_list(y)
    texts = [value for value in values if isinstance(value, str)]
    words = {} if na_is_class else missing_words(texts, [unlabeled] if unlabeled else [])
    blank = {"", *words}

    def label(value: Any) -> Any:
        if is_missing(value) or (isinstance(value, str) and value.strip() in blank):
            return None
        return None if _is_marker(value, unlabeled) else value

    labels = objects([label(value) for value in values])
    for found in labels:
        if found is not None and not isinstance(found, CLASSES):
            kind = type(found).__name__
            raise ValueError(
                f"y has a label of type {kind}, {found!r:.40}: give texts, numbers or booleans, "
                "such as str(label) of each. Several labels per row are for MultiLabelSVC."
            )
    marked = unlabeled == -1 and any(value == "-1" for value in texts)
    if marked:
        raise ValueError(
            "y holds the text '-1'. If it marks unlabelled rows, use unlabeled='-1', or blank; a "
            "class of that name needs another name."
        )
    return labels, words


def _check_labels(labels: Labels, unlabeled: Any = -1, classes: Any = None) -> None:
    """Refuse labels of which nothing can be learnt."""
    given = [label for label in labels.tolist() if label is not None]
    ones = bool(given) and {*given} == {1} and unlabeled == -1 and len(given) < len(labels)
    if ones and classes is None:
        raise ValueError(
            "y has labels of one class only, 1; a classifier needs two or more. -1 marks "
            "unlabelled rows by scikit-learn's convention: if it is a class here, use "
            "unlabeled=None."
        )
    encode(labels, None, classes)


def _is_marker(value: Any, marker: Any) -> bool:
    if marker is None or isinstance(value, (bool, np.bool_)) != isinstance(marker, bool):
        return False
    return isinstance(value, str) == isinstance(marker, str) and bool(value == marker)


def _label_list(y: Any) -> list[Any]:
    """Return labels as Python's own values."""
    if _is_columns(y) and not isinstance(y, Mapping):
        frame = _read_frame(y)
        if len(frame.columns) != 1:
            raise ValueError(f"y should be one column, got a frame with {len(frame.columns)}.")
        y = frame[:, 0].to_native()
    if hasattr(y, "to_pylist"):
        return list(y.to_pylist())
    if isinstance(y, (list, tuple)) or (hasattr(y, "to_list") and not hasattr(y, "columns")):
        listed = y.to_list() if hasattr(y, "to_list") else list(y)
        lists = [isinstance(value, (list, tuple, np.ndarray)) for value in listed]
        if not (lists and all(lists)):
            label_array([v for v in listed if isinstance(v, float)])  # refuses infinite ones
            return listed
    values: NDArray[Any] = column_or_1d(label_array(y), warn=True)
    return cast(list[Any], values.tolist())
