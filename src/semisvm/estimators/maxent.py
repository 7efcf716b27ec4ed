"""Base of the classifiers whose scores are log-probabilities."""

from dataclasses import KW_ONLY

from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.estimators.parameters import (
    ClassPrior,
    InterceptParameters,
    KernelParameters,
    WarmSolverParameters,
    parameters,
)
from semisvm.losses import LOG, Loss


@parameters
class MaxentClassifier(
    KernelParameters, InterceptParameters, WarmSolverParameters, LinearSemiSupervisedClassifier
):
    """Base of the classifiers with constraints on the probabilities of all classes."""

    reg: float | None = None
    _: KW_ONLY
    class_prior: ClassPrior = None

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares; here mean probabilities do, of any value."""
        return False

    def _loss(self) -> Loss:
        return LOG

    def _specification(self) -> Specification:
        reg = LOG.default_reg if self.reg is None else self.reg
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return Specification(LOG, float(reg), bias, one_score=False)
