"""Semi-supervised support vector machines for people with few labels and much data.

The public names are imported when they are first used, so ``import semisvm`` is cheap
and compiles nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semisvm._version import __version__

if TYPE_CHECKING:
    from semisvm.clusters import KMedian
    from semisvm.estimators import (
        AnnealedSVC,
        ClusteredSVC,
        ClusterKernelSVC,
        ConcaveSVC,
        EntropyRegularizedClassifier,
        ExpectationConstrainedClassifier,
        GradientTSVC,
        LaplacianRLSC,
        LaplacianSVC,
        LowDensitySeparation,
        MeanSVC,
        MixedIntegerSVC,
        NewtonSVC,
        OneNormSVC,
        PosteriorRegularizedClassifier,
        RobustLPC,
        SemiBoostClassifier,
        TransductiveSVC,
    )
    from semisvm.homotopy import Trace
    from semisvm.model import Model
    from semisvm.model_files import load, save
    from semisvm.model_selection import (
        AnnealedSVCCV,
        CalibratedPartialClassifier,
        PartialLabelKFold,
        TransductiveKFold,
        TransductiveSVCCV,
        compare,
    )
    from semisvm.training import train

_HOMES = {
    "AnnealedSVC": "semisvm.estimators",
    "AnnealedSVCCV": "semisvm.model_selection",
    "CalibratedPartialClassifier": "semisvm.model_selection",
    "ClusteredSVC": "semisvm.estimators",
    "ConcaveSVC": "semisvm.estimators",
    "EntropyRegularizedClassifier": "semisvm.estimators",
    "ExpectationConstrainedClassifier": "semisvm.estimators",
    "GradientTSVC": "semisvm.estimators",
    "KMedian": "semisvm.clusters",
    "ClusterKernelSVC": "semisvm.estimators",
    "LaplacianRLSC": "semisvm.estimators",
    "LaplacianSVC": "semisvm.estimators",
    "LowDensitySeparation": "semisvm.estimators",
    "MixedIntegerSVC": "semisvm.estimators",
    "MeanSVC": "semisvm.estimators",
    "Model": "semisvm.model",
    "NewtonSVC": "semisvm.estimators",
    "OneNormSVC": "semisvm.estimators",
    "PartialLabelKFold": "semisvm.model_selection",
    "PosteriorRegularizedClassifier": "semisvm.estimators",
    "RobustLPC": "semisvm.estimators",
    "SemiBoostClassifier": "semisvm.estimators",
    "Trace": "semisvm.homotopy",
    "TransductiveKFold": "semisvm.model_selection",
    "TransductiveSVC": "semisvm.estimators",
    "load": "semisvm.model_files",
    "save": "semisvm.model_files",
    "TransductiveSVCCV": "semisvm.model_selection",
    "compare": "semisvm.model_selection",
    "train": "semisvm.training",
}

__all__ = [
    "AnnealedSVC",
    "AnnealedSVCCV",
    "CalibratedPartialClassifier",
    "ClusterKernelSVC",
    "ClusteredSVC",
    "ConcaveSVC",
    "EntropyRegularizedClassifier",
    "ExpectationConstrainedClassifier",
    "GradientTSVC",
    "KMedian",
    "LaplacianRLSC",
    "LaplacianSVC",
    "LowDensitySeparation",
    "MeanSVC",
    "MixedIntegerSVC",
    "Model",
    "NewtonSVC",
    "OneNormSVC",
    "PartialLabelKFold",
    "PosteriorRegularizedClassifier",
    "RobustLPC",
    "SemiBoostClassifier",
    "Trace",
    "TransductiveKFold",
    "TransductiveSVC",
    "TransductiveSVCCV",
    "__version__",
    "compare",
    "load",
    "save",
    "train",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
