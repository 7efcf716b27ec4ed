"""Which rows to label next.

A selection has one method, ``select(X, n, y=None)``, which returns n unlabelled rows, the
most useful first.
"""

from semisvm.active.base import Selection
from semisvm.active.clusters import KMedianSelection
from semisvm.active.margins import MarginSelection
from semisvm.active.random_rows import RandomSelection

__all__ = ["KMedianSelection", "MarginSelection", "RandomSelection", "Selection"]
