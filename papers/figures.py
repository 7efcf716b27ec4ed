"""The curves of an experiment as one figure, a panel each, drawn with the displays."""

from collections.abc import Mapping, Sequence
from typing import Any

from semisvm.reporting import LearningCurveDisplay
from semisvm.reporting.displays import GREY, MARKERS, PALETTE, need_matplotlib, tidy

WIDTH, HEIGHT = 5.2, 3.6
SMALL = 0.1
"""Values of a course below it are drawn on a linear scale down to zero."""


def draw_curves(curves: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the curves of a result of the runner.

    Parameters
    ----------
    curves : sequence of dict
        ``result["curves"]``, also of a result that was saved as JSON: each has the fields of
        `papers.plans.Curve`.

    Returns
    -------
    figure : matplotlib figure
    """
    axes = _panels(len(curves))
    scales: dict[str, Any] = {}
    for ax, curve in zip(axes, curves, strict=True):
        # results that were saved by an earlier version have neither paths nor scales
        (_draw_paths if curve.get("paths") else _draw_lines)(ax, curve)
        ax.set_xlabel(curve["x_name"])
        ax.set_ylabel(curve["y_name"])
        ax.set_title(curve["title"])
        if curve.get("scale"):
            _share(ax, scales.setdefault(curve["scale"], ax))
    return axes[0].figure


def _panels(n: int) -> list[Any]:
    """Return n axes of a new figure, in rows of two or three."""
    need_matplotlib("python -m papers")
    import matplotlib.pyplot as plt

    across = min(n, 2 if n == 4 else 3)
    down = -(-n // across)
    size = (across * WIDTH, down * HEIGHT)
    axes = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)[1].ravel()
    for unused in axes[n:]:
        unused.set_axis_off()
    return list(axes[:n])


def _share(ax: Any, first: Any) -> None:
    """Give a panel the vertical axis of the first one, which makes room for both."""
    if ax is not first:
        ax.sharey(first)
        first.autoscale(axis="y")


def _draw_lines(ax: Any, curve: Mapping[str, Any]) -> None:
    LearningCurveDisplay(curve["x"], curve["lines"], levels=curve["levels"]).plot(ax=ax)


def _draw_paths(ax: Any, curve: Mapping[str, Any]) -> None:
    """Draw courses, with a mark at the end; small values and zero stay apart."""
    for k, (name, points) in enumerate(curve["paths"].items()):
        style = {"color": (GREY, *PALETTE)[k], "marker": MARKERS[k], "markevery": [-1]}
        ax.plot(*zip(*points, strict=True), linewidth=2, clip_on=False, label=name, **style)
    ax.set_xscale("log")
    ax.xaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yscale("symlog", linthresh=SMALL, linscale=0.4)
    ax.set_yticks([0.0, SMALL, 1.0, 10.0, 100.0], ["0", f"{SMALL:g}", "1", "10", "100"])
    ax.minorticks_off()
    ax.set_ylim(0.0, 120.0)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.7, 0.0))
    tidy(ax)
