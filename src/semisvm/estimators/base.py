"""The way of a fit: check, labels, map, class shares, design, task, method, publish.

`LinearSemiSupervisedClassifier._fit_rows` is this list, for rows in memory, on disk and in parts.
An estimator defines the method: `_solve_binary` for two classes, `_solve_multi` for more.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from semisvm.designs import Design, Floats, Index, Workers, make_design, thread_count
from semisvm.designs.base import decoded
from semisvm.designs.validation import (
    by_density,
    has_usual_length,
    is_distributed,
    mean_square_length,
    read_rows,
)
from semisvm.distributed import require_dask
from semisvm.estimators.class_shares import UsesShares, class_shares
from semisvm.estimators.interop import row_hook, with_callbacks
from semisvm.estimators.parameters import parameters
from semisvm.estimators.scoring import ScoringClassifier, fitting, publish, user_level
from semisvm.labels.evidence import with_evidence
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.hierarchy import build as build_hierarchy
from semisvm.labels.partial import PartialLabels, encode
from semisvm.labels.weights import Counts, RowWeights, checked_weights
from semisvm.losses import LOG, LOSSES, SMOOTH_LOSSES, Loss
from semisvm.losses.log import probabilities
from semisvm.maps.feature_maps import FeatureMap, fit_map
from semisvm.maps.kernels import PRECOMPUTED
from semisvm.maps.latent import LATENT, LatentMap, fit_latent
from semisvm.methods.shares import Shares
from semisvm.methods.solution import Solution
from semisvm.solvers.snapshots import Identity, identity_of
from semisvm.solvers.trace import Recorder
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.task import Task, make_task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import (
    check_choice,
    check_count,
    check_finite_model,
    check_real,
    check_same_length,
)

LINEAR = "linear"
OF_KERNELS = ("gamma", "degree", "coef0", "n_components")
WARNING_MARGIN = 10.0
"""Factor beyond the usual lengths of rows from which a fit warns: standardised columns, whose rows
are as long as the square root of their number, are common and mostly do well."""
# Rows among which the pivots of a kernel are chosen if X is in parts, besides the labelled ones.
MOST_CANDIDATES = 5_000


@dataclass(frozen=True)
class Specification:
    """What task an estimator solves.

    Attributes
    ----------
    loss : Loss
    reg : float
    bias : float
        Value of the constant feature; 0 for a model without intercept.
    one_score : bool
        Whether two classes are one score, where the loss allows it.
    """

    loss: Loss
    reg: float
    bias: float = 1.0
    one_score: bool = True


def _is_maxent(estimator: Any) -> bool:
    """Return whether the scores of an estimator are log-probabilities; raise what to do if not."""
    if estimator._loss() is not LOG:
        raise AttributeError(
            "scores of this loss are no probabilities. Wrap the estimator in "
            "CalibratedPartialClassifier, or set loss='log' where it has one."
        )
    return True


def warn_of_length(X: Any, recorder: Recorder) -> None:
    """Warn of rows for whose length the default regularisation is far too weak or too strong."""
    square = mean_square_length(X)
    if has_usual_length(square**0.5, WARNING_MARGIN):
        return
    message = (
        f"the rows of X have length {square**0.5:.3g} (root mean square), and the default reg is "
        f"for rows of about length one. Scale X, or multiply reg by about {square:.2g}."
    )
    recorder.note(message)
    warnings.warn(message, UserWarning, stacklevel=user_level())


@parameters
class LinearSemiSupervisedClassifier(UsesShares, ScoringClassifier):
    """Base of the linear classifiers; subclasses define how their tasks are solved.

    Two classes with one score per row make a `TwoClassTask`; more classes and hierarchies
    make a `ManyClassTask`.

    Attributes
    ----------
    reg_ : float
        Strength of the regularisation that was used.
    """

    _only_passes = False
    """Whether the method needs only products with X, never the rows themselves."""
    _regularizes_length = True
    """Whether the weights of a column matter only by their squares, so that columns may rotate."""

    # The way of a fit ----------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d), or in parts
            In parts, which `NewtonSVC`, `TransductiveSVC` and `AnnealedSVC` take, it is a Dask
            array or dataframe with all columns in each chunk, or a list of RowsOnDisk. Workers of
            the current ``distributed.Client`` then do the work, or threads of this process if there
            is none, and the results over rows are Dask arrays.
        y : array-like or Dask array of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like or Dask array of shape (n,), optional
            A row of weight two counts like two rows, labelled or not, and one of weight zero like
            none. Labelled and unlabelled rows are weighed among themselves.

        Returns
        -------
        self : object
        """
        return self._fit_all(X, y, sample_weight)

    def _fit_all(self, X: Any, y: ArrayLike, sample_weight: Any, evidence: Any = None) -> Self:
        """Fit to rows of any kind."""
        with fitting(self):
            if self._only_passes and is_distributed(X):
                self._fit_parts(X, y, sample_weight, evidence)
            else:
                rows = read_rows(X, self, in_passes=self.reads_in_passes)
                self._fit_rows(rows, y, sample_weight, evidence)
        return self

    def _fit_rows(self, X: Any, y: ArrayLike, sample_weight: Any, evidence: Any = None) -> None:
        """Fit to validated rows: CSR, ndarray, RowsOnDisk, or DistributedRows."""
        labels = encode(y, self.unlabeled, getattr(self, "classes", None))
        check_same_length(X, labels.codes, "y")
        labels = with_evidence(labels, evidence)
        weight = checked_weights(sample_weight, X, labels)
        hierarchy = build_hierarchy(getattr(self, "hierarchy", None), labels.classes)
        kernel_map, features = self._map_rows(X, labels)
        besides = self._besides_rows(X, kernel_map, features)
        recorder = Recorder(self.callback, self.verbose, row_hook(self))
        if len(labels.classes) == 2:
            recorder.positive = f"class {labels.classes[1]}"
        # rows in parts have threads of their own; the number of shards changes the last bits too
        threads, shards = thread_count(self._n_jobs()), getattr(X, "n_shards", None)

        def identity() -> Identity:
            return identity_of(self, features, labels, weight, shards or threads)

        with Workers(1 if shards else threads) as workers, recorder.keeping(identity):
            if kernel_map is None and getattr(self, "reg", 1.0) is None:
                warn_of_length(features, recorder)
            rates = self._noise_rates(labels)
            labels = self._doubted(labels, features, rates, weight, recorder)
            shares = class_shares(self, features, labels, weight, recorder)
            row_weights = self._row_weights(labels, weight)
            shares = self._possible_shares(shares, labels, row_weights, recorder)
            bias, renumber = self._specification().bias, self._reads_all_rows(labels)
            design = make_design(features, bias, workers, renumber, self._regularizes_length)
            recorder.counters = design.counters()
            given = (labels, shares.values, weight, hierarchy, recorder)
            solution = self._solve(design, *given, **besides)
            nodes = decoded(design, solution.w)
        check_finite_model(solution.w, features, solution.objective)
        publish(self, labels, shares.values, solution, recorder)
        self.class_prior_std_ = shares.errors
        self.reg_ = self._specification().reg
        self._publish_map(kernel_map, labels)
        self._publish_weights(*nodes, hierarchy)

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
        task = self._task(design, labels, prior, weight, hierarchy, recorder)
        binary = isinstance(task, TwoClassTask)
        start = self._warm_weights(design, labels, hierarchy, binary)
        return self._solve_task(task, start, **besides)

    def _solve_task(self, task: Task, start: Floats | None, **besides: Any) -> Solution:
        """Solve from given weights, or from the beginning; many tasks may share a design."""
        if isinstance(task, TwoClassTask):
            return self._solve_binary(task, start)
        return self._solve_multi(task, start)

    # The steps -----------------------------------------------------------------------------

    def _check_shared_parameters(self) -> None:
        given = vars(self)
        if "loss" in given:
            check_choice("loss", self.loss, LOSSES)
        if given.get("reg") is not None:
            check_real("reg", self.reg, above=0)
        if "tol" in given:
            self._check_tol()
        if "max_iter" in given:
            check_count("max_iter", self.max_iter)
        if given.get("fit_intercept"):
            check_real("intercept_scaling", self.intercept_scaling, above=0)

    def _check_tol(self) -> None:
        check_real("tol", self.tol, above=0)

    def _map_rows(self, X: Any, labels: PartialLabels) -> tuple[FeatureMap | None, Any]:
        """Map rows to features; those in parts by a map of the labelled rows and a sample."""
        if not hasattr(X, "map_rows") or self.kernel == LINEAR:
            return self._features(X)
        found, _ = self._features(X.take(pivot_candidates(labels)))
        X.map_rows(found)
        return found, X

    def _features(self, X: Any) -> tuple[FeatureMap | None, Any]:
        """Map the rows to kernel features; for the linear kernel these are the rows."""
        if self.kernel == LINEAR:
            # near a kink of the loss the last bits of sums decide, so their order must not vary
            return None, X if self._loss().smooth else by_density(X)
        rows = X if self.kernel == PRECOMPUTED else X.astype(np.float64, copy=False)
        found: FeatureMap
        if self.kernel == LATENT:
            found, features = fit_latent(rows, self.n_components)
        else:
            parameters = {name: getattr(self, name) for name in OF_KERNELS}
            found, features = self._fit_map(rows, self.kernel, **parameters)
        self._check_same_features(found)
        return found, features

    def _fit_map(
        self, rows: Any, kernel: Any, **parameters: Any
    ) -> tuple[FeatureMap, NDArray[np.float64]]:
        """Fit the features of a kernel whose inner products are its values."""
        tol, n_jobs = self.kernel_tol, self._n_jobs()
        return fit_map(rows, kernel, tol=tol, n_jobs=n_jobs, **parameters)

    def _check_same_features(self, found: FeatureMap) -> None:
        last = getattr(self, "kernel_map_", None)
        if not getattr(self, "warm_start", False) or last is None:
            return
        if not _same_features(last, found):
            raise ValueError(
                "warm_start=True continues only from a fit with the same rows and kernel, but the "
                "kernel features have changed. Use warm_start=False."
            )

    def _besides_rows(self, X: Any, found: FeatureMap | None, features: Any) -> dict[str, Any]:
        """Return what the method needs in addition to the features; usually nothing."""
        return {}

    def _reads_all_rows(self, labels: PartialLabels) -> bool:
        return True

    def _task(
        self,
        design: Design,
        labels: PartialLabels,
        prior: Floats,
        weight: Floats | None,
        hierarchy: Hierarchy,
        recorder: Recorder,
    ) -> Task:
        rows, wanted = labels.labeled, self._specification()
        weights, evidence = self._row_weights(labels, weight), self._evidence_costs(labels)
        prior, counts = self._counts(prior, labels, weights, evidence)
        return make_task(
            design,
            rows,
            labels.unlabeled,
            labels.codes[rows],
            weights.labeled,
            counts=counts,
            hierarchy=hierarchy,
            loss=wanted.loss,
            reg=wanted.reg,
            recorder=recorder,
            one_score=wanted.one_score,
            mass=weights.mass,
            prior=prior,
            evidence=evidence,
        )

    def _noise_rates(self, labels: PartialLabels) -> Floats | None:
        """Return the probabilities that labels are wrong, (n,); None where all are right."""
        return None

    def _doubted(
        self,
        labels: PartialLabels,
        features: Any,
        rates: Floats | None,
        weight: Floats | None,
        recorder: Recorder,
    ) -> PartialLabels:
        """Return labels of which those that are probably wrong are evidence only."""
        return labels

    def _evidence_costs(self, labels: PartialLabels) -> Floats | None:
        """Return what evidence adds to the costs of labels, (u, m); None for most methods."""
        return None

    def _possible_shares(
        self, shares: Shares, labels: PartialLabels, weights: RowWeights, recorder: Recorder
    ) -> Shares:
        """Return class shares that the evidence allows; raise if given ones are at odds with it."""
        return shares

    def _counts(
        self, prior: Floats, labels: PartialLabels, weights: RowWeights, costs: Floats | None
    ) -> tuple[Floats, Counts]:
        """Return class shares and counts of the unlabelled rows that the evidence allows."""
        return prior, weights.counts(prior)

    def _row_weights(self, labels: PartialLabels, weight: Floats | None) -> RowWeights:
        """Return what the rows of a fit count for."""
        return RowWeights.of(labels, weight)

    def _warm_weights(
        self, design: Design, labels: PartialLabels, hierarchy: Hierarchy, binary: bool
    ) -> Floats | None:
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_"):
            return None
        another = "Use warm_start=False for a different problem."
        if not np.array_equal(self.classes_, labels.classes):
            raise ValueError(
                f"warm_start=True continues a fit with classes {self.classes_.tolist()}, but y "
                f"has {labels.classes.tolist()}. {another}"
            )
        if self.coef_.shape[1] != design.n_columns:
            raise ValueError(
                f"warm_start=True continues a fit with {self.coef_.shape[1]} features, but X "
                f"has {design.n_columns}. {another}"
            )
        # two classes have one score, whatever the model was fitted with
        coef, intercept = self.coef_, self.intercept_
        if not binary:
            coef, intercept = self.node_coef_, self.node_intercept_
        if not binary and len(coef) != hierarchy.n_nodes:
            raise ValueError(f"warm_start=True needs the hierarchy of the last fit. {another}")
        columns = [design.encode(*pair) for pair in zip(coef, intercept.tolist(), strict=True)]
        return np.column_stack(columns).ravel()

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        """Solve for two classes; with warm_start, ``start`` holds the last weights."""
        raise AssertionError(f"{type(self).__name__} does not make tasks with one score")

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        """Solve with one score per class; with warm_start, ``start`` holds the last weights."""
        raise AssertionError(f"{type(self).__name__} does not make tasks with many scores")

    def _publish_map(self, found: FeatureMap | None, labels: PartialLabels) -> None:
        self.kernel_map_ = found

    def _publish_weights(self, coef: Floats, intercept: Floats, hierarchy: Hierarchy) -> None:
        self.node_coef_, self.node_intercept_ = coef, intercept
        self.hierarchy_ = hierarchy
        if not hierarchy.flat:
            # not a matrix product: threads of BLAS would spin on after the fit
            coef = np.ascontiguousarray(hierarchy.class_scores(coef.T).T)
            intercept = hierarchy.class_scores(intercept[np.newaxis])[0]
        if len(coef) == 2:
            # two classes have one score, as in scikit-learn
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    # X in parts ------------------------------------------------------------------------------

    def _fit_parts(self, X: Any, y: Any, sample_weight: Any, evidence: Any) -> None:
        """Fit to a collection of Dask, or to a list of folders of rows."""
        if self.kernel == PRECOMPUTED or (self.kernel != LINEAR and self.n_components is None):
            raise TypeError(
                f"X is in parts, so the number of features of kernel={self.kernel!r} must be "
                "given: set n_components, for instance to 500. kernel='linear' needs none, and "
                "'precomputed' is for one matrix in memory."
            )
        require_dask()
        # Dask is not imported otherwise
        from semisvm.distributed.rows import computed, opened, publish_chunks

        n_jobs = self._n_jobs()
        with opened(X, n_jobs, thread_count(n_jobs)) as rows:
            sizes, n_features = rows.sizes, rows.shape[1]
            smooth = self._loss().smooth
            here = rows if smooth else read_rows(self._gathered(rows), self)
            self._fit_rows(here, computed(y), computed(sample_weight), computed(evidence))
        if not smooth:
            self.trace_.notes.append(
                f"loss={self.loss!r} needs all rows in one place: they were brought into this "
                "process"
            )
        publish_chunks(self, X, sizes, n_features)

    def _gathered(self, rows: Any) -> Any:
        """Bring all rows into this process, for a loss that needs them in one place."""
        everything = np.arange(rows.shape[0])
        if not rows.can_load(everything):
            raise TypeError(
                f"loss={self.loss!r} needs all rows of X in the memory of one process, and they "
                f"are {rows.nbytes / 2**30:.1f} GiB, more than 1 GiB. Use fewer rows, or "
                f"another loss; {SMOOTH_LOSSES} do not need them together."
            )
        matrix = rows.take(everything)
        rows.shards.close()
        return matrix

    # A fitted model --------------------------------------------------------------------------

    def predict_at_depth(self, X: Any, depth: int) -> NDArray[Any]:
        """Predict nodes of the class hierarchy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        depth : int
            1 for the top level; a class above this depth is returned itself.

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
        """Return the class probabilities of the maxent model, the softmax of its scores.

        Only with ``loss="log"``, whose scores are log-probabilities up to a constant. The
        probabilities are not calibrated: with few labels, or with hard labels of the
        unlabelled rows, they are too confident.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        p : array of shape (n, m)
            Columns in the order of ``classes_``; each row sums to one.
        """
        if is_distributed(X):
            check_is_fitted(self)
            found: Floats = self._lazily("predict_proba", X, np.float64, len(self.classes_))
            return found
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return probabilities(scores)

    @property
    def reads_in_passes(self) -> bool:
        """Whether a fit only makes passes over X: that of a linear kernel may."""
        return self._only_passes and isinstance(self.kernel, str) and self.kernel == LINEAR

    def _specification(self) -> Specification:
        """Return which task is solved; estimators without ``reg`` override this."""
        loss = self._loss()
        reg = float(loss.default_reg if self.reg is None else self.reg)
        scale = getattr(self, "intercept_scaling", 1.0)
        bias = float(scale) if getattr(self, "fit_intercept", True) else 0.0
        return Specification(loss, reg, bias)

    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _n_jobs(self) -> int | None:
        """Return the threads that the user allows; programs of one thread have no parameter."""
        # `get_params` reads signatures, which takes a tenth of a millisecond
        return getattr(self, "n_jobs", None)

    @property
    def margin_width(self) -> float | None:
        """Margin beyond which a row costs nothing in a fitted model; None if there is none."""
        loss = self._loss()
        return loss.margin_of_two if len(self.classes_) == 2 else loss.margin_of_many

    def _why_no_checkpoint_of_loss(self) -> str | None:
        """Return why the loss cannot go on from a checkpoint; None if it can."""
        if self._loss().smooth:
            return None
        return (
            f"a fit with loss={self.loss!r} keeps numbers per row that do not follow from its "
            "weights, so it cannot go on from a checkpoint. The losses "
            f"{SMOOTH_LOSSES} can."
        )


def _same_features(a: FeatureMap, b: FeatureMap) -> bool:
    if isinstance(a, LatentMap) and isinstance(b, LatentMap):
        return np.array_equal(a.directions, b.directions)
    return np.array_equal(a.pivots, b.pivots)


def pivot_candidates(labels: PartialLabels) -> Index:
    """Return the labelled rows and some of the unlabelled ones, ascending."""
    free = labels.unlabeled
    if len(free) > MOST_CANDIDATES:
        free = free[np.random.RandomState(0).permutation(len(free))[:MOST_CANDIDATES]]
    return np.sort(np.concatenate([labels.labeled, free]))
