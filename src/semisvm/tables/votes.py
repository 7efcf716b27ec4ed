"""Weak labels beside the rows of a table: in columns of their own, or given by themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from semisvm.tables.frames import as_labels
from semisvm.tables.table import MatrixData, Table

ONE_SOURCE = "weak"


def take_votes(
    data: Table | MatrixData, weak: Any, unlabeled: Any = -1
) -> tuple[Table | MatrixData, dict[str, Any]]:
    """Return data without the columns of weak labels, and the votes of each source.

    Parameters
    ----------
    data : Table or MatrixData
    weak : str, sequence of str, array-like of shape (n,) or (n, m), mapping, data frame or None
        Names of columns of a table, or votes, of one source or of several by name. A source may
        be an array of probabilities.
    unlabeled : scalar, default=-1
        Marker of rows without a vote, besides what is missing or blank.

    Returns
    -------
    data : Table or MatrixData
    votes : dict of object arrays of shape (n,), with None where there is no vote, or of (n, m)
    """
    if weak is None:
        return data, {}
    names = _column_names(data, weak)
    if names is not None:
        if not isinstance(data, Table):
            raise ValueError(
                f"{names[0]!r} is the name of a column, but the rows are a matrix of numbers. Give "
                "the weak labels themselves, as an array."
            )
        found = {name: data.column(name) for name in names}
        data = data.without(names)
    elif isinstance(weak, Mapping):
        found = {str(name): own for name, own in weak.items()}
    elif hasattr(weak, "columns"):
        found = {str(name): weak[name] for name in weak.columns}
    else:
        found = {ONE_SOURCE: weak}
    for name, own in found.items():
        _check_length(data, name, own)
    return data, {
        name: own if np.ndim(own) == 2 else as_labels(own, unlabeled)[0]
        for name, own in found.items()
    }


def _column_names(data: Table | MatrixData, weak: Any) -> list[str] | None:
    """Return the names of columns, or None if votes are given by themselves."""
    if isinstance(weak, str):
        return [weak]
    if not isinstance(weak, Sequence) or not weak or not all(isinstance(w, str) for w in weak):
        return None
    n_rows = len(data) if isinstance(data, Table) else data.X.shape[0]
    # a list of as many texts as rows is a list of votes
    return None if len(weak) == n_rows and len(set(weak)) < n_rows else list(weak)


def _check_length(data: Table | MatrixData, name: str, votes: Any) -> None:
    try:
        check_consistent_length(range(len(data)) if isinstance(data, Table) else data.X, votes)
    except ValueError as error:
        raise ValueError(f"the weak labels of {name!r}: {error}") from error
