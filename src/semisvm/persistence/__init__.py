"""Fitted models and unfinished fits in files, folders of rows, and models for other programs.

A model file (`model_files`) and a checkpoint (`checkpoints`) are an `archive`: a zip of one JSON
document and arrays. A ``*_states`` module turns one kind of object into these and back: estimators,
their feature maps, features of columns, transformers and pipelines of scikit-learn. `schema` has
the checks that each declares of what a file may hold, `json_values` writes values of Python.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
