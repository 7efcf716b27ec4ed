"""Model files: one zip of JSON and arrays, safe to load from a stranger."""

from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.files import load, save

__all__ = ["ModelFileError", "load", "save"]
