"""What is wrong with a model file."""

from pathlib import Path


class ModelFileError(ValueError):
    """A model that cannot be written, or a file that cannot be read as a model.

    Parameters
    ----------
    message : str
    path : str or Path, optional
    """

    def __init__(self, message: str, path: str | Path | None = None) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        super().__init__(message, self.path)

    def __str__(self) -> str:
        return self.message if self.path is None else f"{self.path}: {self.message}"
