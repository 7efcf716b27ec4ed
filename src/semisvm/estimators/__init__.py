"""The estimators: a file for each, or for a close family, all on the same base."""

from semisvm.estimators.annealed import AnnealedSVC
from semisvm.estimators.cluster_kernel import ClusterKernelSVC
from semisvm.estimators.constrained import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
)
from semisvm.estimators.gradient import GradientTSVC
from semisvm.estimators.laplacian import LaplacianRLSC, LaplacianSVC
from semisvm.estimators.low_density import LowDensitySeparation
from semisvm.estimators.newton import NewtonSVC
from semisvm.estimators.posterior import PosteriorRegularizedClassifier
from semisvm.estimators.semi_boost import SemiBoostClassifier
from semisvm.estimators.transductive import TransductiveSVC

__all__ = [
    "AnnealedSVC",
    "ClusterKernelSVC",
    "EntropyRegularizedClassifier",
    "ExpectationConstrainedClassifier",
    "GradientTSVC",
    "LaplacianRLSC",
    "LaplacianSVC",
    "LowDensitySeparation",
    "NewtonSVC",
    "PosteriorRegularizedClassifier",
    "SemiBoostClassifier",
    "TransductiveSVC",
]
