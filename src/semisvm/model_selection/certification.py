"""Which rows may take their predicted label, so that few of these labels are wrong.

The rows are taken in by their certainty, the most certain first. Labels of rows that were drawn at
random, and that the model has not seen, show how many of them are predicted wrongly. How far down
the order one may go follows from bounds that hold at all cutoffs at once (`error_limits`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2_contingency, ks_2samp

from semisvm.designs.base import Floats, Index
from semisvm.estimators.interop import scores_of
from semisvm.estimators.margins import margins
from semisvm.labels.partial import is_unlabeled, label_array
from semisvm.model_selection.risk_control import (
    ROUNDING,
    error_limits,
    fewest_labels,
    lowest_level,
)
from semisvm.text import counted, series
from semisvm.validation import check_share

NOT_RANDOM = 1e-3
"""How rarely a random sample may be refused."""
MORE_LABELS = (25, 50, 100, 200, 400, 800, 1600, 3200)
NOTABLE = 1.05
"""Factor of certified rows from which more labels are worth a sentence."""


@dataclass(frozen=True)
class CertifiedClass:
    """What was certified of a class.

    Attributes
    ----------
    name : object
        The class.
    n_rows : int
        Unlabelled rows that are predicted to have it.
    n_certified : int
    n_sample, n_errors : int
        Rows of the sample that are predicted to have the class, and how many have another one.
    """

    name: Any
    n_rows: int
    n_certified: int
    n_sample: int
    n_errors: int


@dataclass(frozen=True)
class Certificate:
    """Unlabelled rows whose predicted labels may be taken.

    Attributes
    ----------
    error, confidence : float
        With this confidence, at most a share ``error`` of these rows is predicted wrongly.
    rows : int array of shape (c,)
        The certified ones among the unlabelled rows.
    labels : array of shape (c,)
        Their predicted labels.
    n_unlabeled, n_sample, n_errors : int
        Unlabelled rows; rows of the sample, and how many of them are predicted wrongly.
    classes : tuple of CertifiedClass
    by_class : bool
        Whether the bound holds within each predicted class, for all classes at once.
    fewest : int
        Labels without an error that certify anything: of each class, if ``by_class``.
    outlook : tuple of (int, int)
        More random labels, and about how many rows would then be certified.
    """

    error: float
    confidence: float
    rows: Index
    labels: NDArray[Any]
    n_unlabeled: int
    n_sample: int
    n_errors: int
    classes: tuple[CertifiedClass, ...]
    by_class: bool
    fewest: int
    outlook: tuple[tuple[int, int], ...] = ()

    @property
    def sentences(self) -> list[str]:
        """All of it in words."""
        within = " within each class" if self.by_class else ""
        found = [
            f"{len(self.rows):,} of {self.n_unlabeled:,} unlabelled rows are certified at "
            f"{100 * self.error:.3g}% errors{within}, with {self.confidence:.0%} confidence, by "
            f"{counted(self.n_sample, 'random label')} of which the model predicts "
            f"{self.n_errors:,} wrongly."
        ]
        without = [str(c.name) for c in self.classes if c.n_rows and not c.n_certified]
        if without and (self.by_class or len(self.rows)):
            few = ": too few labels, or too many errors" if self.by_class else ""
            found.append(
                f"Nothing is certified of {'class' if len(without) == 1 else 'the classes'} "
                f"{series(without)}{few}."
            )
        if not len(self.rows):
            each = " predicted to be in a class" if self.by_class else ""
            found.append(
                f"A bound of {100 * self.error:.3g}% takes at least {self.fewest:,} random labels"
                f"{each}, none of them predicted wrongly."
            )
        if self.outlook:
            more, rows = self.outlook[0]
            found.append(
                f"About {rows:,} rows would be certified with {more:,} more random labels, if "
                "errors are as frequent among them."
            )
        return found

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows and labels as plain data."""
        return {
            "error": self.error,
            "confidence": self.confidence,
            "certified": len(self.rows),
            "unlabelled_rows": self.n_unlabeled,
            "sample": self.n_sample,
            "sample_errors": self.n_errors,
            "by_class": self.by_class,
            "fewest_labels": self.fewest,
            "classes": {
                str(c.name): {
                    "rows": c.n_rows,
                    "certified": c.n_certified,
                    "sample": c.n_sample,
                    "sample_errors": c.n_errors,
                }
                for c in self.classes
            },
            "outlook": [{"more_labels": n, "certified": rows} for n, rows in self.outlook],
        }


def certify(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    error: float = 0.02,
    confidence: float = 0.95,
    by_class: bool = False,
    sample: ArrayLike | None = None,
    unlabeled: Any = -1,
) -> Certificate:
    r"""Find the unlabelled rows that may take their predicted label.

    Rows are ordered by the certainty of the model. Of those before a cutoff, k of the sample are
    predicted wrongly, and m are not in the sample. These are certified if ::

        c_k <= error m,     P(V(c_j + 1) <= j for some j) <= 1 - confidence

    where V(u) is the number of wrong rows of the sample before the u-th wrong row outside of it.
    As the sample was drawn at random, V has a known distribution, whichever rows are wrong. So,
    with the given confidence over the draw, at most c_k of the others are wrong at every cutoff.
    The last one that meets the bound is taken. This holds for any model, data and number of rows.

    Parameters
    ----------
    model : fitted classifier, Model or SemiSupervisedClassifier
    X : what the model takes, n rows
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    error : float, default=0.02
        Bound of the share of wrong labels.
    confidence : float, default=0.95
    by_class : bool, default=False
        Whether the bound is to hold among the rows of each predicted class, for all classes at
        once: 1 - confidence is divided among those with enough rows and labels. Otherwise it holds
        for all certified rows together, and in rare classes the share of errors may be larger.
    sample : array-like of shape (n,) of bool, or of row indices, optional
        The labelled rows that were drawn at random, by default all. Rows that equal labelled rows
        of the fit, where the model has a record of these (``Model.trained_on``), are left out, here
        and among the unlabelled rows.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.

    Returns
    -------
    found : Certificate

    Raises
    ------
    ValueError
        If there is no sample, or it is clearly no random one.

    Notes
    -----
    All of this rests on the sample: drawn at random from the rows that had no label, as
    `RandomSelection` and ``semisvm select --by random`` do, and labelled whatever the rows are; not
    seen by the model; its size fixed before the result is known. Rows that were chosen because the
    model is not certain of them, or as centres of clusters, are no random sample. It is refused if
    certainty or predicted classes differ between the sample and the unlabelled rows beyond chance
    (a random sample is refused once in 500 times), but not every choice can be noticed so. Who
    labels more rows until enough are certified, and tests each time, tests several times: draw a
    new sample, or divide 1 - confidence among the looks. Labels that are themselves wrong count as
    errors of the model.

    References
    ----------
    Angelopoulos, Bates, Candes, Jordan and Lei, Learn then test: calibrating predictive algorithms
    to achieve risk control, 2021, arXiv:2110.01052. Angelopoulos, Bates, Fisch, Lei and Schuster,
    Conformal risk control, 2022, arXiv:2208.02814. Geifman and El-Yaniv, Selective classification
    for deep neural networks, NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import TransductiveSVC
    >>> from semisvm.model_selection import certify, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, rows = scale(X), np.random.default_rng(0).permutation(len(y))
    >>> trained, drawn = rows[:40], rows[40:140]
    >>> others = ~np.isin(np.arange(len(y)), trained)
    >>> model = TransductiveSVC(reg=0.1).fit(X, hide_labels(y, others))
    >>> known = hide_labels(y, others & ~np.isin(np.arange(len(y)), drawn))
    >>> found = certify(model, X, known, error=0.05, sample=drawn)
    >>> bool(np.mean(found.labels != y[found.rows]) <= 0.05)
    True
    """
    error, confidence = check_share("error", error), check_share("confidence", confidence)
    labels = label_array(y)
    drawn, free = _sample(model, X, labels, sample, unlabeled)
    rows = np.concatenate([drawn, free])
    predicted = np.asarray(model.predict(X))[rows]
    if predicted.ndim != 1:
        raise ValueError("rows of several labels cannot be certified: this is for one label each.")
    certainty = np.abs(margins(scores_of(model, X)))[rows]
    n_sample = len(drawn)
    _check_random(certainty, predicted, n_sample)
    # 1 in one file is "1" in another
    pairs = zip(predicted[:n_sample].tolist(), labels[drawn].tolist(), strict=True)
    wrong = np.array([a != b and str(a) != str(b) for a, b in pairs])
    classes = np.asarray(model.classes_)
    groups = [predicted == name for name in classes] if by_class else [np.ones(len(rows), bool)]
    parts = [_Group.of(certainty, wrong, group) for group in groups]
    levels = _levels(parts, error, 1.0 - confidence)
    inside = np.zeros(len(rows), dtype=bool)
    for group, part, level in zip(groups, parts, levels, strict=True):
        inside |= group & (certainty >= part.threshold(error, level))
    outlook = [_expected(parts, error, 1.0 - confidence, n / n_sample) for n in MORE_LABELS]
    certified = inside[n_sample:]
    found = zip(MORE_LABELS, outlook, strict=True)
    worth = tuple(pair for pair in found if pair[1] > NOTABLE * certified.sum())
    return Certificate(
        error,
        confidence,
        free[certified],
        predicted[n_sample:][certified],
        len(free),
        n_sample,
        int(wrong.sum()),
        tuple(_of_class(name, predicted, inside, wrong) for name in classes.tolist()),
        by_class,
        fewest_labels(len(rows), error, (1.0 - confidence) / len(groups)),
        worth,
    )


def _of_class(
    name: Any, predicted: NDArray[Any], inside: NDArray[np.bool_], wrong: NDArray[np.bool_]
) -> CertifiedClass:
    own, n = predicted == name, len(wrong)
    counts = (own[n:].sum(), (own & inside)[n:].sum(), own[:n].sum(), (own[:n] & wrong).sum())
    return CertifiedClass(name, *(int(count) for count in counts))


def _sample(
    model: Any, X: Any, labels: NDArray[Any], sample: ArrayLike | None, unlabeled: Any
) -> tuple[Index, Index]:
    """Return the rows of the sample, and the unlabelled rows."""
    known = ~is_unlabeled(labels, unlabeled)
    record = model.trained_on(X) if hasattr(model, "trained_on") else None
    seen = np.zeros(len(labels), dtype=bool) if record is None else record
    free = np.flatnonzero(~known & ~seen)
    drawn = np.flatnonzero(known & ~seen)
    if sample is not None:
        given = np.asarray(sample)
        rows = np.flatnonzero(given) if given.dtype == bool else np.unique(given.astype(np.intp))
        without = rows[~known[rows]]
        if len(without):
            raise ValueError(
                f"the parameter sample has {counted(len(without), 'row')} without a label, the "
                f"first at index {without[0]}: label them, or draw others at random."
            )
        drawn = rows[~seen[rows]]
    if len(drawn) == 0:
        raise ValueError(
            "certify needs labels of rows that were drawn at random and that the model has not "
            "seen, and there are none. Choose rows with RandomSelection, and label them; or hide "
            "some of the labels, if these rows were drawn at random, and fit again."
        )
    if len(free) == 0:
        raise ValueError("all rows have a label: there is none to certify.")
    return drawn, free


def _check_random(certainty: Floats, predicted: NDArray[Any], n: int) -> None:
    """Refuse a sample that is not like the other rows."""
    found = ks_2samp(certainty[:n], certainty[n:])
    if found.pvalue < NOT_RANDOM:
        below = float(np.mean(certainty[n:] < np.median(certainty[:n])))
        raise ValueError(
            "the labelled rows are no random sample: half of them are less certain than "
            f"{1.0 - below:.0%} of the unlabelled rows (p = {found.pvalue:.1g}). Rows that were "
            "chosen by certainty or by clusters cannot certify others: draw rows with "
            "RandomSelection, and pass them as the parameter sample."
        )
    codes = np.unique(predicted, return_inverse=True)[1]
    table = np.stack(
        [np.bincount(part, minlength=codes.max() + 1) for part in np.split(codes, [n])]
    )
    common = table[:, table.sum(axis=0) * min(n, len(codes) - n) >= 5 * len(codes)]
    if common.shape[1] > 1 and chi2_contingency(common).pvalue < NOT_RANDOM:
        raise ValueError(
            "the labelled rows are no random sample: their predicted classes are mixed differently "
            "than those of the unlabelled rows. Draw rows with RandomSelection, and pass them as "
            "the parameter sample."
        )


@dataclass(frozen=True)
class _Group:
    """Rows that are certified down to some certainty.

    Attributes
    ----------
    certainty : array of shape (n,)
        Of all rows, falling.
    ends : int array of shape (s,)
        Where the rows can be cut off: those of the same certainty go together.
    n_sample, n_errors : int arrays of shape (s,)
        How many of the rows before each end are in the sample, and how many of these are wrong.
    """

    certainty: Floats
    ends: Index
    n_sample: Index
    n_errors: Index

    @classmethod
    def of(cls, certainty: Floats, wrong: NDArray[np.bool_], group: NDArray[np.bool_]) -> "_Group":
        own = certainty[group]
        order = np.argsort(-own, kind="stable")
        drawn = np.flatnonzero(group) < len(wrong)
        failed = np.zeros(len(own), dtype=bool)
        failed[drawn] = wrong[group[: len(wrong)]]
        own = own[order]
        ends = np.append(np.flatnonzero(own[1:] < own[:-1]) + 1, len(own))[: len(own)]
        counts = (np.append(0, np.cumsum(v[order]))[ends] for v in (drawn, failed))
        return cls(own, ends, *counts)

    @property
    def size(self) -> int:
        """Rows of the sample."""
        return int(self.n_sample[-1]) if len(self.ends) else 0

    def threshold(self, error: float, level: float) -> float:
        """Return the least certainty of rows that are certified."""
        limits = error_limits(len(self.certainty), self.size, error, level)
        done = _certified(limits, self.ends - self.n_sample, self.n_errors, error)
        return float(self.certainty[self.ends[done - 1] - 1]) if done else np.inf

    def larger(self, factor: float) -> "_Group | None":
        """Return what is expected of a sample so many times as large, if there are the rows."""
        if not 0 < round(self.size * factor) < len(self.certainty):
            return None
        errors = np.round(self.n_errors * factor).astype(np.intp)
        drawn = np.round(self.ends * round(self.size * factor) / len(self.certainty))
        return _Group(self.certainty, self.ends, drawn.astype(np.intp), errors)


def _levels(groups: Sequence[_Group], error: float, level: float) -> Floats:
    """Divide the level among the groups that can be certified with their part of it."""
    least = np.array([lowest_level(len(g.certainty), g.size, error) for g in groups])
    order = np.argsort(least, kind="stable")
    able = least[order] <= level / np.arange(1, len(groups) + 1)
    n = int(np.max(np.flatnonzero(able) + 1, initial=0))
    levels = np.zeros(len(groups))
    levels[order[:n]] = level / max(n, 1)
    return levels


def _certified(limits: Index, others: Index, n_errors: Index, error: float) -> int:
    """Return the number of the last cutoff at which the bound is met, counted from 1, or 0."""
    known = n_errors < len(limits)
    met = known.copy()
    met[known] = limits[n_errors[known]] <= error * others[known] + ROUNDING
    return int(np.max(np.flatnonzero(met) + 1, initial=0))


def _expected(groups: Sequence[_Group], error: float, level: float, more: float) -> int:
    """Return about how many rows a sample larger by a factor of 1 + more would certify."""
    larger = [g for g in (group.larger(1.0 + more) for group in groups) if g is not None]
    total = 0
    for group, own in zip(larger, _levels(larger, error, level), strict=True):
        limits = error_limits(len(group.certainty), group.size, error, own)
        others = group.ends - group.n_sample
        done = _certified(limits, others, group.n_errors, error)
        total += int(others[done - 1]) if done else 0
    return total
