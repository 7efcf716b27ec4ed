"""Displays of a fit and of its scores, and what all displays share."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.estimators.margins import (
    BINS,
    histogram,
    last_step,
    margin_width,
    margins,
    unlabeled_rows,
)
from semisvm.reporting.figures import LEVELS, objective_name, runs
from semisvm.solvers.trace import Trace

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


class TraceDisplay:
    """The objective, and the temperature or the weight of the unlabelled rows, by round.

    The objective is that of the level at which the method is, so it may well rise where
    the weight of the unlabelled rows does; at one level it falls. Annealing is an exception: at
    a temperature the free energy falls (``free_energy`` of the trace), and the objective is
    that of the best labels with the class counts, which may rise.

    Parameters
    ----------
    objective : array of shape (n_rounds,)
    value : array of shape (n_rounds,)
        Of the level; NaN or zero where there is none.
    phase : array of str of shape (n_rounds,)
    estimator_name : str, optional

    Attributes
    ----------
    axes_ : array of two axes
        Objective and level.
    ax_ : axes of the objective
    lines_ : list of lines
    figure_ : figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import AnnealedSVC
    >>> from semisvm.reporting import TraceDisplay
    >>> from semisvm.model_selection import hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AnnealedSVC(reg=0.1).fit(scale(X), hide_labels(y, range(20, len(y))))
    >>> TraceDisplay.from_estimator(model).axes_[1].get_ylabel()
    'temperature'
    """

    def __init__(
        self,
        objective: Any,
        value: Any,
        phase: Any,
        *,
        estimator_name: str | None = None,
    ) -> None:
        self.objective = np.asarray(objective, dtype=np.float64)
        self.value = np.asarray(value, dtype=np.float64)
        self.phase = np.asarray(phase, dtype=str)
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the trace of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of this package, or a pipeline that ends with one
        ax : axes or two axes, optional
        **kwargs
            Of the lines.
        """
        inner = last_step(estimator)
        name = type(inner).__name__
        if not hasattr(inner, "trace_"):
            raise ValueError(f"{name} has no trace_: fit it first.")
        return cls.from_trace(inner.trace_, estimator_name=name, ax=ax, **kwargs)

    @classmethod
    def from_trace(
        cls, trace: Trace, *, estimator_name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a trace.

        Parameters
        ----------
        trace : Trace
        estimator_name : str, optional
        ax : axes or two axes, optional
        **kwargs
            Of the lines.
        """
        if len(trace) == 0:
            raise ValueError("the trace has no rounds to draw.")
        columns = (trace[name] for name in ("objective", "value", "phase"))
        return cls(*columns, estimator_name=estimator_name).plot(ax=ax, **kwargs)

    @property
    def level_name(self) -> str:
        """What the value of the levels is."""
        names = [LEVELS[phase] for phase, _ in runs(self.phase) if phase in LEVELS]
        return names[0] if names else "level"

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw in given axes (one is divided in two) or a new figure, with options of the lines."""
        axes = two_axes(ax, type(self).__name__, (6.4, 4.6), stacked=True, ratios=(2, 1))
        style = {"marker": ".", "linewidth": 1.4, **kwargs}
        self.lines_ = self._draw_objective(axes[0], style) + self._draw_levels(axes[1], style)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _draw_objective(self, ax: Any, style: dict[str, Any]) -> list[Any]:
        lines: list[Any] = []
        rounds, parts = np.arange(len(self.objective)), runs(self.phase)
        colours = dict(zip(dict.fromkeys(name for name, _ in parts), PALETTE * 9, strict=False))
        for name, part in parts:
            label = None if any(line.get_label() == name for line in lines) else name
            colour = {"color": colours[name], **style}
            lines += ax.plot(rounds[part], self.objective[part], label=label, **colour)
        ax.set_ylabel(objective_name(self.phase).replace(" of ", "\nof "))
        ax.tick_params(labelbottom=False)
        ax.legend(frameon=False)
        if self.estimator_name:
            ax.set_title(self.estimator_name, loc="left", fontsize="medium")
        tidy(ax)
        return lines

    def _draw_levels(self, ax: Any, style: dict[str, Any]) -> list[Any]:
        name = self.level_name
        # temperatures and weights do not belong on one scale
        shown = np.array([LEVELS.get(phase) == name for phase in self.phase.tolist()])
        shown &= np.nan_to_num(self.value) > 0.0
        lines = []
        if shown.any():
            rounds = np.flatnonzero(shown)
            quiet = {"color": "#5a5a5a", **style, "drawstyle": "steps-mid"}
            lines = ax.plot(rounds, self.value[rounds], **quiet)
            ax.set_yscale("log")
        ax.set_ylabel(name.replace(" of ", "\nof "))
        ax.set_xlabel("round")
        tidy(ax)
        return list(lines)


class ScoreHistogramDisplay:
    """Histogram of the scores of unlabelled rows, with the margin.

    A boundary in a gap shows as few rows between -1 and +1. Of more than two classes the
    margin of the best class over the second is shown, which is never negative.

    Parameters
    ----------
    counts : array of shape (b,)
    edges : array of shape (b + 1,)
    margin : float, optional
        Where rows begin to cost nothing; None for losses without such a place.
    two : bool, default=True
        Whether there are two classes, so that scores have a sign.
    inside : float, optional
        Share of the rows within the margin.
    class_names : pair of str, optional
        Of two classes, for the two sides.

    Attributes
    ----------
    ax_ : axes
    bars_ : bars of the histogram
    lines_ : list of lines
        The boundary, then the margins.
    figure_ : figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from semisvm.reporting import ScoreHistogramDisplay
    >>> scores = np.array([-1.5, -1.2, -0.3, 1.1, 1.4])
    >>> ScoreHistogramDisplay.from_scores(scores, bins=4).inside
    0.2
    """

    def __init__(
        self,
        counts: ArrayLike,
        edges: ArrayLike,
        *,
        margin: float | None = 1.0,
        two: bool = True,
        inside: float | None = None,
        class_names: tuple[str, str] | None = None,
    ) -> None:
        self.counts = np.asarray(counts)
        self.edges = np.asarray(edges, dtype=np.float64)
        self.margin = margin
        self.two = two
        self.inside = inside
        self.class_names = class_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        bins: int = BINS,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator or pipeline with ``decision_function``
        X : rows
        y : array-like of shape (n,), optional
            Labels and markers; the rows without a label are drawn. All rows by default.
        bins : int, default=40
        ax : axes, optional
        **kwargs
            Of the bars.
        """
        rows = X if y is None else unlabeled_rows(estimator, X, y)
        if (rows.shape[0] if hasattr(rows, "shape") else len(rows)) == 0:
            raise ValueError("every row has a label: there are no unlabelled rows to draw.")
        classes = [str(label) for label in last_step(estimator).classes_.tolist()]
        return cls.from_scores(
            estimator.decision_function(rows),
            margin=margin_width(estimator),
            class_names=(classes[0], classes[1]) if len(classes) == 2 else None,
            bins=bins,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        margin: float | None = 1.0,
        class_names: tuple[str, str] | None = None,
        bins: int = BINS,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw scores.

        Parameters
        ----------
        scores : array of shape (n,) or (n, m)
        margin : float or None, default=1.0
        class_names : pair of str, optional
        bins : int, default=40
        ax : axes, optional
        **kwargs
            Of the bars.
        """
        two = np.ndim(scores) == 1
        values = margins(scores)
        counts, edges = histogram(values, bins)
        inside = None if margin is None else float(np.mean(np.abs(values) < margin))
        made = cls(counts, edges, margin=margin, two=two, inside=inside, class_names=class_names)
        return made.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw in given axes or a new figure, with options of the bars."""
        ax = one_axes(ax, type(self).__name__, (6.4, 3.6))
        style = {"color": BLUE, "alpha": 0.75, **kwargs}
        widths = np.diff(self.edges)
        self.bars_ = ax.bar(self.edges[:-1], self.counts, width=widths, align="edge", **style)
        self.lines_ = [ax.axvline(0.0, color="black", linewidth=1.2)]
        self.lines_ += [
            ax.axvline(place, color=GREY, linestyle="--", linewidth=1.0) for place in self.places
        ]
        ax.set_xlabel(self._x_label())
        ax.set_ylabel("unlabelled rows")
        if self.inside is not None:
            title = f"{self.inside:.0%} of the unlabelled rows are within the margin"
            ax.set_title(title, loc="left", fontsize="medium")
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def places(self) -> list[float]:
        """Where the margin is drawn."""
        if self.margin is None:
            return []
        return [-self.margin, self.margin] if self.two else [self.margin]

    def _x_label(self) -> str:
        if not self.two:
            return "margin of the best class over the second"
        if self.class_names is None:
            return "score"
        return f"score:  {self.class_names[0]}  ←  0  →  {self.class_names[1]}"
