"""What labels of one class alone show about a model: its recall on those that are held out."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from semisvm.designs import Floats, Index
from semisvm.designs.validation import take_rows
from semisvm.labels.evidence import ratios
from semisvm.labels.partial import PartialLabels, deal, hide_labels
from semisvm.model_selection.intervals import Interval, held_out_interval
from semisvm.model_selection.splits import rows_of_groups

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Recall:
    """How many held-out rows of a class are predicted as it.

    Attributes
    ----------
    label : object
        The class.
    value : float
    interval : pair of floats
        For the value.
    n_labels : int
        Number of labels that were held out.
    """

    label: Any
    value: float
    interval: Interval
    n_labels: int

    def sentence(self) -> str:
        """Return it as a note."""
        low, high = self.interval
        return (
            f"of the rows labelled {self.label!r}, {self.value:.0%} are predicted as such by "
            f"models that were fitted without them ({CONFIDENCE:.0%} interval {low:.0%} to "
            f"{high:.0%}, {self.n_labels} labels)."
        )


def held_out_recall(
    estimator: Any,
    X: Any,
    labels: PartialLabels,
    n_folds: int,
    *,
    sample_weight: Floats | None = None,
    group: Index | None = None,
    random_state: int = 0,
) -> Recall:
    """Compute the recall of the only class with labels; held-out rows take no part in the fits.

    Parameters
    ----------
    estimator : classifier
        Not fitted again itself. Its marker of unlabelled rows is None.
    X : rows of shape (n, d)
    labels : PartialLabels
        Of two classes, one of them without a label.
    n_folds : int
    sample_weight : array of shape (n,), optional
        Of the fits.
    group : int array of shape (n,), optional
        Rows that belong together: those of the groups of held-out rows take no part either.
    random_state : int, default=0
        Seed of the folds.
    """
    rows, known = np.random.default_rng(random_state).permutation(labels.labeled), ratios(labels)
    y = labels.decode(np.maximum(labels.codes, 0)).astype(object)
    y = hide_labels(y, labels.unlabeled, None)
    right = 0
    for fold in deal(rows, labels.codes, n_folds):
        away = fold if group is None else rows_of_groups(group, fold)
        kept = np.delete(np.arange(len(y)), away)
        given = {"sample_weight": sample_weight, "evidence": known}
        given = {name: value[kept] for name, value in given.items() if value is not None}
        with warnings.catch_warnings():
            # the fit to all rows has warned
            warnings.simplefilter("ignore", UserWarning)
            model = clone(estimator).fit(take_rows(X, kept), y[kept], **given)
        right += int(
            np.sum(model.predict(take_rows(X, fold)) == labels.classes[labels.codes[fold]])
        )
    label, n = y[rows[0]], len(rows)
    return Recall(label, right / n, held_out_interval(right / n, n, n, CONFIDENCE), n)
