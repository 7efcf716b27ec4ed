"""Two verdicts, each computed once, with its sentences, for all outputs.

Did the unlabelled rows help? Is a model better than always guessing the most frequent class? A
verdict is computed from the numbers of a comparison and from nothing else. Commands, model cards,
reports and notebooks show it as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats
from semisvm.model_selection.intervals import difference_interval

if TYPE_CHECKING:
    from semisvm.model_selection.comparison_result import Comparison, Difference

MOST_FREQUENT = "most frequent class"
FEWEST_LABELS = 6
"""Were a model right and the guess wrong on every one of five rows, a sign test would still put it
down to chance in one case of sixteen."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class AgainstChance:
    """A model beside the guess of the most frequent class.

    Attributes
    ----------
    guess : float
        Score of the guess.
    mean : float
        Score of the model minus that of the guess.
    interval : pair of floats
        For the difference.
    better : bool
        Whether the interval, and enough labels, show that the model is better.
    n_labels : int or None
        Labels on which that rests; None in model files of earlier versions.
    """

    guess: float
    mean: float
    interval: Interval
    better: bool
    n_labels: int | None = None

    @classmethod
    def from_dict(
        cls, plain: Mapping[str, Any] | None, n_labels: int | None = None
    ) -> "AgainstChance | None":
        """Return what was kept as plain data, also by an earlier version."""
        if plain is None:
            return None
        own = plain.get("n_labels")
        low, high = plain["interval"]
        facts = (plain["guess"], plain["mean"], (low, high), plain["better"])
        return cls(*facts, n_labels if own is None else own)

    @property
    def worse(self) -> bool:
        """Whether the interval, and enough labels, show that the model is worse."""
        low, high = self.interval
        few = self.n_labels is not None and self.n_labels < FEWEST_LABELS
        return low < high < 0.0 and not few

    def sentence(self, name: str, labels: str = "labels") -> str:
        """Return it in words.

        Parameters
        ----------
        name : str
            Of the model, at the beginning of the sentence.
        labels : str, default="labels"
            What the labels are called.
        """
        low, high = self.interval
        facts = (
            f"({self.guess:.3f}; difference {self.mean:+.3f}, interval {low:+.3f} to {high:+.3f})"
        )
        than = f"than guessing the most frequent class {facts}."
        if self.better or self.worse:
            return f"{name} is {'better' if self.better else 'worse'} {than}"
        number = "These" if self.n_labels is None else f"{self.n_labels:,}"
        return f"{number} {labels} are too few to show that {name} is better {than}"


def against_chance(
    scores: Sequence[float],
    guesses: Sequence[float],
    n_labels: int,
    *,
    test_share: float = 0.0,
    confidence: float = 0.95,
    bounds: Interval = (-np.inf, np.inf),
    sizes: Sequence[int] | None = None,
    interval: Interval | None = None,
) -> AgainstChance:
    """Compare a model with the guess of the most frequent class.

    Parameters
    ----------
    scores, guesses : sequences of floats
        Of the model and of the guess on the same folds; or, on rows that had no part in the
        fit, 1 for a row that is right and 0 for one that is wrong.
    n_labels : int
        Labels on which they rest.
    test_share : float, default=0.0
        As of `difference_interval`; 0 for rows that had no part in the fit.
    confidence : float, default=0.95
    bounds : pair of floats, optional
        Of scores.
    sizes : sequence of ints, optional
        Labels of each fold; by default all have the same number.
    interval : pair of floats, optional
        For the difference, by default that of `difference_interval`.

    Returns
    -------
    found : AgainstChance
    """
    ahead = np.subtract(scores, guesses, dtype=np.float64)
    if interval is None:
        interval = difference_interval(scores, guesses, test_share, n_labels, confidence, bounds)
    better = n_labels >= FEWEST_LABELS and 0.0 < interval[0] < interval[1]
    guess, mean = (float(np.average(v, weights=sizes)) for v in (guesses, ahead))
    return AgainstChance(guess, mean, interval, bool(better), n_labels)


def against_labels(scores: Floats, codes: NDArray[np.intp]) -> AgainstChance:
    """Compare scores of held-out rows with the guess of the class most frequent among them.

    Parameters
    ----------
    scores : array of shape (h,) or (h, m)
    codes : int array of shape (h,)
    """
    found = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    guess = int(np.bincount(codes).argmax())
    right, guessed = (found == codes).tolist(), (codes == guess).tolist()
    return against_chance(right, guessed, len(codes), bounds=(0.0, 1.0))


HELPED, NO_EVIDENCE, HURT = "helped", "no evidence", "hurt"


@dataclass(frozen=True)
class Verdict:
    """Whether the unlabelled rows helped.

    Attributes
    ----------
    word : {"helped", "no evidence", "hurt"}
    method : str
        The method that is compared with the baseline: the chosen one where a model was chosen,
        else the one with the best mean difference; the baseline if there is no other.
    recommended : str
        A method that helped, or the chosen one unless it hurt; else the supervised baseline.
    sentence : str
        Both in words, with the interval, and what the recommended method may lose on new rows.
    chance : str or None
        The recommended method, or the chosen one, beside the majority class.
    """

    word: str
    method: str
    recommended: str
    sentence: str
    chance: str | None = None

    @property
    def sentences(self) -> list[str]:
        """All of it in words."""
        return [self.sentence, *([self.chance] if self.chance else [])]


def word_of(interval: tuple[float, float], n_labels: int) -> str:
    """Return the word for the interval of a difference to the supervised baseline.

    An interval without a width has no variance behind it, and supports no verdict.

    Parameters
    ----------
    interval : pair of floats
    n_labels : int
        Labels on which it rests.
    """
    low, high = interval
    if n_labels < FEWEST_LABELS or not low < high:
        return NO_EVIDENCE
    return HELPED if low > 0.0 else HURT if high < 0.0 else NO_EVIDENCE


def verdict_of(found: "Comparison") -> Verdict:
    """Judge a comparison.

    Parameters
    ----------
    found : Comparison
        Its ``chosen`` method, if there is one that uses the unlabelled rows, is judged.
    """
    with_rows = [d for d in found.differences if d.name not in found.supervised]
    if not with_rows:
        alone = f"Only {found.baseline} was tried, so there is nothing to compare it with."
        if found.differences:
            alone = "No method that uses the unlabelled rows was compared."
        kept = found.chosen or found.baseline
        return Verdict(NO_EVIDENCE, found.baseline, kept, alone, found.about_chance(kept))
    own = [d for d in with_rows if d.name == found.chosen]
    helped = [d for d in with_rows if d.verdict == HELPED]
    top = max(own or helped or with_rows, key=lambda d: d.mean)
    recommended = _recommended(found, top)
    judged = found.chosen or recommended
    sentence = _sentence(found, top, recommended, of_several=len(with_rows) > 1 and not own)
    return Verdict(top.verdict, top.name, recommended, sentence, found.about_chance(judged))


def _recommended(found: "Comparison", top: "Difference") -> str:
    if top.verdict == HELPED:
        return top.name
    if top.name == found.chosen and top.verdict == HURT:
        return found.baseline
    return found.chosen or found.baseline


def _sentence(found: "Comparison", top: "Difference", recommended: str, of_several: bool) -> str:
    facts = _leader(found, top) if of_several else f"{top.name} {found.gap(top)}"
    advice = _advice(found, recommended)
    if top.verdict != NO_EVIDENCE:
        facts = facts if top.verdict == HURT else f"{top.name} {found.gap(top)}"
        return f"The unlabelled rows {top.verdict}: {facts}.{advice}"
    unsure = f"{found.n_labeled} labels are too few to tell"
    verdict = f"No evidence that the unlabelled rows helped: {facts}; {unsure}."
    others = _others_helped(found, top)
    return f"{verdict}{others}{advice}{_at_stake(top, recommended, found.baseline)}"


def _others_helped(found: "Comparison", top: "Difference") -> str:
    """Name other methods that the unlabelled rows helped, as the table of a comparison does."""
    names = [d.name for d in found.differences if d.verdict == HELPED]
    names = [name for name in names if name not in {top.name, *found.supervised}]
    if not names:
        return ""
    *first, last = names
    listed = f"{', '.join(first)} and {last}, each" if first else last
    return f" They did help {listed} alone."


def _advice(found: "Comparison", recommended: str) -> str:
    """Recommend a method, unless it is the one that was fitted."""
    if recommended == found.chosen:
        return ""
    supervised = "the supervised model, " if recommended == found.baseline else ""
    return f" Recommended: {supervised}{recommended}."


def _at_stake(top: "Difference", recommended: str, baseline: str) -> str:
    """Describe what the recommended method may lose or gain on new rows, by the interval."""
    low, high = top.interval
    if recommended == top.name:
        worse, better, other = -low, high, baseline
    else:
        worse, better, other = high, -low, top.name
    worse, better = max(worse, 0.0), max(better, 0.0)
    return (
        f" On new rows {recommended} may be up to {worse:.3f} worse than {other}, or up to "
        f"{better:.3f} better."
    )


def _leader(found: "Comparison", top: "Difference") -> str:
    """Describe how the best of the others did; "best" is no word for one that is behind."""
    if round(top.mean, 3) > 0.0:
        return f"the best, {top.name}, {found.gap(top)}"
    return f"none of the others is ahead; the nearest, {top.name}, {found.gap(top)}"
