"""The loop of every method, its schedules and its trace."""

from semisvm.loop.follow import Resumable, Steps, follow
from semisvm.loop.schedules import Level, decades, falling, rising, settling
from semisvm.loop.trace import Callback, Recorder, Trace, TraceRow

__all__ = [
    "Callback",
    "Level",
    "Recorder",
    "Resumable",
    "Steps",
    "Trace",
    "TraceRow",
    "decades",
    "falling",
    "follow",
    "rising",
    "settling",
]
