"""The contract for rows with several labels: a table of cells, some of which are not known.

A column is a label, a row holds for each label one of two values, such as 0 and 1 or "no" and
"yes", or the marker of a cell that is not known. None and NaN always count as not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from semisvm.labels.partial import PartialLabels, encode
from semisvm.text import listing

LABELS = "labels"
MOST_NAMED = 5
ONE_COLUMN = (
    "Only binary classification is supported in each column of Y, and y has one dimension: give "
    "a table with one column per label. For one label of several classes use TransductiveSVC."
)


@dataclass(frozen=True)
class LabelTable:
    """Labels as codes.

    Attributes
    ----------
    names : array of shape (k,)
        Names of the labels: those of the columns, or their numbers.
    values : array of shape (2,)
        The value of a row without the label, and of one with it.
    codes : int array of shape (n, k)
        0, 1, or -1 for a cell that is not known.
    """

    names: NDArray[Any]
    values: NDArray[Any]
    codes: NDArray[Any]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.names)

    def column(self, k: int) -> PartialLabels:
        """Return one label as a problem of two classes."""
        return PartialLabels(self.values, np.ascontiguousarray(self.codes[:, k]))


def read_table(Y: Any, unlabeled: Any = -1) -> LabelTable:
    """Read a table of labels.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n, k)
        Entries that a sparse matrix does not store are zero, so rows do not have the label.
    unlabeled : scalar
        The marker of cells that are not known, in addition to None and NaN.

    Raises
    ------
    ValueError
        If Y is no table, or a column has cells of one value only, or of more than two.
    """
    cells = table_cells(Y)
    if cells.ndim == 1:
        check_classification_targets(cells)
        raise ValueError(ONE_COLUMN)
    if cells.ndim != 2:
        raise ValueError(f"Y must have two dimensions, rows and labels, not {cells.ndim}.")
    if cells.shape[1] == 0:
        raise ValueError("Y has no column: give one column per label.")
    names = _names(Y, cells.shape[1])
    found = encode(cells.ravel(), unlabeled)
    if len(found.classes) > 2:
        raise ValueError(_too_many(cells, found.classes, names))
    codes = found.codes.reshape(cells.shape)
    _check_both(codes, names, found.classes)
    return LabelTable(names, found.classes, codes)


def _names(Y: Any, n_labels: int) -> NDArray[Any]:
    columns = getattr(Y, "columns", None)
    if columns is None:
        return np.arange(n_labels)
    names = [str(name) for name in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Y has several columns named {listing(twice)}: give each its own name.")
    return np.array(names)


def table_cells(Y: Any) -> NDArray[Any]:
    """Return a table of labels as an array."""
    if Y is None:
        # scikit-learn's checks expect the words "requires y to be passed"
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass a table with "
            "one column per label, with -1 for cells that are not known."
        )
    thin: bool = sparse.issparse(Y)
    return np.asarray(Y.toarray() if thin else Y)


def _too_many(cells: NDArray[Any], values: NDArray[Any], names: NDArray[Any]) -> str:
    third = values.tolist()[2]
    row, column = (int(place[0]) for place in np.nonzero(cells == third))
    return (
        f"Only binary classification is supported in each column of Y, but Y has the values "
        f"{listing(values.tolist(), MOST_NAMED)}: row {row} of column "
        f"{names[column]!s} has {third!r}. Use two values, such as 0 and 1, and a marker for "
        "cells that are not known."
    )


def _check_both(codes: NDArray[Any], names: NDArray[Any], values: NDArray[Any]) -> None:
    """Refuse columns in which only one value, or none, is known."""
    lacking = [np.flatnonzero(~(codes == code).any(axis=0)) for code in (0, 1)]
    columns = np.union1d(*lacking)
    if not len(columns):
        return
    shown = []
    for k in columns[:MOST_NAMED].tolist():
        known = np.unique(codes[:, k][codes[:, k] >= 0])
        what = "no known cell" if not len(known) else f"only {values.tolist()[known[0]]!r}"
        shown.append(f"column {names[k]!s} has {what}")
    more = f", and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
    raise ValueError(
        f"each label needs at least one row of each class, {values.tolist()[0]!r} and "
        f"{values.tolist()[1]!r}, but {', '.join(shown)}{more}. Label such a row, or leave the "
        "column out."
    )


def read_shares(given: Any, table: LabelTable) -> list[Any]:
    """Return what is known of the share of each label: a number, None, or "labels".

    Parameters
    ----------
    given : None, "estimate", "labels", float, array-like of shape (k,) or mapping name -> share
        Shares of the rows that have the label, among those where it is not known; entries that
        are None or NaN, and names that are left out, are estimated.
    table : LabelTable
    """
    k = table.n_labels
    if given is None or isinstance(given, str):
        if given not in (None, "estimate", LABELS):
            raise ValueError(_bad_shares(given))
        return [LABELS if given == LABELS else None] * k
    if isinstance(given, Mapping):
        return [_share(share, name) for name, share in _by_name(given, table)]
    if np.ndim(given) == 0:
        return [_share(given, None)] * k
    shares = list(given)
    if len(shares) != k:
        raise ValueError(
            f"class_prior has {len(shares)} shares, but Y has {k} columns: give one share per "
            "column, or one number for all."
        )
    return [_share(share, name) for share, name in zip(shares, table.names.tolist(), strict=True)]


def _by_name(given: Mapping[Any, Any], table: LabelTable) -> list[tuple[Any, Any]]:
    names = table.names.tolist()
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"class_prior has shares of {listing(unknown, MOST_NAMED)}, which are no labels; the "
            f"columns of Y are {listing(names)}."
        )
    return [(name, given.get(name)) for name in names]


def _share(share: Any, name: Any) -> float | None:
    if share is None or (isinstance(share, float) and np.isnan(share)):
        return None
    try:
        value = float(share)
    except (TypeError, ValueError) as error:
        raise ValueError(_bad_shares(share)) from error
    if not 0.0 < value < 1.0:
        whose = "" if name is None else f" for the label {name!r}"
        raise ValueError(f"class_prior must be between 0 and 1, got {share!r}{whose}.")
    return value


def _bad_shares(given: Any) -> str:
    return (
        "class_prior must be None, 'estimate', 'labels', a share between 0 and 1, or one share "
        f"per column of Y (an array, or a dict by name), got {given!r}."
    )
