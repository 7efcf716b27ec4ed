"""Labelling in one sitting: which row next, answers that are never lost, a model that learns.

`LabelingSession` needs no web server: it can be used in a notebook, and the page of
``semisvm label`` shows it. The public names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.labelling.records import ChangedError, SittingError
    from semisvm.labelling.session import LabelingSession

_HOMES = {
    "ChangedError": "semisvm.labelling.records",
    "LabelingSession": "semisvm.labelling.session",
    "SittingError": "semisvm.labelling.records",
}

__all__ = ["ChangedError", "LabelingSession", "SittingError"]

__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
