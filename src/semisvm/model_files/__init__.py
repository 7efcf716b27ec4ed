"""Model files: one zip of JSON and arrays, safe to load from untrusted sources."""

from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.files import load, save

__all__ = ["ModelFileError", "load", "save"]
