"""Models as ONNX files, for programs in any language.

The graph is written by hand, in double precision, so that its predictions are those of the model
and not those of rounded weights.
"""

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from semisvm._version import __version__
from semisvm.columns import ColumnFeatures
from semisvm.exporting.linear import KernelTerm, LinearModel, linear_model
from semisvm.exporting.onnx_columns import LEARNING, RUNTIME, add_columns
from semisvm.exporting.onnx_graph import Graph, tfidf
from semisvm.io.writing import write_bytes

OPSETS, IR_VERSION = {"": 15, LEARNING: 2, RUNTIME: 1}, 8
"""Of 2021, so that older runtimes read the files too."""
ROWS = "rows"


def to_onnx(model: Any, path: str | Path | BinaryIO, *, columns: bool = False) -> None:
    """Write a model to an ONNX file: linear, with a kernel, or a committee of such models.

    Its input is ``X``, float64 of shape (n, d): a matrix as it is in files, or, of a model with
    column features, the features that ``model.features.transform`` returns, as a dense array.
    Its outputs are ``label`` of shape (n,), ``scores`` of shape (n, m), and ``probabilities`` of
    the same shape where the model has them.

    Parameters
    ----------
    model : Model or fitted estimator of this package
    path : str, Path or binary stream
    columns : bool, default=False
        Whether the inputs are the columns of a table, by their names: texts and categories as
        strings of shape (n,), without blanks around a category; numbers as float64 of shape (n,),
        NaN if missing; vectors as float64 of shape (n, k). A column that is called like an output
        gets ``_column`` after its name. Files with texts need onnxruntime, since they use its
        tokeniser, and one row or more.

    Raises
    ------
    ValueError
        If other programs cannot compute its scores, such as those of graphs, or it has columns for
        which ONNX gives other features: n-grams, hashed words, stripped accents.
    ImportError
        If the package onnx is missing.
    """
    linear = linear_model(model, kernels=True)
    features = getattr(model, "features", None)
    if columns and features is None:
        raise ValueError("this model has no columns; leave out columns=True.")
    made = _made(linear, features if columns else None)
    with write_bytes(path) as stream:
        stream.write(made.SerializeToString())


def _made(linear: LinearModel, features: ColumnFeatures | None) -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "ONNX files need the package onnx: pip install 'semisvm[onnx]'."
        ) from error
    graph = Graph()
    X = "X"
    inputs: list[Any] = [(X, graph.double, [ROWS, linear.n_features])]
    if features is not None:
        X, inputs = add_columns(graph, features, {"label", "scores", "probabilities"})
    outputs = _fill(graph, linear, X)
    helper = onnx.helper
    used = {"", *(node.domain for node in graph.nodes)}
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "semisvm",
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(*output) for output in outputs],
            graph.constants,
        ),
        opset_imports=[
            helper.make_opsetid(domain, version)
            for domain, version in OPSETS.items()
            if domain in used
        ],
        producer_name="semisvm",
        producer_version=__version__,
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(made)
    return made


def _fill(graph: Graph, linear: LinearModel, X: str) -> list[tuple[str, int, list[Any]]]:
    """Add all nodes; return name, type and shape of the outputs."""
    n_classes = len(linear.classes)
    if linear.rarities is not None:
        X = tfidf(graph, X, linear.rarities)
    product = graph.node("MatMul", X, graph.constant(linear.coef.T.copy()))
    scores = graph.node("Add", product, graph.constant(linear.intercept))
    rows = _scaled(graph, linear, X) if linear.terms else X
    for term in linear.terms:
        scores = graph.node("Add", scores, _kernel_sum(graph, term, rows))
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


def _scaled(graph: Graph, linear: LinearModel, X: str) -> str:
    """Bring rows to the scale on which the kernels work."""
    found = linear.scaling
    if found is None:
        return X
    if found.centre is not None:
        X = graph.node("Sub", X, graph.constant(found.centre))
    return graph.node("Mul", X, graph.constant(np.asarray(found.scale, dtype=np.float64)))


def _kernel_sum(graph: Graph, term: KernelTerm, X: str) -> str:
    """Add nodes for the sum over rows p of a_p k(p, x)."""
    metric, rows = term.kernel.metric, term.rows
    if metric == "rbf":
        # distances of rows far from the origin would be lost in rounding
        centre = rows.mean(axis=0)
        X, rows = graph.node("Sub", X, graph.constant(centre)), rows - centre
    inner = graph.node("MatMul", X, graph.constant(np.ascontiguousarray(rows.T)))
    values = KERNELS[str(metric)](graph, term.kernel.parameters, inner, X, rows)
    return graph.node("MatMul", values, graph.constant(np.ascontiguousarray(term.weights.T)))


def _row_squares(graph: Graph, X: str) -> str:
    return graph.node(
        "ReduceSum", graph.node("Mul", X, X), graph.constant(np.array([1])), keepdims=1
    )


def _rbf(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    both = graph.node("Mul", inner, graph.constant(np.float64(2.0)))
    near = graph.node("Sub", both, _row_squares(graph, X))
    near = graph.node("Sub", near, graph.constant((rows * rows).sum(axis=1)))
    # rounding must not make a squared distance negative
    near = graph.node("Min", near, graph.constant(np.float64(0.0)))
    return graph.node(
        "Exp", graph.node("Mul", near, graph.constant(np.float64(parameters["gamma"])))
    )


def _poly(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    steep = graph.node("Mul", inner, graph.constant(np.float64(parameters["gamma"])))
    shifted = graph.node("Add", steep, graph.constant(np.float64(parameters["coef0"])))
    return graph.node("Pow", shifted, graph.constant(np.float64(parameters["degree"])))


def _cosine(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    lengths = np.sqrt((rows * rows).sum(axis=1))
    both = graph.node("Mul", graph.node("Sqrt", _row_squares(graph, X)), graph.constant(lengths))
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    some = graph.node("Greater", both, zero)
    return graph.node("Div", inner, graph.node("Where", some, both, one))


def _linear(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    return inner


KERNELS = {"linear": _linear, "rbf": _rbf, "poly": _poly, "cosine": _cosine}


def _probabilities(graph: Graph, linear: LinearModel, scores: str) -> str:
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
