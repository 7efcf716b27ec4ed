"""Semi-supervised support vector machines for people with few labels and much data.

The public names are imported when they are first used, so ``import semisvm`` is cheap
and compiles nothing.
"""

from semisvm._lazy import attach
from semisvm._version import __version__ as __version__

__getattr__, __dir__, __all__ = attach(__name__)
