"""The result of a comparison: plain data, and the conclusions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from semisvm.estimators.held_out import NEW_ROWS
from semisvm.model_selection.intervals import (
    difference_interval,
    held_out_difference,
    held_out_interval,
    score_interval,
)
from semisvm.model_selection.metrics import ACCURACY, ANY, BOUNDS
from semisvm.model_selection.verdict import (
    HELPED,
    NO_EVIDENCE,
    AgainstChance,
    Verdict,
    against_chance,
    verdict_of,
    word_of,
)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Step:
    """A fit that begins.

    Attributes
    ----------
    name : str
        Of the method or setting.
    fold, n_folds : int
        Counted from 1, over all repeats.
    done, total : int
        Fits that are done, and that there are.
    left : float, optional
        Estimated seconds until all are done.
    """

    name: str
    fold: int
    n_folds: int
    done: int
    total: int
    left: float | None = None

    def __str__(self) -> str:
        return f"{self.name}, fold {self.fold} of {self.n_folds}"


ProgressCallback = Callable[[Step], Any]


@dataclass(frozen=True)
class FoldScore:
    """One fit: method, fold, score on the held-out rows, seconds of the fit, held-out labels.

    Attributes
    ----------
    name : str
    fold : int
    score : float
        On all held-out rows.
    seconds : float
    n : int
        Held-out labels.
    new_rows, fit_rows : float or None
        On the held-out rows that took no part in the fit, and on those that were unlabelled rows
        of it; None where there is none.
    right : tuple of bools, optional
        Whether each held-out label was predicted, where accuracies are compared.
    """

    name: str
    fold: int
    score: float
    seconds: float
    n: int = 1
    new_rows: float | None = None
    fit_rows: float | None = None
    right: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class MethodScores:
    """A method over all folds.

    Attributes
    ----------
    name : str
    scores, seconds : tuples of floats
        One per fold; the seconds are those of the fit.
    mean : float
        Over the folds, by their numbers of labels.
    interval : pair of floats
        For the mean score.
    chance : AgainstChance or None
        The method beside the guess of the most frequent class; None where the scorer is one
        of the user's.
    new_rows, fit_rows : float or None
        Mean score on held-out rows that took no part in the fits, and on those that were
        unlabelled rows of them.
    """

    name: str
    scores: tuple[float, ...]
    seconds: tuple[float, ...]
    mean: float
    interval: Interval
    chance: AgainstChance | None = None
    new_rows: float | None = None
    fit_rows: float | None = None

    @property
    def fit_seconds(self) -> float:
        """Median seconds of a fit."""
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Difference:
    """A method minus the supervised baseline, fold by fold.

    Attributes
    ----------
    name : str
    mean : float
    interval : pair of floats
        Holds for all methods of the comparison at once.
    verdict : {"helped", "no evidence", "hurt"}
    """

    name: str
    mean: float
    interval: Interval
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """Methods on the same folds.

    Attributes
    ----------
    methods : tuple of MethodScores
        In the order given.
    differences : tuple of Difference
        Of all methods but the baseline.
    baseline, scoring : str
    confidence : float
    n_labeled, n_unlabeled : int
    supervised : tuple of str
        Methods besides the baseline that do not use the unlabelled rows either.
    chosen : str or None
        The method of the model that was chosen by this comparison, if one was.
    use : {"new_rows", "transduction"}
        What the models are for. A method must be ahead on such rows too to have helped.
    """

    methods: tuple[MethodScores, ...]
    differences: tuple[Difference, ...]
    baseline: str
    scoring: str
    confidence: float
    n_labeled: int
    n_unlabeled: int
    supervised: tuple[str, ...] = ()
    chosen: str | None = None
    use: str = NEW_ROWS

    @classmethod
    def of(
        cls,
        found: Mapping[str, Sequence[FoldScore]],
        *,
        baseline: str,
        scoring: str,
        confidence: float,
        test_share: float,
        n_labeled: int,
        n_unlabeled: int,
        chance: Sequence[FoldScore] | None = None,
        n_held: int | None = None,
        supervised: Sequence[str] = (),
        chosen: str | None = None,
        use: str = NEW_ROWS,
        grouped: bool = False,
    ) -> "Comparison":
        """Summarise the scores of all folds.

        ``n_held`` is the number of different labels that were held out, by default all. Where rows
        are ``grouped``, those of a group are alike, which only the variance of the folds shows.
        """
        held = n_labeled if n_held is None else n_held
        found, chance = _scored(found, chance)
        scores = {name: [fold.score for fold in folds] for name, folds in found.items()}
        # folds of few labels differ in size: each label counts the same
        sizes = [fold.n for fold in found[baseline]]
        bounds = BOUNDS.get(scoring, ANY)

        def interval_of(values: Sequence[float]) -> Interval:
            if scoring != ACCURACY or grouped:
                return score_interval(values, test_share, held, confidence, bounds)
            share = float(np.average(values, weights=sizes))
            return held_out_interval(share, held, n_labeled, confidence)

        def apart(
            first: Sequence[FoldScore], second: Sequence[FoldScore], level: float
        ) -> Interval:
            pairs = [(one.right, other.right) for one, other in zip(first, second, strict=True)]
            flags = [(a, b) for a, b in pairs if a is not None and b is not None]
            if grouped or len(flags) < len(pairs):
                ours, theirs = ([fold.score for fold in folds] for folds in (first, second))
                return difference_interval(ours, theirs, test_share, held, level, bounds)
            right, other_right = np.concatenate(flags, axis=1)
            return held_out_difference(right, other_right, held, level)

        methods = tuple(
            MethodScores(
                name,
                tuple(values),
                tuple(fold.seconds for fold in found[name]),
                float(np.average(values, weights=sizes)),
                interval_of(values),
                None
                if chance is None
                else against_chance(
                    values,
                    [fold.score for fold in chance],
                    held,
                    sizes=sizes,
                    interval=apart(found[name], chance, confidence),
                ),
                _mean([fold.new_rows for fold in found[name]]),
                _mean([fold.fit_rows for fold in found[name]]),
            )
            for name, values in scores.items()
        )
        named = {method.name: method for method in methods}
        others = [name for name in scores if name != baseline]
        shared = 1.0 - (1.0 - confidence) / max(len(others), 1)
        differences = tuple(
            _difference(
                name,
                float(np.average(np.subtract(scores[name], scores[baseline]), weights=sizes)),
                apart(found[name], found[baseline], shared),
                held,
                _ahead(named[name], named[baseline], use),
            )
            for name in others
        )
        facts = (baseline, scoring, confidence, n_labeled, n_unlabeled, tuple(supervised), chosen)
        return cls(methods, differences, *facts, use)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], chosen: str | None = None) -> "Comparison":
        """Return what ``to_dict`` was made of, so that the verdict follows from the numbers.

        Parameters
        ----------
        plain : mapping
            Also that of an earlier version, which may lack fields.
        chosen : str, optional
            The method that was chosen, where the mapping does not name it.
        """
        methods = [
            MethodScores(
                m["name"],
                tuple(m.get("scores", ())),
                tuple(m.get("seconds", (m["fit_seconds"],))),
                m["mean"],
                tuple(m["interval"]),
                AgainstChance.from_dict(m.get("chance"), plain["n_labeled"]),
                m.get("new_rows"),
                m.get("fit_rows"),
            )
            for m in plain["methods"]
        ]
        use = plain.get("use", NEW_ROWS)
        named = {m.name: m for m in methods}
        base = named.get(plain["baseline"])
        differences = [
            _difference(
                d["name"],
                d["mean"],
                (d["interval"][0], d["interval"][1]),
                plain["n_labeled"],
                _ahead(named.get(d["name"]), base, use),
            )
            for d in plain["differences"]
        ]
        kept = plain.get("chosen") or chosen
        return cls(
            tuple(methods),
            tuple(differences),
            plain["baseline"],
            plain["scoring"],
            plain["confidence"],
            plain["n_labeled"],
            plain.get("n_unlabeled", 0),
            tuple(plain.get("supervised", ())),
            kept if kept in named else None,
            use,
        )

    def __getitem__(self, name: str) -> MethodScores:
        for method in self.methods:
            if method.name == name:
                return method
        raise KeyError(f"{name!r}; the methods are {[m.name for m in self.methods]}")

    @property
    def best(self) -> str:
        """Name of the method with the highest mean score, the first one of ties."""
        return max(self.methods, key=lambda method: method.mean).name

    def did_it_help(self) -> Verdict:
        """Report whether the unlabelled rows helped, and which method to take."""
        return verdict_of(self)

    def gap(self, top: Difference) -> str:
        """Report how far a method is ahead of the baseline, or behind it."""
        low, high = top.interval
        shown = round(top.mean, 3)
        word = "ahead of" if shown > 0.0 else "behind" if shown < 0.0 else "level with"
        by = f"{abs(shown):.3f} " if shown else ""
        return (
            f"is {by}{word} {self.baseline} in {self.scoring} "
            f"({self.confidence:.0%} interval {low:+.3f} to {high:+.3f})"
        )

    def about_chance(self, name: str) -> str | None:
        """Compare a method with guessing the most frequent class, where that was measured."""
        chance = self[name].chance
        if chance is None:
            return None
        # where folds were left out, the number is not that of the labelled rows
        some = chance.n_labels is not None and chance.n_labels < self.n_labeled
        return chance.sentence(name, "held-out labels" if some else "labels")

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from semisvm.reporting.notebook import comparison_view

        return str(comparison_view(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and numbers, for JSON."""
        plain = asdict(self)
        for entry, method in zip(plain["methods"], self.methods, strict=True):
            entry["fit_seconds"] = method.fit_seconds
        return {**_listed(plain), "best": self.best, "did_it_help": asdict(self.did_it_help())}

    def __str__(self) -> str:
        width = max(len(method.name) for method in self.methods)
        verdicts = {d.name: f"{d.mean:+.3f}  {d.verdict}" for d in self.differences}
        lines = [
            f"{m.name:{width}}  {m.mean:.3f} [{m.interval[0]:.3f}, {m.interval[1]:.3f}]  "
            f"{parts_in_short(m)}"
            f"{m.fit_seconds:8.3g} s  {verdicts.get(m.name, 'baseline')}"
            for m in self.methods
        ]
        return "\n".join([*lines, *self.did_it_help().sentences])


def _scored(
    found: Mapping[str, Sequence[FoldScore]], chance: Sequence[FoldScore] | None
) -> tuple[dict[str, list[FoldScore]], list[FoldScore] | None]:
    """Leave out folds that have no score, such as the ranking of rows of one class."""
    every = [fold for folds in found.values() for fold in folds]
    without = {fold.fold for fold in every if np.isnan(fold.score)}
    if without >= {fold.fold for fold in every}:
        raise ValueError(
            "no fold holds out rows of two classes, which a score of rankings needs: take fewer "
            "folds, or another score."
        )
    kept = {name: [f for f in folds if f.fold not in without] for name, folds in found.items()}
    return kept, None if chance is None else [f for f in chance if f.fold not in without]


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None and np.isfinite(value)]
    return float(np.mean(there)) if there else None


def _ahead(first: MethodScores | None, second: MethodScores | None, use: str) -> bool:
    """Return whether a method is ahead on the held-out rows that are like those of the use."""
    key = "new_rows" if use == NEW_ROWS else "fit_rows"
    pair = [getattr(method, key, None) for method in (first, second)]
    return pair[0] is None or pair[1] is None or pair[0] > pair[1]


def _difference(
    name: str, mean: float, interval: Interval, n_labels: int, ahead: bool
) -> Difference:
    """Judge a difference; a method that is behind on the rows of the use has not helped."""
    word = word_of(interval, n_labels)
    return Difference(name, mean, interval, NO_EVIDENCE if word == HELPED and not ahead else word)


def _listed(value: Any) -> Any:
    """Turn tuples into lists, which is what comes back from JSON."""
    if isinstance(value, dict):
        return {key: _listed(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [_listed(entry) for entry in value]
    return value


def parts_in_short(method: MethodScores) -> str:
    """Return the scores of new rows and of rows of the fit, where both are known."""
    if method.new_rows is None or method.fit_rows is None:
        return ""
    return f"(new rows {method.new_rows:.3f}, rows of the fit {method.fit_rows:.3f})  "
