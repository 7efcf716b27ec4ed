"""Choosing a method, or a committee of methods, by labels that were held out; and saying why.

No method is best on all data, and few labels tell little about which one is. So methods of
different kinds are tried, and they are weighed rather than sorted: weights follow the log-loss
of labels that were held out, and are drawn to equal ones (`semisvm.methods.weighing`). Where one
method has most of the weight it is taken alone.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.estimators.held_out import Grounds, class_shares, held_out_scores
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.methods.weighing import stacked_weights, without_small
from semisvm.model_selection.chance import MOST_FREQUENT
from semisvm.model_selection.comparison import NO_EVIDENCE, Comparison, FoldScore
from semisvm.model_selection.pool import Entry, pool
from semisvm.model_selection.race import Race, Runner
from semisvm.model_selection.scoring import METRICS
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.model_selection.watching import Told
from semisvm.naming import series
from semisvm.ondisk import RowsOnDisk
from semisvm.partial_labels import PartialLabels, encode
from semisvm.registry import Method, get, without_effect
from semisvm.rows import read_rows, take_rows
from semisvm.validation import check_choice, check_real
from semisvm.wording import counted, measured_time

COMMITTEE = "committee"
N_SPLITS = 5
FEWEST_LABELS = 4
"""Of classes with two labels or more; with fewer, a model of the rest says nothing."""
MOST_UNLABELED = 1_500
"""Unlabelled rows that are used to choose; all are used for the last fit."""
SECONDS = 20.0
"""Time for the choice by default."""
QUICK_SECONDS = 8.0
QUICK = ("svm", "tsvm", "laprls", "gradient")
ALONE = 0.7
"""Share of the weights at which a method is taken alone."""
SHARES = "estimate"
"""How the class shares are found where they are not given."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Member:
    """A method of a committee: its name, method of the registry, parameters and weight."""

    name: str
    method: str
    parameters: dict[str, Any]
    weight: float


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes
    ----------
    method : str
        A name of `semisvm.registry`; "committee" for several.
    parameters : dict
        Of its estimator: the given ones and the chosen ones.
    reasons : tuple of str
        Sentences.
    ignored : tuple of str
        Names of given parameters that nothing chosen has.
    notes : tuple of str
        Sentences about them.
    members : tuple of Member
        Of a committee.
    methods : Comparison or None
        What was tried, and the committee; None where nothing was compared.
    skipped : dict
        What was left out or given up, with the reason.
    cost : str
        A sentence about the time that the choice took; empty where nothing was compared.
    """

    method: str
    parameters: dict[str, Any]
    reasons: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    methods: Comparison | None = field(default=None, repr=False)
    skipped: dict[str, str] = field(default_factory=dict, repr=False)
    cost: str = ""

    def make(self, **more: Any) -> Any:
        """Make the estimator, not fitted.

        Parameters
        ----------
        **more
            Further parameters, such as ``unlabeled``.
        """
        return get(self.method).make(**{**self.parameters, **more})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and numbers, for JSON."""
        parameters = {
            k: v for k, v in self.parameters.items() if k not in ("estimators", "weights")
        }
        return {
            "method": self.method,
            "parameters": parameters,
            "members": [dict(vars(member)) for member in self.members],
            "reasons": list(self.reasons),
            "ignored": list(self.ignored),
            "notes": list(self.notes),
            "methods": None if self.methods is None else self.methods.to_dict(),
            "skipped": dict(self.skipped),
            "cost": self.cost,
        }


def choose(
    X: Any,
    y: ArrayLike,
    *,
    parameters: Mapping[str, Any] | None = None,
    unlabeled: Any = -1,
    scoring: str = "accuracy",
    quick: bool = False,
    time_limit: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    tell: Told | None = None,
) -> Choice:
    """Choose a method, or a committee of methods, for partly labelled data.

    Tried are the methods of the registry that are marked for it and suit the data: the
    supervised SVM and methods that use the unlabelled rows in different ways, some with a
    second setting. The labelled rows are split into five folds; held-out rows stay in as
    unlabelled rows. Methods are weighed by the log-loss of the held-out labels, and are
    taken together, or one alone that has most of the weight. With fewer than four labels
    to hold out, all have the same weight.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n, d)
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    parameters : mapping, optional
        Given values: each goes to the methods that have the parameter, and is not varied.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    scoring : {"accuracy", "balanced_accuracy", "f1_macro"}, default="accuracy"
        What is reported of the methods; weights follow the log-loss.
    quick : bool, default=False
        Whether to try four quick methods only.
    time_limit : float, optional
        Seconds for the choice, by default 20, or 8 if quick. Methods that would take longer
        are left out. The last fit, to all rows, comes on top.
    random_state : int, default=0
        Seed of the folds, and of the sample where there are more than 1,500 unlabelled
        rows.
    n_jobs : int, default=None
        Threads of each fit.
    tell : callable(Step), optional
        Called before every fit, with what it is and how many there are. If it returns True,
        what is known by then decides.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from semisvm.model_selection import choose
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> X = X / np.linalg.norm(X, axis=1, keepdims=True)
    >>> labels = np.where(np.arange(len(y)) < 40, y, -1)
    >>> choice = choose(X, labels, quick=True)
    >>> model = choice.make().fit(X, labels)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    check_choice("scoring", scoring, METRICS)
    limit = QUICK_SECONDS if quick else SECONDS
    if time_limit is not None:
        limit = check_real("time_limit", time_limit, above=0)
    given = dict(parameters or {})
    threads = {"n_jobs": given.pop("n_jobs")} if "n_jobs" in given else {}
    labels = encode(y, unlabeled)
    rows = _sample(labels, random_state)
    sample = PartialLabels(labels.classes, labels.codes[rows])
    must_stay = False
    if isinstance(X, RowsOnDisk):
        must_stay = not X.can_load()
        X.check()
    X = read_rows(take_rows(X, rows))
    entries = pool(X, labels, given)
    if must_stay:
        entries = [entry for entry in entries if entry.make(unlabeled).reads_in_passes]
    _refuse_unknown(given, entries)
    if quick:
        entries = [entry for entry in entries if entry.name in QUICK]
    trial = _Trial(X, sample, entries, given, threads.get("n_jobs", n_jobs))
    found = trial.run(limit, scoring, random_state, tell)
    if len(rows) < len(labels.codes):
        found.reasons.append(f"{MOST_UNLABELED:,} of the unlabelled rows were used to choose.")
    if must_stay:
        found.reasons.append("All rows are too many for memory: methods that need them are out.")
    return found.choice(given, threads, unlabeled)


@dataclass
class _Found:
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
        return Choice(method, parameters, *facts, self.methods, self.skipped, self.cost)


@dataclass(frozen=True)
class _Trial:
    """The rows on which everything is tried."""

    X: Any
    labels: PartialLabels
    entries: Sequence[Entry]
    given: Mapping[str, Any]
    n_jobs: int | None

    def run(self, limit: float, scoring: str, seed: int, tell: Told | None) -> _Found:
        """Race the entries and weigh them."""
        few = too_few(self.labels)
        if few or len(self.entries) == 1:
            return self._without_comparison(few)
        race = Race(self._folds(seed), self.labels.codes, limit, tell)
        with Workers(thread_count(self.n_jobs)) as workers, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            grounds, shares = Grounds(self.X, workers), self._shares()

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
        return class_shares(estimator, self.X, self.labels)

    def _folds(self, seed: int) -> list[Index]:
        counts = np.bincount(self.labels.codes[self.labels.labeled])
        n_splits = min(N_SPLITS, int(counts[counts > 1].sum()))
        cv = PartialLabelKFold(n_splits, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return list(cv.folds(self.labels.codes))

    def _without_comparison(self, why: str | None) -> _Found:
        """Take all quick entries with equal weights, or the only one."""
        chosen = [entry for entry in self.entries if entry.name == entry.method.name]
        names = [entry.name for entry in chosen if entry.name != "da"]
        chosen = [entry for entry in chosen if entry.name in names]
        if len(chosen) == 1:
            reason = f"{names[0]} is the only method that suits the data."
        else:
            reason = f"{why}: {series(names)} have the same weight in a committee."
        equal = np.full(len(chosen), 2.0 / len(chosen))
        return _Found(chosen, equal, [reason], pool=self.entries)

    def _weighed(self, runners: Sequence[Runner], race: Race, scoring: str) -> _Found:
        n_folds = len(runners[0].scores)
        codes = [self.labels.codes[fold] for fold in race.folds[:n_folds]]
        held = [np.concatenate(runner.scores) for runner in runners]
        weights = without_small(stacked_weights(held, np.concatenate(codes)))
        shares = weights / weights.sum()
        if shares.max() >= ALONE:
            weights = np.where(shares == shares.max(), weights, 0.0)
        together = int(np.count_nonzero(weights)) > 1
        entries = [runner.entry for runner in runners]
        name = COMMITTEE if together else entries[int(weights.argmax())].name
        named = dict(zip([entry.name for entry in entries], shares.tolist(), strict=True))
        reasons = [_about_weights(name, named)]
        compared = None
        if n_folds > 1:
            compared = self._comparison(runners, codes, scoring, together)
            reasons = [_about_scores(compared), *reasons, *_conclusions(compared, name)]
        if race.stopped:
            reasons.append(f"Not all folds were used, because {race.stopped}.")
        if race.dropped:
            listed = "; ".join(f"{name}, because {why}" for name, why in race.dropped.items())
            reasons.append(f"Given up: {listed}.")
        fits, tried = counted(race.n_fits, "fit"), counted(len(self.entries), "candidate")
        cost = (
            f"The choice took {measured_time(race.seconds)}: {fits} of {tried} on "
            f"{counted(n_folds, 'fold')} of the labels."
        )
        return _Found(entries, weights, reasons, compared, race.dropped, cost, self.entries)

    def _comparison(
        self,
        runners: Sequence[Runner],
        codes: Sequence[NDArray[np.intp]],
        scoring: str,
        together: bool,
    ) -> Comparison:
        """Summarise the folds; a committee is scored with the weights of the other folds."""
        metric, n_folds = METRICS[scoring], len(codes)
        found = {
            runner.name: [
                FoldScore(runner.name, k, metric(codes[k], _codes(scores)), runner.seconds[k])
                for k, scores in enumerate(runner.scores)
            ]
            for runner in runners
        }
        if together and n_folds > 1:
            seconds = [sum(runner.seconds[k] for runner in runners) for k in range(n_folds)]
            found[COMMITTEE] = [
                FoldScore(COMMITTEE, k, metric(codes[k], _voted(runners, codes, k)), seconds[k])
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
            chance=[_guess(labeled, part, metric, k) for k, part in enumerate(codes)],
        )


def _codes(scores: Floats) -> NDArray[np.intp]:
    return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def _voted(
    runners: Sequence[Runner], codes: Sequence[NDArray[np.intp]], fold: int
) -> NDArray[np.intp]:
    """Predict a fold by a committee whose weights come from the other folds."""
    others = [k for k in range(len(codes)) if k != fold]
    held = [np.concatenate([runner.scores[k] for k in others]) for runner in runners]
    weights = stacked_weights(held, np.concatenate([codes[k] for k in others]))
    scales = [float(np.sqrt(np.mean(np.square(scores)))) or 1.0 for scores in held]
    parts = [w / s * r.scores[fold] for w, s, r in zip(weights, scales, runners, strict=True)]
    return _codes(np.asarray(np.sum(parts, axis=0)))


def _guess(labeled: NDArray[np.intp], part: NDArray[np.intp], metric: Any, fold: int) -> FoldScore:
    """Score the guess of the class that is most frequent among the labels of the other folds."""
    m = int(labeled.max()) + 1
    rest = np.bincount(labeled, minlength=m) - np.bincount(part, minlength=m)
    guess = np.full(len(part), int(rest.argmax()))
    return FoldScore(MOST_FREQUENT, fold, metric(part, guess), 0.0)


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


def _refuse_unknown(given: Mapping[str, Any], entries: Sequence[Entry]) -> None:
    known = {p.name for entry in entries for p in entry.method.parameters}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)} cannot be set where the method is chosen; name a method. The "
            f"parameters that can be set are {', '.join(sorted(known))}."
        )


def _sample(labels: PartialLabels, seed: int) -> Index:
    free = labels.unlabeled
    if len(free) > MOST_UNLABELED:
        free = np.random.default_rng(seed).choice(free, MOST_UNLABELED, replace=False)
    return np.sort(np.concatenate([labels.labeled, free]))


def _about_scores(found: Comparison) -> str:
    tried = ", ".join(f"{m.name} {m.mean:.3f}" for m in found.methods)
    return f"Mean {found.scoring} on labels that were held out: {tried}."


def _about_weights(name: str, shares: Mapping[str, float]) -> str:
    if name == COMMITTEE:
        kept = sorted((share, member) for member, share in shares.items() if share > 0.0)[::-1]
        weights = ", ".join(f"{member} {share:.0%}" for share, member in kept)
        return f"No method was clearly the best, so they decide together, with weights {weights}."
    return (
        f"{name} decides alone: it was the surest of the held-out labels, and all others together "
        f"would have {1.0 - shares[name]:.0%} of the weight in a committee."
    )


def _conclusions(found: Comparison, name: str) -> list[str]:
    """Say whether the unlabelled rows helped, and whether the choice is better than a guess."""
    chance = found.about_chance(name)
    return [*_about_unlabelled(found, name), *([chance] if chance else [])]


def _about_unlabelled(found: Comparison, method: str) -> tuple[str, ...]:
    """Say whether the unlabelled rows helped, so that it agrees with the choice."""
    if not found.differences:
        return ()
    verdict = found.did_it_help()
    if method == found.baseline or method not in [d.name for d in found.differences]:
        return (verdict.sentence,)
    ahead = next(d for d in found.differences if d.name == method)
    if ahead.verdict != NO_EVIDENCE:
        return (f"The unlabelled rows {ahead.verdict}: {method} {found.gap(ahead)}.",)
    word = "probably helped, but" if round(ahead.mean, 3) > 0.0 else "may help, but"
    return (
        f"The unlabelled rows {word} {found.n_labeled} labels cannot prove it: "
        f"{method} {found.gap(ahead)}.",
    )
