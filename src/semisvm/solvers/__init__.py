"""Convex solvers for given labels, mathematical programs, and the trace of a fit."""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
