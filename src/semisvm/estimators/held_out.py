"""Scores of labelled rows by models that did not see their labels.

A held-out row is *inside* the fit if it stays in the data as an unlabelled row, and *outside* if it
takes no part. Most models are for new rows, which are outside; a method may be right inside
and wrong outside, and only rows outside show it. One fit serves both: half of a fold is outside.

Rows inside cost nothing: the features and the design are the same for all folds and settings, and
for all methods with the same features. Rows outside need features of the other rows, which methods
with the same features share within a fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs import Design, Floats, Index, Workers, make_design
from semisvm.designs.base import decoded
from semisvm.designs.validation import take_rows
from semisvm.estimators.base import LINEAR, LinearSemiSupervisedClassifier
from semisvm.estimators.class_shares import class_shares
from semisvm.estimators.interop import fit_partly, scores_of
from semisvm.labels.evidence import ratios
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.hierarchy import build as build_hierarchy
from semisvm.labels.partial import UNLABELED_CODE, PartialLabels, deal, hide_labels
from semisvm.maps.feature_maps import FeatureMap
from semisvm.maps.latent import LATENT
from semisvm.solvers.trace import Recorder

NEW_ROWS, TRANSDUCTION = "new_rows", "transduction"
USES = (NEW_ROWS, TRANSDUCTION)
"""What a model is for: rows that come later, or the unlabelled rows of its own fit."""
COUNTS = 3.0
"""How often a held-out row counts that is as the rows of the use are, where the others count once.

The others are not useless: where a method treats both alike, as nearly all do, they halve the
variance. A method that does not is judged by three quarters."""


NONE: Index = np.empty(0, dtype=np.intp)
Outside = NDArray[np.bool_] | Callable[[Index], Index] | None
"""Which rows take no part in a fit: of those that are held out, or by a function of the fold."""


def kept_rows(n: int, outside: Index) -> Index:
    """Return the indices of all rows but some."""
    return np.delete(np.arange(n), outside)


def outside_parts(folds: Sequence[Index], codes: NDArray[np.intp]) -> list[Index]:
    """Return the half of each fold that takes no part in its fit.

    Classes are halved too. In repeated folds a row is outside every second time.

    Parameters
    ----------
    folds : sequence of arrays of row indices
    codes : int array of shape (n,)
        Classes of all rows.
    """
    rows = np.concatenate(folds)
    rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
    turn = np.zeros(len(codes), dtype=bool)
    turn[deal(rows, codes, 2)[0]] = True
    needed = not np.any(codes == UNLABELED_CODE)
    parts = []
    for fold in folds:
        part = fold[turn[fold]]
        # a fit needs an unlabelled row
        parts.append(NONE if needed and len(part) == len(fold) else part)
        turn[fold] ^= True
    return parts


def use_mass(outside: NDArray[np.bool_], use: str) -> Floats:
    """Return for how many rows each held-out row counts (h,); the mean is one.

    Parameters
    ----------
    outside : bool array of shape (h,)
    use : {"new_rows", "transduction"}
    """
    mass = np.where(outside == (use == NEW_ROWS), COUNTS, 1.0)
    return np.asarray(mass / mass.mean())


@dataclass(frozen=True)
class MappedRows:
    """What does not depend on labels: the features of all rows, and what a method makes of them.

    Attributes
    ----------
    kernel_map : FeatureMap or None
    features : matrix of shape (n, rank)
    design : Design
    """

    kernel_map: FeatureMap | None
    features: Any
    design: Design


class MappedRowsCache:
    """Features and designs of some rows; methods with the same features share them.

    Parameters
    ----------
    X : validated rows
    workers : Workers
        Threads; they must outlive this object.
    weight : array of shape (n,), optional
        Sample weights of all fits.
    """

    def __init__(self, X: Any, workers: Workers, weight: Floats | None = None) -> None:
        self.X = X
        self.weight = weight
        self._workers = workers
        self._shared: dict[tuple[Any, ...], MappedRows] = {}
        self._reduced: tuple[Index, MappedRowsCache] | None = None

    def without(self, outside: Index) -> "MappedRowsCache":
        """Return the same of the other rows; the last result is kept for the next method."""
        if len(outside) == 0:
            return self
        if self._reduced is None or not np.array_equal(self._reduced[0], outside):
            n = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
            rest = kept_rows(n, outside)
            weight = None if self.weight is None else self.weight[rest]
            reduced = MappedRowsCache(take_rows(self.X, rest), self._workers, weight)
            self._reduced = (outside, reduced)
        return self._reduced[1]

    def design(self, estimator: LinearSemiSupervisedClassifier, features: Any) -> Design:
        """Make the design of kernel features."""
        return make_design(features, estimator._specification().bias, self._workers)

    def of(self, estimator: LinearSemiSupervisedClassifier) -> MappedRows:
        """Return the features and the design of a method."""
        bias, merge = estimator._specification().bias, estimator._regularizes_length
        usual = type(estimator)._features is LinearSemiSupervisedClassifier._features
        key = (estimator.features_by, getattr(estimator, "n_components", None), bias, merge)
        if not usual or key[0] not in (LINEAR, LATENT):
            kernel_map, features = estimator._features(self.X)
            return MappedRows(kernel_map, features, self.design(estimator, features))
        if key not in self._shared:
            kernel_map, features = estimator._features(self.X)
            design = make_design(features, bias, self._workers, merge=merge)
            self._shared[key] = MappedRows(kernel_map, features, design)
        return self._shared[key]


@dataclass(frozen=True)
class FoldModel:
    """A model of one fold: weights of features, and the map of rows to features.

    Attributes
    ----------
    coef : array of shape (1, rank) or (m, rank)
    intercept : array of shape (1,) or (m,)
    kernel_map : FeatureMap or None
    """

    coef: Floats
    intercept: Floats
    kernel_map: FeatureMap | None

    def rounded(self) -> "FoldModel":
        """Return the model in single precision."""
        coef: Any = self.coef.astype(np.float32)
        intercept: Any = self.intercept.astype(np.float32)
        return replace(self, coef=coef, intercept=intercept)

    def score(self, rows: Any) -> Floats:
        """Score rows, shape (r,) or (r, m)."""
        features = rows if self.kernel_map is None else self.kernel_map.transform(rows)
        found = safe_sparse_dot(features, self.coef.T, dense_output=True) + self.intercept
        found = np.asarray(found, dtype=np.float64)
        return found.ravel() if found.shape[1] == 1 else found


class HeldOut:
    """Models of one method, each of which sees only some of the labels.

    The class shares are found once, from all labels.

    Parameters
    ----------
    estimator : LinearSemiSupervisedClassifier
        Not fitted, and not changed.
    grounds : MappedRowsCache
    labels : PartialLabels
    shares : array of shape (m,), optional
    """

    def __init__(
        self,
        estimator: LinearSemiSupervisedClassifier,
        grounds: MappedRowsCache,
        labels: PartialLabels,
        shares: Floats | None = None,
    ) -> None:
        estimator._check_parameters()
        # a solver may publish what it found on its estimator
        self._estimator, self._labels = clone(estimator), labels
        self._grounds, self._shares = grounds, shares
        self._rates = estimator._noise_rates(labels)
        own = getattr(estimator, "hierarchy", None)
        self._hierarchy: Hierarchy = build_hierarchy(own, labels.classes)
        self._last: tuple[MappedRowsCache, MappedRows, dict[str, Any]] | None = None
        self._all: MappedRows | None = None

    def fit(self, fold: Index, outside: Index = NONE) -> FoldModel:
        """Hide the labels of some rows and fit.

        Every fit begins anew: a start that had seen the labels of the fold would let methods
        with many local optima remember them.

        Parameters
        ----------
        fold : array of row indices
        outside : array of row indices
            Rows that take no part in the fit.
        """
        rest, rates, recorder = self._labels.without(fold), self._rates, Recorder()
        if len(outside):
            kept = kept_rows(len(rest.codes), outside)
            rest, rates = rest.of_rows(kept), None if rates is None else rates[kept]
        prior = self._prior_without(np.setdiff1d(fold, outside))
        grounds = self._grounds.without(outside)
        ground, besides = self._ground_of(grounds, outside)
        estimator, weight = self._estimator, grounds.weight
        rest = estimator._doubted(rest, ground.features, rates, weight, recorder)
        task = estimator._task(ground.design, rest, prior, weight, self._hierarchy, recorder)
        solution = estimator._solve_task(task, None, **besides)
        estimator._publish_weights(*decoded(ground.design, solution.w), self._hierarchy)
        return FoldModel(estimator.coef_, estimator.intercept_, ground.kernel_map)

    def scores(self, fold: Index, outside: Index = NONE) -> Floats:
        """Hide the labels of some rows, fit, and score these rows.

        Parameters
        ----------
        fold, outside : as of `fit`

        Returns
        -------
        scores : array of shape (len(fold),) or (len(fold), m)
        """
        return self.fit(fold, outside).score(take_rows(self._grounds.X, fold))

    def _ground_of(
        self, grounds: MappedRowsCache, outside: Index = NONE
    ) -> tuple[MappedRows, dict[str, Any]]:
        """Return features and what else the method needs; the last ones are kept."""
        if self._last is None or self._last[0] is not grounds:
            estimator = self._estimator
            ground = self._without(outside) if len(outside) else grounds.of(estimator)
            # weights may be published for a map, as in a fit
            estimator.kernel_map_ = ground.kernel_map
            besides = estimator._besides_rows(grounds.X, ground.kernel_map, ground.features)
            self._last = (grounds, ground, besides)
        return self._last[1:]

    def _without(self, outside: Index) -> MappedRows:
        """Return the features of all rows but some.

        Those of a kernel of two rows do not depend on the other rows, so the map of all rows is
        kept; what was made of a graph, clusters or singular vectors of the rows is made anew.
        """
        estimator, kind = self._estimator, LinearSemiSupervisedClassifier
        usual = type(estimator)._features is kind._features
        if not usual or estimator.kernel in (LINEAR, LATENT):
            return self._grounds.without(outside).of(estimator)
        if self._all is None:
            self._all = self._grounds.of(estimator)
        rest = kept_rows(len(self._labels.codes), outside)
        features = self._all.features[rest]
        return MappedRows(self._all.kernel_map, features, self._grounds.design(estimator, features))

    def _prior_without(self, inside: Index) -> Floats:
        """Return the shares among the unlabelled rows and held-out ones, which are labelled."""
        if self._shares is None:
            features, weight = self._ground_of(self._grounds)[0].features, self._grounds.weight
            self._shares = class_shares(self._estimator, features, self._labels, weight).values
        free, weight = self._labels.unlabeled, self._grounds.weight
        u, f = (len(rows) if weight is None else weight[rows].sum() for rows in (free, inside))
        if u + f == 0:
            return self._shares
        return np.asarray((u * self._shares + f * self._labels.fractions(weight)) / (u + f))


def partly(labels: PartialLabels, rows: Index) -> NDArray[np.object_]:
    """Return the labels of some rows, and None for all others, shape (n,)."""
    y = np.full(len(labels.codes), None, dtype=object)
    y[rows] = labels.classes[labels.codes[rows]].tolist()
    return y


def held_out_scores(
    estimator: Any,
    grounds: MappedRowsCache,
    labels: PartialLabels,
    shares: Floats | None = None,
    outside: Outside = None,
) -> Callable[[Index], Floats]:
    """Return a function that hides the labels of a fold, fits, and scores the rows of the fold.

    Parameters
    ----------
    estimator : estimator of this package
        Not changed. Linear methods and kernels share the ground; others are fitted anew.
    grounds : MappedRowsCache
    labels : PartialLabels
    shares : array of shape (m,), optional
        Class shares, if they are known already; an estimator that shares no ground with others
        finds its own.
    outside : bool array of shape (n,), or function, optional
        Rows that take no part in the fit where they are held out; by default none. A function
        returns, for a fold, the rows that take no part.
    """
    if not isinstance(estimator, LinearSemiSupervisedClassifier):
        alone = clone(estimator).set_params(unlabeled=None)
        y = partly(labels, labels.labeled)
        return refitted_scores(alone, grounds, y, None, outside, ratios(labels))
    held = HeldOut(estimator, grounds, labels, shares)
    return lambda fold: held.scores(fold, outside_rows(fold, outside))


def refitted_scores(
    estimator: Any,
    grounds: MappedRowsCache,
    y: ArrayLike,
    unlabeled: Any,
    outside: Outside = None,
    evidence: Floats | None = None,
) -> Callable[[Index], Floats]:
    """Do what `held_out_scores` does, for any classifier: it is fitted anew for each fold.

    Parameters
    ----------
    estimator : classifier
        Not changed. One that takes no unlabelled rows is fitted to the labelled rows.
    grounds : MappedRowsCache
        Of rows as the estimator takes them.
    y : array-like of shape (n,)
    unlabeled : scalar
        The marker in ``y``.
    outside : as of `held_out_scores`
    evidence : array of shape (n, m), optional
        What is known about rows besides labels; it stays known where labels are hidden.
    """

    def scores(fold: Index) -> Floats:
        part, hidden = outside_rows(fold, outside), hide_labels(y, fold, unlabeled)
        inside, rest = grounds.without(part), kept_rows(len(hidden), part)
        known = None if evidence is None else evidence[rest]
        model = fit_partly(estimator, inside.X, hidden[rest], unlabeled, inside.weight, known)
        return scores_of(model, take_rows(grounds.X, fold))

    return scores


def outside_rows(fold: Index, outside: Outside) -> Index:
    """Return the rows that take no part in the fit of a fold."""
    if callable(outside):
        return outside(fold)
    return NONE if outside is None else fold[outside[fold]]
