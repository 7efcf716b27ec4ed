"""Did the unlabelled rows help? Several methods on the same folds.

Which methods to compare, and how often to repeat the folds, is planned so that it ends soon.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from semisvm.designs.base import Floats, Index
from semisvm.designs.costs import Size
from semisvm.designs.validation import take_rows
from semisvm.estimators.held_out import NEW_ROWS, NONE, USES, kept_rows, outside_parts
from semisvm.estimators.interop import fit_partly, require_evidence, takes_unlabeled
from semisvm.estimators.registry import Method, find
from semisvm.labels.evidence import ratios, with_evidence
from semisvm.labels.partial import (
    PartialLabels,
    encode,
    given_labels,
    hide_labels,
    is_unlabeled,
    label_array,
)
from semisvm.labels.weights import checked_weights
from semisvm.model_selection.comparison_result import Comparison, FoldScore, ProgressCallback, Step
from semisvm.model_selection.crossfit import is_pairwise
from semisvm.model_selection.metrics import ACCURACY, PartialScorer
from semisvm.model_selection.splits import PartialLabelKFold, group_numbers, rows_of_groups
from semisvm.model_selection.verdict import MOST_FREQUENT
from semisvm.text import rough_time
from semisvm.validation import check_choice, check_real

SECONDS = 30.0
"""Time limit of a comparison by default, by a rough estimate."""
SHARE = 0.25
"""Share of it that one method may take, except the two that are always compared."""
REPEATS = 3


@dataclass(frozen=True)
class Plan:
    """What to compare.

    Attributes
    ----------
    methods : tuple of Method
        Those that are always compared first, then those of the automatic choice, by cost.
    slow : dict of floats
        Methods that were left out, with the seconds that they would take.
    repeats : int
        Repeats of the folds.
    seconds : float
        Rough estimate for all fits.
    costs : dict of floats
        Rough seconds of one fit of each method.
    shortened : bool
        Whether folds are repeated less often than usual.
    """

    methods: tuple[Method, ...]
    slow: dict[str, float]
    repeats: int
    seconds: float
    costs: dict[str, float]
    shortened: bool

    def reasons(self) -> dict[str, str]:
        """Return, per method that was left out, the reason."""
        return {name: f"it would take {rough_time(s)}" for name, s in self.slow.items()}

    def notes(self) -> list[str]:
        """Describe what was left out, and why."""
        found = []
        if self.slow:
            listed = ", ".join(f"{name} ({rough_time(s)})" for name, s in self.slow.items())
            found.append(
                f"left out, because they would take long on data of this size: {listed}; "
                "bounded=False compares them too"
            )
        if self.shortened:
            found.append(
                f"the folds are not repeated; repeats={REPEATS} would give narrower intervals and "
                f"take {rough_time(REPEATS * self.seconds)}"
            )
        return found


def plan(
    candidates: Sequence[Method],
    size: Size,
    folds: int,
    repeats: int | None = None,
    *,
    bounded: bool = True,
) -> Plan:
    """Choose what can be compared in about half a minute.

    The supervised method and the cheapest one that is marked for the automatic choice are always
    compared. If they alone take too long, folds are not repeated. The other marked ones follow,
    and then the rest, the cheapest first, while there is time.

    Parameters
    ----------
    candidates : sequence of Method
    size : Size
    folds : int
    repeats : int, optional
        A given number is kept.
    bounded : bool, default=True
        False compares all candidates, however long they take.

    Returns
    -------
    plan : Plan
    """
    costs = {method.name: method.cost.seconds(size) for method in candidates}
    marked = sorted((m for m in candidates[1:] if m.auto), key=lambda m: costs[m.name])
    core = [*candidates[:1], *marked[:1]]
    shortened = bounded and repeats is None and _total(core, costs, folds * REPEATS) > SECONDS
    repeats = (1 if shortened else REPEATS) if repeats is None else repeats
    fits = folds * repeats
    rest = [method for method in candidates if method not in core]
    taken, slow = core, {}
    for method in sorted(rest, key=lambda method: (not method.auto, costs[method.name])):
        own, all_fits = fits * costs[method.name], _total([*taken, method], costs, fits)
        if bounded and (own > SHARE * SECONDS or all_fits > SECONDS):
            slow[method.name] = own
        else:
            taken.append(method)
    total = _total(taken, costs, fits)
    kept = {method.name: costs[method.name] for method in taken}
    return Plan(tuple(taken), slow, repeats, total, kept, shortened)


def _total(methods: Sequence[Method], costs: Mapping[str, float], fits: int) -> float:
    return fits * sum(costs[method.name] for method in methods)


N_SPLITS = 5
N_REPEATS = 3

Scorer = Callable[[Any, Any, Any], float]


@dataclass(frozen=True)
class _Job:
    """What every fit of a comparison needs."""

    X: Any
    y: NDArray[Any]
    unlabeled: Any
    score: Scorer
    weight: Floats | None = None
    matrices: Mapping[str, Any] = field(default_factory=dict)
    labels: PartialLabels | None = None

    def __call__(
        self, name: str, estimator: Any, fold: int, test: Index, outside: Index
    ) -> FoldScore:
        own = self.matrices.get(name, self.X)
        X, y, weight = own, hide_labels(self.y, test, self.unlabeled), self.weight
        # evidence that was learnt from labels must not have seen the held-out ones
        evidence = None if self.labels is None else ratios(self.labels.without(test))
        outside = NONE if is_pairwise(estimator) else outside
        if len(outside):
            rows = kept_rows(len(y), outside)
            X, y = take_rows(X, rows), y[rows]
            weight = None if weight is None else weight[rows]
            evidence = None if evidence is None else evidence[rows]
        start = perf_counter()
        model = fit_partly(estimator, X, y, self.unlabeled, weight, evidence)
        seconds = perf_counter() - start
        return self._scored(name, fold, model, own, (test, outside), seconds)

    def _scored(
        self, name: str, fold: int, model: Any, X: Any, part: tuple[Index, Index], seconds: float
    ) -> FoldScore:
        """Score all held-out rows, and those outside and inside the fit."""
        test, outside = part
        away = np.isin(test, outside)
        known = ~is_unlabeled(self.y[test], self.unlabeled)
        right = None
        is_accuracy = isinstance(self.score, PartialScorer) and self.score.name == ACCURACY
        if is_accuracy and known.any():
            truth = given_labels(self.y[test[known]])
            right = np.asarray(model.predict(take_rows(X, test[known]))) == truth

        def score(rows: NDArray[np.bool_]) -> float | None:
            if right is not None:
                kept = right[rows[known]]
                return float(kept.mean()) if len(kept) else None
            chosen = test[rows]
            if len(chosen) == 0 or not self._can_score(chosen):
                return None
            return float(self.score(model, take_rows(X, chosen), self.y[chosen]))

        new, kept, both = (score(rows) for rows in (away, ~away, np.ones_like(away)))
        whole = float("nan") if both is None else both
        flags = None if right is None else tuple(right.tolist())
        return FoldScore(name, fold, whole, seconds, int(known.sum()), new, kept, flags)

    def _can_score(self, rows: Index) -> bool:
        return not isinstance(self.score, PartialScorer) or self.score.can_score(self.y[rows])

    def chance(self, fold: int, test: Index, outside: Index) -> FoldScore:
        """Score the guess of the class that is most frequent among all labels.

        Among those of the other folds it would be the class that the fold has less of, so that
        the guess scored below one half where the classes are balanced.
        """
        known = given_labels(self.y[~is_unlabeled(self.y, self.unlabeled)])
        guess = DummyClassifier(strategy="prior").fit(np.zeros((len(known), 1)), known)
        zeros = np.zeros((len(self.y), 1))
        return self._scored(MOST_FREQUENT, fold, guess, zeros, (test, outside), 0.0)


def compare(
    estimators: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = None,
    scoring: str | Scorer = "accuracy",
    baseline: str | None = None,
    use: str = NEW_ROWS,
    unlabeled: Any = -1,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    callback: Callable[[FoldScore], Any] | None = None,
    progress: ProgressCallback | None = None,
    finished: Callable[[Comparison], Any] | None = None,
    sample_weight: ArrayLike | None = None,
    matrices: Mapping[str, Any] | None = None,
    groups: ArrayLike | None = None,
    evidence: Any = None,
) -> Comparison:
    """Cross-validate methods on the labelled rows and compare them with a supervised one.

    All methods see the same folds. Intervals of accuracies are those of `held_out_interval` and
    `held_out_difference`; of other scores, and with groups, those of `score_interval` and
    `difference_interval`. The intervals of the differences to the baseline hold for all
    methods at once, each taking its share of the doubt (Bonferroni), so that trying many
    methods does not make a lucky one look good.

    Parameters
    ----------
    estimators : mapping name -> estimator, or sequence of estimators
        Classifiers or pipelines; in a sequence they go by the names of their classes. Those that
        take no unlabelled rows, such as scikit-learn's ``LogisticRegression``, are fitted to the
        labelled rows.
    X : array, sparse matrix, data frame or list of n rows
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    cv : int, splitter or None, default=None
        None is 5 folds of the labelled rows, dealt 3 times; an int is another number of
        folds. Of a splitter only the held-out rows are used.
    scoring : str or callable(estimator, X, y), default="accuracy"
        Names are those of `partial_scorer`.
    baseline : str, default=None
        Name of the supervised method; None is the first one.
    use : {"new_rows", "transduction"}, default="new_rows"
        What the models are for. Half of the held-out rows take no part in the fit, as new rows
        do; the others stay in as unlabelled rows. The scores are those of all of them;
        ``new_rows`` and ``fit_rows`` of ``MethodScores`` are those of each kind. A method that
        is ahead overall but not on the rows of the use has not helped.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    confidence : float, default=0.95
    n_jobs : int, default=None
        Fits at the same time, in processes of joblib.
    callback : callable, default=None
        Called with a `FoldScore` after every fit.
    progress : callable(Step), default=None
        Called before every fit; where several run at a time, the last one that began.
    finished : callable(Comparison), default=None
        Called whenever all fits of a method are done, with the methods so far.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows in the fits, which all methods must take. In the scores every
        held-out label counts once.
    matrices : mapping name -> rows, default=None
        Features of methods that do not have those of X; the rows are the same.
    groups : array-like of shape (n,), optional
        Rows that belong together, such as those of one patient: the labels of a group are held out
        together, and its unlabelled rows take no part in that fit. The intervals then follow the
        variance of the folds. A splitter must take groups.
    evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, optional
        What is known about rows, as in ``TransductiveSVC.fit``, for the methods that take it. It
        stays known about rows whose labels are held out.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import NewtonSVC, TransductiveSVC
    >>> from semisvm.model_selection import compare, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> found = compare([NewtonSVC(reg=0.1), TransductiveSVC(reg=0.1)], scale(X), y)
    >>> found.did_it_help().word
    'no evidence'
    """
    methods = _named(estimators)
    if not 0.0 < check_real("confidence", confidence) < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    baseline = next(iter(methods)) if baseline is None else baseline
    if baseline not in methods:
        raise ValueError(f"baseline must be one of {list(methods)}, got {baseline!r}.")
    check_choice("use", use, USES)
    labels = with_evidence(encode(y, unlabeled), evidence)
    if evidence is not None:
        require_evidence(methods)
    group = None if groups is None else group_numbers(groups, labels.codes)
    tests = [test for _, test in _splitter(cv, unlabeled).split(X, y, groups)]
    name = scoring if isinstance(scoring, str) else getattr(scoring, "name", str(scoring))
    score = PartialScorer(scoring, unlabeled) if isinstance(scoring, str) else scoring
    weight = None
    if sample_weight is not None:
        _refuse_weights(methods)
        weight = checked_weights(sample_weight, np.empty((len(labels.codes), 0)), labels)
    job = _Job(X, label_array(y), unlabeled, score, weight, matrices or {}, labels)
    if group is None:
        outside = outside_parts(tests, labels.codes)
    else:
        outside = [rows_of_groups(group, test) for test in tests]
    parts = list(zip(tests, outside, strict=True))
    held = np.mean([len(test) for test in tests])
    facts: dict[str, Any] = {
        "baseline": baseline,
        "scoring": str(name),
        "confidence": float(confidence),
        "test_share": float(held / (len(labels.labeled) - held)),
        "n_labeled": len(labels.labeled),
        "n_unlabeled": len(labels.unlabeled),
        "chance": _chance(job, parts, scoring),
        "n_held": len(np.unique(np.concatenate(tests))),
        "supervised": [n for n, one in methods.items() if n != baseline and _is_supervised(one)],
        "use": use,
        "grouped": group is not None,
    }
    # the baseline first: the others are compared with it
    order = {baseline: methods[baseline], **methods}
    found: dict[str, list[FoldScore]] = {}
    for result in _run(job, order, parts, n_jobs, progress):
        done = found.setdefault(result.name, [])
        done.append(result)
        if callback is not None:
            callback(result)
        if finished is not None and len(done) == len(tests):
            finished(Comparison.of(found, **facts))
    return Comparison.of({name: found[name] for name in methods}, **facts)


def _chance(
    job: _Job, parts: Sequence[tuple[Index, Index]], scoring: str | Scorer
) -> tuple[FoldScore, ...] | None:
    """Score the most frequent class; a scorer of the user's may want more of a model."""
    if not isinstance(scoring, (str, PartialScorer)):
        return None
    return tuple(job.chance(fold, *part) for fold, part in enumerate(parts))


def _named(estimators: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(estimators, Mapping):
        methods = {str(name): estimator for name, estimator in estimators.items()}
    else:
        methods = {type(estimator).__name__: estimator for estimator in estimators}
        if len(methods) < len(estimators):
            raise ValueError("two estimators are of one class: pass a dict with a name for each.")
    if not methods:
        raise ValueError("there is no estimator to compare.")
    return methods


def _is_supervised(estimator: Any) -> bool:
    """Return whether an estimator, or the last of a pipeline, uses labelled rows only."""
    if not takes_unlabeled(estimator):
        return True
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    method = find(last)
    return method is not None and not method.suits.needs_unlabeled


def _refuse_weights(methods: Mapping[str, Any]) -> None:
    names = [name for name, one in methods.items() if not has_fit_parameter(one, "sample_weight")]
    if names:
        raise ValueError(
            f"{', '.join(names)} cannot be fitted with sample_weight: leave them out, or compare "
            "without weights."
        )


def _splitter(cv: Any, unlabeled: Any) -> Any:
    if cv is not None and not isinstance(cv, (int, np.integer)):
        return cv
    folds = N_SPLITS if cv is None else int(cv)
    return PartialLabelKFold(
        folds, n_repeats=N_REPEATS, shuffle=True, random_state=0, unlabeled=unlabeled
    )


def _run(
    job: _Job,
    methods: Mapping[str, Any],
    parts: Sequence[tuple[Index, Index]],
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> Iterator[FoldScore]:
    """Fit method by method, so that what is finished can be reported before the end."""

    def tasks() -> Iterator[Any]:
        total = len(methods) * len(parts)
        for done, (name, fold) in enumerate(product(methods, range(len(parts)))):
            if progress is not None:
                progress(Step(name, fold + 1, len(parts), done, total))
            yield delayed(job)(name, methods[name], fold, *parts[fold])

    # one task at a time for each process, so that a task that is handed out is one that runs
    watched = {} if progress is None else {"pre_dispatch": "n_jobs", "batch_size": 1}
    results: Iterator[FoldScore] = Parallel(n_jobs=n_jobs, return_as="generator", **watched)(
        tasks()
    )
    return results
