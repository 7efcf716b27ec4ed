"""How good the model is, and whether more labels will help.

What is shown rests on random rows. A person answered each while the model in force had not seen it,
so the answer is a trial of that model. Today's model has seen more answers and is better: an error
of a model with n labels stands for (n / n_today)^rate errors of today's. The rate of learning
curves is about a half. The lower end of an interval takes a rate of zero, the upper end one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.book import Mark
from semisvm.labelling.records import RANDOM, CurvePoint, Interval

Z = 1.959964
"""Of a 95% interval."""
RECENT = 1 / 3
"""Trials of models with fewer labels than this share of today's are left out."""
SLOWEST, FASTEST = 0.0, 1.0
"""Rates at which the error may have fallen since the trials."""
FEWEST = 4
"""Trials below which no accuracy is shown."""
UNSEEN = 1.5**2
"""Added to the sum of squares of deviations, for what a few rows did not show."""
USUAL_RATE = (0.5, 0.25)
"""Mean and standard deviation of the rate of a learning curve, before it is seen."""
ERRORS = np.geomspace(1e-3, 0.99, 80)
RATES = np.linspace(0.05, 1.5, 30)
N_BINS = 20
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
    """Tell whether an answer had a guess that nobody had seen."""
    return facts.get("guess") is not None and not facts.get("seen_guess")


def wilson(wrong: float, n: float, z: float = Z) -> tuple[float, float]:
    """Compute Wilson's interval for the share of right ones among n independent trials."""
    share, square = 1 - wrong / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


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
    labels = np.array([t.labels for t in recent]) / n_labels
    wrong = sum(not t.right for t in recent)

    def worth(rate: float) -> float:
        """Return how many trials of a model with n_labels these are."""
        return float(np.sum(labels**-rate))

    low, high = wilson(wrong, worth(SLOWEST))[0], wilson(wrong, worth(FASTEST))[1]
    value = min(max(1 - wrong / worth(USUAL_RATE[0]), low), high)
    return Interval(value, low, high, len(recent))


def learning_curve(trials: Sequence[Trial]) -> list[CurvePoint]:
    """Estimate the accuracy at up to `MOST_POINTS` of the numbers of labels of models."""
    sizes = sorted({trial.labels for trial in trials})
    picked = np.linspace(0, len(sizes) - 1, min(len(sizes), MOST_POINTS)).round().astype(int)
    found = [(sizes[k], accuracy_at(trials, sizes[k])) for k in picked.tolist()]
    return [CurvePoint(n, at.value, at.low, at.high) for n, at in found if at is not None]


@dataclass(frozen=True)
class PowerLaw:
    """A learning curve, error(n) = error (n / n_labels)^-rate.

    Attributes
    ----------
    n_labels : int
        Today's.
    error : float
        At that number.
    rate : float
    """

    n_labels: int
    error: float
    rate: float

    def more_labels(self, gain: float) -> int | None:
        """Return how many more labels lower the error by a gain; None if it is too small."""
        if self.error <= gain or self.rate <= 0:
            return None
        factor = (self.error / (self.error - gain)) ** (1 / self.rate)
        return math.ceil(self.n_labels * (factor - 1))


def fit_curve(trials: Sequence[Trial], n_labels: int) -> PowerLaw | None:
    """Fit a power law to trials: the posterior mean of its error and exponent, on a grid.

    A few trials say little about the slope, so the prior of the exponent is that of usual
    curves; that of the error is flat but for its ends.
    """
    if len(trials) < 2 * FEWEST or n_labels < 1:
        return None
    ratio, wrong, right = _in_bins(trials, n_labels)
    error = ERRORS[:, None, None] * np.exp(-RATES[None, :, None] * ratio)
    error = np.clip(error, 1e-9, 1 - 1e-6)
    chance = (wrong * np.log(error) + right * np.log1p(-error)).sum(axis=2)
    mean, deviation = USUAL_RATE
    chance += (np.log(ERRORS) + np.log1p(-ERRORS))[:, None]
    chance -= 0.5 * ((RATES - mean) / deviation) ** 2
    weight = np.exp(chance - chance.max())
    weight /= weight.sum()
    now, rate = ERRORS @ weight.sum(axis=1), RATES @ weight.sum(axis=0)
    return PowerLaw(n_labels, float(now), float(rate))


def _in_bins(trials: Sequence[Trial], n_labels: int) -> tuple[Floats, Floats, Floats]:
    """Count wrong and right trials by the logarithm of their labels, over today's."""
    ratio = np.log(np.array([max(trial.labels, 1) for trial in trials]) / n_labels)
    right = np.array([trial.right for trial in trials], dtype=np.float64)
    edges = np.linspace(ratio.min(), ratio.max(), N_BINS + 1)[1:-1]
    place = np.searchsorted(edges, ratio)
    counts = np.bincount(place, minlength=N_BINS)
    middle = np.bincount(place, ratio, N_BINS) / np.maximum(counts, 1)
    good: Floats = np.asarray(np.bincount(place, right, N_BINS), dtype=np.float64)
    return middle, counts - good, good


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
