"""Base of the classifiers whose scores are log-probabilities."""

from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.losses import LOG, Loss


class MaxentClassifier(LinearSemiSupervisedClassifier):
    """Base of the classifiers with constraints on the probabilities of all classes."""

    def _loss(self) -> Loss:
        return LOG

    def _specification(self) -> Specification:
        reg = LOG.default_reg if self.reg is None else self.reg
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return Specification(LOG, float(reg), bias, one_score=False)
