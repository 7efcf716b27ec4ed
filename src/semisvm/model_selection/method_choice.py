"""Choosing a method, or a committee of methods, by labels that were held out.

No method is best on all data, and few labels are little evidence of which one is. So methods of
different kinds are tried on the same folds (`SuccessiveHalving`) and weighed (`Trial`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Index
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import read_rows, take_rows
from semisvm.estimators.held_out import NEW_ROWS, USES
from semisvm.estimators.registry import methods
from semisvm.labels.evidence import with_evidence
from semisvm.labels.partial import PartialLabels, encode
from semisvm.labels.weights import checked_weights
from semisvm.model_selection.candidates import LIKELIHOOD, Choice, Entry, ForeignMethod, pool
from semisvm.model_selection.comparison_result import ProgressCallback
from semisvm.model_selection.cross_validation import Trial
from semisvm.model_selection.metrics import OF_SCORES
from semisvm.model_selection.splits import group_numbers
from semisvm.text import rough_time
from semisvm.validation import check_choice, check_real

MOST_UNLABELED = 1_500
"""Unlabelled rows that are used to choose; all are used for the last fit."""
LAST_FIT = 5.0
"""How much longer than the choice the fit of one method to all rows may take, by its estimate."""
SECONDS = 20.0
"""Time for the choice by default."""
QUICK_SECONDS = 8.0
QUICK = ("svm", "tsvm", "laprls", "gradient", LIKELIHOOD[0])


def choose(
    X: Any,
    y: ArrayLike,
    *,
    parameters: Mapping[str, Any] | None = None,
    unlabeled: Any = -1,
    scoring: str = "accuracy",
    use: str = NEW_ROWS,
    quick: bool = False,
    exportable: bool = False,
    time_limit: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    evidence: Any = None,
    others: Mapping[str, Any] | None = None,
) -> Choice:
    """Choose a method, or a committee of methods, for partly labelled data.

    Tried are the methods of the registry that are marked for it and suit the data: the
    supervised SVM and methods that use the unlabelled rows in different ways, some with a
    second setting. The labelled rows are split into five folds. Half of a fold takes no part
    in the fit, as new rows do; the other half stays in as unlabelled rows. Methods are weighed
    by the log-loss of the held-out labels, and are taken together, or one alone that has most
    of the weight. With fewer than four labels to hold out, all have the same weight.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n, d)
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    parameters : mapping, optional
        Given values: each goes to the methods that have the parameter, and is not varied.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    scoring : {"accuracy", "balanced_accuracy", "f1_macro", "average_precision"}
        What is reported of the methods, by default the accuracy; weights follow the log-loss.
    use : {"new_rows", "transduction"}, default="new_rows"
        What the model is for. Held-out rows that are like the rows of the use count three times:
        those that take no part in the fit for new rows, and those that stay in as unlabelled
        rows if the model is only for the unlabelled rows of ``X``. Both figures are reported.
    quick : bool, default=False
        Whether to try four quick methods only.
    exportable : bool, default=False
        Whether to try only methods whose models other programs can compute (`semisvm.to_onnx`).
    time_limit : float, optional
        Seconds for the choice, by default 20, or 8 if quick. Methods that would take longer
        are left out, and so are those whose fit to all rows would take five times as long.
        This last fit comes on top, and so does the time to compile code, once per machine.
    random_state : int, default=0
        Seed of the folds, and of the sample where there are more than 1,500 unlabelled
        rows.
    n_jobs : int, default=None
        Threads of each fit.
    progress : callable(Step), optional
        Called before every fit, with what it is and how many there are. If it returns True,
        what is known by then decides.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the fits; methods that take none are left out. Held-out labels
        count once each.
    groups : array-like of shape (n,), optional
        Rows that belong together, such as the messages of one sender. Those of the groups of
        held-out labels take no part in the fit.
    evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, optional
        What is known about rows, as in ``TransductiveSVC.fit``, for the methods that take it. It
        stays known about rows whose labels are held out.
    others : mapping of str to classifier, optional
        Classifiers of other packages that are tried too, by names of their own. They are fitted to
        the labelled rows, or to all rows if they take unlabelled ones.

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
    >>> choice = choose(X, labels, quick=True, time_limit=60)
    >>> model = choice.make().fit(X, labels)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    check_choice("scoring", scoring, OF_SCORES)
    check_choice("use", use, USES)
    limit = QUICK_SECONDS if quick else SECONDS
    if time_limit is not None:
        limit = check_real("time_limit", time_limit, above=0)
    given = dict(parameters or {})
    if np.ndim(given.get("label_noise", 0.0)):
        raise ValueError(
            "where a method is chosen, label_noise is a number or by class; name a method to give "
            "one per row."
        )
    threads = {"n_jobs": given.pop("n_jobs")} if "n_jobs" in given else {}
    labels = with_evidence(encode(y, unlabeled), evidence)
    weight = checked_weights(sample_weight, X, labels)
    group = None if groups is None else group_numbers(groups, labels.codes)
    rows = _sample(labels, random_state)
    sample = labels.of_rows(rows)
    must_stay = False
    if isinstance(X, RowsOnDisk):
        must_stay = not X.can_load()
        X.check()
    X = read_rows(take_rows(X, rows))
    entries = pool(X, labels, given)
    if must_stay:
        entries = [entry for entry in entries if entry.make(unlabeled).reads_in_passes]
    if weight is not None:
        entries = [entry for entry in entries if entry.method.takes_weights]
    _refuse_unknown(given, entries)
    if exportable:
        entries = [entry for entry in entries if entry.make(unlabeled).is_exportable]
    if quick:
        entries = [
            entry
            for entry in entries
            if entry.name in QUICK or (entry.uses_evidence and entry.method.name in QUICK)
        ]
    entries += _others(others, entries, weight is not None)
    entries, left_out = _affordable(entries, LAST_FIT * limit)
    own = None if weight is None else weight[rows]
    group = None if group is None else group[rows]
    jobs = threads.get("n_jobs", n_jobs)
    trial = Trial(X, sample, entries, given, jobs, own, left_out, use, group)
    found = trial.run(limit, scoring, random_state, progress)
    if len(rows) < len(labels.codes):
        found.reasons.append(f"{MOST_UNLABELED:,} of the unlabelled rows were used to choose.")
    if must_stay:
        found.reasons.append("All rows are too many for memory: methods that need them are out.")
    return found.choice(given, threads, unlabeled)


def _others(
    others: Mapping[str, Any] | None, entries: Sequence[Entry], weighted: bool
) -> list[Entry]:
    """Return classifiers of other packages; those that take no weights are left out for them."""
    found = [ForeignMethod.of(str(name), made) for name, made in (others or {}).items()]
    taken = {entry.name for entry in entries} | {method.name for method in methods()}
    twice = [method.name for method in found if method.name in taken]
    if twice:
        raise ValueError(f"others: {', '.join(twice)} is the name of a method; give another one.")
    return [Entry(m.name, m) for m in found if m.takes_weights or not weighted]


def _affordable(entries: Sequence[Entry], limit: float) -> tuple[list[Entry], dict[str, str]]:
    """Leave out what could not be fitted to all rows within a limit; return why it is.

    The supervised method and the quickest other one always stay.
    """
    slow = [entry for entry in entries[2:] if entry.last_seconds > limit]
    why = {
        entry.name: f"the fit to all rows would take {rough_time(entry.last_seconds)}"
        for entry in slow
    }
    return [entry for entry in entries if entry.name not in why], why


def _refuse_unknown(given: Mapping[str, Any], entries: Sequence[Entry]) -> None:
    known = {name for entry in entries for name in entry.method.parameters}
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
