"""Which rows to have labelled next.

A selection has one method, ``select(X, n, y=None)``, which gives n rows without label,
those that matter most first.
"""

from semisvm.selection.base import Selection
from semisvm.selection.chance import RandomSelection
from semisvm.selection.clusters import KMedianSelection
from semisvm.selection.margins import MarginSelection

__all__ = ["KMedianSelection", "MarginSelection", "RandomSelection", "Selection"]
