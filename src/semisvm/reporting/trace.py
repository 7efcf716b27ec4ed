"""A figure of the course of a fit."""

from typing import Any, Self

import numpy as np

from semisvm.estimators.margins import last_step
from semisvm.reporting.drawing import PALETTE, tidy, two_axes
from semisvm.reporting.figures import LEVELS, objective_name, runs
from semisvm.solvers.trace import Trace


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
        """Draw.

        Parameters
        ----------
        ax : axes or two axes, optional
            One is divided in two.
        **kwargs
            Of the lines.
        """
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
