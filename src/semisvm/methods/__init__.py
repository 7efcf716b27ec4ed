"""The loop that every method is, its schedules, and the methods, one file each."""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
