"""Trying what is in the pool on labels that were held out, and weighing it.

Methods are weighed rather than sorted, because few labels tell little about which one is best:
weights follow the log-loss of labels that were held out, and are drawn to first ones
(`semisvm.methods.weighing`, `semisvm.model_selection.pool`). Where one method has most of the
weight it is taken alone.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.estimators.held_out import Grounds, class_shares, held_out_scores
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.method import Method
from semisvm.methods.weighing import spread, stacked_weights, without_small
from semisvm.model_selection.chance import MOST_FREQUENT
from semisvm.model_selection.choice import COMMITTEE, Choice, Member
from semisvm.model_selection.comparison import Comparison, FoldScore
from semisvm.model_selection.pool import Entry
from semisvm.model_selection.race import Race, Runner
from semisvm.model_selection.reasons import about_scores, about_weights, given_up
from semisvm.model_selection.scoring import METRICS
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.model_selection.watching import Told
from semisvm.naming import series
from semisvm.partial_labels import PartialLabels
from semisvm.registry import get, without_effect
from semisvm.wording import counted, measured_time

N_SPLITS = 5
FEWEST_LABELS = 4
"""Of classes with two labels or more; with fewer, a model of the rest says nothing."""
ALONE = 0.7
"""Share of the weights at which a method is taken alone."""
SHARES = "estimate"
"""How the class shares are found where they are not given."""
CONFIDENCE = 0.95
NOTABLE = 1.0
"""Seconds of compiling that are mentioned."""


@dataclass
class Found:
    """The result of a trial: entries with their weights, and what is said about them."""

    entries: Sequence[Entry]
    weights: Floats
    reasons: list[str]
    methods: Comparison | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    cost: str = ""
    pool: Sequence[Entry] = ()

    def choice(self, given: dict[str, Any], threads: dict[str, Any], unlabeled: Any) -> Choice:
        """Turn it into a choice."""
        kept = [k for k in np.argsort(-self.weights, kind="stable") if self.weights[k] > 0.0]
        chosen = [self.entries[k] for k in kept]
        own = [_settings(entry.method, {**entry.parameters, **threads}) for entry in chosen]
        parameters: dict[str, Any] = own[0]
        members: tuple[Member, ...] = ()
        # shares that one method ignores are met by the threshold of a committee
        prior = {k: v for k, v in given.items() if k == "class_prior"}
        if len(chosen) > 1 or (prior and chosen[0].method.parameter("class_prior") is None):
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
        said = _unused(used, given, self.pool)
        facts = (tuple(self.reasons), *said, members)
        name = COMMITTEE if members else chosen[0].name
        return Choice(method, parameters, *facts, self.methods, self.skipped, self.cost, name)


@dataclass(frozen=True)
class Trial:
    """The rows on which everything is tried, and what is not tried, with the reason."""

    X: Any
    labels: PartialLabels
    entries: Sequence[Entry]
    given: Mapping[str, Any]
    n_jobs: int | None
    weight: Floats | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    def run(self, limit: float, scoring: str, seed: int, tell: Told | None) -> Found:
        """Race the entries and weigh them."""
        few = too_few(self.labels)
        if few or len(self.entries) == 1:
            return self._without_comparison(few)
        race = Race(self._folds(seed), self.labels.codes, limit, tell, dict(self.left_out))
        with (
            Workers(thread_count(self.n_jobs)) as workers,
            race.compilation.running(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UserWarning)
            grounds, shares = Grounds(self.X, workers, self.weight), self._shares()

            def scorer(entry: Entry) -> Any:
                estimator = entry.method.make(unlabeled=None, **entry.parameters)
                known = None if entry.method.parameter("class_prior") is None else shares
                return held_out_scores(estimator, grounds, self.labels, known)

            runners = race.run(self.entries, scorer)
        if not runners:
            return self._without_comparison(f"{race.stopped.capitalize()} at once")
        return self._weighed(runners, race, scoring)

    def _shares(self) -> Floats:
        """Find the class shares once for all fits; from all labels, which folds hardly change."""
        estimator = TransductiveSVC(class_prior=self.given.get("class_prior", SHARES))
        return class_shares(estimator, self.X, self.labels, weight=self.weight)

    def _folds(self, seed: int) -> list[Index]:
        counts = np.bincount(self.labels.codes[self.labels.labeled])
        n_splits = min(N_SPLITS, int(counts[counts > 1].sum()))
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
        equal = np.full(len(chosen), 2.0 / len(chosen))
        reasons = [reason, *given_up(self.left_out)]
        return Found(chosen, equal, reasons, skipped=dict(self.left_out), pool=self.entries)

    def _weighed(self, runners: Sequence[Runner], race: Race, scoring: str) -> Found:
        n_folds = len(runners[0].scores)
        codes = [self.labels.codes[fold] for fold in race.folds[:n_folds]]
        held = [np.concatenate(runner.scores) for runner in runners]
        first = [runner.entry.weight for runner in runners]
        weights = without_small(stacked_weights(held, np.concatenate(codes), first))
        shares = weights / weights.sum()
        if shares.max() >= ALONE:
            weights = np.where(shares == shares.max(), weights, 0.0)
        together = int(np.count_nonzero(weights)) > 1
        entries = [runner.entry for runner in runners]
        name = COMMITTEE if together else entries[int(weights.argmax())].name
        named = dict(zip([entry.name for entry in entries], shares.tolist(), strict=True))
        reasons = [about_weights(name, named)]
        compared = None
        if n_folds > 1:
            compared = self._comparison(runners, codes, scoring, name)
            reasons = [about_scores(compared), *reasons, *compared.did_it_help().sentences]
        if race.stopped:
            reasons.append(f"Not all folds were used, because {race.stopped}.")
        reasons += given_up(race.dropped)
        fits, tried = counted(race.n_fits, "fit"), counted(len(self.entries), "candidate")
        cost = (
            f"The choice took {measured_time(race.seconds)}: {fits} of {tried} on "
            f"{counted(n_folds, 'fold')} of the labels.{_about_compiling(race)}"
        )
        return Found(entries, weights, reasons, compared, race.dropped, cost, self.entries)

    def _comparison(
        self,
        runners: Sequence[Runner],
        codes: Sequence[NDArray[np.intp]],
        scoring: str,
        chosen: str,
    ) -> Comparison:
        """Summarise the folds; a committee is scored with the weights of the other folds."""
        metric, n_folds = METRICS[scoring], len(codes)
        found = {
            runner.name: [
                _fold_score(runner.name, k, codes[k], _codes(scores), metric, runner.seconds[k])
                for k, scores in enumerate(runner.scores)
            ]
            for runner in runners
        }
        if chosen == COMMITTEE and n_folds > 1:
            seconds = [sum(runner.seconds[k] for runner in runners) for k in range(n_folds)]
            found[COMMITTEE] = [
                _fold_score(COMMITTEE, k, codes[k], _voted(runners, codes, k), metric, seconds[k])
                for k in range(n_folds)
            ]
        held = float(np.mean([len(part) for part in codes]))
        labeled = self.labels.codes[self.labels.labeled]
        return Comparison.of(
            found,
            baseline=runners[0].name,
            scoring=scoring,
            confidence=CONFIDENCE,
            test_share=held / (len(labeled) - held),
            n_labeled=len(labeled),
            n_unlabeled=len(self.labels.unlabeled),
            n_held=int(sum(len(part) for part in codes)),
            chance=[_guess(labeled, part, metric, k) for k, part in enumerate(codes)],
            supervised=[r.name for r in runners[1:] if not r.entry.method.suits.needs_unlabeled],
            chosen=chosen,
        )


def _about_compiling(race: Race) -> str:
    """Say that the next choice will be quicker, if code had to be compiled."""
    seconds = race.compilation.seconds
    if seconds < NOTABLE:
        return ""
    return f" Compiling code for this machine took another {measured_time(seconds)}, this once."


def _codes(scores: Floats) -> NDArray[np.intp]:
    return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def _voted(
    runners: Sequence[Runner], codes: Sequence[NDArray[np.intp]], fold: int
) -> NDArray[np.intp]:
    """Predict a fold by a committee whose weights come from the other folds."""
    others = [k for k in range(len(codes)) if k != fold]
    held = [np.concatenate([runner.scores[k] for k in others]) for runner in runners]
    first = [runner.entry.weight for runner in runners]
    weights = stacked_weights(held, np.concatenate([codes[k] for k in others]), first)
    scales = weights / [spread(scores) for scores in held]
    parts = [s * runner.scores[fold] for s, runner in zip(scales, runners, strict=True)]
    return _codes(np.asarray(np.sum(parts, axis=0)))


def _guess(labeled: NDArray[np.intp], part: NDArray[np.intp], metric: Any, fold: int) -> FoldScore:
    """Score the guess of the class that is most frequent among all labels.

    Among those of the other folds it would be the class that the fold has less of, so that the
    guess scored below one half where the classes are balanced.
    """
    guess = np.full(len(part), int(np.bincount(labeled).argmax()))
    return _fold_score(MOST_FREQUENT, fold, part, guess, metric)


def _fold_score(
    name: str,
    fold: int,
    truth: NDArray[np.intp],
    predicted: NDArray[np.intp],
    metric: Any,
    seconds: float = 0.0,
) -> FoldScore:
    return FoldScore(name, fold, metric(truth, predicted), seconds, len(truth))


def _settings(method: Method, parameters: dict[str, Any]) -> dict[str, Any]:
    """Add the way to find the class shares where the method uses them and none are given."""
    if method.parameter("class_prior") is None or "class_prior" in parameters:
        return parameters
    return {**parameters, "class_prior": SHARES}


def too_few(labels: PartialLabels) -> str | None:
    """Say why labels cannot be held out, or None if they can."""
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    if counts[counts > 1].sum() >= FEWEST_LABELS:
        return None
    return f"{counted(int(counts.sum()), 'label')} are too few to hold some out"


def _unused(
    chosen: Sequence[Method], given: Mapping[str, Any], entries: Sequence[Entry]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of given parameters that no chosen method has, and notes about them."""
    names = tuple(
        name for name in given if all(method.parameter(name) is None for method in chosen)
    )
    others = {entry.method.name: entry.method for entry in entries}
    return names, tuple(without_effect(chosen[0], names, others.values()))
