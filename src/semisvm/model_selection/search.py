"""Choosing the regularisation and the weight of the unlabelled rows along a path.

The solutions on the grid share one design, and each starts from the solution of its neighbour. Only
the first one, in the middle of the grid of regularisations, goes through the schedule of the
method: from there the labels follow to both sides.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from semisvm.designs import Design, Floats, Index
from semisvm.estimators.annealed import AnnealedSVC
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.estimators.class_shares import UNSURE_WEIGHT
from semisvm.estimators.evidence import EvidenceClassifier
from semisvm.estimators.parameters import (
    BalanceParameters,
    InterceptParameters,
    KernelParameters,
    LossParameters,
    SolverParameters,
    parameters,
)
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.partial import PartialLabels
from semisvm.methods.loop import LOOSE_TOL
from semisvm.methods.solution import Solution
from semisvm.model_selection.crossfit import check_splitter, counting_codes
from semisvm.model_selection.metrics import OF_SCORES, score_codes
from semisvm.solvers.trace import Recorder
from semisvm.tasks.task import Task
from semisvm.validation import WHOLE, check_choice, check_count, check_real


@dataclass(frozen=True)
class PathPoint:
    """A solution on the grid.

    Attributes
    ----------
    row, column : int
        Position among the weights of the unlabelled rows and the regularisations.
    task : TwoClassTask or ManyClassTask
    solution : Solution
    """

    row: int
    column: int
    task: Task
    solution: Solution

    def scores(self, rows: Index) -> Floats:
        """Score the classes of rows, shape (r,) or (r, m)."""
        return self.task.class_scores(self.solution.w, rows)


@dataclass(frozen=True)
class Grid:
    """What is the same for all solutions: the data behind the seam, the hierarchy, the grid.

    Attributes
    ----------
    make : callable (reg, unlabeled_weight) -> estimator
    regs, weights : sequences of floats
        The weights are followed in their order.
    design : Design
    hierarchy : Hierarchy
    sample_weight : array of shape (n,), optional
    """

    make: Callable[[float, float], Any]
    regs: Sequence[float]
    weights: Sequence[float]
    design: Design
    hierarchy: Hierarchy
    sample_weight: Floats | None = None

    def path(self, labels: PartialLabels, prior: Floats) -> Iterator[PathPoint]:
        """Yield the solutions for the given labels, neighbours one after the other."""
        middle = len(self.regs) // 2
        start: Floats | None = None
        for row in range(len(self.weights)):
            first = self._solve(row, middle, labels, prior, start)
            yield first
            for columns in (range(middle - 1, -1, -1), range(middle + 1, len(self.regs))):
                last = first
                for column in columns:
                    last = self._solve(row, column, labels, prior, last.solution.w)
                    yield last
            start = first.solution.w

    def _solve(
        self, row: int, column: int, labels: PartialLabels, prior: Floats, start: Floats | None
    ) -> PathPoint:
        estimator = self.make(self.regs[column], self.weights[row])
        given = (labels, prior, self.sample_weight, self.hierarchy)
        task = estimator._task(self.design, *given, Recorder())
        # a solver changes the weights that it starts from
        solution = estimator._solve_task(task, None if start is None else start.copy())
        return PathPoint(row, column, task, solution)


STRONGEST, WEAKEST = 1e-1, 1e-4
SHARED = (
    *("loss", "hierarchy", "class_prior", "balance_tol", "evidence_weight", "classes"),
    *("label_noise", "fit_intercept", "intercept_scaling"),
    *("kernel", "gamma", "degree", "coef0", "n_components", "kernel_tol"),
    *("unlabeled", "max_iter", "n_jobs", "verbose", "callback"),
)
"""Parameters that a search hands on to the estimators of its settings."""

FOUND = ("regs_", "unlabeled_weights_", "unlabeled_weight_", "scores_")
"""Attributes of the search, not of the estimator that it chose."""


def best_setting(scores: Floats) -> tuple[int, int]:
    """Return the position of the setting to take.

    Few labels make scores that differ by a row or two, which is chance. So all settings
    count as equal whose mean score is below the best by no more than a standard error of
    the difference, corrected for folds that share training rows. Of these the middle one
    is taken: it is farther than the edges from where the scores fall.

    Parameters
    ----------
    scores : array of shape (n_folds, n_weights, n_regs)
    """
    n_folds = len(scores)
    mean = scores.mean(axis=0)
    best = np.unravel_index(mean.argmax(), mean.shape)
    lack = scores[:, best[0], best[1]][:, None, None] - scores
    correction = 1.0 / n_folds + 1.0 / (n_folds - 1)
    error = np.sqrt(correction * lack.var(axis=0, ddof=1))
    tied = np.argwhere(lack.mean(axis=0) <= error + 1e-12)
    nearest = np.abs(tied - tied.mean(axis=0)).sum(axis=1).argmin()
    row, column = tied[nearest].tolist()
    return row, column


@parameters
class _PathSearch(
    LossParameters,
    BalanceParameters,
    KernelParameters,
    InterceptParameters,
    SolverParameters,
    EvidenceClassifier,
):
    """What the two searches share; a subclass makes the estimator of a setting.

    Parameters
    ----------
    regs : int or array of floats
        Regularisations to try; a number stands for as many from 0.1 to 0.0001, which
        suits rows of length one.
    unlabeled_weights : array of floats or None
        Weights of the unlabelled rows to try. None is the default of the estimator: 1 with
        given class shares, and 0.3 with estimated ones.
    cv : int or PartialLabelKFold
        Folds of the labelled rows.
    scoring : str
        "accuracy", "balanced_accuracy", "f1_macro" or "average_precision".
    class_prior : None, "estimate", "labels", array of shape (m,) or dict
        Class shares among the unlabelled rows. None, or "estimate", estimates them once,
        from all labels; "labels" takes those of the labelled rows, in a fold those of the
        training rows.
    tol : float
        Of the last fit. Paths are solved to a certified relative error of 1e-3.
    callback : callable or None
        For the last fit.

    Attributes
    ----------
    reg_ : float
        The chosen regularisation.
    unlabeled_weight_ : float
        The chosen weight of the unlabelled rows.
    scores_ : array of shape (n_folds, n_weights, n_regs)
    regs_, unlabeled_weights_ : arrays of shape (n_regs,) and (n_weights,)
        What was tried, in the order of ``scores_``.
    """

    regs: int | ArrayLike = 10
    unlabeled_weights: ArrayLike | None = None
    _: KW_ONLY
    cv: Any = 5
    scoring: str = "accuracy"

    @abstractmethod
    def _single(self, **parameters: Any) -> LinearSemiSupervisedClassifier:
        """Make the estimator of one setting."""

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        evidence: Any = None,
    ) -> Self:
        """Search, and fit the best setting to all labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes, and the marker for unlabelled rows.
        sample_weight : array-like of shape (n,), optional
            In the fits and in the scores a row of weight two counts like two rows, and one of
            weight zero like none. A row is held out as a whole, where two equal rows may fall
            into different folds.
        evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, \
optional
            What is known about rows, as in ``TransductiveSVC.fit``. It stays known about rows that
            are held out, whose labels are hidden.

        Returns
        -------
        self : object
        """
        return super().fit(X, y, sample_weight, evidence=evidence)

    def chosen(self) -> LinearSemiSupervisedClassifier:
        """Return the estimator of the chosen setting, fitted, as if there had been no search."""
        check_is_fitted(self)
        plain = self._estimator(self.reg_, self.unlabeled_weight_, self.tol)
        for name, value in vars(self).items():
            if name.endswith("_") and name not in FOUND:
                setattr(plain, name, value)
        return plain

    def _estimator(self, reg: float, weight: float, tol: float) -> LinearSemiSupervisedClassifier:
        shared = {name: getattr(self, name) for name in SHARED}
        return self._single(reg=reg, unlabeled_weight=weight, tol=tol, **shared)

    def _settings(self) -> tuple[list[float], list[float]]:
        """Return the regularisations, strongest first, and the weights, lightest first."""
        if isinstance(self.regs, WHOLE) and not isinstance(self.regs, bool):
            check_count("regs", self.regs)
            regs = np.geomspace(STRONGEST, WEAKEST, int(self.regs)).tolist()
        else:
            regs = _numbers("regs", self.regs)[::-1]
        if self.unlabeled_weights is None:
            return regs, [UNSURE_WEIGHT if self.shares_are_estimated else 1.0]
        return regs, _numbers("unlabeled_weights", self.unlabeled_weights)

    def _check_parameters(self) -> None:
        check_choice("scoring", self.scoring, OF_SCORES)
        check_splitter(self.cv, self.unlabeled)
        check_real("tol", self.tol, above=0)
        regs, weights = self._settings()
        self._estimator(regs[0], weights[0], self.tol)._check_parameters()

    def _solve(
        self,
        design: Design,
        labels: PartialLabels,
        prior: Floats,
        weight: Floats | None,
        hierarchy: Hierarchy,
        recorder: Recorder,
        **besides: Any,
    ) -> Solution:
        if len(labels.without_label):
            raise ValueError(
                "settings are compared by labels that are held out, and these must be of all "
                "classes. Fit TransductiveSVC or AnnealedSVC with a setting of your own."
            )
        regs, weights = self._settings()
        grid = Grid(self._on_path, regs, weights, design, hierarchy, weight)
        scores = self._scores(grid, labels, prior)
        row, column = best_setting(scores)
        best = self._estimator(regs[column], weights[row], self.tol)
        recorder.note(f"chosen: reg={regs[column]:.3g}, unlabeled_weight={weights[row]:.3g}")
        task = best._task(design, labels, prior, weight, hierarchy, recorder)
        solution = best._solve_task(task, None)
        self.regs_, self.unlabeled_weights_ = np.array(regs), np.array(weights)
        self.reg_, self.unlabeled_weight_ = regs[column], weights[row]
        self.scores_ = scores
        return solution

    def _specification(self) -> Specification:
        # before a search the regularisation is not known, and not needed
        reg, weight = getattr(self, "reg_", 1.0), getattr(self, "unlabeled_weight_", 1.0)
        return self._estimator(float(reg), float(weight), self.tol)._specification()

    def _on_path(self, reg: float, weight: float) -> LinearSemiSupervisedClassifier:
        """Make the estimator of one setting as the search uses it: loosely solved, silent."""
        single = self._estimator(reg, weight, max(self.tol, LOOSE_TOL))
        return single.set_params(verbose=0, callback=None)

    def _scores(self, grid: Grid, labels: PartialLabels, prior: Floats) -> Floats:
        weight = grid.sample_weight
        splitter = check_splitter(self.cv, self.unlabeled)
        folds = list(splitter.folds(counting_codes(labels.codes, weight)))
        scores = np.zeros((len(folds), len(grid.weights), len(grid.regs)))
        for k, fold in enumerate(folds):
            rest = labels.without(fold)
            shares = rest.fractions(weight) if self.keeps_labeled_shares else prior
            each = None if weight is None else weight[fold]
            for point in grid.path(rest, shares):
                found = score_codes(self.scoring, labels.codes[fold], point.scores(fold), each)
                # a fold of one class cannot be ranked, by any setting
                scores[k, point.row, point.column] = found if np.isfinite(found) else 0.0
        return scores


def _numbers(name: str, values: Any) -> list[float]:
    """Return positive numbers in ascending order, or raise for one that is not."""
    listed = np.atleast_1d(np.asarray(values)).ravel().tolist()
    if not listed:
        raise ValueError(f"{name} is empty: pass at least one value.")
    return sorted({check_real(f"every value of {name}", value, above=0) for value in listed})


@parameters
class TransductiveSVCCV(_PathSearch):
    """`TransductiveSVC` with a cross-validated setting, found along a path.

    The labelled rows are split into folds. The rows of a fold stay in the data as
    unlabelled rows, so all folds and settings share one design. In every fold the
    settings are solved as a path: the middle regularisation first, from the beginning,
    and from there to both sides, each from the solution of its neighbour. Of
    the settings that are as good as the best within a standard error, the middle one is
    taken, and fitted to all labels from the beginning.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm.model_selection import TransductiveSVCCV, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> model = TransductiveSVCCV(regs=[1.0, 0.1, 0.01]).fit(scale(X), partly)
    >>> model.reg_, model.score(scale(X), y) > 0.9
    (0.1, True)
    """

    def _single(self, **parameters: Any) -> LinearSemiSupervisedClassifier:
        return TransductiveSVC(**parameters)


@parameters
class AnnealedSVCCV(_PathSearch):
    """`AnnealedSVC` with a cross-validated setting, found along a path.

    The labelled rows are split into folds. The rows of a fold stay in the data as
    unlabelled rows, so all folds and settings share one design. In every fold the
    settings are solved as a path: the middle regularisation first, from the beginning,
    and from there to both sides, each from the solution of its neighbour.
    Only the first one is annealed; the others go on from it at T = 0, which far from
    the middle finds a higher objective than annealing there would. Of
    the settings that are as good as the best within a standard error, the middle one is
    taken, and fitted to all labels from the beginning.

    Attributes
    ----------
    label_distribution_ : array of shape (n, m)
        The given labels as 0 and 1, and the beliefs at the end of the last fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm.model_selection import AnnealedSVCCV, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> model = AnnealedSVCCV(regs=[1.0, 0.1, 0.01]).fit(scale(X), partly)
    >>> model.scores_.shape
    (5, 1, 3)
    """

    def _single(self, **parameters: Any) -> LinearSemiSupervisedClassifier:
        return AnnealedSVC(**parameters)
