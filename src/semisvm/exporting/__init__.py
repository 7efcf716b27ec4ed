"""Models for other programs: linear ones as objects of scikit-learn, more as ONNX files."""

from semisvm.exporting.onnx_files import to_onnx
from semisvm.exporting.plain import to_sklearn

__all__ = ["to_onnx", "to_sklearn"]
