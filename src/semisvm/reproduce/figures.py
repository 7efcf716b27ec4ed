"""The curves of an experiment as one figure, a panel each, drawn with the displays."""

from collections.abc import Mapping, Sequence
from typing import Any

from semisvm.displays import LearningCurveDisplay
from semisvm.displays.drawing import panels

WIDTH, HEIGHT = 5.2, 3.6


def draw_curves(curves: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the curves of a result of the runner.

    Parameters
    ----------
    curves : sequence of dict
        ``result["curves"]``, also of a result that was saved as JSON: each has the fields of
        `semisvm.reproduce.plans.Curve`.

    Returns
    -------
    figure : matplotlib figure
    """
    axes = panels("semisvm reproduce", len(curves), (WIDTH, HEIGHT))
    for ax, curve in zip(axes, curves, strict=True):
        LearningCurveDisplay(
            curve["x"],
            curve["lines"],
            score_name=curve["y_name"],
            x_name=curve["x_name"],
            levels=curve["levels"],
        ).plot(ax=ax)
        ax.set_ylabel(curve["y_name"])
        ax.set_title(curve["title"])
    return axes[0].figure
