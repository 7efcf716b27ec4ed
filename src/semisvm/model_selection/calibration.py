"""Probabilities for methods whose scores are margins."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from semisvm.designs.base import Floats
from semisvm.estimators.held_out import NEW_ROWS, USES
from semisvm.estimators.interop import fit_partly, require_evidence, scores_of
from semisvm.estimators.multi_label import MultiLabelSVC
from semisvm.estimators.stacking import spread
from semisvm.labels.evidence import ratios, with_evidence
from semisvm.labels.partial import encode
from semisvm.labels.weights import checked_weights
from semisvm.model_selection.conformal import Conformal
from semisvm.model_selection.crossfit import CrossFit, check_splitter, cross_fit_all
from semisvm.model_selection.decisions import TrustedPredictions
from semisvm.model_selection.splits import PartialLabelKFold, group_numbers
from semisvm.validation import check_choice

STEEPEST = 1e3
"""Slope at which to stop where the scores are hardly different from zero."""


def platt_targets(positive: NDArray[np.bool_], mass: Floats | None = None) -> Floats:
    """Compute Platt's targets (n,): (N+ + 1) / (N+ + 2) for positives, 1 / (N- + 2) for others.

    They are the mean of the class under a uniform prior, so that a few rows that are
    separated do not make probabilities of 0 and 1. Here and below ``mass`` (n,) is for how many
    rows each row counts.
    """
    each = _masses(mass, len(positive))
    n_positive = float(each[positive].sum())
    n_negative = float(each.sum()) - n_positive
    return np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


def _masses(mass: Floats | None, n: int) -> Floats:
    return np.ones(n) if mass is None else mass


def pooled_targets(codes: NDArray[np.intp], n_classes: int, mass: Floats | None = None) -> Floats:
    """Compute targets (n, m): (n + 1) / (n + 2) for the class of a row, the rest shared.

    One slope is fitted to all n rows, so all of them count as tosses of one coin, "is
    the likeliest class right".
    """
    n = float(_masses(mass, len(codes)).sum())
    targets = np.full((len(codes), n_classes), 1.0 / ((n + 2) * (n_classes - 1)))
    targets[np.arange(len(codes)), codes] = (n + 1) / (n + 2)
    return targets


def fit_sigmoid(scores: Floats, targets: Floats, mass: Floats | None = None) -> tuple[float, float]:
    """Fit slope a >= 0 and offset b of p = 1 / (1 + exp(-a s - b)) to targets (n,)."""
    scale = float(np.abs(scores).max()) or 1.0
    each = _masses(mass, len(scores))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        z = parameters[0] * scores / scale + parameters[1]
        slope = each * (expit(z) - targets)
        value = -each @ (targets * log_expit(z) + (1.0 - targets) * log_expit(-z))
        return float(value), np.array([slope @ scores / scale, slope.sum()])

    bounds = [(0.0, STEEPEST), (None, None)]
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, bounds=bounds, method="L-BFGS-B")
    return float(found.x[0]) / scale, float(found.x[1])


def fit_temperature(scores: Floats, targets: Floats, mass: Floats | None = None) -> float:
    """Fit the slope a >= 0 of p = softmax(a s) to targets, both of shape (n, m)."""
    scale = float(np.abs(scores).max()) or 1.0
    each = _masses(mass, len(scores))[:, None]

    def loss(slope: Floats) -> tuple[float, Floats]:
        z = slope[0] * scores / scale
        value = -np.sum(each * targets * log_softmax(z, axis=1))
        slope_of_rows = each * (softmax(z, axis=1) - targets)
        return float(value), np.array([np.sum(slope_of_rows * scores) / scale])

    bounds = [(0.0, STEEPEST)]
    found = minimize(loss, np.array([1.0]), jac=True, bounds=bounds, method="L-BFGS-B")
    return float(found.x[0]) / scale


@dataclass(frozen=True)
class Calibrator:
    """Slopes and offsets that turn scores into probabilities.

    Attributes
    ----------
    method : {"sigmoid", "temperature"}
    slope, offset : arrays of shape (1,), or (m,) for one sigmoid per class
        Of several labels per row: (k,), see `calibrate_labels`.
    """

    method: str
    slope: Floats
    offset: Floats

    @classmethod
    def fit(
        cls,
        scores: Floats,
        codes: NDArray[np.intp],
        n_classes: int,
        method: str,
        mass: Floats | None = None,
    ) -> "Calibrator":
        """Fit to scores (n,) or (n, m) of rows of known class, which may count by ``mass`` (n,)."""
        if method == "temperature":
            targets = pooled_targets(codes, n_classes, mass)
            slope = fit_temperature(_paired(scores), targets, mass)
            return cls(method, np.array([slope]), np.zeros(1))
        columns = [(1, scores)] if scores.ndim == 1 else list(enumerate(scores.T))
        pairs = [_sigmoid_of(k, column, scores, codes, mass) for k, column in columns]
        slopes, offsets = np.array(pairs).T
        return cls(method, slopes, offsets)

    @classmethod
    def at_weight(cls, weight: float, scores: Floats) -> "Calibrator":
        """Return the probabilities of a committee of one, with this weight.

        Parameters
        ----------
        weight : float
            Slope in units of the spread of the scores.
        scores : array of shape (n,) or (n, m)
            Of rows that stand for those of the fit.
        """
        return cls("temperature", np.array([weight / spread(scores)]), np.zeros(1))

    @property
    def moves_boundary(self) -> bool:
        """Whether the likeliest class may be another one than that of the highest score."""
        return self.method == "sigmoid"

    def probabilities(self, scores: Floats) -> Floats:
        """Compute probabilities (n, m) from scores (n,) or (n, m)."""
        if self.method == "temperature":
            return np.asarray(softmax(self.slope * _paired(scores), axis=1))
        if scores.ndim == 1:
            p = expit(self.slope * scores + self.offset)
            return np.column_stack([1.0 - p, p])
        p = expit(self.slope * scores + self.offset)
        return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _sigmoid_of(
    k: int, column: Floats, scores: Floats, codes: NDArray[np.intp], mass: Floats | None
) -> tuple[float, float]:
    """Fit the sigmoid of a class; one that was never held out takes that of all classes."""
    if scores.ndim == 1 or np.any(codes == k):
        return fit_sigmoid(column, platt_targets(codes == k, mass), mass)
    is_class = codes[:, None] == np.arange(scores.shape[1])
    each = None if mass is None else np.repeat(mass, scores.shape[1])
    return fit_sigmoid(scores.ravel(), platt_targets(is_class.ravel(), each), each)


def _paired(scores: Floats) -> Floats:
    """Return one column per class; with two classes the first has score zero."""
    return np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores


def learn_from(found: CrossFit, n_classes: int, method: str) -> tuple[Calibrator, Conformal]:
    """Learn probabilities and sets of classes from rows that were held out.

    Probabilities count rows by their masses. The sets do not: what they promise is about rows
    that are drawn like the labelled ones, each once.

    Parameters
    ----------
    found : CrossFit
    n_classes : int
    method : {"sigmoid", "temperature"}
    """
    calibrator = Calibrator.fit(found.scores, found.codes, n_classes, method, found.mass)
    # a row that was held out several times is still one label
    first = np.unique(found.rows, return_index=True)[1]
    weights = None
    if found.coef is not None and found.intercept is not None:
        used = slice(int(found.folds[first].max()) + 1)
        weights = found.coef[used], found.intercept[used]
    about = (found.score_columns[first], found.codes[first], found.folds[first])
    return calibrator, Conformal.fit(*about, weights)


def calibrate_labels(
    model: MultiLabelSVC,
    X: Any,
    Y: ArrayLike,
    *,
    cv: int = 5,
    random_state: Any = 0,
    sample_weight: Floats | None = None,
) -> Calibrator:
    """Learn the probabilities of several labels per row, each from its held-out cells.

    Parameters
    ----------
    model : MultiLabelSVC
        Fitted to the same rows and cells; the share of each label is taken from it.
    X : rows
    Y : array-like of shape (n, k)
    cv : int, default=5
        Maximum number of folds of the known cells of a label.
    random_state : int, RandomState or None, default=0
        Seed of the folds.
    sample_weight : array of shape (n,), optional

    Returns
    -------
    calibrator : Calibrator
        With one slope per label: the probability of label k at the score s is
        1 / (1 + exp(-slope[k] s)), so predictions stay as they are.

    Raises
    ------
    ValueError
        If a label has no two known cells of the same value.
    """
    cells, slopes = np.asarray(Y), []
    for k, name in enumerate(model.label_names_.tolist()):
        codes = encode(cells[:, k], model.unlabeled).codes
        counts = np.bincount(codes[codes >= 0])
        repeated = int(counts[counts > 1].sum())
        if repeated < 2:
            raise ValueError(f"label {name!r} has no two known cells of the same value.")
        folds = PartialLabelKFold(
            min(cv, repeated), shuffle=True, random_state=random_state, unlabeled=model.unlabeled
        )
        machine = model.machine_of(k)
        found = cross_fit_all(machine, X, cells[:, k], folds, sample_weight, NEW_ROWS)
        learnt = Calibrator.fit(found.scores, found.codes, 2, "temperature", found.mass)
        slopes.append(float(learnt.slope[0]))
    return Calibrator("temperature", np.array(slopes), np.zeros(len(slopes)))


METHODS = ("sigmoid", "temperature")
PASSED_ON = ("n_features_in_", "feature_names_in_", "transduction_")


class CalibratedPartialClassifier(
    TrustedPredictions, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    r"""Probabilities for a margin method, from scores of labelled rows it did not see.

    The labelled rows are split into folds. Each fold is scored by a model that did not see
    its labels, and a map from score s to probability is fitted to these scores by
    maximum likelihood: ::

        sigmoid      p = 1 / (1 + exp(-a s - b)),  a >= 0; more than two classes have one
                     each, against the rest, normalised to sum one
        temperature  p = softmax(a s),  a >= 0, one slope for all classes

    The map is put on the scores of a model that is fitted to all labels. The targets of
    the fit are smoothed as Platt does: N rows of a class give (N + 1) / (N + 2), not 1.

    Parameters
    ----------
    estimator : classifier, default=None
        None is `TransductiveSVC` with this marker. One that takes no unlabelled rows is fitted
        to the labelled rows.
    method : {"temperature", "sigmoid"}, default="temperature"
        The first has one parameter and leaves the predictions of the estimator as they are.
        The second also moves the boundary to where the labelled rows want it, which takes
        labels that were drawn like the rows to be predicted.
    cv : int or PartialLabelKFold, default=5
        Folds of the labelled rows; their fits come on top of the last one.
    use : {"new_rows", "transduction"}, default="new_rows"
        What the probabilities are for. Held-out rows take no part in the fit, as new rows do, or
        stay in as unlabelled rows.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN; give it to the estimator too.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all labels.
    calibrator_ : Calibrator
        Its ``slope`` and ``offset``.
    conformal_ : Conformal
        What the same held-out rows show of the scores, for `predict_sets`.
    classes_ : array of shape (m,)
    transduction_ : array of shape (n,)
        Of the estimator, if it has one.
    n_features_in_, feature_names_in_ : if the estimator has them

    Notes
    -----
    A map that is fitted to l labels is known about as well as l coin tosses are: with ten
    labels, five of each class and all on the right side, the smoothed targets of the
    sigmoid allow no mean probability beyond 0.86, those of a temperature 0.92. Fewer than
    about 50 labels give probabilities that order the rows and are right on average, but not
    more; below about 20, use them to rank only. The folds
    train with fewer labels than the last model, whose scores are therefore a little
    better than the map believes.

    References
    ----------
    Platt, Probabilistic outputs for support vector machines, 1999. Guo, Pleiss, Sun and
    Weinberger, On calibration of modern neural networks, ICML 2017: temperature.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import TransductiveSVC
    >>> from semisvm.model_selection import CalibratedPartialClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1)).fit(scale(X), partly)
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "temperature",
        cv: Any = 5,
        use: str = NEW_ROWS,
        unlabeled: Any = -1,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.use = use
        self.unlabeled = unlabeled

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        evidence: Any = None,
    ) -> Self:
        """Fit the estimator to all labels and the map to cross-fitted scores.

        Parameters
        ----------
        X : what the estimator takes
        y : array-like of shape (n,)
            Labels, and the marker for unlabelled rows.
        sample_weight : array-like of shape (n,), optional
            Of all fits, and of the held-out rows in that of the map: a row of weight two counts
            like two rows that are held out together, and one of weight zero like none.
        groups : array-like of shape (n,), optional
            Rows that belong together: those of a group are held out together, and its unlabelled
            rows take no part in that fit.
        evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, \
optional
            What is known about rows, as in ``TransductiveSVC.fit``; the estimator must take it. It
            stays known about rows whose labels are held out.

        Returns
        -------
        self : CalibratedPartialClassifier
        """
        check_choice("method", self.method, METHODS)
        check_choice("use", self.use, USES)
        estimator = self._inner()
        cv = check_splitter(self.cv, self.unlabeled)
        labels = with_evidence(encode(y, self.unlabeled), evidence)
        if evidence is not None:
            require_evidence({type(estimator).__name__: estimator})
        weight = checked_weights(sample_weight, labels.codes, labels)
        group = None if groups is None else group_numbers(groups, labels.codes)
        fitted = fit_partly(estimator, X, y, self.unlabeled, weight, ratios(labels))
        found = cross_fit_all(estimator, X, y, cv, weight, self.use, group, evidence)
        learnt = learn_from(found, len(labels.classes), self.method)
        self.calibrator_: Calibrator = learnt[0]
        self.conformal_: Conformal | None = learnt[1]
        self.estimator_ = fitted
        self.classes_ = labels.classes
        for name in PASSED_ON:
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def _inner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from semisvm.estimators import TransductiveSVC

        return TransductiveSVC(unlabeled=self.unlabeled)

    def predict_proba(self, X: Any) -> Floats:
        """Compute calibrated probabilities.

        Parameters
        ----------
        X : what the estimator takes

        Returns
        -------
        p : array of shape (n, m)
            In the order of ``classes_``; rows sum to one.
        """
        check_is_fitted(self)
        return self.calibrator_.probabilities(scores_of(self.estimator_, X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable classes.

        Parameters
        ----------
        X : what the estimator takes

        Returns
        -------
        y : array of shape (n,)
        """
        check_is_fitted(self)
        if not self.calibrator_.moves_boundary:
            # a slope of zero makes all classes alike, but the scores still differ
            return np.asarray(self.estimator_.predict(X))
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _known_classes(self) -> NDArray[Any]:
        check_is_fitted(self)
        return self.classes_

    def _rows(self, data: Any) -> Any:
        return data

    def _probabilities(self, X: Any) -> Floats:
        return self.predict_proba(X)

    def _codes(self, X: Any) -> NDArray[np.intp]:
        return np.searchsorted(self.classes_, self.predict(X))

    def _held_out(self) -> tuple[Conformal | None, Any]:
        check_is_fitted(self)
        return self.conformal_, self.estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._inner()).input_tags.sparse
        return tags
