"""Scores of labelled rows by models that did not see their labels.

Held-out rows stay in the data as unlabelled rows, so the rows, their features and the design are
the same for all folds and settings, and for all methods with the same features. Only labels
differ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs import Design, Floats, Index, Workers, make_design
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.hierarchy import Hierarchy
from semisvm.hierarchy import build as build_hierarchy
from semisvm.kernels import FeatureMap
from semisvm.loop import Recorder
from semisvm.methods.solution import decoded
from semisvm.partial_labels import UNLABELED_CODE, PartialLabels
from semisvm.rows import take_rows


@dataclass(frozen=True)
class Ground:
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


class Grounds:
    """The grounds of some rows; methods with the same features share one.

    Parameters
    ----------
    X : validated rows
    workers : Workers
        Threads; they must outlive the grounds.
    weight : array of shape (n,), optional
        Sample weights of all fits.
    """

    def __init__(self, X: Any, workers: Workers, weight: Floats | None = None) -> None:
        self.X = X
        self.weight = weight
        self._workers = workers
        self._linear: dict[tuple[float, bool], Ground] = {}

    def of(self, estimator: LinearSemiSupervisedClassifier) -> Ground:
        """Return the ground of a method."""
        bias = estimator._specification().bias
        kernel_map, features = estimator._features(self.X)
        if kernel_map is not None:
            return Ground(kernel_map, features, make_design(features, bias, self._workers))
        key = (bias, estimator._regularizes_length)
        if key not in self._linear:
            design = make_design(features, bias, self._workers, merge=key[1])
            self._linear[key] = Ground(None, features, design)
        return self._linear[key]


class HeldOut:
    """Models of one method, each of which sees only some of the labels.

    The class shares are found once, from all labels.

    Parameters
    ----------
    estimator : LinearSemiSupervisedClassifier
        Not fitted, and not changed.
    grounds : Grounds
    labels : PartialLabels
    shares : array of shape (m,), optional
    """

    def __init__(
        self,
        estimator: LinearSemiSupervisedClassifier,
        grounds: Grounds,
        labels: PartialLabels,
        shares: Floats | None = None,
    ) -> None:
        estimator._check_parameters()
        # a solver may publish what it found on its estimator
        estimator = clone(estimator)
        self._estimator, self._labels = estimator, labels
        self._ground, self._weight = grounds.of(estimator), grounds.weight
        features = self._ground.features
        # weights may be published for a map, as in a fit
        estimator.kernel_map_ = self._ground.kernel_map
        self._besides = estimator._besides_rows(grounds.X, self._ground.kernel_map, features)
        if shares is None:
            shares = estimator._class_shares(labels, self._weight, features, Recorder()).values
        self._prior = shares
        own = getattr(estimator, "hierarchy", None)
        self._hierarchy: Hierarchy = build_hierarchy(own, labels.classes)
        self._rows = grounds.X

    @property
    def is_linear(self) -> bool:
        """Whether the weights are those of columns."""
        return self._ground.kernel_map is None

    def fit(self, fold: Index) -> tuple[Floats, Floats]:
        """Hide the labels of some rows, fit, and return the weights and intercepts.

        Every fit begins anew: a start that had seen the labels of the fold would let methods
        with many local optima remember them.

        Parameters
        ----------
        fold : array of row indices

        Returns
        -------
        coef : array of shape (1, rank) or (m, rank)
        intercept : array of shape (1,) or (m,)
        """
        codes = self._labels.codes.copy()
        codes[fold] = UNLABELED_CODE
        rest = PartialLabels(self._labels.classes, codes)
        estimator, design = self._estimator, self._ground.design
        prior = self._prior_without(fold)
        task = estimator._task(design, rest, prior, self._weight, self._hierarchy, Recorder())
        solution = estimator._solve_task(task, None, **self._besides)
        estimator._publish_weights(*decoded(design, solution.w), self._hierarchy)
        return estimator.coef_, estimator.intercept_

    def score(self, rows: Index, coef: Floats, intercept: Floats) -> Floats:
        """Score some rows by weights that `fit` returned, shape (r,) or (r, m)."""
        features = self._features_of(rows)
        found = safe_sparse_dot(features, coef.T, dense_output=True) + intercept
        found = np.asarray(found, dtype=np.float64)
        return found.ravel() if found.shape[1] == 1 else found

    def scores(self, fold: Index) -> Floats:
        """Hide the labels of some rows, fit, and score these rows.

        Parameters
        ----------
        fold : array of row indices

        Returns
        -------
        scores : array of shape (len(fold),) or (len(fold), m)
        """
        return self.score(fold, *self.fit(fold))

    def _prior_without(self, fold: Index) -> Floats:
        """Return the shares among the unlabelled rows and those of a fold, which are labelled."""
        free, weight = self._labels.unlabeled, self._weight
        u, f = (len(rows) if weight is None else weight[rows].sum() for rows in (free, fold))
        return (u * self._prior + f * self._labels.fractions(weight)) / (u + f)

    def _features_of(self, fold: Index) -> Any:
        rows = take_rows(self._rows, fold)
        found = self._ground.kernel_map
        return rows if found is None else found.transform(rows)


def partly(labels: PartialLabels, rows: Index) -> NDArray[np.object_]:
    """Return the labels of some rows, and None for all others, shape (n,)."""
    y = np.full(len(labels.codes), None, dtype=object)
    y[rows] = labels.classes[labels.codes[rows]].tolist()
    return y


def class_shares(
    estimator: LinearSemiSupervisedClassifier,
    X: Any,
    labels: PartialLabels,
    recorder: Recorder | None = None,
    weight: Floats | None = None,
) -> Floats:
    """Return the class shares that an estimator would use for rows, shape (m,).

    Parameters
    ----------
    estimator : LinearSemiSupervisedClassifier
        Its ``class_prior`` says how they are found.
    X : validated rows
    labels : PartialLabels
    recorder : Recorder, optional
        Is told how sure they are.
    weight : array of shape (n,), optional
        Sample weights.
    """
    return estimator._class_shares(labels, weight, X, recorder or Recorder()).values


def held_out_scores(
    estimator: Any, grounds: Grounds, labels: PartialLabels, shares: Floats | None = None
) -> Callable[[Index], Floats]:
    """Return a function that hides the labels of a fold, fits, and scores the rows of the fold.

    Parameters
    ----------
    estimator : estimator of this package
        Not changed. Linear methods and kernels share the ground; others are fitted anew.
    grounds : Grounds
    labels : PartialLabels
    shares : array of shape (m,), optional
        Class shares, if they are known already; an estimator that shares no ground with others
        finds its own.
    """
    if isinstance(estimator, LinearSemiSupervisedClassifier):
        return HeldOut(estimator, grounds, labels, shares).scores

    def scores(fold: Index) -> Floats:
        y = partly(labels, np.setdiff1d(labels.labeled, fold))
        weighted = {} if grounds.weight is None else {"sample_weight": grounds.weight}
        model = clone(estimator).set_params(unlabeled=None).fit(grounds.X, y, **weighted)
        return np.asarray(model.decision_function(take_rows(grounds.X, fold)), dtype=np.float64)

    return scores
