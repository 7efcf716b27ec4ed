"""A figure of the boundary between classes in the plane."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.estimators.margins import last_step, margin_width
from semisvm.labels.partial import encode
from semisvm.reporting.displays import MARKERS, PALETTE, one_axes


class DecisionBoundaryDisplay2D:
    """Regions of the classes in two dimensions, with labelled and unlabelled rows.

    Parameters
    ----------
    xx0, xx1 : arrays of shape (g, g)
        The grid.
    codes : int array of shape (g, g)
        Predicted class of each point of the grid.
    classes : array of shape (m,)
    scores : array of shape (g, g), optional
        Of two classes; the boundary and the margin are drawn from it.
    margin : float, optional
    points : array of shape (n, 2)
    labels : int array of shape (n,)
        Class codes of the points, -1 for unlabelled ones.
    axis_names : pair of str

    Attributes
    ----------
    ax_ : axes
    surface_ : the regions
    contours_ : boundary and margin, or None
    labeled_, unlabeled_ : lists of scattered points
    figure_ : figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_blobs
    >>> from semisvm import TransductiveSVC
    >>> from semisvm.reporting import DecisionBoundaryDisplay2D
    >>> from semisvm.model_selection import hide_labels
    >>> X, y = make_blobs(90, centers=3, random_state=0)
    >>> y = hide_labels(y, range(9, 90))
    >>> model = TransductiveSVC(reg=0.01).fit(X, y)
    >>> display = DecisionBoundaryDisplay2D.from_estimator(model, X, y)
    >>> len(display.labeled_)
    3
    """

    def __init__(
        self,
        *,
        xx0: Any,
        xx1: Any,
        codes: Any,
        classes: Any,
        scores: Any = None,
        margin: float | None = None,
        points: Any,
        labels: Any,
        axis_names: tuple[str, str] = ("first feature", "second feature"),
    ) -> None:
        self.xx0, self.xx1, self.codes = xx0, xx1, codes
        self.classes = classes
        self.scores, self.margin = scores, margin
        self.points, self.labels = points, labels
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        grid_resolution: int = 200,
        eps: float = 0.05,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the regions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted classifier or pipeline
        X : array or data frame of shape (n, 2)
        y : array-like of shape (n,)
            Labels, and the estimator's marker for unlabelled rows.
        grid_resolution : int, default=200
        eps : float, default=0.05
            How far the grid goes beyond the rows, as a share of their range.
        ax : axes, optional
        **kwargs
            Of the regions.
        """
        points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"X must have two columns to be drawn, got shape {points.shape}.")
        inner = last_step(estimator)
        xx0, xx1 = _grid(points, grid_resolution, eps)
        plane = np.column_stack([xx0.ravel(), xx1.ravel()])
        rows = type(X)(plane, columns=X.columns) if hasattr(X, "iloc") else plane
        classes = np.asarray(inner.classes_)
        scores = estimator.decision_function(rows).reshape(xx0.shape) if len(classes) == 2 else None
        made = cls(
            xx0=xx0,
            xx1=xx1,
            codes=np.searchsorted(classes, estimator.predict(rows)).reshape(xx0.shape),
            classes=classes,
            scores=scores,
            margin=margin_width(estimator),
            points=points,
            labels=_codes_in(classes, y, getattr(inner, "unlabeled", -1)),
            axis_names=_names(X),
        )
        return made.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw in given axes or a new figure, with options of the regions."""
        ax = one_axes(ax, type(self).__name__, (6.0, 4.6))
        from matplotlib.colors import ListedColormap

        colours = [PALETTE[k % len(PALETTE)] for k in range(len(self.classes))]
        limits = {"vmin": -0.5, "vmax": len(colours) - 0.5, "cmap": ListedColormap(colours)}
        style = {"alpha": 0.16, "shading": "nearest", "rasterized": True, **limits, **kwargs}
        self.surface_ = ax.pcolormesh(self.xx0, self.xx1, self.codes, **style)
        self.contours_ = self._draw_margin(ax)
        self._draw_points(ax, colours)
        ax.set_xlabel(self.axis_names[0])
        ax.set_ylabel(self.axis_names[1])
        # to find the best place among many points takes seconds
        ax.legend(loc="upper right", framealpha=0.9, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_margin(self, ax: Any) -> Any:
        if self.scores is None:
            return None
        inside = self.margin is not None
        width = self.margin if self.margin is not None else 0.0
        levels = [-width, 0.0, width] if inside else [0.0]
        # a level that the grid does not reach has nothing to draw, and a warning
        shown = [v for v in levels if np.min(self.scores) < v < np.max(self.scores)]
        if not shown:
            return None
        lines = ["-" if value == 0.0 else "--" for value in shown]
        options = {"colors": "#333333", "linewidths": 1.1, "linestyles": lines}
        return ax.contour(self.xx0, self.xx1, self.scores, levels=shown, **options)

    def _draw_points(self, ax: Any, colours: list[str]) -> None:
        free = self.points[self.labels < 0]
        self.unlabeled_, self.labeled_ = [], []
        if len(free):
            style = {"s": 10, "color": "#777777", "alpha": 0.7, "linewidths": 0}
            self.unlabeled_ = [ax.scatter(*free.T, label="unlabelled", **style)]
        for k, name in enumerate(self.classes.tolist()):
            rows = self.points[self.labels == k]
            if len(rows):
                style = {"s": 60, "edgecolors": "black", "marker": MARKERS[k % len(MARKERS)]}
                self.labeled_.append(
                    ax.scatter(*rows.T, color=colours[k], label=str(name), **style)
                )


def _grid(points: NDArray[np.float64], resolution: int, eps: float) -> Any:
    low, high = points.min(axis=0), points.max(axis=0)
    room = eps * np.where(high > low, high - low, 1.0)
    axes = [np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True)]
    return np.meshgrid(*axes)


def _codes_in(classes: NDArray[Any], y: ArrayLike, unlabeled: Any) -> NDArray[np.intp]:
    """Return the codes of labels in the order of the estimator's classes."""
    found = encode(y, unlabeled)
    places = np.searchsorted(classes, found.classes)
    return np.where(found.codes < 0, -1, places[found.codes])


def _names(X: Any) -> tuple[str, str]:
    if not hasattr(X, "columns"):
        return ("first feature", "second feature")
    return (str(X.columns[0]), str(X.columns[1]))
