"""The estimators: a file for each, or for a close family, all on the same base."""

from semisvm.estimators.annealed import AnnealedSVC
from semisvm.estimators.cluster_kernel import ClusterKernelSVC
from semisvm.estimators.clustered import ClusteredSVC
from semisvm.estimators.concave import ConcaveSVC
from semisvm.estimators.constrained import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
)
from semisvm.estimators.gradient import GradientTSVC
from semisvm.estimators.laplacian import LaplacianRLSC, LaplacianSVC
from semisvm.estimators.low_density import LowDensitySeparation
from semisvm.estimators.means import MeanSVC
from semisvm.estimators.mixed_integer import MixedIntegerSVC
from semisvm.estimators.newton import NewtonSVC
from semisvm.estimators.one_norm import OneNormSVC, RobustLPC
from semisvm.estimators.posterior import PosteriorRegularizedClassifier
from semisvm.estimators.semi_boost import SemiBoostClassifier
from semisvm.estimators.transductive import TransductiveSVC

__all__ = [
    "AnnealedSVC",
    "ClusterKernelSVC",
    "ClusteredSVC",
    "ConcaveSVC",
    "EntropyRegularizedClassifier",
    "ExpectationConstrainedClassifier",
    "GradientTSVC",
    "LaplacianRLSC",
    "LaplacianSVC",
    "LowDensitySeparation",
    "MeanSVC",
    "MixedIntegerSVC",
    "NewtonSVC",
    "OneNormSVC",
    "PosteriorRegularizedClassifier",
    "RobustLPC",
    "SemiBoostClassifier",
    "TransductiveSVC",
]
