"""What the parameter ``class_prior`` means: given, estimated, or those of the labels."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.scoring import ScoringClassifier
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


class SharesClassifier(ScoringClassifier):
    """Base of the classifiers that use the class shares of the unlabelled rows.

    An estimate is made by models with the regularisation, intercept and threads of subclasses.
    """

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

    def _weight_of_unlabeled(self) -> float:
        """Return the parameter ``unlabeled_weight``, or what its None stands for."""
        if self.unlabeled_weight is not None:
            return float(self.unlabeled_weight)
        return UNSURE_WEIGHT if self.shares_are_estimated else 1.0

    def take_estimate(self, shares: Floats) -> None:
        """Set class shares that another fit estimated; fit as if the estimate were its own."""
        self.set_params(**self._when_estimated(), class_prior=shares)

    def _when_estimated(self) -> dict[str, Any]:
        """Return the parameters that depend on whether the class shares are estimated."""
        given = self.get_params(deep=False)
        weighs = "unlabeled_weight" in given
        return {"unlabeled_weight": self._weight_of_unlabeled()} if weighs else {}

    @property
    def keeps_labeled_shares(self) -> bool:
        """Whether the class shares of the unlabelled rows are the labelled fractions."""
        return _is(getattr(self, "class_prior", None), LABELS)

    def _class_shares(
        self,
        labels: PartialLabels,
        weight: Floats | None,
        X: Any,
        recorder: Recorder,
        sampling: Sampling | None = None,
    ) -> Shares:
        """Return the shares of the classes among the unlabelled rows, by ``class_prior``.

        ``sampling`` is where the rows of an estimate come from, see `estimate_shares`.
        """
        given = getattr(self, "class_prior", None)
        if self.shares_are_estimated:
            shares = self._estimated_shares(labels, weight, X, sampling)
            if len(labels.unlabeled):
                recorder.note(_about_shares(labels.classes.tolist(), shares))
            return shares
        if given is None or _is(given, LABELS):
            return sampled_shares(labels.fractions(weight), len(labels.labeled))
        prior = resolve_prior(given, labels)
        if len(labels.unlabeled):
            n, classes = len(labels.unlabeled), labels.classes
            check_empty_classes(prior, n, classes, whole=self.keeps_counts)
        return Shares(prior, np.zeros(len(prior)))

    def _estimated_shares(
        self, labels: PartialLabels, weight: Floats | None, X: Any, sampling: Sampling | None
    ) -> Shares:
        """Estimate with the squared hinge, whatever the loss of the estimator."""
        of_models = {
            "reg": self.get_params(deep=False).get("reg"),
            "bias": self._specification().bias,
            "n_jobs": self._n_jobs(),
            "tol": TOL if sampling is None else sampling.tol,
        }
        return estimate_shares(X, labels, weight=weight, sampling=sampling, **of_models)
