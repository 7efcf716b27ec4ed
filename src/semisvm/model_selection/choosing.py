"""Choosing a method and its settings by cross-validation, and saying why.

Few labels make noisy scores, and the best of many noisy scores is mostly luck. So few things
are tried, and a simple choice is given up only for one that is better by more than the standard
error of the difference: first the supervised method for one that uses the unlabelled rows, then
the default settings of that method for others.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from semisvm.designs.base import Index
from semisvm.model_selection.comparison import NO_EVIDENCE, Comparison
from semisvm.model_selection.intervals import resampled_error
from semisvm.model_selection.side_by_side import compare
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.model_selection.watching import Counting, Told
from semisvm.partial_labels import PartialLabels, encode
from semisvm.registry import Method, get, methods, without_effect
from semisvm.rows import take_rows

FALLBACK = "tsvm"
"""Used where there are too few labels to cross-validate."""
MARGIN = 1.0
"""Standard errors by which something else must be better than the simple choice."""
N_SPLITS = 5
FEWEST_LABELS = 10
"""With fewer, a fold holds out one row."""
MOST_UNLABELED = 3000
"""Unlabelled rows that are used to choose; all are used for the last fit."""
DEFAULTS = "defaults"


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes
    ----------
    method : str
        A name of `semisvm.registry`.
    parameters : dict
        The given ones and the chosen ones.
    reasons : tuple of str
        Sentences.
    ignored : tuple of str
        Names of given parameters that the method does not have.
    notes : tuple of str
        Sentences about them.
    methods, settings : Comparison or None
        The methods with their defaults; the settings of the method. None where nothing
        was compared.
    """

    method: str
    parameters: dict[str, Any]
    reasons: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    methods: Comparison | None = field(default=None, repr=False)
    settings: Comparison | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and numbers, for JSON."""
        return {
            "method": self.method,
            "parameters": self.parameters,
            "reasons": list(self.reasons),
            "ignored": list(self.ignored),
            "notes": list(self.notes),
            "methods": None if self.methods is None else self.methods.to_dict(),
            "settings": None if self.settings is None else self.settings.to_dict(),
        }


@dataclass(frozen=True)
class _Trial:
    """The rows on which everything is tried, and how."""

    X: Any
    y: NDArray[Any]
    cv: PartialLabelKFold
    scoring: str
    n_jobs: int | None
    tell: Told | None

    def __call__(self, candidates: Mapping[str, Any], what: str) -> Comparison:
        watcher = None if self.tell is None else Counting(self.tell, len(candidates), what)
        with warnings.catch_warnings():
            # the last fit says it again if it still holds
            warnings.simplefilter("ignore", UserWarning)
            return compare(
                candidates,
                self.X,
                self.y,
                cv=self.cv,
                scoring=self.scoring,
                unlabeled=self.cv.unlabeled,
                n_jobs=self.n_jobs,
                watcher=watcher,
            )

    def pick(self, found: Comparison) -> str:
        """Return the best one that beats the baseline by the margin, else the baseline."""
        base = np.asarray(found[found.baseline].scores)
        best, gain = found.baseline, 0.0
        for other in found.methods:
            ahead = np.asarray(other.scores) - base
            error = resampled_error(ahead, 1.0 / (self.cv.n_splits - 1))
            if ahead.mean() > max(gain, MARGIN * error):
                best, gain = other.name, float(ahead.mean())
        return best


def choose(
    X: Any,
    y: ArrayLike,
    *,
    parameters: Mapping[str, Any] | None = None,
    unlabeled: Any = -1,
    scoring: str = "accuracy",
    random_state: int = 0,
    n_jobs: int | None = None,
    tell: Told | None = None,
) -> Choice:
    """Choose among the methods of the registry that are marked for it, by cross-validation.

    The labelled rows are split into folds; held-out rows stay in as unlabelled rows. Methods are
    compared with their defaults, then the settings in the grid of the method that won,
    one change at a time. With fewer than ten labels, or a class with one label, nothing
    is compared and the transductive SVM with its defaults is used.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n, d)
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    parameters : mapping, optional
        Given values: each goes to the methods that have the parameter, and is not chosen.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    scoring : str, default="accuracy"
        As in `partial_scorer`.
    random_state : int, default=0
        Seed of the folds, and of the sample where there are more than 3,000 unlabelled
        rows.
    n_jobs : int, default=None
        Fits at the same time, in processes.
    tell : callable(Step), optional
        Called before every fit, with what it is and how many there are.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm.model_selection import choose
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> labels = np.full(len(y), -1)
    >>> labels[15:23] = y[15:23]
    >>> choice = choose(scale(X), labels)
    >>> choice.method, choice.reasons[0]
    ('tsvm', '8 labels are too few to compare methods: tsvm is used without a comparison.')
    """
    given = dict(parameters or {})
    n_threads = {"n_jobs": given.pop("n_jobs")} if "n_jobs" in given else {}
    labels = encode(y, unlabeled)
    fitting = candidates(labels, bool(sparse.issparse(X)) or getattr(X, "is_sparse", False))
    _refuse_unknown(given, fitting)
    missing = too_few(labels)
    if missing:
        fallback = get(FALLBACK)
        reason = f"{missing}: {FALLBACK} is used without a comparison."
        parameters = accepted(fallback, given) | n_threads
        return Choice(FALLBACK, parameters, (reason,), *_unused(fallback, given, fitting))
    rows = _sample(labels, random_state)
    repeats = 3 if len(labels.classes) == 2 else 1
    cv = PartialLabelKFold(
        N_SPLITS, n_repeats=repeats, shuffle=True, random_state=random_state, unlabeled=unlabeled
    )
    trial = _Trial(take_rows(X, rows), np.asarray(y)[rows], cv, scoring, n_jobs, tell)
    by_method = trial(
        {m.name: m.make(unlabeled=unlabeled, **accepted(m, given)) for m in fitting}, ""
    )
    method = get(trial.pick(by_method))
    fixed = accepted(method, given)
    changed, by_setting = _choose_setting(trial, method, fixed)
    reasons = _reasons(by_method, method.name, by_setting, changed)
    if len(rows) < len(labels.codes):
        reasons += (f"{MOST_UNLABELED:,} of the unlabelled rows were used to choose.",)
    chosen = fixed | changed | n_threads
    unused = _unused(method, given, fitting)
    return Choice(method.name, chosen, reasons, *unused, by_method, by_setting)


def _choose_setting(
    trial: _Trial, method: Method, fixed: dict[str, Any]
) -> tuple[dict[str, Any], Comparison]:
    """Return the setting that beats the defaults, or nothing, and the comparison."""
    others = {_words(other): other for other in neighbours(method, fixed)}
    tried = {
        name: method.make(unlabeled=trial.cv.unlabeled, **fixed, **other)
        for name, other in {DEFAULTS: {}, **others}.items()
    }
    found = trial(tried, f"{method.name}, ")
    return others.get(trial.pick(found), {}), found


def candidates(labels: PartialLabels, is_sparse: bool) -> list[Method]:
    """List the methods to choose from, the supervised one first."""
    shape = (len(labels.classes), len(labels.unlabeled), is_sparse)
    return [method for method in methods() if method.auto and method.misfit(*shape) is None]


def accepted(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the given parameters that the method has."""
    return {name: value for name, value in given.items() if method.parameter(name) is not None}


def _unused(
    method: Method, given: Mapping[str, Any], fitting: list[Method]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of given parameters that the method does not have, and notes about them."""
    names = tuple(name for name in given if method.parameter(name) is None)
    return names, tuple(without_effect(method, names, fitting))


def neighbours(method: Method, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List settings that differ from the defaults in one parameter that was not given."""
    return [
        {name: value}
        for name, values in method.grid.items()
        for value in values
        if name not in given
    ]


def too_few(labels: PartialLabels) -> str | None:
    """Say why labels cannot be split into folds, or None if they can."""
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    if counts.sum() < FEWEST_LABELS:
        return f"{counts.sum()} labels are too few to compare methods"
    if counts.min() < 2:
        once = labels.classes[counts < 2]
        which = f"class {once[0]!s} has" if len(once) == 1 else f"{len(once)} classes have"
        return f"{which} a single label, which cannot be held out to compare methods"
    return None


def _refuse_unknown(given: Mapping[str, Any], fitting: list[Method]) -> None:
    known = {p.name for method in (*fitting, get(FALLBACK)) for p in method.parameters}
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


def _words(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in setting.items())


def _reasons(
    by_method: Comparison, method: str, by_setting: Comparison, changed: Mapping[str, Any]
) -> tuple[str, ...]:
    tried = ", ".join(f"{m.name} {m.mean:.3f}" for m in by_method.methods)
    first = f"{method} was chosen by cross-validated {by_method.scoring}: {tried}."
    if changed:
        setting, usual = _words(changed), by_setting[DEFAULTS].mean
        second = f"{setting} scored {by_setting[setting].mean:.3f}, the default {usual:.3f}."
    else:
        second = f"No other setting of {method} was clearly better than its defaults."
    chance = by_method.about_chance(method)
    return first, second, *_about_unlabelled(by_method, method), *([chance] if chance else [])


def _about_unlabelled(found: Comparison, method: str) -> tuple[str, ...]:
    """Say whether the unlabelled rows helped, so that it agrees with the choice."""
    if not found.differences:
        return ()
    verdict = found.did_it_help()
    if method == found.baseline or verdict.word != NO_EVIDENCE:
        return (verdict.sentence,)
    ahead = next(d for d in found.differences if d.name == method)
    return (
        f"The unlabelled rows probably helped, but {found.n_labeled} labels cannot prove it: "
        f"{method} {found.gap(ahead)}.",
    )
