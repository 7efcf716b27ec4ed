"""Guesses for answered rows by models that have not seen the answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semisvm.estimators.registry import get
from semisvm.labelling.learning import Fitted, labels_of, margins_of
from semisvm.labels.partial import deal, encode
from semisvm.model_selection.audit import mean_scores
from semisvm.model_selection.conformal import nonconformity
from semisvm.model_selection.crossfit import cross_fit
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.preparing import Prepared

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

FOLDS = 5
MOST_ROWS = 2000
"""Unlabelled rows of the models; of more rows a sample is taken."""
FEWEST = 10
"""Answers below which no model is good enough to doubt one."""


@dataclass(frozen=True)
class HeldOut:
    """Answered rows, each scored by a model to which its answer was unknown.

    Attributes
    ----------
    rows : int array of shape (l,)
    codes : int array of shape (l,)
        Their answers, as places in ``classes``.
    classes : list of str
        In the order of the scores; that of the model whose method was used.
    scores : array of shape (l, m)
    """

    rows: Index
    codes: Index
    classes: list[str]
    scores: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def guesses(self) -> Index:
        """The class with the highest score, shape (l,)."""
        return np.asarray(self.scores.argmax(axis=1), dtype=np.intp)

    @property
    def n_right(self) -> int:
        """Number of guesses that are the answer."""
        return int(np.count_nonzero(self.guesses == self.codes))

    @property
    def n_of_largest(self) -> int:
        """Number of rows with the most frequent answer."""
        return int(np.bincount(self.codes, minlength=1).max())

    @cached_property
    def margins(self) -> Floats:
        """The best score minus the second, shape (l,)."""
        return margins_of(self.scores)

    @cached_property
    def places(self) -> dict[int, int]:
        """Row -> its place in the arrays."""
        return {row: place for place, row in enumerate(self.rows.tolist())}

    def contradicted(self) -> list[int]:
        """Return the rows whose guess is not the answer, the strongest contradiction first."""
        gaps = nonconformity(self.scores)[np.arange(len(self)), self.codes]
        order = np.argsort(-gaps, kind="stable")
        return self.rows[order[(self.guesses != self.codes)[order]]].tolist()

    def of(self, rows: Iterable[int]) -> Index:
        """Return the places of some rows, as far as they were held out."""
        found = (self.places.get(row) for row in rows)
        return np.array([place for place in found if place is not None], dtype=np.intp)


def hold_out(
    prepared: Prepared,
    fitted: Fitted,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> HeldOut | None:
    """Score the answers by models that have not seen them.

    The answers are dealt to folds, and each is scored by a model to which it was unlabelled, as
    `semisvm.model_selection.audit_labels` does. The models take the class shares of the last one.
    Answers that are the only ones of their class are left out.

    Parameters
    ----------
    prepared : Prepared
    fitted : Fitted
        The last model, whose method and answers are used.
    seed : int
    stop : function
        Asked before every fit; if it returns True, nothing is found.

    Returns
    -------
    found : HeldOut, or None if it was stopped
    """
    nothing = HeldOut(
        np.zeros(0, dtype=np.intp),
        np.zeros(0, dtype=np.intp),
        fitted.classes,
        np.zeros((0, len(fitted.classes))),
    )
    if fitted.n_labels < FEWEST:
        return nothing
    rng = np.random.default_rng(seed)
    answered = np.array(sorted(fitted.answers), dtype=np.intp)
    others = rng.permutation(np.setdiff1d(np.arange(prepared.X.shape[0]), answered))
    rows = np.concatenate([answered, others[:MOST_ROWS]])
    X, own = prepared.X[rows], len(answered)
    told = {place: fitted.answers[row] for place, row in enumerate(answered.tolist())}
    y = labels_of(told, len(rows))
    codes = encode(y, None).codes
    counts = np.bincount(codes[:own])
    several = rng.permutation(np.flatnonzero(counts[codes[:own]] > 1))
    if len(several) < 2:
        return nothing
    shares = getattr(fitted.estimator, "class_prior_", None)
    found = cross_fit(
        get(fitted.method).make(unlabeled=None, **fitted.parameters),
        X,
        y,
        PartialLabelKFold(FOLDS, unlabeled=None),
        folds=deal(several, codes, min(FOLDS, len(several))),
        shares=shares,
        stop=stop,
    )
    if found is None:
        return None
    places, scores, answers, _ = mean_scores(found)
    return HeldOut(answered[places], answers, fitted.classes, scores)
