"""Labelling in one session: which row next, answers that are never lost, a model that learns.

`LabelingSession` needs no web server: it can be used in a notebook, and the page of
``semisvm label`` shows it. The public names are imported when they are first used.
"""

import warnings
from typing import Any

from semisvm._lazy import attach

_find, __dir__, __all__ = attach(__name__)

_RENAMED = {"Sitting": "LabelingSession", "SittingError": "LabelingError"}
"""Old name -> new name."""


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        text = f"semisvm.labelling.{name} is {_RENAMED[name]} now."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
    return _find(_RENAMED.get(name, name))
