"""Figures, reports, model cards and views for notebooks.

A display has its data as attributes, and ``plot`` draws them in the style of scikit-learn. A
report is data first, then one HTML file that needs nothing else, or a model card. matplotlib, the
extra ``semisvm[plots]``, is imported when a display is drawn.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
