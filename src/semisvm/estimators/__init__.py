"""The estimators: public classes, one file per estimator or close family.

They are imported when first used: fitting one needs none of the others.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
