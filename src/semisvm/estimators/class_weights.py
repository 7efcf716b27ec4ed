"""Weights of classes: how much the labelled rows of a class count."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.partial_labels import PartialLabels
from semisvm.validation import check_real

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
