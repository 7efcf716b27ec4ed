"""Many labels per row: one machine per label, over one data matrix that all fits share."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from semisvm.designs import Design, Floats, Index, Workers, make_design, thread_count
from semisvm.designs.base import decoded
from semisvm.designs.validation import read_rows
from semisvm.estimators.annealed import AnnealedSVC
from semisvm.estimators.base import LinearSemiSupervisedClassifier, warn_of_length
from semisvm.estimators.class_shares import class_shares
from semisvm.estimators.gradient import GradientTSVC
from semisvm.estimators.interop import row_hook, with_callbacks
from semisvm.estimators.newton import NewtonSVC
from semisvm.estimators.parameters import parameters
from semisvm.estimators.scoring import ScoringClassifier, fitting, user_level
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.labels.hierarchy import flat
from semisvm.labels.label_matrix import LabelTable, read_shares, read_table, table_cells
from semisvm.labels.partial import PartialLabels, is_unlabeled
from semisvm.labels.weights import checked_weights
from semisvm.losses import LOG
from semisvm.methods.fold_fits import MOST_UNLABELED, drawn_rows, line_places, used_rows
from semisvm.methods.shares import N_ROUNDS, TOL, Shares
from semisvm.methods.solution import Solution
from semisvm.solvers.trace import Recorder
from semisvm.text import counted, listing
from semisvm.validation import check_finite_model, check_same_length, check_weights


@dataclass(frozen=True)
class Effort:
    """What an estimate of a share may cost: most of the work of a label.

    Attributes
    ----------
    most : int
        Most unlabelled rows that are used.
    tol : float
        Of the models.
    n_rounds : int
        How often models are fitted with the shares found so far.
    """

    most: int = MOST_UNLABELED
    tol: float = TOL
    n_rounds: int = N_ROUNDS


@dataclass(frozen=True)
class Fitted:
    """What the fit of one label found.

    Attributes
    ----------
    solution : Solution
    labels : PartialLabels
        Those that were not taken back.
    shares : Shares
    coef, intercept : arrays of shape (1, d) and (1,)
    """

    solution: Solution
    labels: PartialLabels
    shares: Shares
    coef: Floats
    intercept: Floats


class Shared:
    """What the fits of all labels share: the rows, and a sample of them.

    Parameters
    ----------
    X : CSR matrix or array, ndarray or RowsOnDisk, of shape (n, d)
        Validated rows, or features of a kernel.
    bias : float
    workers : Workers
    effort : Effort
        Of the estimates of the shares.
    merge : bool
        See `make_design`.
    """

    def __init__(self, X: Any, bias: float, workers: Workers, effort: Effort, merge: bool) -> None:
        self.X = X
        self.design = make_design(X, bias, workers, merge=merge)
        self.most, self.tol, self.n_rounds = effort.most, effort.tol, effort.n_rounds
        self._workers = workers
        self._sample: tuple[bytes, Any, Design] | None = None

    @cached_property
    def _places(self) -> Floats:
        return line_places(self.X)

    def used(self, labels: PartialLabels) -> Index:
        """Return the rows for the estimate of the share of one label."""
        scarce = len(labels.unlabeled) <= self.most
        return used_rows(self.X, labels, self.most, None if scarce else self._places)

    def draw(self, used: Index, bias: float) -> tuple[Any, Design]:
        """Return the listed rows and a design of them, for the estimate of a share.

        Labels that are known for the same rows have the same sample.
        """
        key = used.tobytes()
        if self._sample is None or self._sample[0] != key:
            rows = drawn_rows(self.X, used)
            design = self.design if rows is self.X else make_design(rows, bias, self._workers)
            self._sample = (key, rows, design)
        return self._sample[1:]


def fit_label(
    machine: LinearSemiSupervisedClassifier,
    table: LabelTable,
    k: int,
    shared: Shared,
    recorder: Recorder,
    sample_weight: Floats | None,
) -> Fitted:
    """Fit the machine of one label."""
    name, labels, design = table.names.tolist()[k], table.column(k), shared.design
    own = recorder.part(k, table.n_labels, name)
    try:
        weight = checked_weights(sample_weight, shared.X, labels)
        rates = machine._noise_rates(labels)
        labels = machine._doubted(labels, shared.X, rates, weight, own)
        # one note is about all shares
        shares = class_shares(machine, shared.X, labels, weight, sampling=shared)
        nodes = flat(labels.classes)
        solution = machine._solve(design, labels, shares.values, weight, nodes, own)
        check_finite_model(solution.w, shared.X, solution.objective)
    except ValueError as error:
        raise ValueError(f"label {name!r}: {error}") from error
    coef, intercept = decoded(design, solution.w)
    if len(coef) == 2:
        # one score per class: their difference is that of the label
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    return Fitted(solution, labels, shares, coef, intercept)


MACHINES = (TransductiveSVC, AnnealedSVC, GradientTSVC, NewtonSVC)
"""Estimators whose fits of several labels can share the data."""
RATE = 10.0
"""In the default machine the weight of the unlabelled rows rises in decades, as it does with many
classes: half of the rounds of the schedule for two classes, and 99.9% of its labels."""
ENOUGH = 1e-3
"""Its tolerance: 1e-5 takes an eighth to a third longer, and moved F1 by 0.004 at most on r8, webkb
and la1."""
QUICK = Effort(2000, 5e-2, 1)
"""That of the default machine. One round with 2,000 rows takes less time than two with 1,000, and
its F1 was higher on four of six sets."""


def _is_maxent(estimator: Any) -> bool:
    """Return whether the scores of the machines are log-odds."""
    machine = estimator._machine()
    return isinstance(machine, MACHINES) and machine._loss() is LOG


@parameters
class MultiLabelSVC(ScoringClassifier):
    r"""Semi-supervised SVMs for rows with several labels, one machine per label.

    A row may have any of k labels: tags of a question, topics of an article. Each label is a
    problem of two classes of its own, with its own share of the rows, ::

        J_c(w_c, y') = objective of ``estimator`` for column c of Y,    c = 1, ..., k

    where the cells of column c that are not known are its unlabelled rows. A row may be known
    for some labels and not for others. With a given ``estimator`` the result is that of k
    separate fits, but the rows are
    checked and put in order once, and so are the rows for the estimates of the shares; the
    features of a kernel, usually most of the work, are computed once.

    Parameters
    ----------
    estimator : estimator or None
        The machine of each label: a `TransductiveSVC`, `AnnealedSVC`, `GradientTSVC` or
        `NewtonSVC`, with its parameters; its ``unlabeled`` and ``class_prior`` are those given
        here. None is a quick `TransductiveSVC`: the weight of the unlabelled rows rises in
        decades, objectives are certified to 1e-3, not 1e-5, and shares are estimated in one round
        from at most 2,000 unlabelled rows, not in two from 5,000.
    class_prior : None, "estimate", "labels", float, array of shape (k,) or dict
        Share of the rows that have the label, among those for which it is not known: one number
        for all labels, one per column of Y, or a dict by name of the column. Those that are None
        or NaN, or left out of the dict, are estimated from known and unknown cells; "labels"
        takes the fractions of the known cells.
    unlabeled : scalar
        Value in Y that marks cells that are not known, in addition to None and NaN.
    verbose : int
        Print one line per level of each label.
    callback : callable or None
        Called with each row of the trace, which names the ``label``; the fit stops when it
        returns True, and labels that have not begun get one round.

    Attributes
    ----------
    coef_ : array of shape (k, d)
    intercept_ : array of shape (k,)
    label_names_ : array of shape (k,)
        Names of the columns of Y if it is a DataFrame, else their numbers.
    classes_ : array of shape (2,)
        The values of a cell: without the label, and with it.
    class_prior_ : array of shape (k,)
        Share of the rows that have each label, as it was used.
    class_prior_std_ : array of shape (k,)
        Standard errors; zero for given shares.
    transduction_ : array of shape (n, k)
        The known cells, and the values chosen for the others.
    label_distribution_ : array of shape (n, k)
        Beliefs that rows have the labels; only with `AnnealedSVC`.
    objective_ : array of shape (k,)
        Objectives of the labels.
    n_iter_ : int array of shape (k,)
    kernel_map_ : KernelMap or None
        Features of the kernel, which all labels share; None if linear.
    reg_ : float
    trace_ : Trace
        Its column "label" names the label of each round.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from semisvm import MultiLabelSVC
    >>> X, Y = make_multilabel_classification(300, n_features=30, n_classes=4, random_state=0)
    >>> X = X / np.linalg.norm(X, axis=1, keepdims=True)
    >>> known = np.random.RandomState(0).random_sample(Y.shape) < 0.3
    >>> model = MultiLabelSVC().fit(X, np.where(known, Y, -1))
    >>> model.predict(X).shape
    (300, 4)
    >>> bool((model.transduction_[known] == Y[known]).all())
    True
    """

    estimator: Any = None
    _: KW_ONLY
    class_prior: Any = None

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one machine per label.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)
        y : {array-like, DataFrame, sparse matrix} of shape (n, k)
            One column per label with one of two values, such as 0 and 1, and the marker in cells
            that are not known. Entries that a sparse matrix does not store are 0.
        sample_weight : array-like of shape (n,), optional
            Of the rows in the fits of all labels: one of weight two counts like two rows.

        Returns
        -------
        self : MultiLabelSVC
        """
        with fitting(self):
            self._fit_labels(X, y, sample_weight)
        return self

    def _machine(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return TransductiveSVC(annealing_rate=RATE, tol=ENOUGH)

    @property
    def features_by(self) -> Any:
        """The kernel of the machines."""
        return getattr(self._machine(), "features_by", "linear")

    @property
    def reads_in_passes(self) -> bool:
        """Whether a fit only makes passes over X."""
        return bool(self._machine().reads_in_passes)

    @property
    def kernel(self) -> Any:
        """The kernel of the machines."""
        return self.features_by

    def _check_parameters(self) -> None:
        machine = self._machine()
        if not isinstance(machine, MACHINES):
            names = ", ".join(kind.__name__ for kind in MACHINES)
            raise ValueError(
                f"estimator must be None or one of {names}, got {type(machine).__name__}."
            )
        machine._check_parameters()
        if getattr(machine, "class_prior", None) is not None:
            raise ValueError(
                "the class_prior of the estimator is not used: each label has a share of its own. "
                "Give the shares as class_prior of MultiLabelSVC."
            )
        if getattr(machine, "hierarchy", None) is not None:
            raise ValueError("the two classes of a label have no hierarchy; use hierarchy=None.")
        if self.class_prior is not None and not hasattr(machine, "class_prior"):
            raise ValueError(
                f"class_prior is for estimators that use unlabelled rows; {type(machine).__name__} "
                "does not, so leave it out."
            )

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = read_rows(X, self, in_passes=self.reads_in_passes)
        table = read_table(y, self.unlabeled)
        check_same_length(X, table.codes, "Y")
        weight = check_weights(sample_weight, X)
        shares = read_shares(self.class_prior, table)
        machines = [self._of_label(share) for share in shares]
        recorder = Recorder(self.callback, self.verbose, row_hook(self))
        first = machines[0]
        rows = X
        kernel_map, X = first._features(rows)
        with Workers(thread_count(first._n_jobs())) as workers:
            if kernel_map is None and first.reg is None:
                warn_of_length(X, recorder)
            effort = QUICK if self.estimator is None else Effort()
            bias, merge = first._specification().bias, first._regularizes_length
            shared = Shared(X, bias, workers, effort, merge)
            recorder.counters = shared.design.counters()
            found = [
                fit_label(machine, table, k, shared, recorder, weight)
                for k, machine in enumerate(machines)
            ]
        self._note_shares(
            [
                one.shares
                for one, m in zip(found, machines, strict=True)
                if m.shares_are_estimated and len(one.solution.codes)
            ],
            recorder,
        )
        self.kernel_map_ = kernel_map
        self.reg_ = first._specification().reg
        self._publish_labels(table, found, recorder)

    def _of_label(self, share: Any) -> LinearSemiSupervisedClassifier:
        """Return the machine of one label, not fitted."""
        machine: LinearSemiSupervisedClassifier = clone(self._machine())
        if share is not None:
            given = share if isinstance(share, str) else [1.0 - share, share]
            machine.set_params(class_prior=given)
        return machine

    def machine_of(self, k: int) -> LinearSemiSupervisedClassifier:
        """Return the machine of label k, not fitted, with the share of the label that was used.

        Parameters
        ----------
        k : int
            Its column in Y.
        """
        check_is_fitted(self)
        table = LabelTable(self.label_names_, self.classes_, np.empty((0, len(self.label_names_))))
        machine = self._of_label(read_shares(self.class_prior, table)[k])
        machine.set_params(unlabeled=self.unlabeled)
        if machine.shares_are_estimated:
            share = float(self.class_prior_[k])
            machine.take_estimate(np.array([1.0 - share, share]))
        return machine

    def _note_shares(self, shares: list[Shares], recorder: Recorder) -> None:
        """Note how uncertain the estimated shares are."""
        if not shares:
            return
        error = max(float(share.errors[1]) for share in shares)
        doubtful = sum(share.doubtful for share in shares)
        doubt = (
            f"; for {doubtful} of them held-out labels do not show that the unlabelled rows help: "
            "shrunk towards the supervised estimate"
        )
        recorder.note(
            f"shares of {counted(len(shares), 'label')} estimated: standard errors up to "
            f"{error:.1%}{doubt if doubtful else ''}"
        )

    def _publish_labels(self, table: LabelTable, found: list[Fitted], recorder: Recorder) -> None:
        self.coef_ = np.concatenate([one.coef for one in found])
        self.intercept_ = np.concatenate([one.intercept for one in found])
        self.label_names_ = table.names
        self.classes_ = table.values
        self.class_prior_ = np.array([one.shares.values[1] for one in found])
        self.class_prior_std_ = np.array([one.shares.errors[1] for one in found])
        table = replace(table, codes=np.column_stack([one.labels.codes for one in found]))
        codes = _filled(table, [one.solution.codes for one in found], np.intp)
        self.transduction_ = table.values[codes]
        self.objective_: Any = np.array([one.solution.objective for one in found])
        self.n_iter_: Any = np.array([one.solution.n_iter for one in found])
        self.trace_ = recorder.trace
        self.__dict__.pop("label_distribution_", None)
        beliefs = [one.solution.beliefs for one in found]
        if all(belief is not None for belief in beliefs):
            positive = [belief[:, 1] for belief in beliefs if belief is not None]
            self.label_distribution_ = _filled(table, positive, np.float64)
        late = [
            name for name, one in zip(table.names, found, strict=True) if not one.solution.converged
        ]
        if late and not recorder.stopped:
            message = (
                f"the fits of {len(late)} of {table.n_labels} labels did not converge: "
                f"{listing(late, 5)}; see trace_. Raise max_iter or tol of the estimator, or "
                "scale the columns of X."
            )
            recorder.note(message)
            warnings.warn(message, ConvergenceWarning, stacklevel=user_level())

    def decision_function(self, X: Any) -> Floats:
        """Compute the scores of the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)

        Returns
        -------
        scores : array of shape (n, k)
            Positive means that the row has the label.
        """
        check_is_fitted(self)
        return self._all_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict which labels rows have.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)

        Returns
        -------
        Y : array of shape (n, k)
            Values as in the Y of the fit, usually 0 and 1.
        """
        has = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[has.astype(np.intp)])

    @available_if(_is_maxent)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label; only with an estimator of ``loss="log"``.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)

        Returns
        -------
        p : array of shape (n, k)
        """
        return np.asarray(expit(self.decision_function(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of rows of which every label is predicted correctly.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)
        y : {array-like, DataFrame, sparse matrix} of shape (n, k)
            Without unknown cells.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        accuracy : float
            Subset accuracy, as of scikit-learn's other classifiers for several labels.
        """
        found, cells = self.predict(X), table_cells(y)
        n_unknown = int(is_unlabeled(cells.ravel(), self.unlabeled).sum())
        if n_unknown or cells.shape != found.shape:
            raise ValueError(
                f"the score compares {found.shape[1]} labels of {found.shape[0]} rows, all of them "
                f"known; y has the shape {cells.shape} and {n_unknown} unknown cells."
            )
        right = (found == cells).all(axis=1)
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _filled(table: LabelTable, columns: list[NDArray[Any]], kind: Any) -> NDArray[Any]:
    """Return the codes of the known cells, and what was found for the others."""
    full = table.codes.astype(kind)
    for k, column in enumerate(columns):
        full[table.column(k).unlabeled, k] = column
    return full
