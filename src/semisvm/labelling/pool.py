"""The rows of a session: what a person sees, what identifies them, what a model learns from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.media import AUDIO, IMAGE, media_kind
from semisvm.labelling.records import Field
from semisvm.labelling.word_index import WordIndex
from semisvm.preparing import Prepared, features_of
from semisvm.tables.answers import LABEL, check_columns
from semisvm.tables.errors import DataError
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.frames import as_table
from semisvm.tables.kinds import TYPES, find_kind
from semisvm.tables.labels import label_texts
from semisvm.tables.opening import Options
from semisvm.tables.row_hashes import counted, row_hashes
from semisvm.tables.scaling import fit_scaling
from semisvm.tables.table import MatrixData, Table
from semisvm.tables.votes import take_votes
from semisvm.text import shortened

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
    weak : dict of dict
        Source of weak labels -> row -> its label.
    """

    data: Table | MatrixData
    label: str
    key: str | None
    kinds: dict[str, str]
    given: dict[int, str]
    prepared: Prepared | None
    why_no_features: str | None = None
    weak: dict[str, dict[int, str]] = field(default_factory=dict)

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

    def weak_classes(self) -> list[str]:
        """Return the classes of weak labels."""
        return sorted({value for votes in self.weak.values() for value in votes.values()})

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
        shown = (field for field in self.fields(row) if field.kind not in (IMAGE, AUDIO))
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
        shown = [name for name, kind in self.kinds.items() if kind not in (IMAGE, AUDIO)]
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
    weak: Sequence[str] = (),
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
    weak : sequence of str
        Columns of weak labels, which are neither learned from nor shown as cells.
    """
    found = _taken(data, label)
    check_columns(found, label, key)
    given = label_texts(found.labels)
    if len(found) == 0:
        raise DataError("there are no rows to label.", found.path)
    if isinstance(found, MatrixData):
        if vectors is not None:
            raise DataError("vectors are added to tables, but this is a matrix.", found.path)
        if weak:
            raise DataError(f"a matrix has no columns with names, so no {weak[0]!r}.", found.path)
        return Pool(found, label or LABEL, None, {}, given, _of_matrix(found))
    media = {name: media_kind(found.columns[name]) for name in found.names}
    pictures = [name for name, kind in media.items() if kind is not None]
    votes = take_votes(found, list(weak) or None, None)[1]
    left_out = [*pictures, *weak, *([] if key is None else [key])]
    features, learnt = features or ColumnFeatures(), found.without(left_out)
    settings: dict[str, Any] = {}
    if vectors is not None:
        learnt, settings = vectors(learnt, features)
    prepared, why = _prepared(learnt, features, pictures, settings)
    kinds = _kinds(found, media, {} if prepared is None else prepared.features.kinds_)  # type: ignore[union-attr]
    for name in weak:
        kinds.pop(name, None)
    labels = {name: label_texts(own) for name, own in votes.items()}
    return Pool(found, label or LABEL, key, kinds, given, prepared, why, labels)


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
            f"there is nothing to learn from: {named} can be seen or heard, but are not features, "
            f"and {error.message} Add columns of numbers, or vectors, that describe them."
        )
    assert transformer is not None
    empty = np.full(len(table), None, dtype=object)
    return Prepared(X, empty, transformer, settings, list(transformer.notes_)), None


def _kinds(
    table: Table, media: Mapping[str, str | None], used: Mapping[str, str]
) -> dict[str, str]:
    found = {}
    for name in table.names:
        kind = used.get(name) or find_kind(table, name).name
        own = TYPES[kind].shown_as if kind is not None else _by_length(table, name)
        shown = media.get(name) or own
        if shown is not None:
            found[name] = shown
    return found


def _by_length(table: Table, name: str) -> str:
    """Find out how to show a column that is no feature."""
    first = table[:100].text(name)
    return "text" if sum(map(len, first)) > LONG * len(first) else "category"
