"""Linear models for other programs: as objects of scikit-learn, and as ONNX files."""

from semisvm.exporting.linear import LinearModel, linear_model
from semisvm.exporting.onnx_files import to_onnx
from semisvm.exporting.plain import to_sklearn

__all__ = ["LinearModel", "linear_model", "to_onnx", "to_sklearn"]
