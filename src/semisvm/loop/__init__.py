"""The loop of every method, its schedules and its trace."""

from semisvm.loop.follow import Resumable, Steps, follow
from semisvm.loop.journal import FitKeeper, Identity, Store
from semisvm.loop.schedules import Level, decades, falling, rising, settling
from semisvm.loop.trace import Callback, Recorder, Trace, TraceRow

__all__ = [
    "Callback",
    "FitKeeper",
    "Identity",
    "Level",
    "Recorder",
    "Resumable",
    "Steps",
    "Store",
    "Trace",
    "TraceRow",
    "decades",
    "falling",
    "follow",
    "rising",
    "settling",
]
