"""Semi-supervised support vector machines for people with few labels and much data.

The public names are imported when they are first used, so ``import semisvm`` is cheap
and compiles nothing.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes
from semisvm._moved import install_moved_paths
from semisvm._version import __version__
from semisvm.estimators import HOMES as ESTIMATORS

if TYPE_CHECKING:
    from semisvm.designs.disk import RowsOnDisk, open_rows
    from semisvm.estimators import (
        AnnealedSVC,
        ClusteredSVC,
        ClusterKernelSVC,
        ConcaveSVC,
        EntropyRegularizedClassifier,
        ExpectationConstrainedClassifier,
        FeatureSelectionSVC,
        GradientTSVC,
        LaplacianRLSC,
        LaplacianSVC,
        LowDensitySeparation,
        MeanSVC,
        MixedIntegerSVC,
        MultiLabelSVC,
        NewtonSVC,
        OneNormSVC,
        PosteriorRegularizedClassifier,
        RobustLPC,
        SemiBoostClassifier,
        SemiSupervisedCommittee,
        TransductiveSVC,
    )
    from semisvm.maps.kmedian import KMedian
    from semisvm.model import Model
    from semisvm.model_selection import (
        AnnealedSVCCV,
        CalibratedPartialClassifier,
        PartialLabelKFold,
        TransductiveKFold,
        TransductiveSVCCV,
        compare,
    )
    from semisvm.persistence.checkpoints import Checkpoint
    from semisvm.persistence.converting import convert
    from semisvm.persistence.files import load, save
    from semisvm.persistence.onnx_export import to_onnx
    from semisvm.persistence.sklearn_export import to_sklearn
    from semisvm.solvers.trace import Trace
    from semisvm.tables.rows_writing import write_rows
    from semisvm.training import train

_HOMES = {
    **ESTIMATORS,
    "AnnealedSVCCV": "semisvm.model_selection",
    "CalibratedPartialClassifier": "semisvm.model_selection",
    "Checkpoint": "semisvm.persistence",
    "KMedian": "semisvm.maps",
    "Model": "semisvm.model",
    "PartialLabelKFold": "semisvm.model_selection",
    "RowsOnDisk": "semisvm.designs",
    "Trace": "semisvm.solvers.trace",
    "TransductiveKFold": "semisvm.model_selection",
    "load": "semisvm.persistence",
    "open_rows": "semisvm.designs",
    "save": "semisvm.persistence",
    "TransductiveSVCCV": "semisvm.model_selection",
    "compare": "semisvm.model_selection",
    "convert": "semisvm.persistence.converting",
    "to_onnx": "semisvm.persistence",
    "to_sklearn": "semisvm.persistence",
    "train": "semisvm.training",
    "write_rows": "semisvm.tables",
}

__all__ = [
    "AnnealedSVC",
    "AnnealedSVCCV",
    "CalibratedPartialClassifier",
    "Checkpoint",
    "ClusterKernelSVC",
    "ClusteredSVC",
    "ConcaveSVC",
    "EntropyRegularizedClassifier",
    "ExpectationConstrainedClassifier",
    "FeatureSelectionSVC",
    "GradientTSVC",
    "KMedian",
    "LaplacianRLSC",
    "LaplacianSVC",
    "LowDensitySeparation",
    "MeanSVC",
    "MixedIntegerSVC",
    "Model",
    "MultiLabelSVC",
    "NewtonSVC",
    "OneNormSVC",
    "PartialLabelKFold",
    "PosteriorRegularizedClassifier",
    "RobustLPC",
    "RowsOnDisk",
    "SemiBoostClassifier",
    "SemiSupervisedCommittee",
    "Trace",
    "TransductiveKFold",
    "TransductiveSVC",
    "TransductiveSVCCV",
    "__version__",
    "compare",
    "convert",
    "load",
    "open_rows",
    "save",
    "to_onnx",
    "to_sklearn",
    "train",
    "write_rows",
]


install_moved_paths()

__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
