"""Figures in the style of scikit-learn: the data are attributes, ``plot`` draws them.

The public names are imported when they are first used; matplotlib, the extra
``semisvm[plots]``, when something is drawn.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

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


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
