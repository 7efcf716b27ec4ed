"""The estimators: a file for each, or for a close family, all on the same base."""

from semisvm.estimators.annealed import AnnealedSVC
from semisvm.estimators.clustered import ClusteredSVC
from semisvm.estimators.concave import ConcaveSVC
from semisvm.estimators.constrained import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
)
from semisvm.estimators.gradient import GradientTSVC
from semisvm.estimators.low_density import LowDensitySeparation
from semisvm.estimators.means import MeanSVC
from semisvm.estimators.mixed_integer import MixedIntegerSVC
from semisvm.estimators.newton import NewtonSVC
from semisvm.estimators.one_norm import OneNormSVC, RobustLPC
from semisvm.estimators.posterior import PosteriorRegularizedClassifier
from semisvm.estimators.transductive import TransductiveSVC

__all__ = [
    "AnnealedSVC",
    "ClusteredSVC",
    "ConcaveSVC",
    "EntropyRegularizedClassifier",
    "ExpectationConstrainedClassifier",
    "GradientTSVC",
    "LowDensitySeparation",
    "MeanSVC",
    "MixedIntegerSVC",
    "NewtonSVC",
    "OneNormSVC",
    "PosteriorRegularizedClassifier",
    "RobustLPC",
    "TransductiveSVC",
]
