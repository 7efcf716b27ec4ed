"""Small drawings as SVG: scales, axes, and marks whose colours come from the page's style."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from semisvm.reporting.html import Markup, tag


@dataclass(frozen=True)
class Scale:
    """From values to places.

    Attributes
    ----------
    low, high : float
        Values; equal ones are spread a little.
    start, stop : float
        Their places in the picture.
    log : bool
    """

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
        """Return round values within the scale, about as many as asked for."""
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


def picture(width: int, height: int, says: str, *content: Any) -> Markup:
    """Make a drawing that scales with the page; ``says`` is for those who cannot see it."""
    box = f"0 0 {width} {height}"
    return tag("svg", tag("title", says), *content, viewBox=box, role="img", aria_label=says)


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
