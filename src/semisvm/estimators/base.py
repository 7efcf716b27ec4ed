"""What the linear estimators share: reading the data, publishing the model."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from semisvm.designs import Design, Floats, Workers, make_design, thread_count
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.scoring import ScoringClassifier
from semisvm.estimators.scoring import Solution as Solution
from semisvm.estimators.task import BinaryTask
from semisvm.features import FeatureMap, fit_map
from semisvm.features.kernels import PRECOMPUTED
from semisvm.forking import no_fork
from semisvm.hierarchy import Hierarchy
from semisvm.hierarchy import build as build_hierarchy
from semisvm.homotopy import Recorder
from semisvm.losses import LOSSES
from semisvm.multi_losses import DEFAULT_REGS, HINGE, MAXENT, MULTI_LOSSES, probabilities
from semisvm.partial_labels import (
    PartialLabels,
    check_empty_classes,
    prior_counts,
    resolve_prior,
)
from semisvm.validation import (
    check_choice,
    check_count,
    check_finite_model,
    check_real,
    check_weights,
)

LINEAR = "linear"
ESTIMATE = "estimate"


def _is_maxent(estimator: Any) -> bool:
    """Tell whether the scores of an estimator are logarithms of probabilities."""
    return bool(estimator.loss == MAXENT.name)


class LinearSemiSupervisedClassifier(ScoringClassifier):
    """Base of the linear classifiers; subclasses say how their tasks are solved.

    Two classes with one score a row are a `BinaryTask`; more classes, losses of several
    scores and hierarchies are a `MultiTask`.
    """

    @abstractmethod
    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        """Solve for two classes; ``start`` holds the last weights under warm_start."""

    @abstractmethod
    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        """Solve for one score a class; ``start`` holds the last weights under warm_start."""

    def _check_shared_parameters(self) -> None:
        check_choice("loss", self.loss, MULTI_LOSSES)
        if self.reg is not None:
            check_real("reg", self.reg, above=0)
        check_real("tol", self.tol, above=0)
        check_count("max_iter", self.max_iter)
        if self.fit_intercept:
            check_real("intercept_scaling", self.intercept_scaling, above=0)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, got {self.callback!r}.")

    def _fit_checked(self, X: Any, y: ArrayLike, sample_weight: Any) -> None:
        X, labels = self._read(X, y)
        weight = check_weights(sample_weight, X)
        if weight is not None and not weight[labels.labeled].any():
            raise ValueError("sample_weight is zero on every labelled row; nothing to fit.")
        kernel_map, X = self._features(X)
        prior = self._class_prior(labels, weight, X)
        hierarchy = build_hierarchy(getattr(self, "hierarchy", None), labels.classes)
        recorder = Recorder(self.callback, self.verbose)
        with Workers(thread_count(self.n_jobs)) as workers:
            bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
            design = make_design(X, bias, workers, self._reads_all_rows(labels))
            solution = self._solve(design, labels, prior, weight, hierarchy, recorder)
            nodes = _decode(design, solution.w)
        check_finite_model(solution.w, X)
        self.kernel_map_ = kernel_map
        self.reg_ = self._regularisation()
        self._publish(labels, prior, solution, recorder)
        self._publish_weights(*nodes, hierarchy)

    def _solve(
        self,
        design: Design,
        labels: PartialLabels,
        prior: Floats,
        weight: Floats | None,
        hierarchy: Hierarchy,
        recorder: Recorder,
    ) -> Solution:
        task = self._task(design, labels, prior, weight, hierarchy, recorder)
        binary = isinstance(task, BinaryTask)
        return self._solve_task(task, self._warm_weights(design, labels, hierarchy, binary))

    def _solve_task(self, task: BinaryTask | MultiTask, start: Floats | None) -> Solution:
        """Solve from given weights, or from the beginning; many tasks may share a design."""
        if isinstance(task, BinaryTask):
            return self._solve_binary(task, start)
        return self._solve_multi(task, start)

    def _features(self, X: Any) -> tuple[FeatureMap | None, Any]:
        """Map the rows to the features of the kernel; those of the linear one are the rows."""
        if self.kernel == LINEAR:
            return None, X
        rows = X if self.kernel == PRECOMPUTED else X.astype(np.float64, copy=False)
        found, features = fit_map(
            rows,
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            n_components=self.n_components,
            tol=self.kernel_tol,
            n_jobs=self.n_jobs,
        )
        self._check_same_features(found)
        return found, features

    def _check_same_features(self, found: FeatureMap) -> None:
        last = getattr(self, "kernel_map_", None)
        if not getattr(self, "warm_start", False) or last is None:
            return
        if not np.array_equal(last.pivots, found.pivots):
            raise ValueError(
                "warm_start=True goes on from a fit with the same rows and kernel only: the "
                "features of the kernel are others now. Use warm_start=False."
            )

    def _reads_all_rows(self, labels: PartialLabels) -> bool:
        return True

    def _class_prior(self, labels: PartialLabels, weight: Floats | None, X: Any) -> Floats:
        given = getattr(self, "class_prior", None)
        if isinstance(given, str) and given == ESTIMATE:
            return self._estimated_prior(labels, X)
        prior = resolve_prior(given, labels, weight)
        if given is not None and len(labels.unlabeled):
            check_empty_classes(prior, len(labels.unlabeled), labels.classes)
        return prior

    def _estimated_prior(self, labels: PartialLabels, X: Any) -> Floats:
        # the estimate is made with an estimator of this family
        with no_fork:
            from semisvm.model_selection.priors import estimate_shares

        names = ("reg", "fit_intercept", "intercept_scaling", "n_jobs")
        shared = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return estimate_shares(X, labels, **shared)

    def _task(
        self,
        design: Design,
        labels: PartialLabels,
        prior: Floats,
        weight: Floats | None,
        hierarchy: Hierarchy,
        recorder: Recorder,
    ) -> BinaryTask | MultiTask:
        rows = labels.labeled
        shares = np.ones(len(rows)) if weight is None else weight[rows]
        counts = prior_counts(prior, len(labels.unlabeled))
        shared: dict[str, Any] = {
            "design": design,
            "labeled": rows,
            "unlabeled": labels.unlabeled,
            "weight": shares / shares.sum(),
            "reg": self._regularisation(),
            "recorder": recorder,
        }
        if len(labels.classes) == 2 and self.loss in LOSSES and hierarchy.flat:
            return BinaryTask(
                positive=labels.codes[rows] == 1,
                n_positive=int(counts[1]),
                loss=LOSSES[self.loss],
                **shared,
            )
        loss = MULTI_LOSSES[self.loss]
        if loss is HINGE:
            check_two_classes(labels.classes, hierarchy)
        # two opposite weight vectors, half as long, share the regularisation of one
        shared["reg"] /= loss.scale
        return MultiTask(
            codes=labels.codes[rows], counts=counts, loss=loss, hierarchy=hierarchy, **shared
        )

    def _regularisation(self) -> float:
        return float(DEFAULT_REGS[self.loss] if self.reg is None else self.reg)

    def _warm_weights(
        self, design: Design, labels: PartialLabels, hierarchy: Hierarchy, binary: bool
    ) -> Floats | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        another = "Use warm_start=False for another problem."
        if not np.array_equal(self.classes_, labels.classes):
            raise ValueError(
                f"warm_start=True goes on from a fit with classes {self.classes_.tolist()}, but y "
                f"has {labels.classes.tolist()}. {another}"
            )
        if self.coef_.shape[1] != design.n_weights - 1:
            raise ValueError(
                f"warm_start=True goes on from a fit with {self.coef_.shape[1]} features, but X "
                f"has {design.n_weights - 1}. {another}"
            )
        coef, intercept = self.node_coef_, self.node_intercept_
        if len(coef) != (1 if binary else hierarchy.n_nodes):
            raise ValueError(f"warm_start=True cannot go on with another hierarchy. {another}")
        columns = [design.encode(*pair) for pair in zip(coef, intercept.tolist(), strict=True)]
        return np.column_stack(columns).ravel()

    def _publish_weights(self, coef: Floats, intercept: Floats, hierarchy: Hierarchy) -> None:
        self.node_coef_, self.node_intercept_ = coef, intercept
        self.hierarchy_ = hierarchy
        if len(coef) > 1:
            coef, intercept = hierarchy.paths.T @ coef, hierarchy.paths.T @ intercept
        if len(coef) == 2:
            # two classes have one score, as everywhere in scikit-learn
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def predict_at_depth(self, X: Any, depth: int) -> NDArray[Any]:
        """Predict nodes of the class hierarchy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        depth : int
            1 for the top level; classes above the depth stand for themselves.

        Returns
        -------
        names : array of shape (n,)
        """
        check_count("depth", depth)
        codes = self._predict_codes(X)
        names = np.array(self.hierarchy_.names, dtype=object)
        return names[self.hierarchy_.at_depth(depth)[codes]]

    @available_if(_is_maxent)
    def predict_proba(self, X: Any) -> Floats:
        """Give the probabilities of the maxent model, the softmax of the scores.

        Only with ``loss="log"``, whose scores are logarithms of probabilities. They are
        what the model was fitted with. Nothing calibrates them afterwards; few labels and
        hard labels of the unlabelled rows make them too sure.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        p : array of shape (n, m)
            In the order of ``classes_``; rows sum to one.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return probabilities(scores)


def check_two_classes(classes: NDArray[Any], hierarchy: Hierarchy) -> None:
    """Refuse many classes or a hierarchy where the loss is the hinge."""
    if len(classes) > 2 or not hierarchy.flat:
        raise ValueError(
            f"loss='hinge' is for two classes without a hierarchy, and y has {len(classes)} "
            "classes; use loss='crammer_singer', which is its form for more."
        )


def _decode(design: Design, w: Floats) -> tuple[Floats, Floats]:
    """Give coefficients (k, d) and intercepts (k,) of flat weights with k columns."""
    columns = w.reshape(design.n_weights, -1).T
    pairs = [design.decode(np.ascontiguousarray(column)) for column in columns]
    return np.array([coef for coef, _ in pairs]), np.array([b for _, b in pairs])
