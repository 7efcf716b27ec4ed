"""The estimators: public classes, one file per estimator or close family.

They are imported when first used: fitting one needs none of the others.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.estimators.annealed import AnnealedSVC
    from semisvm.estimators.cluster_kernel import ClusterKernelSVC
    from semisvm.estimators.clustered import ClusteredSVC
    from semisvm.estimators.committee import SemiSupervisedCommittee
    from semisvm.estimators.concave import ConcaveSVC, MixedIntegerSVC
    from semisvm.estimators.constrained import (
        EntropyRegularizedClassifier,
        ExpectationConstrainedClassifier,
    )
    from semisvm.estimators.gradient import GradientTSVC, LowDensitySeparation
    from semisvm.estimators.laplacian import LaplacianRLSC, LaplacianSVC
    from semisvm.estimators.means import MeanSVC
    from semisvm.estimators.multi_label import MultiLabelSVC
    from semisvm.estimators.newton import NewtonSVC
    from semisvm.estimators.one_norm import FeatureSelectionSVC, OneNormSVC, RobustLPC
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
    "FeatureSelectionSVC",
    "GradientTSVC",
    "LaplacianRLSC",
    "LaplacianSVC",
    "LowDensitySeparation",
    "MeanSVC",
    "MixedIntegerSVC",
    "MultiLabelSVC",
    "NewtonSVC",
    "OneNormSVC",
    "PosteriorRegularizedClassifier",
    "RobustLPC",
    "SemiBoostClassifier",
    "SemiSupervisedCommittee",
    "TransductiveSVC",
]

HOMES = {
    "AnnealedSVC": "semisvm.estimators.annealed",
    "ClusterKernelSVC": "semisvm.estimators.cluster_kernel",
    "ClusteredSVC": "semisvm.estimators.clustered",
    "ConcaveSVC": "semisvm.estimators.concave",
    "EntropyRegularizedClassifier": "semisvm.estimators.constrained",
    "ExpectationConstrainedClassifier": "semisvm.estimators.constrained",
    "FeatureSelectionSVC": "semisvm.estimators.one_norm",
    "GradientTSVC": "semisvm.estimators.gradient",
    "LaplacianRLSC": "semisvm.estimators.laplacian",
    "LaplacianSVC": "semisvm.estimators.laplacian",
    "LowDensitySeparation": "semisvm.estimators.gradient",
    "MeanSVC": "semisvm.estimators.means",
    "MixedIntegerSVC": "semisvm.estimators.concave",
    "MultiLabelSVC": "semisvm.estimators.multi_label",
    "NewtonSVC": "semisvm.estimators.newton",
    "OneNormSVC": "semisvm.estimators.one_norm",
    "PosteriorRegularizedClassifier": "semisvm.estimators.posterior",
    "RobustLPC": "semisvm.estimators.one_norm",
    "SemiBoostClassifier": "semisvm.estimators.semi_boost",
    "SemiSupervisedCommittee": "semisvm.estimators.committee",
    "TransductiveSVC": "semisvm.estimators.transductive",
}
"""Public name -> module that defines it; `semisvm` has the same names."""

__getattr__ = attributes(__name__, HOMES)
