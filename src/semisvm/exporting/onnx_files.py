"""Linear models as ONNX files, for programs in any language.

The graph is written by hand, in double precision, so that its predictions are those of the model
and not those of rounded weights.
"""

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from semisvm._version import __version__
from semisvm.exporting.linear import LinearModel, linear_model
from semisvm.io.writing import write_bytes

OPSET, IR_VERSION = 15, 8
"""Of 2021, so that older runtimes read the files too."""
ROWS = "rows"


def to_onnx(model: Any, path: str | Path | BinaryIO) -> None:
    """Write a linear model to an ONNX file.

    Its input is ``X``, float64 of shape (n, d): a matrix as it is in files, or, of a model with
    column features, the features that ``model.features.transform`` returns, as a dense array.
    The texts themselves are not: the words that ONNX finds in them are not exactly those of
    Python, and the predictions would differ without notice. Its outputs are ``label`` of shape
    (n,), ``scores`` of shape (n, m), and ``probabilities`` of the same shape where the model has
    them.

    Parameters
    ----------
    model : Model or fitted estimator of this package
    path : str, Path or binary stream

    Raises
    ------
    ValueError
        If the model is not linear.
    ImportError
        If the package onnx is missing.
    """
    made = _made(linear_model(model))
    with write_bytes(path) as stream:
        stream.write(made.SerializeToString())


def _made(linear: LinearModel) -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "ONNX files need the package onnx: pip install 'semisvm[onnx]'."
        ) from error
    graph = _Graph()
    outputs = _fill(graph, linear)
    helper = onnx.helper
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "semisvm",
            [helper.make_tensor_value_info("X", graph.double, [ROWS, linear.n_features])],
            [helper.make_tensor_value_info(*output) for output in outputs],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="semisvm",
        producer_version=__version__,
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(made)
    return made


class _Graph:
    """Nodes and constants of a graph being made; results have the names of their nodes."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self.double = onnx.TensorProto.DOUBLE
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Add a constant."""
        array: NDArray[Any] = np.asarray(values)
        if array.dtype.kind in "US":
            array = array.astype(object)
        name = f"constant{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        result = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def type_of(self, values: NDArray[Any]) -> int:
        """Return the type of ONNX for labels."""
        if values.dtype.kind in "US":
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(values.dtype))


def _fill(graph: _Graph, linear: LinearModel) -> list[tuple[str, int, list[Any]]]:
    """Add all nodes; return name, type and shape of the outputs."""
    n_classes = len(linear.classes)
    X = "X" if linear.rarities is None else _tfidf(graph, linear.rarities)
    product = graph.node("MatMul", X, graph.constant(linear.coef.T.copy()))
    scores = graph.node("Add", product, graph.constant(linear.intercept))
    columns = scores
    if n_classes == 2:
        columns = graph.node("Concat", graph.node("Neg", scores), scores, axis=1)
    outputs = [("scores", graph.double, [ROWS, n_classes])]
    likeliest = graph.node("Identity", columns, name="scores")
    if linear.slope is not None:
        p = _probabilities(graph, linear, scores)
        outputs.append(("probabilities", graph.double, [ROWS, n_classes]))
        likeliest = p if linear.moved else likeliest
    # ties are the first one's, as in the estimators
    code = graph.node("ArgMax", likeliest, axis=1, keepdims=0)
    graph.node("Gather", graph.constant(linear.classes), code, name="label")
    return [("label", graph.type_of(linear.classes), [ROWS]), *outputs]


def _tfidf(graph: _Graph, rarities: NDArray[np.float64]) -> str:
    """Turn counts c into 1 + log c, times the weights, in rows of length one."""
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    there = graph.node("Greater", "X", zero)
    logs = graph.node("Log", graph.node("Where", there, "X", one))
    counts = graph.node("Where", there, graph.node("Add", logs, one), "X")
    weighted = graph.node("Mul", counts, graph.constant(rarities))
    squares = graph.node("Mul", weighted, weighted)
    total = graph.node("ReduceSum", squares, graph.constant(np.array([1])), keepdims=1)
    length = graph.node("Sqrt", total)
    some = graph.node("Greater", length, zero)
    return graph.node("Div", weighted, graph.node("Where", some, length, one))


def _probabilities(graph: _Graph, linear: LinearModel, scores: str) -> str:
    steep = graph.node("Mul", scores, graph.constant(linear.slope))
    odds = graph.node("Add", steep, graph.constant(linear.offset))
    if len(linear.classes) == 2:
        none = graph.node("Sub", odds, odds)
        odds = graph.node("Concat", none, odds, axis=1)
    if linear.shared:
        return graph.node("Softmax", odds, axis=1, name="probabilities")
    each = graph.node("Sigmoid", odds)
    total = graph.node("ReduceSum", each, graph.constant(np.array([1])), keepdims=1)
    least = graph.constant(np.float64(np.finfo(float).tiny))
    return graph.node("Div", each, graph.node("Max", total, least), name="probabilities")
