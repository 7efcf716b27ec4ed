"""A figure of where the unlabelled rows lie."""

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
from semisvm.reporting.drawing import BLUE, GREY, one_axes, tidy


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
        """Draw.

        Parameters
        ----------
        ax : axes, optional
        **kwargs
            Of the bars.
        """
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
