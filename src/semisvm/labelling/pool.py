"""The rows of a session: what a person sees, what identifies them, what a model learns from.

Columns of pictures have paths beside the data file, or PNG and JPEG in base64.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.records import Field, LabelingError, Picture
from semisvm.labelling.word_index import WordIndex
from semisvm.preparing import Prepared, features_of
from semisvm.tables.answers import LABEL, check_columns
from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.frames import as_table
from semisvm.tables.kinds import TYPES, find_kind
from semisvm.tables.labels import label_texts
from semisvm.tables.opening import Options
from semisvm.tables.row_hashes import counted, row_hashes
from semisvm.tables.scaling import fit_scaling
from semisvm.tables.table import MatrixData, Table
from semisvm.text import shortened

IMAGE = "image"
ENDINGS = (".png", ".jpg", ".jpeg")
SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
IN_BASE64 = ("iVBORw0KGgo", "/9j/")
"""How both begin in base64."""
LARGEST = 20_000_000
"""Bytes of a picture that are shown."""
LOOKED_AT = 100
AddVectors = Callable[[Table, ColumnFeatures], tuple[Table, dict[str, Any]]]
"""Adds columns of vectors to a table; returns it, and what a model has to remember."""
LONG = 60
"""Characters from which a cell of no kind is text."""
MOST_ENTRIES = 50
"""Values of a row of a matrix that are shown."""
SUMMARY = 200
"""Characters of a row in a list."""


@dataclass(frozen=True)
class Pool:
    """Rows and what is known of them before the first answer.

    Attributes
    ----------
    data : Table or MatrixData
    label : str
        Name of the label column, there or to be added.
    key : str or None
        Column that identifies the rows.
    kinds : dict of str
        Kind of every column that is shown.
    given : dict of str
        Row -> label of the file.
    prepared : Prepared or None
        The matrix to learn from; its labels are those of the file.
    why_no_features : str or None
        Why there is nothing to learn from.
    """

    data: Table | MatrixData
    label: str
    key: str | None
    kinds: dict[str, str]
    given: dict[int, str]
    prepared: Prepared | None
    why_no_features: str | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def folder(self) -> Path | None:
        """Where the paths of pictures begin."""
        return None if self.data.path is None else Path(self.data.path).resolve().parent

    @property
    def columns(self) -> list[str]:
        """Columns that identify a row by its content."""
        return sorted(self.data.names) if isinstance(self.data, Table) else []

    def identities(self, key: str | None = None, columns: Sequence[str] | None = None) -> list[str]:
        """Return what the rows are called in a journal.

        Parameters
        ----------
        key : str, optional
            Column with their names; by default their content names them.
        columns : sequence of str, optional
            Those whose content counts; all by default.
        """
        if key is not None:
            assert isinstance(self.data, Table)
            return self.data.levels(key)
        return counted(row_hashes(self.data, columns))

    def name_of(self, row: int) -> str:
        """Return what a person calls a row."""
        if self.key is None:
            return str(row + 1)
        return self._cell(self.key, row).strip()

    def _cell(self, name: str, row: int) -> str:
        assert isinstance(self.data, Table)
        return self.data.take([row]).text(name)[0]

    def fields(self, row: int) -> list[Field]:
        """Return the cells of a row."""
        if isinstance(self.data, MatrixData):
            return self._entries(row)
        one = self.data.take([row])
        return [Field(name, self.kinds[name], one.text(name)[0]) for name in self.kinds]

    def _entries(self, row: int) -> list[Field]:
        X = self.data.X  # type: ignore[union-attr]
        values = np.asarray(X[[row]].todense() if hasattr(X, "indptr") else X[row]).ravel()
        there = np.flatnonzero(values)
        largest = there[np.argsort(-np.abs(values[there]), kind="stable")][:MOST_ENTRIES]
        return [Field(str(k + 1), "number", f"{values[k]:.4g}") for k in np.sort(largest)]

    def summary(self, row: int) -> str:
        """Return the beginning of a row, texts first; its name and empty cells are left out."""
        shown = (field for field in self.fields(row) if field.kind != IMAGE)
        fields = [field for field in shown if field.value.strip() and field.name != self.key]
        order = sorted(fields, key=lambda field: field.kind != "text")
        parts = [f.value if f.kind == "text" else f"{f.name}: {f.value}" for f in order]
        return shortened(" ".join(" · ".join(parts).split()), SUMMARY)

    def picture_of(self, row: int) -> str | None:
        """Return the first column that has a picture of a row."""
        pictures = [name for name, kind in self.kinds.items() if kind == IMAGE]
        return next((name for name in pictures if self._cell(name, row).strip()), None)

    @cached_property
    def _words(self) -> WordIndex:
        return WordIndex(self._texts)

    def _texts(self) -> list[list[str]]:
        assert isinstance(self.data, Table)
        shown = [name for name, kind in self.kinds.items() if kind != IMAGE]
        return [self.data.text(name) for name in shown]

    def search(self, words: str) -> NDArray[np.intp]:
        """Return the rows in which all words occur, in any case and any column.

        A matrix has no words: there, they are numbers of rows.
        """
        if isinstance(self.data, MatrixData):
            wanted = {word for word in words.split() if word.isdigit()}
            return np.array([int(w) - 1 for w in wanted if 0 < int(w) <= len(self)], dtype=np.intp)
        if words.strip():
            return self._words.find(words)
        self._words.build_soon()
        return np.arange(len(self))


def make_pool(
    data: Any,
    label: str | None,
    key: str | None,
    features: ColumnFeatures | None,
    vectors: AddVectors | None = None,
) -> Pool:
    """Look at rows: which columns are pictures, which are features.

    Parameters
    ----------
    data : Table, MatrixData, dict of columns, data frame, or matrix
    label : str or None
    key : str or None
    features : ColumnFeatures or None
        Not fitted; by default one for all columns.
    vectors : AddVectors, optional
        See `LabelingSession`.
    """
    found = _taken(data, label)
    check_columns(found, label, key)
    given = label_texts(found.labels)
    if len(found) == 0:
        raise DataError("there are no rows to label.", found.path)
    if isinstance(found, MatrixData):
        if vectors is not None:
            raise DataError("vectors are added to tables, but this is a matrix.", found.path)
        return Pool(found, label or LABEL, None, {}, given, _of_matrix(found))
    pictures = [name for name in found.names if holds_pictures(found.columns[name])]
    left_out = [*pictures, *([] if key is None else [key])]
    features, learnt = features or ColumnFeatures(), found.without(left_out)
    settings: dict[str, Any] = {}
    if vectors is not None:
        learnt, settings = vectors(learnt, features)
    prepared, why = _prepared(learnt, features, pictures, settings)
    kinds = _kinds(found, pictures, {} if prepared is None else prepared.features.kinds_)  # type: ignore[union-attr]
    return Pool(found, label or LABEL, key, kinds, given, prepared, why)


def _taken(data: Any, label: str | None) -> Table | MatrixData:
    if isinstance(data, (Table, MatrixData)):
        return data
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        table = as_table(data)
        if label is None or label not in table.columns:
            return table
        return table.labelled(table.columns[label], Options(label)).without([label])
    return MatrixData(data if hasattr(data, "indptr") else np.asarray(data))


def _of_matrix(data: MatrixData) -> Prepared:
    X, transformer = features_of(data)
    scaling = fit_scaling(X)
    X = X if scaling is None else scaling.transform(X)
    notes = [] if scaling is None else [scaling.note()]
    empty = np.full(len(data), None, dtype=object)
    return Prepared(X, empty, transformer, dict(data.facts), notes, 0.0, scaling)


def _prepared(
    table: Table, features: ColumnFeatures, pictures: list[str], settings: dict[str, Any]
) -> tuple[Prepared | None, str | None]:
    try:
        X, transformer = features_of(replace(table, labels=None), features)
    except DataError as error:
        if not pictures:
            raise
        named = ", ".join(pictures)
        return None, (
            f"there is nothing to learn from: pictures ({named}) are shown, but they are not "
            f"features, and {error.message} Add columns of numbers, or vectors, that describe the "
            "pictures."
        )
    assert transformer is not None
    empty = np.full(len(table), None, dtype=object)
    return Prepared(X, empty, transformer, settings, list(transformer.notes_)), None


def _kinds(table: Table, pictures: list[str], used: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name in table.names:
        kind = used.get(name) or find_kind(table, name).name
        shown = TYPES[kind].shown_as if kind is not None else _by_length(table, name)
        if name in pictures:
            shown = IMAGE
        if shown is not None:
            found[name] = shown
    return found


def _by_length(table: Table, name: str) -> str:
    """Find out how to show a column that is no feature."""
    first = table[:100].text(name)
    return "text" if sum(map(len, first)) > LONG * len(first) else "category"


def holds_pictures(cells: Any) -> bool:
    """Return whether all cells of a column, as far as there are any, are pictures."""
    found: list[Any] = []
    for cell in cells:
        if len(found) == LOOKED_AT:
            break
        if not is_missing(cell) and not (isinstance(cell, str) and not cell.strip()):
            found.append(cell)
    return bool(found) and all(isinstance(cell, str) and _is_picture(cell) for cell in found)


def _is_picture(cell: str) -> bool:
    text = cell.strip()
    if text.lower().endswith(ENDINGS) and len(text) < 1000 and "\n" not in text:
        return " " not in text or "/" in text or "\\" in text
    return _base64(text).startswith(IN_BASE64) and len(text) > 40


def _base64(text: str) -> str:
    """Return what is in base64, without the head of a data address."""
    head, comma, _ = text[:100].partition(",")
    if comma and head.startswith("data:image/") and head.endswith(";base64"):
        return text[len(head) + 1 :]
    return text


def read_picture(cell: str, folder: Path | None) -> Picture:
    """Return the picture that a cell holds or names.

    Parameters
    ----------
    cell : str
    folder : Path or None
        Where paths begin; a file outside of it is not read, whatever is in the data.
    """
    text = cell.strip()
    coded = _base64(text)
    content = _decoded(coded) if coded.startswith(IN_BASE64) else _file(text, folder)
    for signature, media_type in SIGNATURES.items():
        if content.startswith(signature):
            return Picture(media_type, content)
    raise LabelingError("this picture is neither PNG nor JPEG.")


def _decoded(text: str) -> bytes:
    if len(text) > LARGEST * 4 // 3:
        raise LabelingError("this picture is too large to be shown.")
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError) as error:
        raise LabelingError("this picture is not valid base64.") from error


def _file(text: str, folder: Path | None) -> bytes:
    if folder is None:
        raise LabelingError("there is no data file beside which this picture could lie.")
    try:
        path = (folder / text).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise LabelingError(f"{text} is outside of the folder of the data, so it is not shown.")
        if path.stat().st_size > LARGEST:
            raise LabelingError("this picture is too large to be shown.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, LabelingError):
            raise
        raise LabelingError(f"there is no picture {text}.") from error
