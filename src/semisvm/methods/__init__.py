"""The loop that every method is, its schedules, and the methods, one file each."""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.methods.loop import (
        Level,
        Resumable,
        Steps,
        decades,
        falling,
        follow,
        rising,
        settling,
    )
    from semisvm.solvers.snapshots import FitKeeper, Identity, Store
    from semisvm.solvers.trace import Callback, Recorder, Trace, TraceRow

_HOMES = {
    "Callback": "semisvm.solvers.trace",
    "FitKeeper": "semisvm.solvers.snapshots",
    "Identity": "semisvm.solvers.snapshots",
    "Level": "semisvm.methods.loop",
    "Recorder": "semisvm.solvers.trace",
    "Resumable": "semisvm.methods.loop",
    "Steps": "semisvm.methods.loop",
    "Store": "semisvm.solvers.snapshots",
    "Trace": "semisvm.solvers.trace",
    "TraceRow": "semisvm.solvers.trace",
    "decades": "semisvm.methods.loop",
    "falling": "semisvm.methods.loop",
    "follow": "semisvm.methods.loop",
    "rising": "semisvm.methods.loop",
    "settling": "semisvm.methods.loop",
}

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


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
