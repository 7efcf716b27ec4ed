"""How good the model is, whether answers have made it better, and which guesses to rely on.

What is shown rests on random rows. A person answered each while the model in force had not seen it,
so the answer is a trial of that model. The accuracy is the share of right guesses among the later
trials. Today's model has seen more answers and may be better: an error of a model with n labels
then stands for (n / n_today)^rate errors of today's. The value and the lower end of an interval
take a rate of zero, as where nothing more can be learned; the upper end takes one, the fastest.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from semisvm.labelling.answer_store import Mark
from semisvm.labelling.records import RANDOM, CurvePoint, Interval
from semisvm.model_selection.intervals import clipped, wilson_interval

RECENT = 1 / 3
"""Trials of models with fewer labels than this share of today's are left out."""
FASTEST = 1.0
"""Rate at which the error may have fallen since the trials."""
FEWEST = 10
"""Trials below which no accuracy is shown: the interval of fewer is wider than 50 points."""
SURE_ACCURACY = 0.9
"""Accuracy that guesses must have, at the least, to be called sure."""
SURE_LEVEL = 0.9
"""Confidence with which they have it."""
VAGUE = 0.125
"""Standard error of a class share from which it is not shown: 95% are 25 points to either side."""
UNSEEN = 1.5**2
"""Added to the sum of squares of deviations, for what a few rows did not show."""
MOST_POINTS = 20
"""Points of the curve that is shown."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """An answer to a random row that the model in force had not seen.

    Attributes
    ----------
    labels : int
        To how many labels that model was fitted.
    right : bool
    """

    labels: int
    right: bool


def trials_of(marks: Iterable[Mark]) -> list[Trial]:
    """Find the trials among the marks of rows, in the order in which they were answered.

    An answer that was given after its guess was shown is no trial.
    """
    found = [
        mark
        for mark in marks
        if mark.value is not None and mark.reason == RANDOM and is_trial(mark.facts)
    ]
    found.sort(key=lambda mark: mark.seq)
    return [Trial(int(m.facts["labels"]), m.facts["guess"] == m.value) for m in found]


def is_trial(facts: Mapping[str, Any]) -> bool:
    """Return whether an answer had a guess that was not shown."""
    return facts.get("guess") is not None and not facts.get("seen_guess")


def wilson(wrong: float, n: float) -> tuple[float, float]:
    """Compute Wilson's 95% interval for the share of right ones among n independent trials."""
    return clipped(wilson_interval(1 - wrong / n, n), (0.0, 1.0))


def accuracy_at(trials: Sequence[Trial], n_labels: int) -> Interval | None:
    """Estimate the accuracy of a model with so many labels.

    Parameters
    ----------
    trials : sequence of Trial
    n_labels : int
    """
    recent = [t for t in trials if RECENT * n_labels <= t.labels <= n_labels]
    if len(recent) < FEWEST:
        return None
    wrong = sum(not t.right for t in recent)
    # how many trials of a model with n_labels these are
    worth = float(np.sum([(n_labels / t.labels) ** FASTEST for t in recent]))
    low, high = wilson(wrong, len(recent))[0], wilson(wrong, worth)[1]
    return Interval(1 - wrong / len(recent), low, high, len(recent))


def learning_curve(trials: Sequence[Trial], n_labels: int) -> list[CurvePoint]:
    """Estimate the accuracy at up to `MOST_POINTS` of the numbers of labels of models.

    The last point is that of the model with ``n_labels``, as `accuracy_at` returns it.
    """
    sizes = sorted({trial.labels for trial in trials if trial.labels < n_labels} | {n_labels})
    picked = np.linspace(0, len(sizes) - 1, min(len(sizes), MOST_POINTS)).round().astype(int)
    found = [(sizes[k], accuracy_at(trials, sizes[k])) for k in picked.tolist()]
    return [CurvePoint(n, at.value, at.low, at.high) for n, at in found if at is not None]


@dataclass(frozen=True)
class Gain:
    """Random rows that earlier models guessed right, and later ones.

    Attributes
    ----------
    n_labels : int
        Models with fewer labels are the earlier ones.
    before, since : float
        Share of right guesses.
    low, high : float
        95% interval of the difference.
    """

    n_labels: int
    before: float
    since: float
    low: float
    high: float


def gain_of(trials: Sequence[Trial], n_labels: int) -> Gain | None:
    """Compare trials of models with up to half of the labels with those since.

    The interval of the difference is Newcombe's, from the two intervals of Wilson. None if either
    side has fewer than `FEWEST` trials.
    """
    half = math.ceil(n_labels / 2)
    before = [t.right for t in trials if t.labels < half]
    since = [t.right for t in trials if half <= t.labels <= n_labels]
    if min(len(before), len(since)) < FEWEST:
        return None
    p, q = float(np.mean(before)), float(np.mean(since))
    p_low, p_high = wilson(before.count(False), len(before))
    q_low, q_high = wilson(since.count(False), len(since))
    low = q - p - math.hypot(q - q_low, p_high - p)
    high = q - p + math.hypot(q_high - q, p - p_low)
    return Gain(half, p, q, low, high)


def lowest_accuracy(n_wrong: int, n: int) -> float:
    """Compute the lower bound of Clopper and Pearson, at `SURE_LEVEL`, from n trials."""
    if n_wrong >= n:
        return 0.0
    return float(betaincinv(n - n_wrong, n_wrong + 1, 1 - SURE_LEVEL))


def fewest_for_sure() -> int:
    """Return how many guesses, all right, show an accuracy of `SURE_ACCURACY`."""
    return math.ceil(math.log(1 - SURE_LEVEL) / math.log(SURE_ACCURACY))


def first_for_sure(n: int) -> int:
    """Return how many of n guesses, the most certain ones, must have the accuracy first."""
    return max(fewest_for_sure(), math.ceil(n / 2))


def sure_margin(margins: Floats, right: NDArray[np.bool_]) -> tuple[float, int, int] | None:
    """Find the margin from which guesses are sure.

    The held-out guesses are taken in by margin, beginning with the more certain half, and at least
    as many as can show the accuracy at all (`first_for_sure`). The margin falls as long as the
    lower bound of the accuracy stays at `SURE_ACCURACY`. Tests in a fixed order up to the first
    that fails are wrong together with the probability of one (Angelopoulos et al., Learn then test,
    arXiv:2110.01052).

    Parameters
    ----------
    margins : float array of shape (h,)
        Of held-out guesses for one class.
    right : bool array of shape (h,)

    Returns
    -------
    found : (margin, n_right, n), or None if no margin will do
        With the number of held-out guesses from that margin on, and how many were right.
    """
    order = np.argsort(-margins, kind="stable")
    wrong = np.cumsum(~right[order])
    found = None
    for n in range(first_for_sure(len(order)), len(order) + 1):
        n_wrong = int(wrong[n - 1])
        if lowest_accuracy(n_wrong, n) < SURE_ACCURACY:
            break
        found = float(margins[order[n - 1]]), n - n_wrong, n
    return found


def class_shares(
    marks: Iterable[Mark], classes: Sequence[str]
) -> dict[str, tuple[float, float]] | None:
    """Estimate the class shares of all rows from random ones; None if there are none.

    The mean over random rows of ``F(c) + [answer = c] - [guess = c]``, where F are the shares of
    the guesses of the model in force among all rows, is free of bias whatever the model is, since
    the row was random. The better the model, the smaller is its variance. Answers that were given
    before the first model, or after the guess was shown, count as ``[answer = c]``.

    Returns
    -------
    shares : dict of (float, float)
        Class -> share, standard error. By the rule of three, twice the error is 3/n if all n rows
        agree: mistakes of the model are rare, and a few rows may well show none.
    """
    random = [m for m in marks if m.value is not None and m.reason == RANDOM]
    if not random or not classes:
        return None
    found = np.array([[_part(mark, name) for name in classes] for mark in random])
    n, mean = len(found), found.mean(axis=0)
    shares = np.clip(mean, 0.0, 1.0)
    shares = shares / shares.sum()
    errors = np.sqrt(((found - mean) ** 2).sum(axis=0) + UNSEEN) / n
    pairs = zip(shares.tolist(), np.minimum(errors, 0.5).tolist(), strict=True)
    return dict(zip(classes, pairs, strict=True))


def _part(mark: Mark, name: str) -> float:
    answered = float(mark.value == name)
    guessed: Mapping[str, float] | None = mark.facts.get("guessed")
    if guessed is None or not is_trial(mark.facts):
        return answered
    return guessed.get(name, 0.0) + answered - float(mark.facts["guess"] == name)
