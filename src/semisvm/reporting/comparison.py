"""A figure of methods side by side."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from semisvm.reporting.drawing import BLUE, GREEN, GREY, ORANGE, tidy, two_axes

if TYPE_CHECKING:
    from semisvm.model_selection import Comparison

VERDICTS = {"helped": GREEN, "no evidence": GREY, "hurt": ORANGE}


class ComparisonDisplay:
    """Mean scores of methods with intervals, and their differences to the supervised one.

    The right half answers whether unlabelled rows helped: an interval right of zero means
    that they did. The intervals on the left overlap more, because they hold the luck of
    the folds, which methods share.

    Parameters
    ----------
    comparison : dict
        As of ``Comparison.to_dict``.

    Attributes
    ----------
    names : list of str
    means : array of shape (k,)
    intervals : array of shape (k, 2)
    differences : dict name -> (mean, low, high, verdict)
    baseline, scoring : str
    axes_ : array of two axes
    ax_ : axes of the scores
    figure_ : figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import NewtonSVC, TransductiveSVC
    >>> from semisvm.reporting import ComparisonDisplay
    >>> from semisvm.model_selection import compare, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y = hide_labels(y, range(30, len(y)))
    >>> found = compare([NewtonSVC(reg=0.1), TransductiveSVC(reg=0.1)], scale(X), y, cv=3)
    >>> ComparisonDisplay.from_comparison(found).names
    ['NewtonSVC', 'TransductiveSVC']
    """

    def __init__(self, comparison: Mapping[str, Any]) -> None:
        methods = comparison["methods"]
        self.names = [str(method["name"]) for method in methods]
        self.means = np.array([method["mean"] for method in methods], dtype=np.float64)
        self.intervals = np.array([method["interval"] for method in methods], dtype=np.float64)
        self.differences = {
            str(d["name"]): (d["mean"], *d["interval"], d["verdict"])
            for d in comparison["differences"]
        }
        self.baseline = str(comparison["baseline"])
        self.scoring = str(comparison["scoring"])
        self.confidence = float(comparison["confidence"])

    @classmethod
    def from_comparison(
        cls, comparison: "Comparison | Mapping[str, Any]", *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison, or its ``to_dict()``
        ax : axes or two axes, optional
        **kwargs
            Of the points and their intervals.
        """
        data = comparison if isinstance(comparison, Mapping) else comparison.to_dict()
        return cls(data).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes or two axes, optional
            One is divided in two.
        **kwargs
            Of the points and their intervals.
        """
        height = 1.4 + 0.4 * len(self.names)
        axes = two_axes(ax, type(self).__name__, (7.2, height), stacked=False, ratios=(1, 1))
        style = {"fmt": "o", "capsize": 3, **kwargs}
        self._draw_means(axes[0], style)
        self._draw_differences(axes[1], style)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _draw_means(self, ax: Any, style: dict[str, Any]) -> None:
        places = np.arange(len(self.names))
        for k in places.tolist():
            colour = GREY if self.names[k] == self.baseline else BLUE
            low, high = self.intervals[k].tolist()
            _interval(ax, k, self.means[k], low, high, {"color": colour, **style})
        ax.set_yticks(places, self.names)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.set_xlabel(f"{self.scoring}, mean and {self.confidence:.0%} interval")
        tidy(ax, "x")

    def _draw_differences(self, ax: Any, style: dict[str, Any]) -> None:
        ax.axvline(0.0, color="black", linewidth=1.0)
        for k, name in enumerate(self.names):
            if name in self.differences:
                mean, low, high, verdict = self.differences[name]
                _interval(ax, k, mean, low, high, {"color": VERDICTS[verdict], **style})
        ax.tick_params(labelleft=False)
        ax.set_xlabel(f"difference to {self.baseline}")
        tidy(ax, "x")


def _interval(
    ax: Any, place: int, mean: float, low: float, high: float, style: dict[str, Any]
) -> None:
    ax.errorbar([mean], [place], xerr=[[mean - low], [high - mean]], **style)
