"""Figures of traces, with the phases of a fit, and of scores and comparisons."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.reporting import svg
from semisvm.reporting.html import Markup, tag
from semisvm.text import counted

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
    """Return the course of a fit as columns, with about as many rounds as asked for.

    Parameters
    ----------
    trace : Trace or None
    most : int
    """
    if trace is None or len(trace) == 0:
        return None
    kept = _thinned(trace["phase"], most)
    columns = {name: trace[name][kept] for name in ("phase", "objective", "value")}
    return {"rounds": len(trace), "round": kept, **columns}


def _thinned(phases: Any, most: int) -> Any:
    """Choose rounds evenly, with the first and last one of every phase."""
    ends = np.flatnonzero(phases[1:] != phases[:-1])
    evenly = np.linspace(0, len(phases) - 1, min(len(phases), most)).round().astype(int)
    return np.unique(np.concatenate([evenly, ends, ends + 1]))


WIDTH = 720
LEFT, RIGHT = 64, 16
COLOURS = 5
LONGEST_NAME = 22


def trace_figure(trace: Mapping[str, Any]) -> Markup:
    """Draw the objective, and below it the temperature or weight, by round."""
    rounds, phases = trace["round"], trace["phase"]
    x = svg.Scale(0, max(rounds[-1], 1), LEFT, WIDTH - RIGHT)
    level, steps = _levels(trace)
    bottom = 330 if steps else 210
    parts = _objective(trace, x)
    if steps:
        y = _spread([value for _, value in steps], 320, 250, log=True)
        parts.append(svg.y_axis(y, LEFT, WIDTH - RIGHT, level, 3))
        parts.append(svg.path([(x(r), y(v)) for r, v in steps], "line quiet"))
    says = f"Objective of the fit over {counted(trace['rounds'], 'round')}"
    drawing = svg.picture(WIDTH, bottom + 42, says, parts, svg.x_axis(x, bottom, "round"))
    return tag("figure", drawing, _legend(list(dict.fromkeys(phases))))


def _objective(trace: Mapping[str, Any], x: svg.Scale) -> list[Markup]:
    points = list(zip(trace["round"], trace["objective"], strict=True))
    y = _spread([value for _, value in points if value is not None], 200, 24)
    parts = [svg.y_axis(y, LEFT, WIDTH - RIGHT, objective_name(trace["phase"]))]
    names = list(dict.fromkeys(trace["phase"]))
    for name, part in runs(trace["phase"]):
        places = [(x(r), y(v)) for r, v in points[part] if v is not None]
        if places:
            parts.append(svg.path(places, f"line c{names.index(name) % COLOURS}"))
    return parts


def _levels(trace: Mapping[str, Any]) -> tuple[str, list[tuple[int, float]]]:
    """Return what the levels are, and rounds with their values; one kind of value only."""
    columns = zip(trace["round"], trace["phase"], trace["value"], strict=True)
    known = [(r, LEVELS[p], v) for r, p, v in columns if p in LEVELS and v is not None and v > 0]
    if not known:
        return "", []
    return known[0][1], [(r, v) for r, name, v in known if name == known[0][1]]


def _spread(values: Sequence[float], start: float, stop: float, *, log: bool = False) -> svg.Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        room = abs(low) / 2 or 1.0
        low, high = low - room, high + room
    return svg.Scale(low, high, start, stop, log)


def _legend(names: Sequence[str]) -> Markup:
    entries = [
        tag("span", tag("i", class_=f"swatch c{k % COLOURS}"), " ", name)
        for k, name in enumerate(names)
    ]
    return tag("figcaption", entries, class_="legend")


def score_figure(scores: Mapping[str, Any], names: Sequence[str]) -> Markup:
    """Draw the histogram of the scores of unlabelled rows, with boundary and margin.

    Parameters
    ----------
    scores : mapping
        As of `semisvm.estimators.margins.describe_margins`.
    names : sequence of str
        The classes.
    """
    edges, counts, base = scores["edges"], scores["counts"], 220
    margin = scores["margin"]
    places = [] if margin is None else [-margin, margin] if scores["two"] else [margin]
    low, high = min(edges[0], 0.0, *places), max(edges[-1], 0.0, *places)
    x = svg.Scale(low, high, LEFT, WIDTH - RIGHT)
    y = svg.Scale(0, max(max(counts), 1), base, 40)
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
    lines = [svg.line(x(0), 38, x(0), base, "boundary")]
    lines += [svg.line(x(place), 38, x(place), base, "margin") for place in places]
    axes = [svg.y_axis(y, LEFT, WIDTH - RIGHT, "unlabelled rows")]
    axis_name = "score" if scores["two"] else "margin of the best class over the second"
    axes.append(svg.x_axis(x, base, axis_name))
    sides = _sides(x, names) if scores["two"] else []
    says = "Histogram of the scores of the unlabelled rows"
    return tag("figure", svg.picture(WIDTH, 262, says, axes, bars, lines, sides))


def _sides(x: svg.Scale, names: Sequence[str]) -> list[Markup]:
    return [
        svg.text(x(0) - 8, 26, f"← {shorten(names[0])}", "name", "end"),
        svg.text(x(0) + 8, 26, f"{shorten(names[1])} →", "name", "start"),
    ]


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long name; the whole one is in a table."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def comparison_figure(comparison: Mapping[str, Any]) -> Markup:
    """Draw mean scores with intervals, and the differences to the supervised method."""
    methods = comparison["methods"]
    bottom = 30 + 30 * len(methods)
    differences = {d["name"]: d for d in comparison["differences"]}
    means = _around([m["interval"] for m in methods], 170, 430)
    gaps = _around([d["interval"] for d in differences.values()] + [[0.0, 0.0]], 460, WIDTH - RIGHT)
    parts = [
        svg.x_axis(means, bottom, comparison["scoring"], 24, 4),
        svg.x_axis(gaps, bottom, f"difference to {shorten(comparison['baseline'])}", 24, 4),
        svg.line(gaps(0), 24, gaps(0), bottom, "boundary"),
    ]
    for k, method in enumerate(methods):
        at = 40 + 30 * k
        name = method["name"]
        parts.append(svg.text(160, at + 4, shorten(name), "name", "end"))
        parts += _interval(means, method, at, "quiet" if name == comparison["baseline"] else "c0")
        if name in differences:
            entry = differences[name]
            parts += _interval(gaps, entry, at, entry["verdict"].replace(" ", "-"))
    says = f"Mean {comparison['scoring']} of each method, and differences, with intervals"
    return tag("figure", svg.picture(WIDTH, bottom + 42, says, parts))


def _around(intervals: Sequence[Sequence[float]], start: float, stop: float) -> svg.Scale:
    scale = _spread([value for interval in intervals for value in interval], start, stop)
    room = 0.06 * (scale.high - scale.low)
    return svg.Scale(scale.low - room, scale.high + room, start, stop)


def _interval(x: svg.Scale, entry: Mapping[str, Any], at: float, kind: str) -> list[Markup]:
    low, high = entry["interval"]
    return [
        svg.line(x(low), at, x(high), at, f"line {kind}"),
        svg.dot(x(entry["mean"]), at, f"line {kind}"),
    ]
