"""A report of a model: data first, then one HTML file that needs nothing else, or a model card.

The public names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.report.card import render_card, write_card
    from semisvm.report.data import report_data
    from semisvm.report.evaluation import evaluation_data
    from semisvm.report.page import render, write_report

_HOMES = {
    "evaluation_data": "semisvm.report.evaluation",
    "render": "semisvm.report.page",
    "render_card": "semisvm.report.card",
    "report_data": "semisvm.report.data",
    "write_card": "semisvm.report.card",
    "write_report": "semisvm.report.page",
}

__all__ = ["evaluation_data", "render", "render_card", "report_data", "write_card", "write_report"]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
