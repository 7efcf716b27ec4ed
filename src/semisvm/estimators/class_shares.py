"""What the parameter ``class_prior`` means: given, estimated, or those of the labels.

`estimate_prior` is the estimate as a function for users; `semisvm.methods.shares` does the work.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.designs.validation import read_rows
from semisvm.labels.evidence import ratios
from semisvm.labels.partial import PartialLabels, check_empty_classes, encode, resolve_prior
from semisvm.labels.weights import checked_weights
from semisvm.losses import LOSSES
from semisvm.methods.positive import FEWEST, positive_share
from semisvm.methods.shares import MAX_ITER, TOL, Sampling, Shares, estimate_shares, sampled_shares
from semisvm.solvers.trace import Recorder
from semisvm.validation import check_choice, check_count, check_real, check_same_length

ESTIMATE, LABELS = "estimate", "labels"
UNSURE_WEIGHT = 0.3
"""Weight of the unlabelled rows where their class shares are an estimate, which may be off."""
# Shares of more classes are not written out in a note.
MOST_NAMED = 6
PRIORS = {
    "none": "not used by this method",
    "labelled": "taken from the labelled rows",
    "estimate": "estimated from the labels and the unlabelled rows",
    "given": "given",
}
"""Where the class shares of a fit come from, in words; see `prior_source`."""
DOUBT = (
    " (shrunk towards the supervised estimate: held-out labels do not show that the unlabelled "
    "rows help)"
)


def _is(given: Any, name: str) -> bool:
    """Return whether a parameter is this name; it may also be an array."""
    return isinstance(given, str) and given == name


def _about_shares(classes: list[Any], shares: Shares) -> str:
    """Describe which class shares were estimated, and how sure they are."""
    doubt = DOUBT if shares.doubtful else ""
    if len(classes) > MOST_NAMED:
        sure = f"standard errors up to {shares.errors.max():.1%}"
        return f"shares of the {len(classes)} classes estimated: {sure}{doubt}"
    pairs = zip(classes, shares.values.tolist(), shares.errors.tolist(), strict=True)
    listed = ", ".join(f"{name} {share:.1%} +- {error:.1%}" for name, share, error in pairs)
    return f"class shares estimated: {listed}{doubt}"


class UsesShares:
    """What other parts of the package need of the parameter ``class_prior`` before a fit."""

    get_params: Callable[..., dict[str, Any]]
    set_params: Callable[..., Any]
    unlabeled_weight: Any

    @property
    def estimates_shares(self) -> bool:
        """Whether ``class_prior=None`` means an estimate, or leaves the shares free."""
        return "class_prior" in self.get_params(deep=False)

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares, as numbers of rows, or a mean over rows does."""
        return True

    @property
    def shares_are_estimated(self) -> bool:
        """Whether a fit estimates the class shares of the unlabelled rows."""
        given = getattr(self, "class_prior", None)
        return _is(given, ESTIMATE) or (given is None and self.estimates_shares)

    @property
    def keeps_labeled_shares(self) -> bool:
        """Whether the class shares of the unlabelled rows are the labelled fractions."""
        return _is(getattr(self, "class_prior", None), LABELS)

    def take_estimate(self, shares: Floats) -> None:
        """Set class shares that another fit estimated; fit as if the estimate were its own."""
        self.set_params(**self._when_estimated(), class_prior=shares)

    def _when_estimated(self) -> dict[str, Any]:
        """Return the parameters that depend on whether the class shares are estimated."""
        weighs = "unlabeled_weight" in self.get_params(deep=False)
        return {"unlabeled_weight": self._weight_of_unlabeled()} if weighs else {}

    def _weight_of_unlabeled(self) -> float:
        """Return the parameter ``unlabeled_weight``, or what its None stands for."""
        if self.unlabeled_weight is not None:
            return float(self.unlabeled_weight)
        return UNSURE_WEIGHT if self.shares_are_estimated else 1.0


def class_shares(
    estimator: Any,
    X: Any,
    labels: PartialLabels,
    weight: Floats | None = None,
    recorder: Recorder | None = None,
    sampling: Sampling | None = None,
) -> Shares:
    """Return the shares of the classes among the unlabelled rows, by ``class_prior``.

    An estimate is made by models with the squared hinge, whatever the loss of the estimator, and
    with its regularisation, intercept and threads.

    Parameters
    ----------
    estimator : LinearSemiSupervisedClassifier
    X : validated rows, or features of a kernel
    labels : PartialLabels
    weight : array of shape (n,), optional
        Sample weights.
    recorder : Recorder, optional
        Gets a note of how sure an estimate is.
    sampling : Sampling, optional
        Where the rows of an estimate come from, see `estimate_shares`.
    """
    given = getattr(estimator, "class_prior", None)
    if len(labels.without_label):
        return _shares_without_labels(estimator, X, labels, recorder)
    if estimator.shares_are_estimated:
        shares = estimate_shares(
            X,
            labels,
            weight=weight,
            reg=estimator.get_params(deep=False).get("reg"),
            bias=estimator._specification().bias,
            n_jobs=estimator._n_jobs(),
            tol=TOL if sampling is None else sampling.tol,
            sampling=sampling,
        )
        if recorder is not None and len(labels.unlabeled):
            recorder.note(_about_shares(labels.classes.tolist(), shares))
        return shares
    if given is None or _is(given, LABELS):
        return sampled_shares(labels.fractions(weight), len(labels.labeled))
    return _given_shares(estimator, labels)


def _given_shares(estimator: Any, labels: PartialLabels) -> Shares:
    prior, n_unlabeled = resolve_prior(estimator.class_prior, labels), len(labels.unlabeled)
    if n_unlabeled:
        check_empty_classes(prior, n_unlabeled, labels.classes, whole=estimator.keeps_counts)
    return Shares(prior, np.zeros(len(prior)))


def _shares_without_labels(
    estimator: Any, X: Any, labels: PartialLabels, recorder: Recorder | None
) -> Shares:
    """Return class shares where a class has no label; raise if nothing shows them."""
    classes, known = labels.classes.tolist(), estimator._evidence_costs(labels) is not None
    missing = [classes[k] for k in labels.without_label]
    if not len(labels.unlabeled):
        raise ValueError(f"no row can have the class {missing[0]!r}: all rows have another label.")
    if len(missing) > 1 and not known:
        raise ValueError(
            f"the classes {missing!r} have no labels, and nothing separates them: give evidence "
            "about unlabelled rows, or label a row of all but one of them."
        )
    if not (estimator.shares_are_estimated or estimator.keeps_labeled_shares):
        return _given_shares(estimator, labels)
    if estimator.shares_are_estimated and len(classes) == 2:
        return _positive_share(estimator, X, labels, recorder)
    if estimator.keeps_labeled_shares or not known:
        raise ValueError(
            f"the class {missing[0]!r} has no label, so that its share cannot be estimated. Set "
            "the parameter class_prior to shares, or label a row of it."
        )
    q = ratios(labels)
    assert q is not None
    q = q[labels.unlabeled]
    shares = (q / q.sum(axis=1, keepdims=True)).mean(axis=0)
    if recorder is not None:
        recorder.note("class shares are the means of the evidence: a class has no label")
    return Shares(shares, np.sqrt(shares * (1.0 - shares) / len(q)))


def _positive_share(
    estimator: Any, X: Any, labels: PartialLabels, recorder: Recorder | None
) -> Shares:
    n, known = len(labels.labeled), 1 - int(labels.without_label[0])
    if n < FEWEST:
        raise ValueError(
            f"{n} labels are too few to estimate the share of their class; set the "
            "parameter class_prior."
        )
    reg = estimator.get_params(deep=False).get("reg")
    bias = estimator._specification().bias
    found = positive_share(X, labels, known, reg=reg, bias=bias, n_jobs=estimator._n_jobs())
    if recorder is not None:
        recorder.note(_about_shares(labels.classes.tolist(), found))
    return found


def prior_source(estimator: Any) -> str:
    """Return where the class shares of a fit come from, a key of `PRIORS`."""
    parameters = estimator.get_params(deep=False)
    if "class_prior" not in parameters:
        return "none"
    given = parameters["class_prior"]
    if given is None and "estimators" in parameters:
        return _source_of_members(estimator)
    if given is None:
        # models of earlier versions have no standard errors, and took the labelled fractions
        estimated = hasattr(estimator, "class_prior_std_") and estimator.estimates_shares
        return "estimate" if estimated else "labelled"
    if isinstance(given, str):
        return "estimate" if given == "estimate" else "labelled"
    return "given"


def _source_of_members(committee: Any) -> str:
    """Return where the shares of the members with a weight come from; most do not use any."""
    kept = {str(name) for name in committee.names_}
    using = [
        member
        for name, member in committee._members()
        if str(name) in kept and "class_prior" in member.get_params(deep=False)
    ]
    found = [
        "estimate" if getattr(member, "shares_are_estimated", False) else prior_source(member)
        for member in using
    ]
    return found[0] if found else "none"


def estimate_prior(
    X: Any,
    y: ArrayLike,
    *,
    reg: float | None = None,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    unlabeled: Any = -1,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Estimate the shares of the classes among the unlabelled rows.

    This is what estimators use for ``class_prior=None``. Transductive models are fitted
    with a part of the labels hidden. Their scores of the hidden rows show what scores the
    classes have, and those of the unlabelled rows which shares explain them, together with
    the labelled fractions, which are drawn to equal shares where the labels allow it (see
    `semisvm.methods.shares`). Where the hidden labels do not speak for transductive models, the
    estimate moves towards what a supervised model predicts, by half a standard error at most.
    Counts that are more even than a random draw allows are taken for labels that were picked class
    by class, and are no evidence. Within a class labels should be drawn at random.

    Parameters
    ----------
    X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    reg : float or None, default=None
    loss : str, default="squared_hinge"
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        Of the models, as in `TransductiveSVC`.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=0.01
    max_iter : int, default=200
    n_jobs : int, default=None
        Of the models, as in `TransductiveSVC`.
    sample_weight : array-like of shape (n,), default=None
        A row of weight two counts like two rows.

    Returns
    -------
    prior : array of shape (m,)
        In the order of the sorted classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm.model_selection import estimate_prior, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> estimate_prior(scale(X), partly, reg=0.1).round(2).tolist()
    [0.35, 0.65]
    >>> float(y.mean().round(2)), float(partly[partly >= 0].mean().round(2))
    (0.63, 0.56)
    """
    check_choice("loss", loss, LOSSES)
    check_real("tol", tol, above=0)
    check_count("max_iter", max_iter)
    if reg is not None:
        check_real("reg", reg, above=0)
    if fit_intercept:
        check_real("intercept_scaling", intercept_scaling, above=0)
    X, labels = read_rows(X, in_passes=True), encode(y, unlabeled)
    check_same_length(X, labels.codes, "y")
    return estimate_shares(
        X,
        labels,
        weight=checked_weights(sample_weight, X, labels),
        loss=LOSSES[loss],
        reg=reg,
        bias=float(intercept_scaling) if fit_intercept else 0.0,
        tol=tol,
        max_iter=max_iter,
        n_jobs=n_jobs,
    ).values
