"""Labelling in one session: which row next, answers that are never lost, a model that learns.

`LabelingSession` needs no web server: it can be used in a notebook, and the page of
``semisvm label`` shows it. The public names are imported when they are first used.

A session shows rows of a `pool` in the order of a `policy`. Its answers are the result of events
(`answer_store`), which a `journal` keeps on the disk and `saved_answers` writes to files. A
`learner` fits models to them in the background (`fits`), and `assessment` has what the last one
predicts, with `estimates` of how good it is. `web` answers the requests of the page, of which
`security` accepts some, and `server` runs it.
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
