"""What an experiment consists of: measurements, and the tables and curves that they become.

An experiment is a module with ``REPEAT``, its usual number of draws, and ``plan(folder,
repeat)``. A `Plan` lists measurements before any of them is made; the runner
(`papers.runner`) makes them, keeps them, and then asks the plan for rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.table import Row

Call = tuple[Any, ...]
"""Arguments of a measurement after the data folder: text, numbers, and tuples of them."""
Found = Mapping[Call, Any]
"""What was measured, by the calls."""


@dataclass(frozen=True)
class Curve:
    """Lines over a common axis: one panel of a figure.

    Attributes
    ----------
    title : str
    x : sequence of k floats
    lines : mapping name -> k sequences of floats
        The draws of every point; the supervised method first.
    levels : mapping name -> float
        Horizontal lines.
    x_name, y_name : str
    paths : mapping name -> sequence of points (x, y)
        Courses over time, each with points of its own, in place of lines.
    scale : str
        Panels that name the same one have the same vertical axis.
    """

    title: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[Sequence[float]]]
    levels: Mapping[str, float] = field(default_factory=dict)
    x_name: str = "labelled rows"
    y_name: str = "Macro F"
    paths: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    scale: str = ""


def _no_curves(found: Found) -> Sequence[Curve]:
    return ()


@dataclass(frozen=True)
class Part:
    """A table of an experiment.

    Attributes
    ----------
    title : str
    measure : function of the data folder and a call
        At module level, so that another process can run it. What it returns must be data that
        JSON can hold. Parts that list the same calls of the same function share its results.
    calls : sequence of tuples
    rows : function of the results, by call
    curves : function of the results, by call
        What a figure shows; by default nothing.
    timed : bool
        Whether the results are times, so that nothing else may run beside.
    """

    title: str
    measure: Callable[..., Any]
    calls: Sequence[Call]
    rows: Callable[[Found], Sequence[Row]]
    curves: Callable[[Found], Sequence[Curve]] = _no_curves
    timed: bool = False


@dataclass(frozen=True)
class Plan:
    """An experiment, before it is run.

    Attributes
    ----------
    settings : mapping
        Printed above the tables.
    parts : sequence of Part
    """

    settings: Mapping[str, Any]
    parts: Sequence[Part]


def draws(found: Found, *beginning: Any) -> list[Any]:
    """Return the results of the calls that begin so and go on with one more argument, a seed."""
    return [value for call, value in found.items() if call[:-1] == beginning]


def mean(values: Sequence[float]) -> float:
    """Return the mean of a few draws."""
    return float(np.mean(values))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean of a few draws."""
    return float(np.std(values) / np.sqrt(len(values)))
