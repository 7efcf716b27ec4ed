"""Labelling in one session: which row next, answers that are never lost, a model that learns.

`LabelingSession` needs no web server: it can be used in a notebook, and the page of
``semisvm label`` shows it. The public names are imported when they are first used.

A session shows rows of a `pool` in the order of a `policy`. Its answers are the result of events
(`answer_store`), which a `journal` keeps on the disk and `saved_answers` writes to files. A
`learner` fits models to them in the background (`fits`), and `assessment` has what the last one
predicts, with `estimates` of how good it is. `web` answers the requests of the page, of which
`security` accepts some, and `server` runs it.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
