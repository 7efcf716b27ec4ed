"""Displays of methods: their scores side by side, and by the number of labels."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from semisvm.designs.validation import take_rows
from semisvm.estimators.interop import fit_partly
from semisvm.labels.partial import encode, hide_labels, label_array
from semisvm.model_selection.metrics import PartialScorer
from semisvm.reporting.displays import (
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PALETTE,
    one_axes,
    tidy,
    two_axes,
)

if TYPE_CHECKING:
    from semisvm.model_selection import Comparison

DRAWS = 5
VERDICTS = {"helped": GREEN, "no evidence": GREY, "hurt": ORANGE}


class ComparisonDisplay:
    """Mean scores of methods with intervals, and their differences to the supervised one.

    The right half shows whether unlabelled rows helped: an interval right of zero means that
    they did. The intervals on the left overlap more, because they hold the luck of
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
        """Draw in given axes (one is divided in two) or a new figure, with options of points."""
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


class LearningCurveDisplay:
    """Score against the number of labels: mean, and middle half of the draws.

    Parameters
    ----------
    label_counts : sequence of k ints
    scores : mapping name -> array of shape (k, n_draws)
        The supervised method first; it is drawn in grey.
    score_name : str, default="accuracy"
    x_name : str, default="labelled rows"
    levels : mapping name -> float, optional
        Scores to compare with, drawn as horizontal lines: of a fit with all labels.

    Attributes
    ----------
    label_counts : int array of shape (k,)
    scores, levels : dict
    ax_ : axes
    lines_ : list of lines, one per method
    figure_ : figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import NewtonSVC, TransductiveSVC
    >>> from semisvm.reporting import LearningCurveDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> methods = {"supervised": NewtonSVC(reg=0.1), "TSVM": TransductiveSVC(reg=0.1)}
    >>> display = LearningCurveDisplay.from_estimators(
    ...     methods, scale(X), y, label_counts=[6, 20], n_draws=2, random_state=0
    ... )
    >>> display.scores["TSVM"].shape
    (2, 2)
    """

    def __init__(
        self,
        label_counts: Sequence[int],
        scores: Mapping[str, ArrayLike],
        *,
        score_name: str = "accuracy",
        x_name: str = "labelled rows",
        levels: Mapping[str, float] | None = None,
    ) -> None:
        self.label_counts = np.asarray(label_counts)
        self.scores = {name: np.asarray(values) for name, values in scores.items()}
        self.score_name, self.x_name = score_name, x_name
        self.levels = dict(levels or {})

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        label_counts: Sequence[int] = (6, 10, 20, 40, 80),
        n_draws: int = DRAWS,
        scoring: str = "accuracy",
        unlabeled: Any = -1,
        random_state: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Hide labels, fit, score on the rows whose labels were hidden, and draw.

        Parameters
        ----------
        estimators : mapping name -> estimator
            The supervised one first.
        X : n rows
        y : array-like of shape (n,)
            Labels; rows without one stay unlabelled in every fit.
        label_counts : sequence of int
            How many labels are kept; within a draw, more labels include the fewer, and
            the fewest are of all classes.
        n_draws : int, default=5
        scoring : str, default="accuracy"
            A name of `partial_scorer`.
        unlabeled : scalar, default=-1
        random_state : int, RandomState or None, default=None
        ax : axes, optional
        **kwargs
            Of the lines.
        """
        codes = encode(y, unlabeled).codes
        counts = sorted({int(count) for count in label_counts})
        _check_counts(counts, codes)
        rng, score = check_random_state(random_state), PartialScorer(scoring, unlabeled)
        scores = {name: np.empty((len(counts), n_draws)) for name in estimators}
        for draw in range(n_draws):
            order = _order(codes, rng)
            for k, count in enumerate(counts):
                hidden = order[count:]
                partly = hide_labels(y, hidden, unlabeled)
                rows, truth = take_rows(X, hidden), label_array(y)[hidden]
                for name, estimator in estimators.items():
                    model = fit_partly(estimator, X, partly, unlabeled)
                    scores[name][k, draw] = score(model, rows, truth)
        return cls(counts, scores, score_name=scoring).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw in given axes or a new figure, with options of the lines."""
        ax = one_axes(ax, type(self).__name__)
        self.lines_ = []
        for k, (name, values) in enumerate(self.scores.items()):
            colour = GREY if k == 0 else PALETTE[(k - 1) % len(PALETTE)]
            marker = MARKERS[k % len(MARKERS)]
            style = {"color": colour, "marker": marker, "linewidth": 2, **kwargs}
            low, high = np.percentile(values, [25, 75], axis=1)
            ax.fill_between(self.label_counts, low, high, color=colour, alpha=0.13, linewidth=0)
            self.lines_ += ax.plot(self.label_counts, values.mean(axis=1), label=name, **style)
        for name, level in self.levels.items():
            ax.axhline(level, color="black", linestyle="--", linewidth=1.2, label=name)
        ax.set_xscale("log")
        ax.set_xticks(self.label_counts, [f"{count:g}" for count in self.label_counts.tolist()])
        ax.minorticks_off()
        ax.set_xlabel(self.x_name)
        ax.set_ylabel(f"{self.score_name} on the rows whose labels were hidden")
        ax.legend(frameon=False)
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _check_counts(counts: Sequence[int], codes: NDArray[np.intp]) -> None:
    n_labels, n_classes = np.count_nonzero(codes >= 0), codes.max() + 1
    if not counts or counts[0] < n_classes or counts[-1] >= n_labels:
        raise ValueError(
            f"label_counts must be between the {n_classes} classes and {n_labels - 1}, one less "
            f"than the labels there are, got {list(counts)}."
        )


def _order(codes: NDArray[np.intp], rng: Any) -> NDArray[np.intp]:
    """Return the labelled rows in random order, but with one of every class first."""
    order = rng.permutation(np.flatnonzero(codes >= 0))
    first = np.unique(codes[order], return_index=True)[1]
    return np.concatenate([order[first], np.delete(order, first)])
