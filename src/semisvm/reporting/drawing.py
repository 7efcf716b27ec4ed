"""What the displays share: where to draw, and in which colours."""

from collections.abc import Sequence
from typing import Any

import numpy as np

# Okabe and Ito's colours, which stay apart for colour-blind readers
GREY, BLUE, ORANGE, GREEN = "#5a5a5a", "#0072b2", "#d55e00", "#009e73"
PALETTE = (BLUE, ORANGE, GREEN, "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#000000")
MARKERS = "os^DvPX*"
MISSING = "{name} needs matplotlib to draw: pip install 'semisvm[plots]'."


def need_matplotlib(name: str) -> None:
    """Raise an ImportError with what to install if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(MISSING.format(name=name)) from error


def one_axes(ax: Any, name: str, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Return the axes to draw in: the given ones, or those of a new figure."""
    need_matplotlib(name)
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def panels(name: str, n: int, size: tuple[float, float]) -> list[Any]:
    """Return n axes in rows of two or three, each of a size in inches, of a new figure."""
    need_matplotlib(name)
    import matplotlib.pyplot as plt

    across = min(n, 2 if n == 4 else 3)
    down = -(-n // across)
    inches = (across * size[0], down * size[1])
    axes = plt.subplots(down, across, figsize=inches, layout="constrained", squeeze=False)[1]
    for unused in axes.ravel()[n:]:
        unused.set_axis_off()
    return list(axes.ravel()[:n])


def two_axes(
    ax: Any, name: str, size: tuple[float, float], *, stacked: bool, ratios: Sequence[float]
) -> Any:
    """Return two axes: those given, or halves of the one given, or those of a new figure.

    Stacked ones share their horizontal axis, the others their vertical one.
    """
    need_matplotlib(name)
    if ax is not None and not hasattr(ax, "get_subplotspec"):
        pair = np.asarray(ax, dtype=object).ravel()
        if len(pair) != 2:
            raise ValueError(f"ax must be one or two axes, got {len(pair)}.")
        return pair
    if ax is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(**_cells(stacked, ratios))
    else:
        ax.set_axis_off()
        figure = ax.figure
        grid = ax.get_subplotspec().subgridspec(**_cells(stacked, ratios))
    first = figure.add_subplot(grid[0])
    shared = {"sharex": first} if stacked else {"sharey": first}
    return np.array([first, figure.add_subplot(grid[1], **shared)], dtype=object)


def _cells(stacked: bool, ratios: Sequence[float]) -> dict[str, Any]:
    if stacked:
        return {"nrows": 2, "ncols": 1, "height_ratios": list(ratios)}
    return {"nrows": 1, "ncols": 2, "width_ratios": list(ratios)}


def tidy(ax: Any, grid: str = "y") -> None:
    """Take away what does not show data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)
