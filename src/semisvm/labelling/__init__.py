"""Labelling in one sitting: which row next, answers that are never lost, a model that learns.

`LabelingSession` needs no web server: it can be used in a notebook, and the page of
``semisvm label`` shows it. The public names are imported when they are first used.
"""

import warnings
from typing import TYPE_CHECKING, Any

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.labelling.records import ChangedError, LabelingError
    from semisvm.labelling.session import LabelingSession

_HOMES = {
    "ChangedError": "semisvm.labelling.records",
    "LabelingSession": "semisvm.labelling.session",
    "LabelingError": "semisvm.labelling.records",
}

__all__ = ["ChangedError", "LabelingError", "LabelingSession"]

_RENAMED = {"Sitting": "LabelingSession", "SittingError": "LabelingError"}
"""Old name -> new name."""

_find = attributes(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        text = f"semisvm.labelling.{name} is {_RENAMED[name]} now."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
    return _find(_RENAMED.get(name, name))


def __dir__() -> list[str]:
    return sorted(__all__)
