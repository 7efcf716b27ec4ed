"""Fitted models and unfinished fits in files, folders of rows, and models for other programs."""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.persistence.archive import ModelFileError
    from semisvm.persistence.checkpoints import Checkpoint, CheckpointError
    from semisvm.persistence.converting import convert
    from semisvm.persistence.files import load, save
    from semisvm.persistence.onnx_export import to_onnx
    from semisvm.persistence.sklearn_export import to_sklearn

_HOMES = {
    "Checkpoint": "semisvm.persistence.checkpoints",
    "CheckpointError": "semisvm.persistence.checkpoints",
    "ModelFileError": "semisvm.persistence.archive",
    "convert": "semisvm.persistence.converting",
    "load": "semisvm.persistence.files",
    "save": "semisvm.persistence.files",
    "to_onnx": "semisvm.persistence.onnx_export",
    "to_sklearn": "semisvm.persistence.sklearn_export",
}

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "ModelFileError",
    "convert",
    "load",
    "save",
    "to_onnx",
    "to_sklearn",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
