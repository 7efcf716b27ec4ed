"""Displays: the data they hold, what they draw, and errors where they cannot."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import hide, two_blobs
from semisvm import AnnealedSVC, EntropyRegularizedClassifier, NewtonSVC, TransductiveSVC
from semisvm.estimators.margins import describe_unlabeled, histogram, margin_width, margins
from semisvm.methods import Trace
from semisvm.model_selection import Comparison
from semisvm.model_selection.comparison_result import FoldScore
from semisvm.reporting import (
    ComparisonDisplay,
    DecisionBoundaryDisplay2D,
    LearningCurveDisplay,
    ScoreHistogramDisplay,
    TraceDisplay,
)
from semisvm.reporting.displays import GREEN, GREY, ORANGE

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _figures_can_be_drawn():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


@pytest.fixture(scope="module")
def two():
    X, y = two_blobs(gap=4.0, d=2)
    partly = hide(y, 8)
    return X, partly, TransductiveSVC(reg=0.01).fit(X, partly)


@pytest.fixture(scope="module")
def three():
    X, y = make_blobs(150, centers=3, cluster_std=1.5, random_state=1)
    partly = hide(y, 12)
    return X, partly, TransductiveSVC(reg=0.01).fit(X, partly)


def found(differences, n_labeled=200):
    """A comparison in which methods differ from the baseline by given amounts."""
    base = [0.70, 0.72, 0.68, 0.71, 0.69]
    noise = [0.0, 1e-3, -1e-3, 2e-3, -2e-3]
    own = {k: [b + d + e for b, e in zip(base, noise, strict=True)] for k, d in differences.items()}
    scores = {"svm": base, **own}
    scores = {
        name: [FoldScore(name, k, v + 1e-3 * (k % 2), 0.1) for k, v in enumerate(values)]
        for name, values in scores.items()
    }
    return Comparison.of(
        scores,
        baseline="svm",
        scoring="accuracy",
        confidence=0.95,
        test_share=0.25,
        n_labeled=n_labeled,
        n_unlabeled=100,
    )


def test_trace_shows_objective_and_temperature(two):
    X, partly, _ = two
    model = AnnealedSVC(reg=0.01).fit(X, partly)
    display = TraceDisplay.from_estimator(model)
    assert display.level_name == "temperature"
    drawn = np.concatenate([line.get_ydata() for line in display.ax_.lines])
    np.testing.assert_array_equal(drawn, model.trace_["objective"])
    levels = display.axes_[1].lines[0].get_ydata()
    np.testing.assert_array_equal(
        levels, model.trace_["value"][model.trace_["phase"] == "annealing"]
    )
    assert display.axes_[1].get_yscale() == "log"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["supervised", "annealing", "switching"]


def test_trace_of_weights_pipelines_and_supervised(two):
    X, partly, model = two
    pipeline = make_pipeline(StandardScaler(), model).fit(X, partly)
    assert TraceDisplay.from_estimator(pipeline).level_name == "weight of the unlabelled rows"
    supervised = TraceDisplay.from_estimator(NewtonSVC().fit(X, partly))
    assert supervised.level_name == "level"
    assert not supervised.axes_[1].lines


def test_trace_in_given_axes(two):
    model = two[2]
    figure, ax = plt.subplots()
    display = TraceDisplay.from_estimator(model, ax=ax, color="red")
    assert display.figure_ is figure
    assert not ax.axison
    assert len(figure.axes) == 3
    assert {line.get_color() for line in display.lines_} == {"red"}
    _, pair = plt.subplots(2)
    assert display.plot(ax=pair).axes_[1] is pair[1]
    with pytest.raises(ValueError, match="one or two axes, got 3"):
        display.plot(ax=plt.subplots(3)[1])


def test_trace_of_nothing(two):
    with pytest.raises(ValueError, match="no trace_: fit it first"):
        TraceDisplay.from_estimator(TransductiveSVC())
    with pytest.raises(ValueError, match="no rounds"):
        TraceDisplay.from_trace(Trace())


def test_histogram_of_two_classes(two):
    X, partly, model = two
    display = ScoreHistogramDisplay.from_estimator(model, X, partly)
    scores = model.decision_function(X[partly == -1])
    assert display.counts.sum() == len(scores)
    assert display.inside == np.mean(np.abs(scores) < 1)
    assert [line.get_xdata()[0] for line in display.lines_] == [0, -1, 1]
    assert "0  ←  0  →  1" in display.ax_.get_xlabel()
    assert ScoreHistogramDisplay.from_estimator(model, X).counts.sum() == len(X)


def test_histogram_of_many_classes(three):
    X, partly, model = three
    display = ScoreHistogramDisplay.from_estimator(model, X, partly)
    assert not display.two
    assert display.edges[0] >= 0
    assert [line.get_xdata()[0] for line in display.lines_] == [0, 2]
    assert display.ax_.get_xlabel() == "margin of the best class over the second"


def test_histogram_without_margin_or_rows(two):
    X, partly, model = two
    maxent = EntropyRegularizedClassifier().fit(X, partly)
    display = ScoreHistogramDisplay.from_estimator(maxent, X, partly)
    assert display.margin is None
    assert len(display.lines_) == 1
    with pytest.raises(ValueError, match="every row has a label"):
        ScoreHistogramDisplay.from_estimator(model, X, np.arange(len(X)) % 2)


def test_margins():
    scores = np.array([[1.0, 3.0, -1.0], [0.5, 0.5, 0.0]])
    np.testing.assert_array_equal(margins(scores), [2.0, 0.0])
    np.testing.assert_array_equal(margins([1.0, -2.0]), [1.0, -2.0])


def test_far_rows_do_not_squeeze_the_histogram():
    values = np.append(np.linspace(-1, 1, 1000), 1e9)
    counts, edges = histogram(values, 20)
    assert counts.sum() == 1001
    assert edges[-1] < 2
    assert histogram([], 5)[0].tolist() == [0] * 5
    assert histogram([1.0, 1.0], 5)[0].sum() == 2


def test_unlabeled_rows_described(two, three):
    X, partly, model = three
    facts = describe_unlabeled(model, X, partly)
    predicted = model.predict(X[partly == -1])
    assert facts["found"] == {k: int(np.sum(predicted == k)) for k in range(3)}
    assert facts["scores"]["margin"] == 2.0
    X, partly, model = two
    assert describe_unlabeled(model, X, partly)["scores"]["two"]
    assert describe_unlabeled(model, X, np.arange(len(X)) % 2) == {}
    assert margin_width(TransductiveSVC(loss="squared").fit(X, partly)) is None


def test_boundary_of_two_classes(two):
    X, partly, model = two
    display = DecisionBoundaryDisplay2D.from_estimator(model, X, partly, grid_resolution=20)
    assert display.codes.shape == (20, 20)
    np.testing.assert_array_equal(display.codes, display.scores > 0)
    assert display.contours_.levels.tolist() == [-1, 0, 1]
    assert len(display.unlabeled_[0].get_offsets()) == np.sum(partly == -1)
    assert [len(points.get_offsets()) for points in display.labeled_] == [4, 4]


def test_boundary_of_many_classes_with_names_in_a_frame(three):
    pd = pytest.importorskip("pandas")
    X, partly, _ = three
    frame = pd.DataFrame(X, columns=["height", "width"])
    names = np.array([None, "a", "b", "c"], dtype=object)[partly + 1]
    model = TransductiveSVC(reg=0.01).fit(frame, names)
    display = DecisionBoundaryDisplay2D.from_estimator(model, frame, names, grid_resolution=15)
    assert display.contours_ is None
    assert display.ax_.get_xlabel() == "height"
    assert [points.get_label() for points in display.labeled_] == ["a", "b", "c"]
    np.testing.assert_array_equal(display.labels, partly)


def test_boundary_needs_a_plane(two):
    with pytest.raises(ValueError, match="two columns"):
        DecisionBoundaryDisplay2D.from_estimator(two[2], np.ones((5, 3)), np.ones(5))


def test_learning_curve():
    X, y = two_blobs(gap=3.0)
    methods = {"supervised": NewtonSVC(), "TSVM": TransductiveSVC()}
    display = LearningCurveDisplay.from_estimators(
        methods, X, y, label_counts=(10, 4), n_draws=3, random_state=0
    )
    assert display.label_counts.tolist() == [4, 10]
    assert display.scores["TSVM"].shape == (2, 3)
    means = display.scores["TSVM"].mean(axis=1)
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), means)
    assert display.lines_[0].get_color() == GREY


def test_learning_curve_keeps_unlabelled_rows_unlabelled():
    X, y = two_blobs(gap=3.0)
    partly = hide(y, 40)
    seen = []

    class Watching(NewtonSVC):
        def fit(self, X, y):
            seen.append((len(y), int(np.sum(y >= 0)), len(np.unique(y[y >= 0]))))
            return super().fit(X, y)

    LearningCurveDisplay.from_estimators({"a": Watching()}, X, partly, label_counts=[2], n_draws=4)
    assert seen == [(120, 2, 2)] * 4
    with pytest.raises(ValueError, match="between the 2 classes and 39"):
        LearningCurveDisplay.from_estimators({"a": NewtonSVC()}, X, partly, label_counts=[40])


def test_comparison():
    comparison = found({"tsvm": 0.1, "da": -0.1, "entropy": 0.0})
    display = ComparisonDisplay.from_comparison(comparison)
    left, right = display.axes_
    assert [text.get_text() for text in left.get_yticklabels()] == display.names
    colours = [c.lines[0].get_color() for c in right.containers]
    assert colours == [GREEN, ORANGE, GREY]
    assert right.containers[0].lines[0].get_xdata()[0] == pytest.approx(0.1)
    again = ComparisonDisplay.from_comparison(comparison.to_dict())
    np.testing.assert_array_equal(again.intervals, display.intervals)


def test_comparison_of_one_method_divides_given_axes():
    figure, ax = plt.subplots()
    display = ComparisonDisplay.from_comparison(found({}), ax=ax)
    assert display.figure_ is figure
    assert display.differences == {}


def test_matplotlib_is_only_needed_to_draw(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = r"ScoreHistogramDisplay needs matplotlib to draw: pip install 'semisvm\[plots\]'\."
    with pytest.raises(ImportError, match=message):
        ScoreHistogramDisplay.from_scores([0.0, 1.0])
    with pytest.raises(ImportError, match="ComparisonDisplay needs matplotlib"):
        ComparisonDisplay.from_comparison(found({"tsvm": 0.1}))


def test_import_is_cheap():
    code = (
        "import sys, semisvm.reporting; print('matplotlib' in sys.modules, 'numba' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False"]
