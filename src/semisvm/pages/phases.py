"""Phases of a fit, and what their levels are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
