"""Held-out scores of many methods in limited time.

The folds are the outer loop: after one fold the time of every method is known, and what would
take too long is left out; after two, what is clearly behind. So a slow method costs one fit, not
five, and whenever the time is up, what is left has seen the same folds. Time to compile code does
not count: it is spent once per machine, and does not predict that of the next fit. Nor does
time in which other programs had the processor, so that a busy machine makes the same choice.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from semisvm.compiling import WorkClock
from semisvm.designs import Floats, Index
from semisvm.estimators.stacking import SLOPE, contrasts, spread, stacked_weights
from semisvm.model_selection.candidates import Entry
from semisvm.model_selection.comparison_result import ProgressCallback, Step
from semisvm.text import rough_time

BEHIND = 2.5
"""Standard errors of the log-loss by which a method is behind the best if it is given up because
a committee would hardly miss it."""
FAR_BEHIND = 5.0
"""The same for a method that is given up in any case."""
FIRST_FIT = 1.0
"""Share of the time that is left which the first fit of a method may take, by its estimate."""
FEWEST_FOLDS = 3
"""Folds that are scored before the time limit ends the comparison."""
PREPARES = 2.0
"""How much longer than the others the first fold may take."""
LITTLE = 0.02
"""Share of the weights of a committee that is not missed."""

Scores = Callable[[Index], Floats]


@dataclass
class Candidate:
    """A method, and what its folds have given so far.

    Attributes
    ----------
    entry : Entry
    scores : list of arrays
        Of the held-out rows of each fold so far.
    seconds : list of floats
    """

    entry: Entry
    scores: list[Floats] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the entry."""
        return self.entry.name

    def expected(self, speed: float) -> float:
        """Estimate the seconds of a fit: the last one's, or the rough estimate at a speed."""
        return self.seconds[-1] if self.seconds else speed * self.entry.seconds


@dataclass
class SuccessiveHalving:
    """Methods on the same folds, as far as there is time.

    Attributes
    ----------
    folds : sequence of arrays of row indices
    codes : int array of shape (n,)
        Classes of all rows.
    time_limit : float
        Seconds of ``clock``.
    progress : callable(Step), optional
        Called before every fit; halving ends if it returns True.
    dropped : dict
        Methods that were given up, with the reason in words.
    mass : array of shape (n,), optional
        For how many rows each held-out row counts.
    stopped : str
        Why it ended before the last fold; empty if it did not.
    clock : WorkClock
        Notices compiling where the caller has it run.
    """

    folds: Sequence[Index]
    codes: NDArray[np.intp]
    time_limit: float = np.inf
    progress: ProgressCallback | None = None
    dropped: dict[str, str] = field(default_factory=dict)
    mass: Floats | None = None
    stopped: str = ""
    n_fits: int = 0
    clock: WorkClock = field(default_factory=WorkClock)

    @property
    def seconds(self) -> float:
        """Seconds of work since the start."""
        return self.clock.seconds

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.time_limit - self.seconds

    def run(self, entries: Sequence[Entry], scorer: Callable[[Entry], Scores]) -> list[Candidate]:
        """Score the folds; return those that have seen all folds that were scored.

        Parameters
        ----------
        entries : sequence of Entry
            The first one is always kept.
        scorer : callable
            Makes, for an entry, the function that scores a fold.
        """
        candidates = [Candidate(entry) for entry in entries]
        scorers: dict[str, Scores] = {}
        for k, fold in enumerate(self.folds):
            for candidate in list(candidates):
                if not self._may_start(candidate, candidates, k):
                    if self.stopped:
                        return self._finished(candidates, k)
                    candidates.remove(candidate)
                    scorers.pop(candidate.name, None)
                    continue
                start = self.seconds
                if candidate.name not in scorers:
                    scorers[candidate.name] = scorer(candidate.entry)
                with warnings.catch_warnings():
                    # the last fit warns again if it still holds
                    warnings.simplefilter("ignore", UserWarning)
                    candidate.scores.append(scorers[candidate.name](fold))
                candidate.seconds.append(self.seconds - start)
                self.n_fits += 1
            for candidate in self._behind(candidates, k + 1) if k else self._slow(candidates):
                candidates.remove(candidate)
                scorers.pop(candidate.name, None)
        return candidates

    def _may_start(self, candidate: Candidate, candidates: Sequence[Candidate], fold: int) -> bool:
        """Report a fit, and return whether there is time for it and those that follow from it."""
        behind = [r for r in candidates if len(r.scores) <= fold]
        step = Step(
            candidate.name,
            fold + 1,
            len(self.folds),
            self.n_fits,
            self.n_fits + len(behind) + len(candidates) * (len(self.folds) - fold - 1),
            left=min(self._expected_of(candidates), max(self.left, 0.0)),
        )
        if self.progress is not None and self.progress(step):
            self.stopped = "it was stopped"
        if fold >= FEWEST_FOLDS - 1 and self.left <= 0.0:
            self.stopped = f"the time limit of {self.time_limit:g} s was reached"
        if self.stopped:
            return False
        own = candidate.expected(self._speed(candidates))
        if fold >= 1 or candidate is candidates[0] or own <= FIRST_FIT * max(self.left, 0.0):
            return True
        needs = f"{len(self.folds)} fits would take {self._times(own)}"
        self.dropped[candidate.name] = needs if self.left > 0.0 else "no time was left for it"
        return False

    def _times(self, one: float, done: int = 0) -> str:
        return rough_time(one * (len(self.folds) - done))

    def _slow(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return methods for which there is no time after the first fold, the slowest first.

        Fewer folds of all methods are better than all folds of a few, so only those are given
        up that take too long for `FEWEST_FOLDS`. The first fold also prepares, for instance a
        graph, so it may look slow.
        """
        kept: list[Candidate] = list(candidates)
        found: list[Candidate] = []
        limit = PREPARES * self.left
        while self._expected_of(kept, FEWEST_FOLDS) > limit and len(kept) > 2:
            slowest = max(kept[1:], key=lambda candidate: candidate.seconds[-1])
            kept.remove(slowest)
            found.append(slowest)
            more = self._times(slowest.seconds[-1], 1)
            self.dropped[slowest.name] = f"its other folds would take {more}"
        return found

    def _speed(self, candidates: Sequence[Candidate]) -> float:
        """Return how much longer fits take than their rough estimates."""
        timed = [r for r in candidates[1:] if r.seconds]
        expected = sum(r.entry.seconds for r in timed)
        # estimates are rough: never trust them to be ten times too high
        return max(sum(r.seconds[-1] for r in timed) / expected, 0.1) if expected else 1.0

    def _expected_of(self, candidates: Sequence[Candidate], n_folds: int | None = None) -> float:
        """Estimate the seconds of all fits that are left of some folds, or of all."""
        speed, n = self._speed(candidates), len(self.folds) if n_folds is None else n_folds
        return sum(r.expected(speed) * max(n - len(r.scores), 0) for r in candidates)

    def _finished(self, candidates: list[Candidate], n_folds: int) -> list[Candidate]:
        """Return what has seen all finished folds: those before the one that was cut off."""
        if n_folds == 0:
            return [candidate for candidate in candidates if candidate.scores]
        for candidate in candidates:
            del candidate.scores[n_folds:]
        return candidates

    def _behind(self, candidates: Sequence[Candidate], n_folds: int) -> list[Candidate]:
        """Return methods that neither win nor are missed in a committee; never the first one."""
        rows = np.concatenate(self.folds[:n_folds])
        codes, mass = self.codes[rows], np.ones(len(rows)) if self.mass is None else self.mass[rows]
        held = [np.concatenate(candidate.scores) for candidate in candidates]
        losses = np.array([mass * row_losses(scores, codes) for scores in held])
        first = [candidate.entry.weight for candidate in candidates]
        weights = stacked_weights(held, codes, first, mass=mass)
        best = losses[losses.mean(axis=1).argmin()]
        found = []
        for candidate, loss, weight in zip(candidates, losses, weights, strict=True):
            gap = loss - best
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            missed = weight >= LITTLE * weights.sum()
            lost = gap.mean() > (FAR_BEHIND if missed else BEHIND) * error > 0.0
            if lost and candidate is not candidates[0]:
                self.dropped[candidate.name] = f"it was far behind after {n_folds} folds"
                found.append(candidate)
        return found


def row_losses(scores: Floats, codes: NDArray[np.intp]) -> Floats:
    """Compute the log-loss of each held-out row, at the slope of a committee."""
    log_p: Any = log_softmax(SLOPE * contrasts(scores) / spread(scores), axis=1)
    return np.asarray(-log_p[np.arange(len(codes)), codes])
