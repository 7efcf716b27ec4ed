"""Nodes of ONNX graphs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

INNER = "semisvm/"
"""How the names of results begin that are not outputs, so that columns may have any name."""


class Graph:
    """Nodes and constants of a graph being made; results have the names of their nodes."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self.double: int = onnx.TensorProto.DOUBLE
        self.text: int = onnx.TensorProto.STRING
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Add a constant."""
        array: NDArray[Any] = np.asarray(values)
        if array.dtype.kind in "US":
            array = array.astype(object)
        name = f"{INNER}constant{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its result.

        Parameters
        ----------
        kind : str
            The operator.
        *inputs : str
        name : str, optional
            Of the result.
        **attributes
            Of the operator, and ``domain``.
        """
        result = name or f"{INNER}{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def type_of(self, values: NDArray[Any]) -> int:
        """Return the type of ONNX for labels."""
        if values.dtype.kind in "US":
            return self.text
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(values.dtype))


def tfidf(graph: Graph, counted: str, rarities: NDArray[np.float64]) -> str:
    """Turn counts c into 1 + log c, times the weights, in rows of length one."""
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    there = graph.node("Greater", counted, zero)
    logs = graph.node("Log", graph.node("Where", there, counted, one))
    counts = graph.node("Where", there, graph.node("Add", logs, one), counted)
    weighted = graph.node("Mul", counts, graph.constant(rarities))
    squares = graph.node("Mul", weighted, weighted)
    total = graph.node("ReduceSum", squares, graph.constant(np.array([1])), keepdims=1)
    length = graph.node("Sqrt", total)
    some = graph.node("Greater", length, zero)
    return graph.node("Div", weighted, graph.node("Where", some, length, one))
