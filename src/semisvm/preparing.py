"""From data that were read from a file to what estimators take, and what is refused on the way."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from semisvm.designs.base import Index
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.fingerprints import row_fingerprints
from semisvm.designs.validation import has_usual_length, mean_square_length, take_rows
from semisvm.estimators.registry import AUTO, get, methods
from semisvm.labels.evidence import with_evidence
from semisvm.labels.partial import PartialLabels, encode
from semisvm.model_selection.familiarity import Familiarity, some_rows
from semisvm.tables.column_shares import SUPERVISED
from semisvm.tables.errors import DataError, DataWarning
from semisvm.tables.features import ZERO_WEIGHT, ColumnFeatures
from semisvm.tables.labels import about_missing, count_labels, remarks
from semisvm.tables.scaling import MatrixScaling, fit_scaling
from semisvm.tables.several_labels import SeveralLabels
from semisvm.tables.table import MatrixData, Table
from semisvm.text import series

if TYPE_CHECKING:
    from semisvm.model_selection.weak_labels import WeakLabels

MOST_SINGLE = 20
"""More classes than this, each with one label, are not classes but names of rows."""
ONE_CLASS = (
    " If rows of another class cannot be labelled, a fit takes the parameter classes, which names "
    "it."
)


@dataclass
class Prepared:
    """Data that are ready for an estimator.

    Attributes
    ----------
    X : matrix of shape (n, d)
    labels : object array of shape (n,)
        None for rows without one.
    features : ColumnFeatures or None
        Fitted to the columns of all rows. Labels show which of them are raised.
    settings : dict
        How the file was read.
    notes : list of str
    seconds : float
        Time to compute the features.
    scaling : MatrixScaling or None
        What was done to the rows of a matrix.
    weight : array of shape (n,), optional
        Weights of the rows.
    evidence : optional
        What is known about the rows besides; see `semisvm.labels.evidence`.
    several : SeveralLabels, optional
        Several labels per row; ``labels`` are then their cells, shape (n, k).
    group : int array of shape (n,), optional
        Rows that are held out together.
    cells : Table or None
        A sample of the rows of a table, those of `semisvm.model_selection.familiarity.some_rows`.
    """

    X: Any
    labels: NDArray[np.object_]
    features: ColumnFeatures | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    scaling: MatrixScaling | None = None
    weight: NDArray[np.float64] | None = None
    evidence: Any = None
    cells: Table | None = None
    several: SeveralLabels | None = None
    group: Index | None = None

    def familiarity(self) -> Familiarity | None:
        """Learn what the rows look like, from a sample of them."""
        X, n = self.X, self.X.shape[0]
        sample = some_rows(n)
        if isinstance(X, RowsOnDisk) and not X.can_load(sample):
            return None
        unknown = None
        if self.features is not None and self.cells is not None:
            unknown = self.features.unknown_shares(self.cells, n)
        return Familiarity.fit(take_rows(X, sample), unknown)

    def labeled_rows(self) -> NDArray[np.uint64] | None:
        """Return the fingerprints of the labelled rows, by which `evaluate` recognises them."""
        X, labels = self.X, self.labels.reshape(self.X.shape[0], -1)
        labeled = np.flatnonzero((labels != np.array(None, dtype=object)).any(axis=1))
        if isinstance(X, RowsOnDisk) and not X.can_load(labeled):
            return None
        return np.unique(row_fingerprints(take_rows(X, labeled)))


def features_for(method: str, features: ColumnFeatures | None = None) -> ColumnFeatures:
    """Return features for a method: those that do not look for clusters raise columns further.

    Parameters
    ----------
    method : str
        A name of `estimators.registry`, or "auto".
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    """
    found = ColumnFeatures() if features is None else features
    if found.raised is not None or method == AUTO or get(method).suits.needs_unlabeled:
        return found
    return clone(found).set_params(raised=SUPERVISED)


def prepare(
    data: Table | MatrixData,
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    as_is: bool = False,
    sample_weight: NDArray[np.float64] | None = None,
    labels: SeveralLabels | None = None,
    one_class: bool = False,
) -> Prepared:
    """Check labels, and compute features from columns.

    Parameters
    ----------
    data : Table or MatrixData
        With labels; None for rows without one.
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    settings : mapping, optional
        How the file was read, to be kept with the model.
    as_is : bool, default=False
        Whether to leave a matrix as it is. Otherwise counts become tf-idf, and columns in
        different units are standardised (`semisvm.tables.scaling`).
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    labels : SeveralLabels, optional
        Several labels per row, in place of those of ``data``; the estimator checks them.
    one_class : bool, default=False
        Whether labels of one class alone are enough.
    """
    notes = _check_labels(data, one_class) if labels is None else []
    cells = _labels(data) if labels is None else labels.cells
    found = prepare_rows(data, cells, features, settings, as_is=as_is)
    notes += found.notes
    return replace(found, notes=notes, weight=sample_weight, several=labels)


def prepare_rows(
    data: Table | MatrixData,
    labels: NDArray[np.object_],
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    as_is: bool = False,
) -> Prepared:
    """Do what `prepare` does, for labels that need no check: shape (n,), or (n, k) of several."""
    notes: list[str] = []
    kept = dict(settings or {})
    start = perf_counter()
    X, transformer = features_of(data, features, labels)
    scaling = None
    if isinstance(data, MatrixData):
        kept |= data.facts
        scaling = None if as_is or isinstance(X, RowsOnDisk) else fit_scaling(X)
        X = X if scaling is None else scaling.transform(X)
        if scaling is not None:
            notes.append(scaling.note())
        elif transformer is None:
            notes += _about_scale(X)
    seconds = perf_counter() - start
    if transformer is not None:
        notes += transformer.notes_
    cells = None if isinstance(data, MatrixData) else data.take(some_rows(len(data)).tolist())
    return Prepared(X, labels, transformer, kept, notes, seconds, scaling, cells=cells)


def with_columns_chosen(
    prepared: Prepared,
    data: Table | MatrixData,
    as_is: bool,
    seconds: float,
    random_state: int,
) -> Prepared:
    """Leave out or damp columns of a table if held-out labels clearly support it."""
    from semisvm.model_selection.column_choice import choose_columns

    features = prepared.features
    if features is None or not isinstance(data, Table):
        return prepared  # the scales of stored rows are in their values
    found = choose_columns(
        prepared.X,
        encode(prepared.labels, None),
        features,
        sample_weight=prepared.weight,
        group=prepared.group,
        seconds=seconds,
        random_state=random_state,
    )
    if not found.weights:
        return prepared
    weights = {**(features.column_weights or {}), **found.weights}
    again = prepare_rows(
        data,
        prepared.labels,
        clone(features).set_params(column_weights=weights),
        prepared.settings,
        as_is=as_is,
    )
    notes = [note for note in prepared.notes if note not in features.notes_]
    notes += found.reasons + [note for note in again.notes if ZERO_WEIGHT not in note]
    taken = prepared.seconds + again.seconds
    given = {"weight": prepared.weight, "group": prepared.group, "evidence": prepared.evidence}
    return replace(again, notes=notes, seconds=taken, **given)


def features_of(
    data: Table | MatrixData,
    features: ColumnFeatures | None = None,
    labels: NDArray[np.object_] | None = None,
) -> tuple[Any, ColumnFeatures | None]:
    """Return the matrix of data, and the fitted features that made it from columns.

    Parameters
    ----------
    data : Table or MatrixData
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    labels : object array of shape (n,), optional
        None for rows without one.
    """
    if isinstance(data, MatrixData):
        return data.X, None if data.made_by is None else _features_of_rows(data)
    transformer = ColumnFeatures() if features is None else features
    return transformer.fit_matrix(data, labels), transformer


def _features_of_rows(data: MatrixData) -> ColumnFeatures:
    """Restore the features that made the columns of stored rows, after a check."""
    from semisvm.persistence.column_states import features_of_rows

    state, arrays = data.made_by
    try:
        return features_of_rows(state, arrays, data.X.shape[1])
    except ValueError as error:
        message = f"the features of these rows are damaged: {error} Convert the data again."
        raise DataError(message, data.path) from error


def _labels(data: Table | MatrixData) -> NDArray[np.object_]:
    if data.labels is None:
        raise DataError(
            "the data have no labels: name the label column with label=, or a file of labels with "
            "labels_file=; of rows in memory, give y=.",
            data.path,
        )
    return data.labels


def _check_labels(data: Table | MatrixData, one_class: bool) -> list[str]:
    labels = _labels(data)
    classes = list(count_labels(labels))
    if len(classes) < (1 if one_class else 2):
        have = f"labels of one class only, {classes[0]!r}" if classes else "no labels"
        zero = " In svmlight files 0 means unlabelled; if it is a class, use unlabeled='none'."
        hints = [zero] if isinstance(data, MatrixData) else []
        hints += [ONE_CLASS] if classes else []
        hints += [f" But {note}" for note in about_missing(data.missing_words)]
        raise DataError(
            f"there are {have}; two classes or more are needed.{''.join(hints)}", data.path
        )
    counts = count_labels(labels)
    if len(counts) > MOST_SINGLE and max(counts.values()) == 1:
        raise DataError(
            f"all {len(counts)} labels are different, like identifiers: is this the label column?",
            data.path,
        )
    found = [*about_missing(data.missing_words), *remarks(labels)]
    for remark in found:
        warnings.warn(remark, DataWarning, stacklevel=4)
    return found


def _about_scale(X: Any) -> list[str]:
    """Return a note if rows are much longer or shorter than the default regularisation is for.

    Columns of tables are scaled; a matrix is taken as it is.
    """
    length = mean_square_length(X) ** 0.5
    if has_usual_length(length):
        return []
    return [
        f"the rows have length {length:.3g} (root mean square), and the default regularisation is "
        "for rows of about length one. Scale the matrix first (counts: scale rows to length one; "
        f"measurements: standardise columns), or multiply the regularisation by {length**2:.2g}."
    ]


def with_missing(classes: ArrayLike, prepared: Prepared, evidence: Any) -> PartialLabels | None:
    """Return labels with declared classes; None if all of them have a label."""
    found = with_evidence(encode(prepared.labels, None, classes), evidence)
    return found if len(found.without_label) else None


def check_missing(labels: PartialLabels, method: str, probabilities: bool, weak: bool) -> None:
    """Refuse what needs labels of every class."""
    names = series([repr(label) for label in labels.classes[labels.without_label].tolist()])
    why = f"no row is labelled {names}"
    if method != AUTO and not get(method).takes_classes:
        taking = [one.name for one in methods() if one.takes_classes]
        raise ValueError(
            f"{why}, and the method {method!r} needs labels of every class. These do not: "
            f"{', '.join(taking)}."
        )
    if probabilities:
        raise ValueError(f"probabilities need held-out labels of every class, but {why}.")
    if weak:
        raise ValueError(
            f"how far to trust weak labels is learnt from labels of every class, but {why}. Label "
            "some rows of each, or give what is known as evidence=."
        )


def groups_of(groups: ArrayLike, prepared: Prepared, method: str) -> Index:
    """Return the groups of the rows as numbers; raise where held-out rows cannot be kept apart."""
    from semisvm.model_selection.candidates import COMMITTEE
    from semisvm.model_selection.splits import group_numbers

    if isinstance(prepared.X, RowsOnDisk):
        raise ValueError("groups are for rows in memory: those on the disk all stay in the fits.")
    if method == COMMITTEE:
        raise ValueError(
            "the method 'committee' learns its weights from folds that take no groups. Leave the "
            "method out: 'auto' weighs the members by groups."
        )
    return group_numbers(groups, prepared.labels)


def check_evidence(method: str, labels: SeveralLabels | None) -> None:
    """Refuse evidence where nothing would use it."""
    if labels is not None:
        raise ValueError("evidence is for one label per row, and there are several.")
    if method != AUTO and not get(method).takes_evidence:
        taking = [one.name for one in methods() if one.takes_evidence]
        raise ValueError(f"the method {method!r} takes no evidence. These do: {', '.join(taking)}.")


def check_takes_noise(method: str) -> None:
    """Refuse rates of wrong labels where nothing would use them."""
    if "label_noise" not in get(method).parameters:
        taking = [one.name for one in methods() if "label_noise" in one.parameters]
        raise ValueError(
            f"the method {method!r} takes no label_noise. These do: {', '.join(taking)}."
        )


def check_votes(evidence: Any, n_parts: int | None) -> None:
    """Refuse weak labels besides what they cannot be combined with."""
    if evidence is not None:
        raise ValueError(
            "weak labels become evidence, so give either weak= or evidence=. Evidence as "
            "probabilities can be a source of weak labels, weak={'name': probabilities}."
        )
    if n_parts is not None:
        raise ValueError("weak labels are for rows in one place, not for rows in parts.")


def weak_labels(prepared: Prepared, votes: Mapping[str, Any]) -> "WeakLabels":
    """Return votes as evidence; rows that do not fit into memory show no regions.

    Parameters
    ----------
    prepared : Prepared
    votes : mapping of str to votes of one source
    """
    from semisvm.model_selection.weak_labels import WeakLabels

    X = prepared.X
    if isinstance(X, RowsOnDisk):
        X = X.load() if X.can_load() else None
    return WeakLabels(dict(votes), X, unlabeled=None, sample_weight=prepared.weight)


def check_for_labels(options: Mapping[str, Any]) -> None:
    """Refuse options that are for one label per row."""
    for name, value in options.items():
        if value not in (None, False, "new_rows"):
            raise ValueError(f"{name} is for one label per row, and there are several.")
