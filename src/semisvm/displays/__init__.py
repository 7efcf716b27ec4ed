"""Figures in the style of scikit-learn: the data are attributes, ``plot`` draws them.

The public names are imported when they are first used; matplotlib, the extra
``semisvm[plots]``, when something is drawn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.displays.boundary import DecisionBoundaryDisplay2D
    from semisvm.displays.comparison import ComparisonDisplay
    from semisvm.displays.learning_curve import LearningCurveDisplay
    from semisvm.displays.score_histogram import ScoreHistogramDisplay
    from semisvm.displays.trace import TraceDisplay

_HOMES = {
    "ComparisonDisplay": "semisvm.displays.comparison",
    "DecisionBoundaryDisplay2D": "semisvm.displays.boundary",
    "LearningCurveDisplay": "semisvm.displays.learning_curve",
    "ScoreHistogramDisplay": "semisvm.displays.score_histogram",
    "TraceDisplay": "semisvm.displays.trace",
}

__all__ = [
    "ComparisonDisplay",
    "DecisionBoundaryDisplay2D",
    "LearningCurveDisplay",
    "ScoreHistogramDisplay",
    "TraceDisplay",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
