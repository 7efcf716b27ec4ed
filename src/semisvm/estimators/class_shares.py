"""What the parameter ``class_prior`` means: given, estimated, or those of the labels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.labels.partial import PartialLabels, check_empty_classes, resolve_prior
from semisvm.methods.shares import TOL, Sampling, Shares, estimate_shares, sampled_shares
from semisvm.solvers.trace import Recorder

ESTIMATE, LABELS = "estimate", "labels"
UNSURE_WEIGHT = 0.3
"""Weight of the unlabelled rows where their class shares are an estimate, which may be off."""
# Shares of more classes are not written out in a note.
MOST_NAMED = 6
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
    prior, n_unlabeled = resolve_prior(given, labels), len(labels.unlabeled)
    if n_unlabeled:
        check_empty_classes(prior, n_unlabeled, labels.classes, whole=estimator.keeps_counts)
    return Shares(prior, np.zeros(len(prior)))
