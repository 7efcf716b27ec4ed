"""Is a model better than always guessing the most frequent class? One verdict for all outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats
from semisvm.model_selection.intervals import difference_interval

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
        """Say it in words.

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

    Returns
    -------
    found : AgainstChance
    """
    ahead = np.subtract(scores, guesses, dtype=np.float64)
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
