"""From answers to a model and its predictions for all rows.

Guesses for answered rows come from models that have not seen the answers (`hold_out`).
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.estimators.margins import margins
from semisvm.estimators.registry import get
from semisvm.labelling.reliability import sources_of
from semisvm.labels.partial import deal, encode
from semisvm.model_selection.audit import mean_scores
from semisvm.model_selection.conformal import nonconformity
from semisvm.model_selection.crossfit import cross_fit
from semisvm.model_selection.decisions import columns_of
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.preparing import Prepared
from semisvm.tables.labels import objects, text_labels

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

METHOD = "tsvm"
MANY_ROWS = 10_000
"""Rows from which a fit only goes on from the last weights and class shares: to estimate the shares
takes several times as long."""
GROWTH = 1.25
"""Labels, as a multiple of those of the last estimate, from which shares and weights of many rows
are fitted from the start."""
LOWER = 1e-3
"""Part of the objective by which a fit from the start must be lower than one from the last weights.
With both, two newsgroups of 1,200 posts had a mean accuracy of 84% from 10 to 60 labels (three
sessions); from the last weights alone 79%, down to 65% in one of them; from the start alone 82%."""
PRIOR = "class_prior"
PART = 20_000
"""Rows whose scores are computed at a time, so that the next row need not wait for all."""


@dataclass(frozen=True)
class Fitted:
    """A model, and its scores of all rows.

    Attributes
    ----------
    number : int
        From 1.
    estimator : fitted estimator
    method : str
    parameters : dict
    answers : dict of str
        Row -> answer, as the model has seen them.
    classes : list of str
        In the order of the scores.
    scores : float32 array of shape (n, m)
        One per class.
    margins : float32 array of shape (n,)
        The best score minus the second.
    order : int array of shape (n,)
        Rows by margin, the least certain first.
    seconds : float
    choice : dict or None
        How "auto" chose the method.
    labels_of_shares : int
        Number of labels from which the class shares were estimated.
    guessed : dict of float
        Share of each class among the guesses for all rows.
    votes : dict of dict
        Person -> row -> class: answers that were evidence, not labels.
    """

    number: int
    estimator: Any
    method: str
    parameters: dict[str, Any]
    answers: dict[int, str]
    classes: list[str]
    scores: NDArray[np.float32]
    margins: NDArray[np.float32]
    order: NDArray[np.int32]
    seconds: float
    choice: dict[str, Any] | None = None
    labels_of_shares: int = 0
    guessed: dict[str, float] = field(default_factory=dict)
    votes: dict[str, dict[int, str]] = field(default_factory=dict)

    @property
    def n_labels(self) -> int:
        """Number of labels that the model was fitted to."""
        return len(self.answers)

    def has_seen(self, row: int) -> bool:
        """Return whether the model has learned from an answer to a row."""
        return row in self.answers or any(row in given for given in self.votes.values())

    def guess(self, row: int) -> str:
        """Return the class with the highest score."""
        return self.classes[int(self.scores[row].argmax())]

    def about(self, row: int, with_shares: bool) -> dict[str, Any]:
        """Return what is kept with an answer that the model has not seen."""
        facts: dict[str, Any] = {"model": self.number, "labels": self.n_labels}
        if with_shares:
            facts["guessed"] = {name: round(share, 6) for name, share in self.guessed.items()}
        scores = [round(float(score), 4) for score in self.scores[row]]
        named = dict(zip(self.classes, scores, strict=True))
        return {**facts, "guess": self.guess(row), "scores": named}


def labels_of(answers: Mapping[int, str], n_rows: int) -> NDArray[np.object_]:
    """Return answers as labels: numbers if all are, as files are read; None for other rows."""
    cells: list[Any] = [None] * n_rows
    for row, value in answers.items():
        cells[row] = value
    labels = text_labels(cells)
    same = {str(label) for label in labels.tolist() if label is not None} == set(answers.values())
    # classes such as 1 and 1.0 would be one number
    return labels if same else objects(cells)


def fit_answers(
    prepared: Prepared,
    answers: Mapping[int, str],
    last: Fitted | None = None,
    method: str = METHOD,
    parameters: Mapping[str, Any] | None = None,
    choice: dict[str, Any] | None = None,
    votes: dict[str, dict[int, str]] | None = None,
) -> Fitted:
    """Fit a method to the answers, from the weights of the last model where that is possible.

    The objective of unlabelled rows has many valleys, and a few answers may have led the last model
    into a poor one. So there is a fit from the start too, unless shares are kept, and the lower
    objective decides.

    Parameters
    ----------
    prepared : Prepared
    answers : mapping
        Row -> class.
    last : Fitted, optional
    method : str
        A name of `semisvm.estimators.registry`.
    parameters : mapping, optional
        Of the estimator.
    choice : dict, optional
        How "auto" chose the method.
    votes : dict of dict, optional
        Person -> row -> class, to be evidence (see `reliability`).
    """
    start = perf_counter()
    given = dict(parameters or {})
    labels = labels_of(answers, prepared.X.shape[0])
    estimator, n_labels = _start_from(last, method, given, answers), len(answers)
    warm = estimator is not None
    evidence = {"evidence": sources_of(votes, len(labels), labels)} if votes else {}
    usual: dict[str, Any] = {}
    if estimator is None:
        estimator = get(method).make(unlabeled=None, **given)
    elif last is not None and keeps_shares(last, prepared.X.shape[0], len(answers)):
        usual = estimator.get_params(deep=False)
        estimator.take_estimate(last.estimator.class_prior_)
        n_labels = last.labels_of_shares
    estimator.fit(prepared.X, labels, **evidence)
    if usual:
        estimator.set_params(**usual)
    elif warm and PRIOR in estimator.get_params(deep=False):
        again = get(method).make(unlabeled=None, **given).fit(prepared.X, labels, **evidence)
        estimator = again if _is_lower(again, estimator) else estimator
    scores = _scores(estimator, prepared.X)
    found = margins_of(scores)
    order = np.argsort(found, kind="stable").astype(np.int32)
    classes = [str(value) for value in estimator.classes_.tolist()]
    number = 1 if last is None else last.number + 1
    counts = np.bincount(scores.argmax(axis=1), minlength=len(classes)) / len(scores)
    guessed = dict(zip(classes, counts.tolist(), strict=True))
    seconds = perf_counter() - start
    about = (number, estimator, method, given, dict(answers), classes)
    return Fitted(
        *about,
        scores,
        found.astype(np.float32),
        order,
        seconds,
        choice,
        n_labels,
        guessed,
        dict(votes or {}),
    )


def keeps_shares(last: Fitted, n_rows: int, n_labels: int) -> bool:
    """Return whether the class shares of the last model still do."""
    estimates = PRIOR in last.estimator.get_params(deep=False) and PRIOR not in last.parameters
    return estimates and n_rows >= MANY_ROWS and n_labels < GROWTH * last.labels_of_shares


def _start_from(
    last: Fitted | None, method: str, given: dict[str, Any], answers: Mapping[int, str]
) -> Any:
    """Return a copy of the last estimator that goes on from its weights, if it can."""
    if last is None or last.method != method or last.parameters != given:
        return None
    if "warm_start" not in last.estimator.get_params(deep=False):
        return None
    if sorted(last.classes) != sorted(set(answers.values())):
        return None
    # others may be reading the last one
    return copy.copy(last.estimator).set_params(warm_start=True)


def _is_lower(one: Any, other: Any) -> bool:
    """Return whether one fit has a lower objective than another, by more than rounding."""
    value, limit = (float(np.sum(fit.objective_)) for fit in (one, other))
    return value < limit - LOWER * abs(limit)


def _scores(estimator: Any, X: Any) -> NDArray[np.float32]:
    parts = []
    for start in range(0, X.shape[0], PART):
        scores = columns_of(estimator.decision_function(X[start : start + PART]))
        parts.append(scores.astype(np.float32))
    return np.vstack(parts)


def margins_of(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return the best score minus the second, shape (n,), of scores of shape (n, m)."""
    return np.abs(margins(scores if scores.shape[1] > 2 else scores[:, 1] - scores[:, 0]))


def choose_method(prepared: Prepared, answers: Mapping[int, str], seed: int) -> Any:
    """Choose a method by held-out labels; return a `semisvm.model_selection.Choice`."""
    from semisvm.model_selection.method_choice import choose

    labels = labels_of(answers, prepared.X.shape[0])
    return choose(prepared.X, labels, unlabeled=None, random_state=seed)


def model_of(fitted: Fitted, prepared: Prepared, settings: Mapping[str, Any]) -> Any:
    """Return a `semisvm.model.Model` that can be saved."""
    from semisvm.training import bundled

    estimator = copy.copy(fitted.estimator)
    if "warm_start" in estimator.get_params(deep=False):
        estimator.set_params(warm_start=False)
    labels = labels_of(fitted.answers, prepared.X.shape[0])
    labelled = replace(prepared, labels=labels, settings={**prepared.settings, **settings})
    notes = [*prepared.notes, *estimator.trace_.notes]
    model = bundled(estimator, fitted.method, labelled, notes, fitted.seconds)
    if fitted.choice is not None:
        model.summary["choice"] = fitted.choice
    return model


FOLDS = 5
MOST_UNLABELED = 2000
"""Unlabelled rows of the models; of more rows a sample is taken."""
FEWEST_HELD_OUT = 10
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
        Called before every fit; if it returns True, nothing is found.

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
    if fitted.n_labels < FEWEST_HELD_OUT:
        return nothing
    rng = np.random.default_rng(seed)
    answered = np.array(sorted(fitted.answers), dtype=np.intp)
    others = rng.permutation(np.setdiff1d(np.arange(prepared.X.shape[0]), answered))
    rows = np.concatenate([answered, others[:MOST_UNLABELED]])
    X, own = prepared.X[rows], len(answered)
    given = {place: fitted.answers[row] for place, row in enumerate(answered.tolist())}
    y = labels_of(given, len(rows))
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
