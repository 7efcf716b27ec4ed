"""Fitted models and unfinished fits in files, folders of rows, and models for other programs."""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
