"""What is known about the class of a row without a label: probabilities, or candidate classes.

A row of evidence is a distribution q over the classes. It enters the label step alone, as a cost of
each label besides its loss, ::

    tau log( max_z q(z) / q(y) )

which is -tau log q(y) up to a constant: nothing for the likeliest class, and infinity for a class
of probability zero, which the row then cannot have. A row about which nothing is known has equal
probabilities for all classes, and no such costs.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.base import Floats
from semisvm.labels.partial import LearnedEvidence, PartialLabels

FORMS = (
    "Give one row per row of X, with a probability per class in the order of the sorted classes; "
    "a data frame with a column per class; or a list with a set of possible classes, or None, per "
    "row."
)


def with_evidence(labels: PartialLabels, evidence: Any) -> PartialLabels:
    """Return labels with what is known about the rows besides.

    Parameters
    ----------
    labels : PartialLabels
    evidence : array-like, sparse matrix or data frame of shape (n, m), list of n sets, \
WeakLabels or None
        Probabilities up to a factor per row, or possible classes. A row of NaN, or of equal
        numbers, or an empty set or None in a list, is a row about which nothing is known.

    Raises
    ------
    ValueError
        If the shape is another, or an entry is no probability or no class.
    """
    if evidence is None:
        return labels
    if hasattr(evidence, "bind"):
        source: LearnedEvidence = evidence.bind(labels)
        return replace(labels, evidence=source.learn(labels), source=source)
    classes = labels.classes.tolist()
    table = _table(evidence, classes)
    if table.shape != (len(labels.codes), len(classes)):
        raise ValueError(
            f"evidence has shape {table.shape}, but X has {len(labels.codes)} rows and y "
            f"{len(classes)} classes, {classes}. {FORMS}"
        )
    return replace(labels, evidence=_against(table))


def evidence_costs(labels: PartialLabels, weight: float) -> Floats | None:
    """Return what evidence adds to the costs of labels of the unlabelled rows, (u, m).

    None if that is nothing.
    """
    if labels.evidence is None:
        return None
    against = labels.evidence[labels.unlabeled]
    if not against.any():
        return None
    forbidden = against == np.inf
    against[forbidden] = 0.0
    against *= weight
    against[forbidden] = np.inf
    return against


def ratios(labels: PartialLabels) -> Floats | None:
    """Return evidence as probabilities in units of the largest one of each row, (n, m)."""
    return None if labels.evidence is None else np.exp(-labels.evidence)


def _table(evidence: Any, classes: list[Any]) -> Floats:
    """Return evidence as numbers, a column per class."""
    is_sparse: bool = sparse.issparse(evidence)
    if is_sparse:
        return np.asarray(evidence.toarray(), dtype=np.float64)
    if hasattr(evidence, "columns"):
        return _columns(evidence, classes)
    sets = _sets(evidence)
    if sets is not None:
        return _possible(sets, classes)
    try:
        table = np.array(evidence, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"evidence holds something that is no number. {FORMS}") from None
    return table


def _columns(frame: Any, classes: list[Any]) -> Floats:
    """Return the columns of a data frame in the order of the classes."""
    names = list(frame.columns)
    missing = [label for label in classes if label not in names]
    unknown = [name for name in names if name not in classes]
    if missing or unknown:
        wrong = f"no column for the classes {missing!r}" if missing else ""
        wrong += " and " if missing and unknown else ""
        wrong += f"columns {unknown!r} that are no classes" if unknown else ""
        raise ValueError(f"evidence has {wrong}; the classes are {classes!r}.")
    order = [names.index(label) for label in classes]
    return np.asarray(frame.to_numpy(), dtype=np.float64)[:, order]


def _sets(evidence: Any) -> list[Any] | None:
    """Return evidence as a list if it holds possible classes, or None if it holds numbers."""
    if isinstance(evidence, np.ndarray) and evidence.dtype.kind != "O":
        return None
    rows = list(evidence)
    if any(isinstance(row, (set, frozenset, str)) or _is_unknown(row) for row in rows):
        return rows
    listed = [row for row in rows if isinstance(row, Sequence)]
    if len({len(row) for row in listed}) > 1:
        return rows
    return rows if any(isinstance(one, str) for row in listed for one in row) else None


def _is_unknown(row: Any) -> bool:
    return row is None or (isinstance(row, float) and np.isnan(row))


def _possible(sets: list[Any], classes: list[Any]) -> Floats:
    """Return one for every possible class, and zero for the others."""
    place = {label: k for k, label in enumerate(classes)}
    table = np.zeros((len(sets), len(classes)))
    for row, found in enumerate(sets):
        if _is_unknown(found):
            continue
        if isinstance(found, str) or not hasattr(found, "__iter__"):
            raise ValueError(
                f"evidence has {found!r} in row {row}, which is no set of classes. Put a class "
                f"into a set, {{{found!r}}}, or give the row its label in y."
            )
        unknown = [one for one in found if one not in place]
        if unknown:
            raise ValueError(
                f"evidence names {unknown[0]!r} in row {row}, which is no class; the classes are "
                f"{classes!r}."
            )
        table[row, [place[one] for one in found]] = 1.0
    return table


def _against(table: Floats) -> Floats:
    """Return log(max q / q) of each row; zeros where nothing is known."""
    unknown = np.isnan(table).all(axis=1)
    table[unknown] = 1.0
    wrong: NDArray[np.bool_] = ~(np.isfinite(table) & (table >= 0.0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"evidence must hold probabilities, finite and not negative, or NaN in a whole row; "
            f"entry {column} of row {row} is {table[row, column]}."
        )
    highest = table.max(axis=1, keepdims=True)
    table[highest[:, 0] == 0.0] = 1.0
    highest[highest == 0.0] = 1.0
    with np.errstate(divide="ignore"):
        # a ratio first: equal numbers must leave exactly nothing
        return np.asarray(-np.log(table / highest) + 0.0)
