"""Which columns to leave out or to damp, by labels that are held out.

The shares of blocks of columns (`semisvm.tables.column_shares`) follow from what varies, not from
what informs: a second text of noise has as many directions as the first. So each text, column of
vectors and category, all numbers and all categories are left out in turn, and damped, and a
supervised SVM predicts held-out labels without and with them. It needs the labelled rows only, so
this is cheap however many rows there are.

With few labels most differences are chance, and the best of several candidates looks better than
it is. A change is made only if it lowers the log-loss by `CLEAR` standard errors and does not
lower the accuracy. A text or a column of vectors that shows no association with the labels, beside
one that clearly does (`semisvm.tables.informative`), is likely to be noise: there `CLEAR_OF_NOISE`
is enough. Columns that weights were given for are left alone.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.compiling import WorkClock
from semisvm.designs import Floats, Index
from semisvm.designs.validation import take_rows
from semisvm.estimators.newton import NewtonSVC
from semisvm.labels.partial import PartialLabels
from semisvm.model_selection.splits import PartialLabelKFold, folds_of_groups
from semisvm.model_selection.successive_halving import row_losses
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.informative import LEVEL, p_value
from semisvm.tables.kinds import NUMERIC, TYPES
from semisvm.text import listing

FACTORS = (0.0, 0.3)
CLEAR = 3.0
"""Standard errors of the log-loss by which held-out labels must support a change."""
CLEAR_OF_NOISE = 1.0
"""The same for a text or vectors without an association, beside one with a clear one."""
NO_ASSOCIATION = 0.05
"""p-value from which on there is no association."""
PROMISING = 1.5
"""The same after one deal of the folds, for a second one to be worth its time."""
N_SPLITS, N_REPEATS = 5, 2
FEWEST_LABELS = 20
"""Of classes with two labels or more; with fewer nothing is changed."""
MOST_LABELS = 1_000
"""Labelled rows that are used, at most."""
TOLERANCE = 1e-4
"""Of the fits, whose scores need not be exact."""
MOST_CANDIDATES = 20
MOST_CHANGES = 3


Group = tuple[str, ...]
"""Columns that are left out or damped together."""
Places = NDArray[np.bool_]
_Errors = dict[Group, float]


@dataclass
class ColumnChoice:
    """What was found.

    Attributes
    ----------
    weights : dict
        Factors of columns, as `ColumnFeatures` takes them.
    reasons : list of str
    """

    weights: dict[str, float] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


def choose_columns(
    X: Any,
    labels: PartialLabels,
    features: ColumnFeatures,
    *,
    sample_weight: Floats | None = None,
    group: NDArray[np.intp] | None = None,
    seconds: float = np.inf,
    random_state: int = 0,
) -> ColumnChoice:
    """Find columns that held-out labels are predicted better without.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n, d)
        The features of all rows.
    labels : PartialLabels
    features : ColumnFeatures
        That made X.
    sample_weight : array of shape (n,), optional
    group : int array of shape (n,), optional
        Rows of a group are held out together.
    seconds : float
        Of work; candidates that are not tried by then are left as they are.
    random_state : int, default=0
        Seed of the folds.
    """
    found = ColumnChoice()
    sources = features.source_columns()
    candidates = _candidates(features, sources)
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    if not candidates or counts[counts > 1].sum() < FEWEST_LABELS:
        return found
    judge = _Judge.of(X, labels, sample_weight, random_state, group)
    if not all(judge.folds):
        return found  # too few groups
    clear = judge.needed(features, candidates)
    factors = np.ones(X.shape[1])
    before = judge.held_out(factors)
    assert before is not None
    clock = WorkClock()  # from here on, when all code is compiled
    for _ in range(MOST_CHANGES):
        best, best_of = None, before
        for columns, places in candidates.items():
            for factor in FACTORS:
                scaled = np.where(places, np.minimum(factors, factor), factors)
                if clock.seconds > seconds or not scaled.any() or np.array_equal(scaled, factors):
                    continue
                tried = judge.held_out(scaled, before, clear[columns])
                if tried is not None and tried.mean < best_of.mean:
                    best, best_of = (columns, factor, scaled), tried
        if best is None:
            return found
        columns, factor, factors = best
        found.weights.update(dict.fromkeys(columns, factor))
        found.reasons.append(_reason(columns, factor, before, best_of))
        before = best_of
    return found


def _candidates(features: ColumnFeatures, sources: NDArray[np.object_]) -> dict[Group, Places]:
    """Return which features come from the columns of each candidate."""
    given = features.column_weights or {}
    if {*given} & {*features.kinds_.values()}:
        return {}  # the user has given weights of kinds
    free = {name: kind for name, kind in features.kinds_.items() if name not in given}
    single = [name for name, kind in free.items() if kind != NUMERIC][:MOST_CANDIDATES]
    together = [
        tuple(n for n in free if free[n] == kind) for kind, one in TYPES.items() if one.shared
    ]
    groups: list[Group] = [*((name,) for name in single), *together]
    places = {group: np.isin(sources, group) for group in groups if group}
    return {group: own for group, own in places.items() if not own.all()}


@dataclass(frozen=True)
class _HeldOut:
    """Losses of held-out rows, shape (repeats, rows), and the share that was predicted right."""

    losses: Floats
    right: Floats

    @property
    def mean(self) -> float:
        return float(self.losses.mean())

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())

    def errors_from(self, other: "_HeldOut") -> float:
        """Return by how many standard errors the losses are lower, in the same repeats."""
        gain = (other.losses[: len(self.losses)] - self.losses).mean(axis=0)
        error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
        return float(gain.mean()) / error if error > 0.0 else 0.0

    def clearly_better_than(self, other: "_HeldOut", errors: float) -> bool:
        """Return whether the losses are lower by so many standard errors, and as many are right."""
        known = float(other.right[: len(self.right)].mean())
        return self.accuracy >= known and self.errors_from(other) >= errors


@dataclass(frozen=True)
class _Judge:
    """Labelled rows, and folds of them."""

    X: Any
    codes: NDArray[np.intp]
    weight: Floats | None
    folds: list[list[Index]]

    @classmethod
    def of(
        cls,
        X: Any,
        labels: PartialLabels,
        weight: Floats | None,
        random_state: int,
        group: NDArray[np.intp] | None = None,
    ) -> "_Judge":
        rows = labels.labeled
        if len(rows) > MOST_LABELS:
            rng = np.random.default_rng(random_state)
            rows = np.sort(rng.choice(rows, MOST_LABELS, replace=False))
        codes = labels.codes[rows]
        # the solver also leaves classes out that the sample has lost
        codes = np.unique(codes, return_inverse=True)[1]
        own, own_weight = take_rows(X, rows), None if weight is None else weight[rows]
        if group is not None:
            # one deal: others would hold out other rows
            folds = [folds_of_groups(codes, group[rows], N_SPLITS, random_state)]
            return cls(sparse.csr_matrix(own), codes, own_weight, folds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the choice of a method warns of it
            folds = [
                list(PartialLabelKFold(N_SPLITS, shuffle=True, random_state=seed).folds(codes))
                for seed in range(random_state, random_state + N_REPEATS)
            ]
        return cls(sparse.csr_matrix(own), codes, own_weight, folds)

    def needed(self, features: ColumnFeatures, candidates: Mapping[Group, Places]) -> _Errors:
        """Return by how many standard errors each candidate must be better without."""
        wide = {
            group: p_value(self.X[:, np.flatnonzero(places)], self.codes)
            for group, places in candidates.items()
            if not TYPES[features.kinds_[group[0]]].is_single
        }
        clear = min(wide.values(), default=1.0) < LEVEL
        noise = {group for group, p in wide.items() if clear and p > NO_ASSOCIATION}
        return {group: CLEAR_OF_NOISE if group in noise else CLEAR for group in candidates}

    def held_out(
        self, factors: Floats, before: _HeldOut | None = None, clear: float = CLEAR
    ) -> _HeldOut | None:
        """Score every labelled row by models to which its label is not known.

        Returns None as soon as that is not better than before by ``clear`` standard errors.
        """
        rows: Any = sparse.csr_matrix(self.X @ sparse.diags_array(factors))
        rows = rows[:, np.flatnonzero(rows.getnnz(axis=0))]
        length = np.sqrt(rows.multiply(rows).sum() / rows.shape[0])
        rows = rows / (length or 1.0)
        losses, right = [], []
        found = None
        for number, folds in enumerate(self.folds, 1):
            held = np.concatenate(folds)
            scores = np.concatenate([self._scores(rows, fold) for fold in folds])
            losses.append(row_losses(scores, self.codes[held])[np.argsort(held)])
            predicted = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0.0
            right.append(np.mean(predicted == self.codes[held]))
            found = _HeldOut(np.array(losses), np.array(right))
            needed = clear if number == len(self.folds) else min(clear, PROMISING)
            if before is not None and not found.clearly_better_than(before, needed):
                return None
        return found

    def _scores(self, rows: Any, fold: Index) -> Floats:
        rest = np.setdiff1d(np.arange(len(self.codes)), fold)
        weight = None if self.weight is None else self.weight[rest]
        model = NewtonSVC(tol=TOLERANCE).fit(rows[rest], self.codes[rest], sample_weight=weight)
        return np.asarray(model.decision_function(rows[fold]))


def _reason(columns: tuple[str, ...], factor: float, before: _HeldOut, after: _HeldOut) -> str:
    several = len(columns) > 1
    named = f"the column{'s' if several else ''} {listing(columns, 4)}"
    done = "left out" if factor == 0.0 else f"given a weight of {factor:g}"
    return (
        f"{named} {'are' if several else 'is'} {done}: held-out labels are then predicted better "
        f"(by a supervised model {100.0 * after.accuracy:.0f}% instead of "
        f"{100.0 * before.accuracy:.0f}%; log-loss {after.mean:.2f} instead of {before.mean:.2f}, "
        f"{after.errors_from(before):.1f} standard errors)."
    )
