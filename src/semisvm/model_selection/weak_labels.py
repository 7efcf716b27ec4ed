"""From unreliable labels to evidence: `WeakLabels`.

The votes of a row are multiplied by the confusion tables of their sources
(`semisvm.labels.confusion`). A source that is right in 75% of the rows may be right in nearly all
of them in one region, and wrong in another. So the odds that a vote is right are those of a
logistic regression on two numbers of the row: whether votes of the source were right in its
neighbourhood, by a ridge regression along the latent directions of the rows, and how far a ridge
regression of the labels themselves prefers the class of the vote. Both are scored by leaving each
labelled row out, and their slopes are drawn to zero, where reliability is the same everywhere. A
third number is how sure a source that gives probabilities is of its vote.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logit

from semisvm.designs import Floats, Index
from semisvm.designs.validation import read_rows
from semisvm.labels.confusion import Codes, Reliability, learn_reliability
from semisvm.labels.partial import UNLABELED_CODE, PartialLabels, encode, is_unlabeled, label_array
from semisvm.labels.weights import checked_weights, masses
from semisvm.maps.left_out import LeftOutRidge, directions
from semisvm.text import series
from semisvm.validation import check_same_length

ONE_SOURCE = "weak"
SPREAD = 1.0
"""Standard deviation of the slopes of the reliability, before any label was seen."""
FURTHEST = 3.0
"""Largest change of the log-odds that a vote is right."""
FEWEST = 10
"""Labelled rows with a vote from which the reliability may vary."""
MOST_LABELS = 3_000
MARGIN = 2.0
"""Log-odds of a vote, before any label was seen, per unit of the margin of its class."""
SUREST = 0.98
"""Probabilities of sources are not taken to be surer than this."""


class WeakLabels:
    """Unreliable labels of rows, as evidence about their classes.

    How far to trust each source is learnt from the rows whose label in ``y`` is known: a table of
    its confusions, what it repeats of other sources, and, if there are rows ``X``, in which regions
    it fails. ``evidence_`` holds, for each class, how likely the votes of a row are. It is what
    ``fit`` of `TransductiveSVC` takes as evidence. Given as it is, ``evidence=WeakLabels(votes)``,
    it is learnt from the labels of the fit; where labels are held out it is learnt without them.

    Parameters
    ----------
    votes : array-like of shape (n,) or (n, m), mapping, or data frame
        Labels of one source; or those of several by the name of the source, as a mapping or as a
        data frame with a column per source. A source has a class per row, with None, NaN, or
        ``unlabeled`` where it has none; or an array of shape (n, m) with probabilities of the
        sorted classes, with a row of NaN where it has none.
    X : {array-like, sparse matrix} of shape (n, d), optional
        The rows. Without them a source is equally reliable everywhere.
    unlabeled : scalar, default=-1
        Marker of rows without a vote, and without a label in ``y``, besides None and NaN.
    sample_weight : array-like of shape (n,), optional
        A row of weight two counts like two rows, labelled or not, and one of weight zero like none.

    Attributes
    ----------
    classes_ : array of shape (m,)
        Classes of ``y``, sorted.
    names_ : list of str
        Names of the sources.
    evidence_ : array of shape (n, m)
        Likelihoods of the classes, in units of the largest one of each row; ones where no source
        has a vote.
    accuracy_ : array of shape (s,)
        Share of the votes that are right, by the labelled rows.
    confusion_ : array of shape (s, m, m)
        Probabilities of the votes, a row per class.
    weights_ : array of shape (s,)
        How much of a vote each source has: 1 if it is independent of the others, 1/2 for each of
        two copies.
    class_prior_ : array of shape (m,)
        Class shares of the unlabelled rows, by the votes corrected for their errors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from semisvm import TransductiveSVC, WeakLabels
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> X = X / np.linalg.norm(X, axis=1, keepdims=True)
    >>> labels = np.where(np.arange(len(y)) < 30, y, -1)
    >>> votes = np.where(np.random.default_rng(0).random(len(y)) < 0.7, y, (y + 1) % 3)
    >>> weak = WeakLabels(votes, X).fit(labels)
    >>> weak.evidence_.shape
    (537, 3)
    >>> model = TransductiveSVC().fit(X, labels, evidence=weak)
    >>> bool(np.mean(votes == y) < 0.7 < 0.9 < model.score(X, y))
    True
    """

    def __init__(
        self,
        votes: Any,
        X: Any = None,
        *,
        unlabeled: Any = -1,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self.votes = votes
        self.X = X
        self.unlabeled = unlabeled
        self.sample_weight = sample_weight

    def fit(self, y: ArrayLike) -> Self:
        """Learn how reliable the sources are.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels that are known, and the marker for unlabelled rows.

        Returns
        -------
        self : WeakLabels
        """
        labels = encode(y, self.unlabeled)
        sources = self.bind(labels)
        reliability, against = sources.reliability(labels)
        self.classes_ = labels.classes
        self.names_ = list(sources.names)
        self.evidence_ = np.exp(-against)
        self.accuracy_ = reliability.accuracies
        self.confusion_ = reliability.tables
        self.weights_ = reliability.weights
        self.class_prior_ = reliability.shares
        return self

    def bind(self, labels: PartialLabels) -> "Sources":
        """Return the votes as positions of the classes, to learn from some of the labels.

        Parameters
        ----------
        labels : PartialLabels
        """
        named = _named(self.votes)
        for name, votes in named.items():
            if len(votes) != len(labels.codes):
                raise ValueError(
                    f"the source {name!r} has {len(votes)} rows, but y has {len(labels.codes)}."
                )
        found = [_read(name, votes, labels, self.unlabeled) for name, votes in named.items()]
        codes, sureness = (np.stack(part) for part in zip(*found, strict=True))
        weight = checked_weights(self.sample_weight, labels.codes, labels)
        if self.X is None:
            return Sources(tuple(named), codes, sureness, weight=weight)
        X = read_rows(self.X)
        check_same_length(X, labels.codes, "y")
        return Sources(tuple(named), codes, sureness, directions(X), weight)


@dataclass(frozen=True)
class Sources:
    """Votes of sources, and what is known of the rows.

    Attributes
    ----------
    names : tuple of str
    votes : int array of shape (s, n)
        Positions of classes, -1 without a vote.
    sureness : array of shape (s, n)
        Log-odds of the votes by their sources; zero where these have none.
    directions : array of shape (n, k), optional
        The rows along their latent directions, and a constant.
    weight : array of shape (n,), optional
        Sample weights.
    """

    names: tuple[str, ...]
    votes: Codes
    sureness: Floats
    directions: Floats | None = None
    weight: Floats | None = None

    def take(self, rows: Index) -> "Sources":
        """Return the same for some of the rows."""
        own = None if self.directions is None else self.directions[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Sources(self.names, self.votes[:, rows], self.sureness[:, rows], own, weight)

    def learn(self, labels: PartialLabels) -> Floats:
        """Return log(max q / q) of each row and class, shape (n, m)."""
        return self.reliability(labels)[1]

    def describe(self, labels: PartialLabels) -> str:
        """Return how often the sources are right, as the beginning of a sentence."""
        accuracies = learn_reliability(self.votes, labels, self._mass()).accuracies.tolist()
        if len(self.names) == 1:
            name, right = self.names[0], accuracies[0]
            return f"The labels of {name!r} are right in about {right:.0%} of the rows"
        listed = [f"{a:.0%} ({n!r})" for n, a in zip(self.names, accuracies, strict=True)]
        return f"Weak labels are right in about {series(listed)} of the rows"

    def reliability(self, labels: PartialLabels) -> tuple[Reliability, Floats]:
        """Return how reliable the sources are, and what `learn` returns."""
        mass = self._mass()
        found = learn_reliability(self.votes, labels, mass)
        logs = np.tensordot(found.weights, found.log_likelihoods(self.votes), 1)
        fit = None
        if self.directions is not None and len(labels.labeled) <= MOST_LABELS:
            fit = LeftOutRidge(self.directions, labels.labeled, mass[labels.labeled])
        for k, votes in enumerate(self.votes):
            change = found.weights[k] * self._change(k, labels, found.accuracies[k], mass, fit)
            voting = np.flatnonzero(votes != UNLABELED_CODE)
            logs[voting, votes[voting]] += change[voting]
        return found, np.asarray(logs.max(axis=1, keepdims=True) - logs)

    def _mass(self) -> Floats:
        """Return for how many rows each row counts, (n,)."""
        n = self.votes.shape[1]
        return np.broadcast_to(np.ones(1) if self.weight is None else masses(self.weight)[0], n)

    def _change(
        self,
        k: int,
        labels: PartialLabels,
        accuracy: float,
        mass: Floats,
        fit: LeftOutRidge | None,
    ) -> Floats:
        """Return by how much the log-odds that a vote is right differ from their mean, (n,)."""
        votes, n = self.votes[k], self.votes.shape[1]
        own = labels.labeled[votes[labels.labeled] != UNLABELED_CODE]
        each = mass[own]
        if each.sum() < FEWEST:
            return np.zeros(n)
        right = (votes[own] == labels.codes[own]).astype(np.float64)
        features = [self.sureness[k] - np.average(self.sureness[k, own], weights=each)]
        if fit is not None:
            at = np.searchsorted(labels.labeled, own)
            ahead = right - np.average(right, weights=each)
            region = fit.values(_spread_out(at, ahead, len(labels.labeled)))
            region /= accuracy * (1.0 - accuracy)
            features += [region, _margins(fit, labels, votes)]
        F = np.stack(features, axis=1)
        return _log_odds_change(F, own, right, each, accuracy)


def _log_odds_change(
    F: Floats, rows: Index, right: Floats, mass: Floats, accuracy: float
) -> Floats:
    """Fit the log-odds that a vote is right, logit(accuracy) + a + F b; return a + F b, (n,).

    Slopes are not negative, and drawn to zero; so is ``a``.
    """
    usual, signs, own = logit(accuracy), 2.0 * right - 1.0, F[rows]

    def loss(p: Floats) -> tuple[float, Floats]:
        z = signs * (usual + p[0] + own @ p[1:])
        pull = -signs * expit(-z) * mass
        value = (mass * np.logaddexp(0.0, -z)).sum() + 0.5 * (p @ p) / SPREAD**2
        return float(value), np.append(pull.sum(), own.T @ pull) + p / SPREAD**2

    bounds = [(None, None), *[(0.0, None)] * F.shape[1]]
    found = minimize(loss, np.zeros(1 + F.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(np.clip(found[0] + F @ found[1:], -FURTHEST, FURTHEST))


def _spread_out(at: Index, values: Floats, n: int) -> Floats:
    found = np.zeros(n)
    found[at] = values
    return found


def _margins(fit: LeftOutRidge, labels: PartialLabels, votes: Codes) -> Floats:
    """Return how far a regression of the labels prefers the class of each vote, (n,)."""
    scores = fit.class_values(labels.codes[labels.labeled], len(labels.classes))
    rows, chosen = np.arange(len(votes)), np.maximum(votes, 0)
    own = scores[rows, chosen].copy()
    scores[rows, chosen] = -np.inf
    return np.asarray(MARGIN * (own - scores.max(axis=1)))


def _named(votes: Any) -> dict[str, Any]:
    """Return sources by name."""
    if isinstance(votes, Mapping):
        found = {str(name): own for name, own in votes.items()}
    elif hasattr(votes, "columns"):
        found = {str(name): votes[name] for name in votes.columns}
    else:
        found = {ONE_SOURCE: votes}
    if not found:
        raise ValueError("votes has no source. Give the labels of one or more sources.")
    return found


def _read(name: str, votes: Any, labels: PartialLabels, unlabeled: Any) -> tuple[Codes, Floats]:
    """Return the votes of a source as positions of classes, and its log-odds for them."""
    if np.ndim(votes) == 2:
        return _of_probabilities(name, votes, labels)
    missing = is_unlabeled(votes, unlabeled)
    place = {label: k for k, label in enumerate(labels.classes.tolist())}
    found = np.full(len(missing), UNLABELED_CODE, dtype=np.intp)
    values = label_array(votes).tolist()
    for row in np.flatnonzero(~missing).tolist():
        if values[row] not in place:
            raise ValueError(
                f"the source {name!r} votes for {values[row]!r} in row {row}, a class that no "
                f"label in y has; these have {list(place)!r}. Label at least one row of the class, "
                "or leave its votes out."
            )
        found[row] = place[values[row]]
    return found, np.zeros(len(found))


def _of_probabilities(name: str, table: Any, labels: PartialLabels) -> tuple[Codes, Floats]:
    m = len(labels.classes)
    p = np.array(table, dtype=np.float64)
    if p.shape[1] != m:
        raise ValueError(
            f"the source {name!r} has {p.shape[1]} columns of probabilities, and y has {m} "
            f"classes, {labels.classes.tolist()!r}. Give a column per class, in the order of the "
            "sorted classes; votes of several sources go by name, as in a mapping or a data frame."
        )
    unknown = np.isnan(p).all(axis=1)
    p[unknown] = 1.0 / m
    if not (np.isfinite(p).all() and (p >= 0.0).all() and (p.sum(axis=1) > 0.0).all()):
        raise ValueError(
            f"the source {name!r} has something that is no probability. Probabilities are finite "
            "and not negative, and not all zero in a row; rows of NaN are rows without a vote."
        )
    highest = p.max(axis=1) / p.sum(axis=1)
    codes = np.where(unknown, UNLABELED_CODE, p.argmax(axis=1))
    return codes, np.asarray(logit(np.clip(highest, 1.0 - SUREST, SUREST)))
