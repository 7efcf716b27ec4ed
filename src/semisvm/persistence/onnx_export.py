"""Models as ONNX files, for programs in any language.

The graph, from the columns of a table to features and scores, is written by hand, in double
precision, so that its predictions are those of the model and not those of rounded weights. The
converter of scikit-learn's objects, skl2onnx (1.20 was tried), gives other ones: it refuses
``LinearSVC`` in double precision, tf-idf of counts with zeros becomes NaN, kernels and texts are
in single precision, words with accents or in Cyrillic are cut otherwise, and lower case needs a
locale that the machine may not have. scikit-learn has no object for a committee with kernels.

Words are found by the tokeniser of onnxruntime, which is given the letters of Python as a list of
ranges. Lower case is a table from letters to letters: that of ONNX depends on the locales of a
machine. So words are looked up letter by letter, as n-grams of letters that begin and end with the
edges of a word.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from semisvm._version import __version__
from semisvm.maps.latent import LATENT, SHORTEST
from semisvm.persistence.sklearn_export import KernelTerm, LinearModel, linear_model
from semisvm.tables.blocks import Block
from semisvm.tables.category_columns import CategoricalBlock
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.number_columns import NumericBlock
from semisvm.tables.text_columns import TextBlock
from semisvm.tables.vector_columns import VectorBlock
from semisvm.tables.words import TOKEN_PATTERN, settings_of
from semisvm.tables.writing import write_bytes

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

    def _constant(self, values: Any) -> str:
        array: NDArray[Any] = np.asarray(values)
        if array.dtype.kind in "US":
            array = array.astype(object)
        name = f"{INNER}constant{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its result.

        Parameters
        ----------
        kind : str
            The operator.
        *inputs : str, or numbers
            Names of results; numbers and arrays become constants, in double precision if they are
            not whole.
        name : str, optional
            Of the result.
        **attributes
            Of the operator, and ``domain``.
        """
        names = [given if isinstance(given, str) else self._constant(given) for given in inputs]
        result = name or f"{INNER}{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, names, [result], **attributes))
        return result

    def type_of(self, values: NDArray[Any]) -> int:
        """Return the type of ONNX for labels."""
        if values.dtype.kind in "US":
            return self.text
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(values.dtype))


Input = tuple[int, list[Any]]
"""Type and shape of an input of a graph."""


def tfidf(graph: Graph, counted: str, rarities: NDArray[np.float64]) -> str:
    """Turn counts c into 1 + log c, times the weights, in rows of length one."""
    there = graph.node("Greater", counted, 0.0)
    logs = graph.node("Log", graph.node("Where", there, counted, 1.0))
    counts = graph.node("Where", there, graph.node("Add", logs, 1.0), counted)
    weighted = graph.node("Mul", counts, rarities)
    return _ratio(graph, weighted, graph.node("Sqrt", _row_squares(graph, weighted)))


def _row_squares(graph: Graph, X: str) -> str:
    return _row_sum(graph, graph.node("Mul", X, X))


def _row_sum(graph: Graph, X: str) -> str:
    return graph.node("ReduceSum", X, np.array([1]), keepdims=1)


def _ratio(graph: Graph, above: str, below: str) -> str:
    """Divide, by one where the divisor is zero."""
    some = graph.node("Greater", below, 0.0)
    return graph.node("Div", above, graph.node("Where", some, below, 1.0))


RUNTIME, LEARNING = "com.microsoft", "ai.onnx.ml"
"""Domains of the operators of onnxruntime, and of those for models."""
BEGIN, END, OTHER = "\x02", "\x03", "\x00"
"""Edges of words, as the tokeniser marks them, and letters that are in no word of a model."""
LAST_CHARACTER = 0x10FFFF
DOTTED = "\u0130"
"""The one letter whose lower case is two characters, of which the second ends a word."""
SIGMAS = frozenset("\u03c3\u03c2")
FEATURES_FIRST = (
    "Leave out columns=True: the file then takes features, which model.features.transform makes."
)


def add_columns(graph: Graph, features: ColumnFeatures, taken: set[str]) -> tuple[str, list[Any]]:
    """Add what makes features of columns; return their node, and name, type and shape of inputs.

    No input may have a name that is taken. A ValueError is raised for features that ONNX lacks.
    """
    parts: list[str] = []
    inputs: list[Any] = []
    for block, scale in zip(features.blocks_, features.scales_, strict=True):
        names = [_input_name(column, taken) for column in block.columns]
        part, kinds = _block(graph, block, names)
        inputs += [(name, *kind) for name, kind in zip(names, kinds, strict=True)]
        parts.append(graph.node("Mul", part, float(scale)))
    return graph.node("Concat", *parts, axis=1), inputs


def _input_name(column: str, taken: set[str]) -> str:
    return f"{column}_column" if column in taken else column


def _block(graph: Graph, block: Block, names: list[str]) -> tuple[str, list[Input]]:
    """Add one block; return its features, and types and shapes of its inputs."""
    add = BLOCKS.get(type(block))
    if add is None:
        raise ValueError(
            f"the column {names[0]!r} has {block.title}, for which ONNX has no operator. "
            f"{FEATURES_FIRST}"
        )
    return add(graph, block, names)


def _column(graph: Graph, name: str) -> str:
    return graph.node("Unsqueeze", name, np.array([1]))


def _numbers(graph: Graph, block: NumericBlock, names: list[str]) -> tuple[str, list[Input]]:
    inputs: list[Input] = [(graph.double, ["rows"])] * len(names)
    values = graph.node("Concat", *(_column(graph, name) for name in names), axis=1)
    missing = graph.node("IsNaN", values)
    filled = graph.node("Where", missing, block.median, values)
    centred = graph.node("Sub", filled, block.mean)
    standard = graph.node("Div", centred, block.scale)
    places = np.flatnonzero(block.indicated)
    if not len(places):
        return standard, inputs
    shown = graph.node("Gather", missing, places, axis=1)
    indicators = graph.node("Cast", shown, to=graph.double)
    return graph.node("Concat", standard, indicators, axis=1), inputs


def _categories(graph: Graph, block: CategoricalBlock, names: list[str]) -> tuple[str, list[Input]]:
    parts = []
    for name, levels, rare in zip(names, block.levels, block.rare, strict=True):
        places = [*range(len(levels)), *[len(levels)] * len(rare)]
        code = graph.node(
            "LabelEncoder",
            _column(graph, name),
            domain=LEARNING,
            keys_strings=[level.encode() for level in (*levels, *rare)],
            values_int64s=places,
            default_int64=-1,
        )
        each = np.arange(len(levels) + bool(rare))
        parts.append(graph.node("Cast", graph.node("Equal", code, each), to=graph.double))
    return graph.node("Concat", *parts, axis=1), [(graph.text, ["rows"])] * len(names)


def _vectors(graph: Graph, block: VectorBlock, names: list[str]) -> tuple[str, list[Input]]:
    centred = graph.node("Sub", names[0], block.mean)
    known = graph.node("Where", graph.node("IsNaN", centred), 0.0, centred)
    return known, [(graph.double, ["rows", block.width()])]


def _words(graph: Graph, block: TextBlock, names: list[str]) -> tuple[str, list[Input]]:
    (name,) = names
    words, lowercase = block.words(), bool(settings_of(block.counter)["lowercase"])
    _check_words(block, words, lowercase)
    found = graph.node(
        "Tokenizer",
        name,
        domain=RUNTIME,
        mark=0,
        mincharnum=2,
        pad_value="",
        tokenexp=word_expression(lowercase),
    )
    # texts without any word have a place all the same
    lines = graph.node("Shape", _column(graph, name))
    none = graph.node("Expand", np.array([[""]]), lines)
    found = graph.node("Concat", found, none, axis=1)
    letters = graph.node(
        "Tokenizer", found, domain=RUNTIME, mark=1, mincharnum=1, pad_value=END, separators=[""]
    )
    flat = graph.node("Reshape", letters, np.array([0, -1]))
    keys, values = zip(*letter_table(words, lowercase), strict=True)
    known = graph.node(
        "LabelEncoder",
        flat,
        domain=LEARNING,
        keys_strings=[key.encode() for key in keys],
        values_strings=[value.encode() for value in values],
        default_string=OTHER.encode(),
    )
    counts = graph.node("TfIdfVectorizer", known, **_pool(words))
    counts = graph.node("Cast", counts, to=graph.double)
    return tfidf(graph, counts, block.weights.idf_), [(graph.text, ["rows"])]


BLOCKS: dict[type[Block], Callable[[Graph, Any, list[str]], tuple[str, list[Input]]]] = {
    TextBlock: _words,
    NumericBlock: _numbers,
    CategoricalBlock: _categories,
    VectorBlock: _vectors,
}
"""What adds the columns of a type; those of other types cannot be exported."""


def _check_words(block: TextBlock, words: list[str], lowercase: bool) -> None:
    settings = settings_of(block.counter)
    what = None
    if settings["analyzer"] != "word" or settings["ngram_range"] != [1, 1]:
        what = "has n-grams"
    elif settings["strip_accents"] is not None or settings["token_pattern"] != TOKEN_PATTERN:
        what = "has words of another kind"
    elif lowercase and any(SIGMAS & set(word) for word in words):
        # which sigma is that of a capital one depends on what comes after the word
        what = "has words with a Greek sigma in lower case"
    if what is not None:
        raise ValueError(
            f"the column {block.column!r} {what}, which ONNX does not find as Python does; it "
            f"finds single words. {FEATURES_FIRST}"
        )


@cache
def word_expression(lowercase: bool) -> str:
    """Return what a word is, with the letters of Python as ranges."""
    is_letter = re.compile(r"\w").match
    codes = [
        code
        for code in range(LAST_CHARACTER + 1)
        if is_letter(chr(code)) and not (lowercase and chr(code) == DOTTED)
    ]
    letters = f"[{''.join(_ranges(codes))}]"
    dotted = rf"\x{{{ord(DOTTED):x}}}"
    return f"{letters}*{dotted}|{letters}+" if lowercase else f"{letters}+"


def _ranges(codes: list[int]) -> Iterator[str]:
    breaks = np.flatnonzero(np.diff(codes) > 1) + 1
    for run in np.split(np.asarray(codes), breaks):
        yield rf"\x{{{run[0]:x}}}-\x{{{run[-1]:x}}}"


def letter_table(words: list[str], lowercase: bool) -> list[tuple[str, str]]:
    """Return the letters of words, and those whose lower case they are, with what they become."""
    used = {letter for word in words for letter in word}
    table = {BEGIN: BEGIN, END: END, **{letter: letter for letter in used}}
    if lowercase:
        lowered = ((chr(code), chr(code).lower()) for code in range(LAST_CHARACTER + 1))
        table |= {letter: lower for letter, lower in lowered if lower in used}
        if "i" in used:
            table[DOTTED] = "i"
    return sorted(table.items())


def _pool(words: list[str]) -> dict[str, Any]:
    """Return words as n-grams of letters between edges, the short ones first."""
    order = sorted(range(len(words)), key=lambda k: len(words[k]))
    lengths = np.array([len(words[k]) + 2 for k in order])
    longest = int(lengths.max())
    # where the n-grams of each length begin among all letters
    ends = np.concatenate([[0], np.cumsum(lengths)])
    firsts = np.searchsorted(lengths, np.arange(1, longest + 1))
    pool = [letter for k in order for letter in (BEGIN, *words[k], END)]
    return {
        "mode": "TF",
        "min_gram_length": 1,
        "max_gram_length": longest,
        "max_skip_count": 0,
        "ngram_counts": ends[firsts].tolist(),
        "ngram_indexes": order,
        "pool_strings": [letter.encode() for letter in pool],
    }


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
    product = graph.node("MatMul", X, linear.coef.T.copy())
    scores = graph.node("Add", product, linear.intercept)
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
    graph.node("Gather", linear.classes, code, name="label")
    return [("label", graph.type_of(linear.classes), [ROWS]), *outputs]


def _scaled(graph: Graph, linear: LinearModel, X: str) -> str:
    """Bring rows to the scale on which the kernels work."""
    found = linear.scaling
    if found is None:
        return X
    if found.centre is not None:
        X = graph.node("Sub", X, found.centre)
    return graph.node("Mul", X, np.asarray(found.scale, dtype=np.float64))


def _kernel_sum(graph: Graph, term: KernelTerm, X: str) -> str:
    """Add nodes for the sum over rows p of a_p k(p, x)."""
    metric, rows = term.kernel.metric, term.rows
    if metric == "rbf":
        # distances of rows far from the origin would be lost in rounding
        centre = rows.mean(axis=0)
        X, rows = graph.node("Sub", X, centre), rows - centre
    inner = graph.node("MatMul", X, np.ascontiguousarray(rows.T))
    values = KERNELS[str(metric)](graph, term.kernel.parameters, inner, X, rows)
    return graph.node("MatMul", values, np.ascontiguousarray(term.weights.T))


def _rbf(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    both = graph.node("Mul", inner, 2.0)
    near = graph.node("Sub", both, _row_squares(graph, X))
    near = graph.node("Sub", near, (rows * rows).sum(axis=1))
    # rounding must not make a squared distance negative
    near = graph.node("Min", near, 0.0)
    return graph.node("Exp", graph.node("Mul", near, float(parameters["gamma"])))


def _poly(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    steep = graph.node("Mul", inner, float(parameters["gamma"]))
    shifted = graph.node("Add", steep, float(parameters["coef0"]))
    return graph.node("Pow", shifted, float(parameters["degree"]))


def _cosine(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    lengths = np.sqrt((rows * rows).sum(axis=1))
    both = graph.node("Mul", graph.node("Sqrt", _row_squares(graph, X)), lengths)
    return _ratio(graph, inner, both)


def _latent(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    along, whole = (graph.node("Sqrt", _row_squares(graph, of)) for of in (inner, X))
    lengths = graph.node("Max", along, graph.node("Mul", whole, SHORTEST))
    return _ratio(graph, inner, lengths)


def _linear(graph: Graph, parameters: Any, inner: str, X: str, rows: Any) -> str:
    return inner


KERNELS = {
    "linear": _linear,
    "rbf": _rbf,
    "poly": _poly,
    "cosine": _cosine,
    LATENT: _latent,
}


def _probabilities(graph: Graph, linear: LinearModel, scores: str) -> str:
    steep = graph.node("Mul", scores, linear.slope)
    odds = graph.node("Add", steep, linear.offset)
    if len(linear.classes) == 2:
        none = graph.node("Sub", odds, odds)
        odds = graph.node("Concat", none, odds, axis=1)
    if linear.shared:
        return graph.node("Softmax", odds, axis=1, name="probabilities")
    each = graph.node("Sigmoid", odds)
    total = graph.node("Max", _row_sum(graph, each), float(np.finfo(float).tiny))
    return graph.node("Div", each, total, name="probabilities")
