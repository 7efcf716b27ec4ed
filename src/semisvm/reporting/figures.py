"""Figures of reports and notebooks as SVG, whose colours come from the style of the page.

They show what the displays do, but are not drawn by them. A notebook draws one for every estimator
that it shows: matplotlib takes a quarter of a second for it (here 2 ms), besides its import, and
five times the bytes. These figures follow light and dark pages, need no further package, and can be
drawn for any numbers that a model file may hold. What the axes mean is declared here for both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.reporting.html import Markup, paragraph, show, table, tag
from semisvm.text import counted, shortened

LEVELS = {
    "annealing": "temperature",
    "last temperature": "temperature",
    "switching": "weight of the unlabelled rows",
    "from the start": "weight of the unlabelled rows",
    "assigning": "weight of the unlabelled rows",
    "multipliers": "weight of the unlabelled rows",
}
"""What the value of a level is, by phase; other phases have none."""


TEMPERATURE = LEVELS["annealing"]


def objective_name(phases: Sequence[str] | NDArray[Any]) -> str:
    """Return what the objective of the rounds is.

    At a temperature labels are soft and the free energy falls; the objective in the trace is that
    of the best hard labels with the class counts.
    """
    soft = any(LEVELS.get(str(phase)) == TEMPERATURE for phase in phases)
    return "objective of hard labels" if soft else "objective"


def runs(phases: Sequence[str] | NDArray[Any]) -> list[tuple[str, slice]]:
    """Return the phases in order, each with its rounds."""
    starts = [k for k in range(len(phases)) if k == 0 or phases[k] != phases[k - 1]]
    return [
        (str(phases[first]), slice(first, stop))
        for first, stop in zip(starts, [*starts[1:], len(phases)], strict=True)
    ]


def trace_data(trace: Any, most: int) -> dict[str, Any] | None:
    """Return the course of a fit as columns of about ``most`` rounds."""
    if trace is None or len(trace) == 0:
        return None
    none, known = np.full(len(trace), np.nan), trace.columns
    names = ("phase", "objective", "value")
    columns = {name: trace[name] if name in known else none for name in names}
    kept = _thinned(columns["phase"], most)
    return {"rounds": len(trace), "round": kept, **{n: c[kept] for n, c in columns.items()}}


def _thinned(phases: Any, most: int) -> Any:
    """Choose rounds evenly, with the first and last one of every phase."""
    ends = np.flatnonzero(phases[1:] != phases[:-1])
    evenly = np.linspace(0, len(phases) - 1, min(len(phases), most)).round().astype(int)
    return np.unique(np.concatenate([evenly, ends, ends + 1]))


@dataclass(frozen=True)
class Scale:
    """From values between ``low`` and ``high`` to places between ``start`` and ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(value)
        share = 0.5 if high == low else (at - low) / (high - low)
        return round(self.start + share * (self.stop - self.start), 2)

    def ticks(self, count: int = 5) -> list[float]:
        """Return round values within the scale, about as many as wanted."""
        return _powers(self.low, self.high, count) if self.log else _steps(self, count)


def _powers(low: float, high: float, count: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / count))
    found = [10.0**k for k in range(first, last + 1, every)]
    return found if found else [low, high]


def _steps(scale: Scale, count: int) -> list[float]:
    span = scale.high - scale.low
    if span <= 0.0:
        return [scale.low]
    size = 10.0 ** math.floor(math.log10(span / count))
    step = next(size * k for k in (1, 2, 5, 10) if span / (size * k) <= count)
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def number(value: float) -> str:
    """Write a number of a tick shortly."""
    text = f"{value:.4g}"
    return f"{value:,.0f}" if "e+" in text and abs(value) < 1e7 else text


def picture(width: int, height: int, title: str, *content: Any) -> Markup:
    """Make a drawing that scales with the page; the title is for those who cannot see it."""
    box = f"0 0 {width} {height}"
    return tag("svg", tag("title", title), *content, viewBox=box, role="img", aria_label=title)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a line; ``kind`` names its style."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def text(x: float, y: float, content: Any, kind: str = "", anchor: str = "middle") -> Markup:
    """Write text at a place."""
    return tag("text", content, x=x, y=y, text_anchor=anchor, class_=kind or None)


def path(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    """Join points; a single one is a dot."""
    if len(points) == 1:
        return dot(*points[0], kind)
    return tag("polyline", points=" ".join(f"{x},{y}" for x, y in points), class_=kind)


def dot(x: float, y: float, kind: str) -> Markup:
    """Draw a dot."""
    return tag("circle", cx=x, cy=y, r=4, class_=kind.replace("line", "dot"))


def x_axis(scale: Scale, y: float, name: str, top: float | None = None, count: int = 6) -> Markup:
    """Draw a horizontal axis at the height y, with a grid up to ``top``."""
    marks = []
    for value in scale.ticks(count):
        at = scale(value)
        marks += [
            line(at, y if top is None else top, at, y, "grid"),
            text(at, y + 16, number(value), "tick"),
        ]
    middle = (scale.start + scale.stop) / 2
    axis = line(scale.start, y, scale.stop, y, "axis")
    return tag("g", marks, axis, text(middle, y + 34, name, "name"))


def y_axis(scale: Scale, x: float, right: float, name: str, count: int = 4) -> Markup:
    """Draw a vertical axis at x, with a grid to the right."""
    marks = []
    for value in scale.ticks(count):
        at = scale(value)
        marks += [
            line(x, at, right, at, "grid"),
            text(x - 6, at + 4, number(value), "tick", "end"),
        ]
    # above the axis, so that it can be read without turning the head
    return tag("g", marks, text(x, min(scale.start, scale.stop) - 9, name, "name", "start"))


WIDTH = 720
LEFT, RIGHT = 64, 16
COLOURS = 5
LONGEST_NAME = 22
FEWEST_POINTS = 3


def trace_figure(trace: Mapping[str, Any]) -> Markup | None:
    """Draw the objective, and below it the temperature or weight, by round; None of few points."""
    if sum(value is not None for value in trace["objective"]) < FEWEST_POINTS:
        return None
    rounds, phases = trace["round"], trace["phase"]
    x = Scale(0, max(rounds[-1], 1), LEFT, WIDTH - RIGHT)
    level, steps = _levels(trace)
    bottom = 330 if steps else 210
    parts = _objective(trace, x)
    if steps:
        y = _spread([value for _, value in steps], 320, 250, log=True)
        parts.append(y_axis(y, LEFT, WIDTH - RIGHT, level, 3))
        parts.append(path([(x(r), y(v)) for r, v in steps], "line quiet"))
    title = f"Objective of the fit over {counted(trace['rounds'], 'round')}"
    drawing = picture(WIDTH, bottom + 42, title, parts, x_axis(x, bottom, "round"))
    return tag("figure", drawing, _legend(list(dict.fromkeys(phases))))


def _objective(trace: Mapping[str, Any], x: Scale) -> list[Markup]:
    points = list(zip(trace["round"], trace["objective"], strict=True))
    y = _spread([value for _, value in points if value is not None], 200, 24)
    parts = [y_axis(y, LEFT, WIDTH - RIGHT, objective_name(trace["phase"]))]
    names = list(dict.fromkeys(trace["phase"]))
    for name, part in runs(trace["phase"]):
        places = [(x(r), y(v)) for r, v in points[part] if v is not None]
        if places:
            parts.append(path(places, f"line c{names.index(name) % COLOURS}"))
    return parts


def _levels(trace: Mapping[str, Any]) -> tuple[str, list[tuple[int, float]]]:
    """Return what the levels are, and rounds with their values; one kind of value only."""
    columns = zip(trace["round"], trace["phase"], trace["value"], strict=True)
    known = [(r, LEVELS[p], v) for r, p, v in columns if p in LEVELS and v is not None and v > 0]
    if not known:
        return "", []
    return known[0][1], [(r, v) for r, name, v in known if name == known[0][1]]


def _spread(values: Sequence[float], start: float, stop: float, *, log: bool = False) -> Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        room = abs(low) / 2 or 1.0
        low, high = low - room, high + room
    return Scale(low, high, start, stop, log)


def _legend(names: Sequence[str]) -> Markup:
    entries = [
        tag("span", tag("i", class_=f"swatch c{k % COLOURS}"), " ", name)
        for k, name in enumerate(names)
    ]
    return tag("figcaption", entries, class_="legend")


def score_figure(scores: Mapping[str, Any], names: Sequence[str]) -> Markup:
    """Draw the histogram of `describe_margins`, with boundary and margin, for classes by name."""
    edges, counts, base = scores["edges"], scores["counts"], 220
    margin = scores["margin"]
    places = [] if margin is None else [-margin, margin] if scores["two"] else [margin]
    low, high = min(edges[0], 0.0, *places), max(edges[-1], 0.0, *places)
    x = Scale(low, high, LEFT, WIDTH - RIGHT)
    y = Scale(0, max(max(counts), 1), base, 40)
    bars = [
        tag(
            "rect",
            x=x(left),
            y=y(count),
            width=round(max(x(right) - x(left) - 1, 0.5), 2),
            height=round(base - y(count), 2),
            class_="bar",
        )
        for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]
    lines = [line(x(0), 38, x(0), base, "boundary")]
    lines += [line(x(place), 38, x(place), base, "margin") for place in places]
    axes = [y_axis(y, LEFT, WIDTH - RIGHT, "unlabelled rows")]
    axis_name = "score" if scores["two"] else "margin of the best class over the second"
    axes.append(x_axis(x, base, axis_name))
    sides = _sides(x, names) if scores["two"] else []
    title = "Histogram of the scores of the unlabelled rows"
    return tag("figure", picture(WIDTH, 262, title, axes, bars, lines, sides))


def _sides(x: Scale, names: Sequence[str]) -> list[Markup]:
    return [
        text(x(0) - 8, 26, f"← {shortened(names[0], LONGEST_NAME)}", "name", "end"),
        text(x(0) + 8, 26, f"{shortened(names[1], LONGEST_NAME)} →", "name", "start"),
    ]


def comparison_figure(comparison: Mapping[str, Any]) -> Markup:
    """Draw mean scores with intervals, and the differences to the supervised method."""
    methods = comparison["methods"]
    bottom, baseline = 30 + 30 * len(methods), shortened(comparison["baseline"], LONGEST_NAME)
    differences = {d["name"]: d for d in comparison["differences"]}
    means = _around([m["interval"] for m in methods], 170, 430)
    gaps = _around([d["interval"] for d in differences.values()] + [[0.0, 0.0]], 460, WIDTH - RIGHT)
    parts = [
        x_axis(means, bottom, comparison["scoring"], 24, 4),
        x_axis(gaps, bottom, f"difference to {baseline}", 24, 4),
        line(gaps(0), 24, gaps(0), bottom, "boundary"),
    ]
    for k, method in enumerate(methods):
        at = 40 + 30 * k
        name = method["name"]
        parts.append(text(160, at + 4, shortened(name, LONGEST_NAME), "name", "end"))
        parts += _interval(means, method, at, "quiet" if name == comparison["baseline"] else "c0")
        if name in differences:
            entry = differences[name]
            parts += _interval(gaps, entry, at, entry["verdict"].replace(" ", "-"))
    title = f"Mean {comparison['scoring']} of each method, and differences, with intervals"
    return tag("figure", picture(WIDTH, bottom + 42, title, parts))


def _around(intervals: Sequence[Sequence[float]], start: float, stop: float) -> Scale:
    scale = _spread([value for interval in intervals for value in interval], start, stop)
    room = 0.06 * (scale.high - scale.low)
    return Scale(scale.low - room, scale.high + room, start, stop)


def _interval(x: Scale, entry: Mapping[str, Any], at: float, kind: str) -> list[Markup]:
    low, high = entry["interval"]
    return [
        line(x(low), at, x(high), at, f"line {kind}"),
        dot(x(entry["mean"]), at, f"line {kind}"),
    ]


def comparison_parts(found: Mapping[str, Any]) -> list[Markup]:
    """Show methods side by side: what was done, a figure and a table."""
    differences = {d["name"]: d for d in found["differences"]}
    rows = [_method_row(m, differences.get(m["name"])) for m in found["methods"]]
    confidence = f"{100 * found['confidence']:g}%"
    header = ["method", found["scoring"], f"{confidence} interval", "difference", "interval"]
    header += ["unlabelled rows", "seconds a fit"]
    text = (
        f"Cross-validated on the {show(found['n_labeled'])} labelled rows, all methods on the "
        f"same folds. Differences are relative to {found['baseline']}, the supervised method; "
        "their intervals hold for all methods at once."
    )
    return [paragraph(text), comparison_figure(found), table(header, rows, {1, 2, 3, 4, 6})]


def _method_row(method: Mapping[str, Any], difference: Mapping[str, Any] | None) -> list[Any]:
    low, high = method["interval"]
    row = [method["name"], f"{method['mean']:.3f}", f"{low:.3f} to {high:.3f}"]
    seconds = f"{method['fit_seconds']:.3g}"
    if difference is None:
        return [*row, "–", "–", "supervised", seconds]
    low, high = difference["interval"]
    gap = [f"{difference['mean']:+.3f}", f"{low:+.3f} to {high:+.3f}"]
    return [*row, *gap, difference["verdict"], seconds]
