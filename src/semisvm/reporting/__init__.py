"""Figures, reports, model cards and views for notebooks.

A display has its data as attributes, and ``plot`` draws them in the style of scikit-learn. A
report is data first, then one HTML file that needs nothing else, or a model card. matplotlib, the
extra ``semisvm[plots]``, is imported when a display is drawn.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.reporting.boundary import DecisionBoundaryDisplay2D
    from semisvm.reporting.card import render_card, write_card
    from semisvm.reporting.comparison import ComparisonDisplay
    from semisvm.reporting.data import evaluation_data, report_data
    from semisvm.reporting.learning_curve import LearningCurveDisplay
    from semisvm.reporting.page import render, write_report
    from semisvm.reporting.score_histogram import ScoreHistogramDisplay
    from semisvm.reporting.trace import TraceDisplay

_HOMES = {
    "ComparisonDisplay": "semisvm.reporting.comparison",
    "DecisionBoundaryDisplay2D": "semisvm.reporting.boundary",
    "LearningCurveDisplay": "semisvm.reporting.learning_curve",
    "ScoreHistogramDisplay": "semisvm.reporting.score_histogram",
    "TraceDisplay": "semisvm.reporting.trace",
    "evaluation_data": "semisvm.reporting.data",
    "render": "semisvm.reporting.page",
    "render_card": "semisvm.reporting.card",
    "report_data": "semisvm.reporting.data",
    "write_card": "semisvm.reporting.card",
    "write_report": "semisvm.reporting.page",
}

__all__ = [
    "ComparisonDisplay",
    "DecisionBoundaryDisplay2D",
    "LearningCurveDisplay",
    "ScoreHistogramDisplay",
    "TraceDisplay",
    "evaluation_data",
    "render",
    "render_card",
    "report_data",
    "write_card",
    "write_report",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
