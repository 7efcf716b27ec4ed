from semisvm.estimators.annealed import AnnealedSVC as AnnealedSVC
from semisvm.estimators.cluster_kernel import ClusterKernelSVC as ClusterKernelSVC
from semisvm.estimators.committee import SemiSupervisedCommittee as SemiSupervisedCommittee
from semisvm.estimators.concave import ClusteredSVC as ClusteredSVC
from semisvm.estimators.concave import ConcaveSVC as ConcaveSVC
from semisvm.estimators.concave import MixedIntegerSVC as MixedIntegerSVC
from semisvm.estimators.gradient import GradientTSVC as GradientTSVC
from semisvm.estimators.gradient import LowDensitySeparation as LowDensitySeparation
from semisvm.estimators.laplacian import LaplacianRLSC as LaplacianRLSC
from semisvm.estimators.laplacian import LaplacianSVC as LaplacianSVC
from semisvm.estimators.maxent import (
    EntropyRegularizedClassifier as EntropyRegularizedClassifier,
)
from semisvm.estimators.maxent import (
    ExpectationConstrainedClassifier as ExpectationConstrainedClassifier,
)
from semisvm.estimators.maxent import (
    PosteriorRegularizedClassifier as PosteriorRegularizedClassifier,
)
from semisvm.estimators.means import MeanSVC as MeanSVC
from semisvm.estimators.multi_label import MultiLabelSVC as MultiLabelSVC
from semisvm.estimators.newton import NewtonSVC as NewtonSVC
from semisvm.estimators.one_norm import FeatureSelectionSVC as FeatureSelectionSVC
from semisvm.estimators.one_norm import OneNormSVC as OneNormSVC
from semisvm.estimators.one_norm import RobustLPC as RobustLPC
from semisvm.estimators.semi_boost import SemiBoostClassifier as SemiBoostClassifier
from semisvm.estimators.transductive import TransductiveSVC as TransductiveSVC
