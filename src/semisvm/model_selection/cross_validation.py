"""Trying what is in the pool on labels that were held out, and weighing it.

Methods are weighed rather than sorted, because few labels are little evidence of which one is best:
weights follow the log-loss of labels that were held out, and are drawn to first ones
(`semisvm.estimators.stacking`, `semisvm.model_selection.candidates`). Where one method has most
of the weight it is taken alone.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.estimators.class_shares import class_shares
from semisvm.estimators.held_out import (
    NEW_ROWS,
    MappedRowsCache,
    Outside,
    held_out_scores,
    outside_parts,
    use_mass,
)
from semisvm.estimators.registry import Method, get, without_effect
from semisvm.estimators.stacking import (
    SLOPE,
    columns,
    contrasts,
    spread,
    stacked_weights,
    without_small,
)
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.labels.partial import PartialLabels
from semisvm.model_selection.candidates import (
    COMMITTEE,
    Choice,
    Entry,
    ForeignMethod,
    Member,
    about_evidence,
    about_scores,
    about_weights,
    given_up,
)
from semisvm.model_selection.comparison_result import Comparison, FoldScore, ProgressCallback
from semisvm.model_selection.intervals import held_out_difference
from semisvm.model_selection.metrics import ACCURACY, AVERAGE_PRECISION, score_codes
from semisvm.model_selection.splits import PartialLabelKFold, folds_of_groups, rows_of_groups
from semisvm.model_selection.successive_halving import Candidate, SuccessiveHalving
from semisvm.model_selection.verdict import MOST_FREQUENT
from semisvm.text import counted, measured_time, series

N_SPLITS = 5
FEWEST_LABELS = 4
"""Of classes with two labels or more; with fewer, a model of the rest is no evidence."""
ALONE = 0.7
"""Share of the weights at which a method is taken alone."""
SHARES = "estimate"
"""How the class shares are found where they are not given."""
CONFIDENCE = 0.95
CAUTION = 1.5
"""Standard errors by which all methods together must be better than guessing the most frequent
class, else only supervised ones decide."""
ENOUGH_TO_DOUBT = 40
"""Held-out labels from which that is tested. Fewer cannot distinguish data on which everything is
near chance from data on which only the supervised SVM is, where the unlabelled rows help most."""
IN_FEW_GROUPS = "The labels of a class are in too few groups to hold some out"
NOTABLE = 1.0
"""Seconds of compiling that are mentioned."""


@dataclass
class Found:
    """The result of a trial: entries with their weights, and sentences about them."""

    entries: Sequence[Entry]
    weights: Floats
    reasons: list[str]
    methods: Comparison | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    cost: str = ""
    pool: Sequence[Entry] = ()
    notes: Sequence[str] = ()

    def choice(self, given: dict[str, Any], threads: dict[str, Any], unlabeled: Any) -> Choice:
        """Turn it into a choice."""
        kept = [k for k in np.argsort(-self.weights, kind="stable") if self.weights[k] > 0.0]
        chosen = [self.entries[k] for k in kept]
        own = [_settings(entry.method, {**entry.parameters, **threads}) for entry in chosen]
        parameters: dict[str, Any] = own[0]
        members: tuple[Member, ...] = ()
        # shares that one method ignores are met by the threshold of a committee
        prior = {k: v for k, v in given.items() if k == "class_prior"}
        ignored = bool(prior) and "class_prior" not in chosen[0].method.parameters
        if len(chosen) > 1 or ignored or isinstance(chosen[0].method, ForeignMethod):
            weights = self.weights[kept].tolist()
            pairs = [
                (entry.name, entry.method.make(unlabeled=unlabeled, **settings))
                for entry, settings in zip(chosen, own, strict=True)
            ]
            parameters = {"estimators": pairs, "weights": weights, **prior, **threads}
            members = tuple(
                Member(entry.name, entry.method.name, settings, weight)
                for entry, settings, weight in zip(chosen, own, weights, strict=True)
            )
        method = COMMITTEE if members else chosen[0].method.name
        used = [entry.method for entry in chosen] + ([get(COMMITTEE)] if members else [])
        unused, notes = _unused(used, given, self.pool)
        facts = (tuple(self.reasons), unused, (*self.notes, *notes), members)
        name = COMMITTEE if len(chosen) > 1 else chosen[0].name
        about = (self.methods, self.skipped, self.cost, name)
        return Choice(method, parameters, *facts, *about, float(self.weights.sum()))


@dataclass(frozen=True)
class Trial:
    """The rows on which everything is tried, and what is not tried, with the reason.

    With ``group``, the rows of a group are held out together.
    """

    X: Any
    labels: PartialLabels
    entries: Sequence[Entry]
    given: Mapping[str, Any]
    n_jobs: int | None
    weight: Floats | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    use: str = NEW_ROWS
    group: NDArray[np.intp] | None = None

    def run(
        self, limit: float, scoring: str, seed: int, progress: ProgressCallback | None
    ) -> Found:
        """Race the entries and weigh them."""
        few = too_few(self.labels)
        if few or len(self.entries) == 1:
            return self._without_comparison(few)
        folds = self._folds(seed)
        if not folds:
            return self._without_comparison(IN_FEW_GROUPS)
        judged = self._judged(folds)
        halving = SuccessiveHalving(
            folds, self.labels.codes, limit, progress, dict(self.left_out), judged.mass
        )
        with (
            Workers(thread_count(self.n_jobs)) as workers,
            halving.clock.running(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UserWarning)
            grounds, shares = MappedRowsCache(self.X, workers, self.weight), self._shares()
            outside: Outside = judged.outside
            if self.group is not None:
                outside = partial(rows_of_groups, self.group)

            def scorer(entry: Entry) -> Any:
                estimator = entry.method.make(unlabeled=None, **entry.parameters)
                known = shares if "class_prior" in entry.method.parameters else None
                return held_out_scores(estimator, grounds, self.labels, known, outside)

            candidates = halving.run(self.entries, scorer)
        if not candidates:
            return self._without_comparison(f"{halving.stopped.capitalize()} at once")
        return self._weighed(candidates, halving, judged, scoring)

    def _judged(self, folds: Sequence[Index]) -> "Judged":
        """Choose the half of each fold that takes no part in its fit; of groups, all."""
        codes = self.labels.codes
        outside, mass = np.zeros(len(codes), dtype=bool), np.ones(len(codes))
        parts = outside_parts(folds, codes) if self.group is None else folds
        outside[np.concatenate(parts)] = True
        rows = np.concatenate(folds)
        mass[rows] = use_mass(outside[rows], self.use)
        return Judged(codes, outside, mass)

    def _shares(self) -> Floats:
        """Find the class shares once for all fits; from all labels, which folds hardly change."""
        estimator = TransductiveSVC(class_prior=self.given.get("class_prior", SHARES))
        return class_shares(estimator, self.X, self.labels, self.weight).values

    def _folds(self, seed: int) -> list[Index]:
        counts = np.bincount(self.labels.codes[self.labels.labeled])
        n_splits = min(N_SPLITS, int(counts[counts > 1].sum()))
        if self.group is not None:
            return folds_of_groups(self.labels.codes, self.group, n_splits, seed)
        cv = PartialLabelKFold(n_splits, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return list(cv.folds(self.labels.codes))

    def _without_comparison(self, why: str | None) -> Found:
        """Take all quick entries with equal weights, or the only one."""
        chosen = [entry for entry in self.entries if entry.name == entry.method.name]
        names = [entry.name for entry in chosen if entry.name != "da"]
        chosen = [entry for entry in chosen if entry.name in names]
        if len(chosen) == 1:
            reason = f"{names[0]} is the only method that suits the data."
        else:
            reason = f"{why}: {series(names)} have the same weight in a committee."
        equal = np.full(len(chosen), SLOPE / len(chosen))
        reasons = [reason, *given_up(self.left_out)]
        return Found(chosen, equal, reasons, skipped=dict(self.left_out), pool=self.entries)

    def _weighed(
        self,
        candidates: Sequence[Candidate],
        halving: SuccessiveHalving,
        judged: "Judged",
        scoring: str,
    ) -> Found:
        n_folds = len(candidates[0].scores)
        folds = halving.folds[:n_folds]
        doubt, deciding, voted = None, list(candidates), []
        if n_folds > 1:
            voted = _voted(candidates, folds, judged)
            doubt = _doubt(voted, candidates[0], folds, judged, scoring)
        if doubt:
            deciding = [r for r in candidates if r.entry.is_safe]
            voted = _voted(deciding, folds, judged)
        weights = without_small(_weights(deciding, folds, judged, range(n_folds)))
        shares = weights / weights.sum()
        if shares.max() >= ALONE:
            weights = _alone(int(shares.argmax()), deciding, folds, judged)
        together = int(np.count_nonzero(weights)) > 1
        entries = [candidate.entry for candidate in deciding]
        name = COMMITTEE if together else entries[int(weights.argmax())].name
        named = dict(zip([entry.name for entry in entries], shares.tolist(), strict=True))
        reasons = [about_weights(name, named, doubt)]
        compared = None
        if n_folds > 1:
            compared = self._comparison(candidates, folds, judged, scoring, name, voted)
            reasons = [about_scores(compared), *reasons, *compared.did_it_help().sentences]
        worth = self._worth_of_evidence(deciding, folds, judged, voted)
        if halving.stopped:
            reasons.append(f"Not all folds were used, because {halving.stopped}.")
        reasons += given_up(halving.dropped)
        fits, tried = counted(halving.n_fits, "fit"), counted(len(self.entries), "candidate")
        cost = (
            f"The choice took {measured_time(halving.clock.elapsed)}: {fits} of {tried} on "
            f"{counted(n_folds, 'fold')} of the labels.{_about_compiling(halving)}"
        )
        about = (compared, halving.dropped, cost, self.entries, worth)
        return Found(entries, weights, reasons, *about)

    def _worth_of_evidence(
        self,
        candidates: Sequence[Candidate],
        folds: Sequence[Index],
        judged: "Judged",
        voted: Sequence[Floats],
    ) -> list[str]:
        """Compare the committee with one of the same methods without evidence, in a sentence."""
        without = [candidate for candidate in candidates if not candidate.entry.uses_evidence]
        if self.labels.evidence is None or not voted or len(without) == len(candidates):
            return []
        alone = _voted(without, folds, judged)
        codes = judged.codes[np.concatenate(folds)]
        right, before = (
            columns(np.concatenate(scores)).argmax(axis=1) == codes for scores in (voted, alone)
        )
        interval = held_out_difference(right, before, len(codes), CONFIDENCE)
        source = self.labels.source
        what = "Evidence is given" if source is None else source.describe(self.labels)
        gain = float(right.mean() - before.mean())
        return [about_evidence(what, gain, interval, CONFIDENCE)]

    def _comparison(
        self,
        candidates: Sequence[Candidate],
        folds: Sequence[Index],
        judged: "Judged",
        scoring: str,
        chosen: str,
        voted: list[Floats],
    ) -> Comparison:
        """Summarise the folds; a committee is scored with the weights of the other folds."""
        n_folds = len(folds)
        scores = {candidate.name: (candidate.scores, candidate.seconds) for candidate in candidates}
        if chosen == COMMITTEE:
            seconds = [
                sum(candidate.seconds[k] for candidate in candidates) for k in range(n_folds)
            ]
            scores[COMMITTEE] = (voted, seconds)
        found = {
            name: [
                judged.score(name, k, scoring, folds[k], of_fold[k], seconds[k])
                for k in range(n_folds)
            ]
            for name, (of_fold, seconds) in scores.items()
        }
        held = float(np.mean([len(fold) for fold in folds]))
        labeled = self.labels.codes[self.labels.labeled]
        guesses = [_guess(labeled, len(fold)) for fold in folds]
        return Comparison.of(
            found,
            baseline=candidates[0].name,
            scoring=scoring,
            confidence=CONFIDENCE,
            test_share=held / (len(labeled) - held),
            n_labeled=len(labeled),
            n_unlabeled=len(self.labels.unlabeled),
            n_held=int(sum(len(fold) for fold in folds)),
            chance=[
                judged.score(MOST_FREQUENT, k, scoring, folds[k], guess, 0.0)
                for k, guess in enumerate(guesses)
            ],
            use=self.use,
            grouped=self.group is not None,
            supervised=[r.name for r in candidates[1:] if not r.entry.method.suits.needs_unlabeled],
            chosen=chosen,
        )


@dataclass(frozen=True)
class Judged:
    """How held-out rows are judged.

    Attributes
    ----------
    codes : int array of shape (n,)
        Classes of all rows.
    outside : bool array of shape (n,)
        Rows that take no part in the fit where they are held out.
    mass : array of shape (n,)
        For how many rows each held-out row counts.
    """

    codes: NDArray[np.intp]
    outside: NDArray[np.bool_]
    mass: Floats

    def score(
        self, name: str, k: int, scoring: str, fold: Index, scores: Floats, seconds: float
    ) -> FoldScore:
        """Score a fold: all of its rows, and its two parts."""

        def part(rows: NDArray[np.bool_]) -> float | None:
            return score_codes(scoring, codes[rows], scores[rows]) if rows.any() else None

        codes, outside = self.codes[fold], self.outside[fold]
        score = score_codes(scoring, codes, scores)
        right = None
        if scoring == ACCURACY:
            right = tuple((columns(scores).argmax(axis=1) == codes).tolist())
        parts = part(outside), part(~outside)
        return FoldScore(name, k, score, seconds, len(fold), *parts, right)


def _about_compiling(halving: SuccessiveHalving) -> str:
    """Note that the next choice will be quicker, if code had to be compiled."""
    seconds = halving.clock.compiling
    if seconds < NOTABLE:
        return ""
    return f" Compiling code for this machine took another {measured_time(seconds)}, this once."


def _weights(
    candidates: Sequence[Candidate], folds: Sequence[Index], judged: Judged, used: Iterable[int]
) -> Floats:
    """Compute the weights of a committee from some of the folds."""
    chosen = list(used)
    rows = np.concatenate([folds[k] for k in chosen])
    held = [np.concatenate([candidate.scores[k] for k in chosen]) for candidate in candidates]
    first = [candidate.entry.weight for candidate in candidates]
    return stacked_weights(held, judged.codes[rows], first, mass=judged.mass[rows])


def _doubt(
    voted: Sequence[Floats], base: Candidate, folds: Sequence[Index], judged: Judged, scoring: str
) -> str | None:
    """Return why methods that use the unlabelled rows are not trusted; None if they are.

    Where everything is near chance, held-out labels cannot show which method harms. So all
    methods together, with weights from the other folds, must be right more often than the most
    frequent class is, if there are enough labels. Rankings must not be worse than those of the
    supervised SVM.
    """
    rows, order = np.concatenate(folds), range(len(folds))
    codes, mass = judged.codes[rows], judged.mass[rows]
    right = contrasts(np.concatenate(voted)).argmax(axis=1) == codes
    guessed = codes == np.bincount(codes).argmax()
    ahead = mass * np.subtract(right, guessed, dtype=np.float64)
    unsure = ahead.mean() <= CAUTION * ahead.std(ddof=1) / np.sqrt(len(ahead))
    if unsure and len(rows) >= ENOUGH_TO_DOUBT:
        return "all methods together are hardly better than guessing the most frequent class"
    if scoring == AVERAGE_PRECISION:
        scores = [
            np.nanmean([score_codes(scoring, judged.codes[folds[k]], found[k]) for k in order])
            for found in (voted, base.scores)
        ]
        if scores[0] < scores[1]:
            return "all methods together rank held-out labels worse than the supervised SVM does"
    return None


def _alone(
    winner: int, candidates: Sequence[Candidate], folds: Sequence[Index], judged: Judged
) -> Floats:
    """Give one candidate all weight: the slope of its probabilities, by the held-out labels."""
    weights = np.zeros(len(candidates))
    weights[winner] = _weights([candidates[winner]], folds, judged, range(len(folds)))[0]
    return weights


def _voted(candidates: Sequence[Candidate], folds: Sequence[Index], judged: Judged) -> list[Floats]:
    """Score each fold by a committee whose weights come from the other folds."""
    found = []
    for fold in range(len(folds)):
        others = [k for k in range(len(folds)) if k != fold]
        weights = _weights(candidates, folds, judged, others)
        held = [np.concatenate([candidate.scores[k] for k in others]) for candidate in candidates]
        scales = weights / [spread(scores) for scores in held]
        parts = [
            s * candidate.scores[fold] for s, candidate in zip(scales, candidates, strict=True)
        ]
        found.append(np.asarray(np.sum(parts, axis=0)))
    return found


def _guess(labeled: NDArray[np.intp], n: int) -> Floats:
    """Score n rows by the class that is most frequent among all labels, shape (n, m).

    Among those of the other folds it would be the class that the fold has less of, so that the
    guess scored below one half where the classes are balanced.
    """
    guess = np.zeros((n, int(labeled.max()) + 1))
    guess[:, int(np.bincount(labeled).argmax())] = 1.0
    return guess


def _settings(method: Method, parameters: dict[str, Any]) -> dict[str, Any]:
    """Add the way to find the class shares where the method uses them and none are given."""
    if "class_prior" not in method.parameters or "class_prior" in parameters:
        return parameters
    return {**parameters, "class_prior": SHARES}


def too_few(labels: PartialLabels) -> str | None:
    """Return why labels cannot be held out, or None if they can."""
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    if counts[counts > 1].sum() >= FEWEST_LABELS:
        return None
    return f"{counted(int(counts.sum()), 'label')} are too few to hold some out"


def _unused(
    chosen: Sequence[Method], given: Mapping[str, Any], entries: Sequence[Entry]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of given parameters that no chosen method has, and notes about them."""
    names = tuple(name for name in given if all(name not in method.parameters for method in chosen))
    others = {entry.method.name: entry.method for entry in entries}
    return names, tuple(without_effect(chosen[0], names, others.values()))
