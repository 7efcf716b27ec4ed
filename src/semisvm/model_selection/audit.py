"""Labels that may be mistakes: models that have not seen them predict something else."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs import Floats, Index
from semisvm.labels.partial import encode
from semisvm.labels.weights import checked_weights
from semisvm.model_selection.calibration import Calibrator
from semisvm.model_selection.crossfit import CrossFit, counting_codes, cross_fit_all
from semisvm.model_selection.splits import PartialLabelKFold


@dataclass(frozen=True)
class Doubt:
    """A label that may be a mistake.

    Attributes
    ----------
    row : int
        From 0.
    given : label
        Its label.
    suggested : label
        The class that models which have not seen the label predict.
    probability : float
        Of the suggested class.
    given_probability : float
        Of the given one; the smaller, the stronger is the doubt.
    """

    row: int
    given: Any
    suggested: Any
    probability: float
    given_probability: float


@dataclass(frozen=True)
class Audit:
    """Labels that may be mistakes, the most doubtful first.

    Attributes
    ----------
    doubts : tuple of Doubt
        Labels that the models contradict; none where ``can_judge`` is False.
    n_checked : int
        Labels that were held out.
    n_unchecked : int
        Labels that are the only ones of their class, which cannot be held out.
    agreement : float
        Share of the labels that the models predict.
    majority : float
        Share of the most frequent class among these labels.
    """

    doubts: tuple[Doubt, ...]
    n_checked: int
    n_unchecked: int
    agreement: float
    majority: float = 0.0

    def __len__(self) -> int:
        return len(self.doubts)

    @property
    def rows(self) -> Index:
        """The rows in doubt, the most doubtful first."""
        return np.array([doubt.row for doubt in self.doubts], dtype=np.intp)

    @property
    def can_judge(self) -> bool:
        """Whether the models predict more labels than a guess of the most frequent class.

        If they do not, what they contradict is no evidence about the labels.
        """
        return self.agreement > self.majority

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        doubts = [asdict(doubt) for doubt in self.doubts]
        return {**asdict(self), "doubts": doubts, "can_judge": self.can_judge}

    def sentence(self) -> str:
        """Return in words how many labels are in doubt, or why that cannot be estimated."""
        if not self.can_judge:
            return (
                f"The labels cannot be judged: models that have not seen them predict "
                f"{self.agreement:.1%} of {self.n_checked}, and guessing the most frequent class "
                f"would be right for {self.majority:.1%}. More labels, another method or other "
                "columns may help."
            )
        sentences = [
            f"{len(self) or 'None'} of {self.n_checked} labels "
            f"{'is' if len(self) == 1 else 'are'} contradicted by models that have not seen them."
        ]
        if len(self):
            sentences.append(
                f"These agree with {self.agreement:.1%} of the labels, so part of the doubts are "
                "their own errors."
            )
        if self.n_unchecked:
            sentences.append(
                f"{self.n_unchecked} were left out: they are the only ones of their class."
            )
        return " ".join(sentences)


def mean_scores(found: CrossFit) -> tuple[Index, Floats, NDArray[np.intp], Floats | None]:
    """Average the scores of rows that were held out several times.

    Returns
    -------
    rows : int array of shape (l,)
    scores : array of shape (l, m)
    codes : int array of shape (l,)
    mass : array of shape (l,), or None if all rows count once
    """
    rows, first, place = np.unique(found.rows, return_index=True, return_inverse=True)
    scores = found.score_columns
    total = np.zeros((len(rows), scores.shape[1]))
    np.add.at(total, place, scores)
    mass = None if found.mass is None else found.mass[first]
    return rows, total / np.bincount(place)[:, None], found.codes[first], mass


def audit_labels(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: int = 5,
    n_repeats: int = 3,
    unlabeled: Any = -1,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
    evidence: Any = None,
) -> Audit:
    """Find labels that may be mistakes.

    The labelled rows are dealt to folds, several times. Each is scored by models to which it was
    unlabelled, so a wrong label cannot defend itself. The mean scores become probabilities by a
    temperature that is fitted to the labels; the smaller the probability of the given label, the
    stronger is the doubt.

    Parameters
    ----------
    estimator : classifier
        Not changed. One that takes no unlabelled rows is fitted to the labelled rows.
    X : rows
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows, which help the models as usual.
    cv : int, default=5
        Number of folds.
    n_repeats : int, default=3
        How many times to deal.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN; give it to the estimator too.
    random_state : int, RandomState or None, default=0
        Seed of the folds.
    sample_weight : array-like of shape (n,), optional
        Of the fits and of the temperature. Labels of weight zero are not checked.
    evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, optional
        What is known about rows, as in ``TransductiveSVC.fit``, for the methods that take it. It
        stays known about rows whose labels are held out.

    Returns
    -------
    found : Audit

    Notes
    -----
    Models that predict no more of the held-out labels than a guess of the most frequent class
    cannot judge them: then there are no doubts, and ``can_judge`` is False.

    A doubt is no verdict: where classes overlap, models contradict right labels too, and a class
    that the models have hardly seen is in doubt as a whole. Look at the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import TransductiveSVC
    >>> from semisvm.model_selection import audit_labels, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 4 > 0)  # 143 labels
    >>> partly[[0, 8]] = 1 - partly[[0, 8]]  # two mistakes
    >>> found = audit_labels(TransductiveSVC(reg=0.1), scale(X), partly)
    >>> {0, 8} <= set(found.rows[:5].tolist())
    True
    """
    labels = encode(y, unlabeled)
    folds = PartialLabelKFold(
        cv, n_repeats=n_repeats, shuffle=True, random_state=random_state, unlabeled=unlabeled
    )
    weight = checked_weights(sample_weight, labels.codes, labels)
    found = cross_fit_all(estimator, X, y, folds, weight, evidence=evidence)
    rows, scores, codes, mass = mean_scores(found)
    learnt = Calibrator.fit(scores, codes, len(labels.classes), "temperature", mass)
    p = learnt.probabilities(scores)
    best, own = scores.argmax(axis=1), np.arange(len(codes))
    order = np.argsort(p[own, codes], kind="stable")
    doubts = [
        _doubt(int(rows[i]), labels.classes[[codes[i], best[i]]], p[i, [best[i], codes[i]]])
        for i in order
        if best[i] != codes[i]
    ]
    unchecked = np.count_nonzero(counting_codes(labels.codes, weight) >= 0) - len(rows)
    agreement, majority = float(np.mean(best == codes)), float(np.bincount(codes).max()) / len(rows)
    shown = tuple(doubts) if agreement > majority else ()
    return Audit(shown, len(rows), int(unchecked), agreement, majority)


def _doubt(row: int, names: NDArray[Any], shares: Sequence[float] | Floats) -> Doubt:
    given, suggested = names.tolist()
    return Doubt(row, given, suggested, float(shares[0]), float(shares[1]))
