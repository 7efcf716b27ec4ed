"""Weights of rows and of classes: for how many rows each row counts.

A row of weight two is two rows. What that means for the class counts is settled here: the weights
of the unlabelled rows are turned into masses, in units of the smallest one if all of them are
whole multiples of it. The class counts are then whole numbers of these units, as they would be if
every row were repeated. Otherwise there is nothing to round: the masses have mean one, and a class
gets its exact share of their sum.

``class_weight`` multiplies the weights of the labelled rows of a class.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats, Index
from semisvm.labels.partial import PartialLabels, prior_counts
from semisvm.validation import check_real, check_weights

UNIT_WEIGHT: Floats = np.ones(1)
"""The mass of rows that all count once."""
Counts = NDArray[np.int64] | NDArray[np.float64]
"""Rows per class; of rows with masses, the sums of these."""
WHOLE_TOL = 1e-9
# Beyond this number of rows, whole numbers would no longer be exact in double precision.
MOST_ROWS = 1e15


@dataclass(frozen=True)
class RowWeights:
    """What the rows of a fit count for.

    Attributes
    ----------
    labeled : array of shape (l,)
        Weights of the labelled rows, summing to one.
    mass : array of shape (u,) or (1,)
        For how many rows each unlabelled row counts; a single number holds for all of them.
    n_unlabeled : int
        For how many rows the unlabelled rows count together.
    whole : bool
        Whether the masses are whole numbers.
    """

    labeled: Floats
    mass: Floats
    n_unlabeled: int
    whole: bool = True

    @classmethod
    def of(cls, labels: PartialLabels, weight: Floats | None) -> "RowWeights":
        """Return what rows count for by their sample weights, or once each.

        Parameters
        ----------
        labels : PartialLabels
        weight : array of shape (n,), optional
        """
        if weight is None:
            n = len(labels.labeled)
            return cls(np.full(n, 1.0 / n), UNIT_WEIGHT, len(labels.unlabeled))
        given = weight[labels.labeled]
        mass, n_unlabeled, whole = masses(weight[labels.unlabeled])
        return cls(given / given.sum(), mass, n_unlabeled, whole)

    def counts(self, prior: Floats, order: Index | None = None) -> Counts:
        """Return how many unlabelled rows each class gets, in units of mass.

        Parameters
        ----------
        prior : array of shape (m,)
        order : array of the m classes, optional
            See `prior_counts`.
        """
        if self.whole:
            return prior_counts(prior, self.n_unlabeled, order)
        return np.asarray(prior * self.n_unlabeled)


def checked_weights(sample_weight: Any, X: Any, labels: PartialLabels) -> Floats | None:
    """Return sample weights as float64, or None; refuse those with which nothing can be fitted."""
    weight = check_weights(sample_weight, X)
    if weight is not None and not weight[labels.labeled].any():
        raise ValueError(
            "sample_weight is zero for every labelled row, so there is nothing to fit. Give "
            "at least one labelled row a positive weight."
        )
    return weight


def masses(weight: Floats) -> tuple[Floats, int, bool]:
    """Turn weights of unlabelled rows into masses.

    Returns
    -------
    mass : array of shape (u,) or (1,)
    total : int
        Their sum.
    whole : bool
        Whether they are whole numbers.
    """
    positive = weight[weight > 0.0]
    if not len(positive):
        return (weight if len(weight) else UNIT_WEIGHT), 0, True
    # a weight may be so small that others are no finite multiple of it
    with np.errstate(over="ignore"):
        multiples = weight / positive.min()
        countable = multiples.sum() < MOST_ROWS
    rounded = np.round(multiples)
    if not countable or not np.allclose(multiples, rounded, rtol=WHOLE_TOL, atol=0.0):
        return weight / positive.mean(), len(positive), False
    return (UNIT_WEIGHT if (rounded == 1.0).all() else rounded), int(rounded.sum()), True


def has_weights(mass: Floats) -> bool:
    """Return whether some rows count for more or less than one."""
    return len(mass) != 1 or bool(mass[0] != 1.0)


def number_of(mass: Floats, n_rows: int) -> int:
    """Return for how many rows some rows count together."""
    return round(float(mass.sum())) if has_weights(mass) else n_rows


def whole_number(total: float) -> tuple[int, float]:
    """Return for how many rows a sample counts, and the factor by which its masses sum to that."""
    n = max(round(total), 1)
    return n, n / total if total > 0.0 else 1.0


def of_rows(mass: Floats, rows: Index) -> Floats:
    """Return the masses of some unlabelled rows, by position."""
    return mass if len(mass) == 1 else np.asarray(mass[rows])


BALANCED = "balanced"
ClassWeight = Mapping[Any, float] | str | None


def check_class_weight(class_weight: Any) -> None:
    """Raise ValueError for what cannot be weights of classes, whatever the classes are."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, {BALANCED!r} or a dict class -> weight, got "
            f"{class_weight!r}."
        )
    for label, value in class_weight.items():
        check_real(f"class_weight[{label!r}]", value, at_least=0)


def times_class_weight(
    class_weight: ClassWeight, labels: PartialLabels, weight: Floats | None
) -> Floats | None:
    """Multiply the weights of the labelled rows by those of their classes.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping class -> weight
        "balanced" lets all classes count alike. Classes that a mapping does not name have
        weight one.
    labels : PartialLabels
    weight : array of shape (n,), optional
        Weights of the rows.
    """
    if class_weight is None:
        return weight
    each = np.ones(len(labels.codes)) if weight is None else weight.copy()
    rows, codes = labels.labeled, labels.codes[labels.labeled]
    if isinstance(class_weight, Mapping):
        factors = _named(class_weight, labels.classes.tolist())
    else:
        totals = np.bincount(codes, each[rows], minlength=len(labels.classes))
        factors = np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0.0)
    each[rows] *= factors[codes]
    if not each[rows].any():
        raise ValueError(
            "class_weight leaves no labelled row with a weight above zero, so there is nothing to "
            "fit. Give at least one class a positive weight."
        )
    return each


def _named(class_weight: Mapping[Any, float], classes: list[Any]) -> Floats:
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(
            f"class_weight names unknown classes {unknown!r}; the labelled classes are {classes!r}."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes])
