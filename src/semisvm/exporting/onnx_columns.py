"""From columns of a table to features, as nodes of an ONNX graph.

Words are found by the tokeniser of onnxruntime, which is given the letters of Python as a list of
ranges. Lower case is a table from letters to letters: that of ONNX depends on the locales of a
machine. So words are looked up letter by letter, as n-grams of letters that begin and end with the
edges of a word.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from semisvm.columns import ColumnFeatures
from semisvm.columns.blocks import CategoricalBlock, NumericBlock
from semisvm.columns.text import TOKEN_PATTERN, TextBlock, settings_of
from semisvm.columns.vectors import VectorBlock
from semisvm.exporting.onnx_graph import Graph, tfidf

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
    """Add what makes features of columns.

    Parameters
    ----------
    graph : Graph
    features : fitted ColumnFeatures
    taken : set of str
        Names of outputs, which no input may have.

    Returns
    -------
    X : str
        The node with the features.
    inputs : list of (name, type, shape)

    Raises
    ------
    ValueError
        If ONNX has nothing that gives equal features.
    """
    parts: list[str] = []
    inputs: list[Any] = []
    for block, scale in zip(features.blocks_, features.scales_, strict=True):
        names = [_input_name(column, taken) for column in block.columns]
        part, kinds = _block(graph, block, names)
        inputs += [(name, *kind) for name, kind in zip(names, kinds, strict=True)]
        parts.append(graph.node("Mul", part, graph.constant(np.float64(scale))))
    return graph.node("Concat", *parts, axis=1), inputs


def _input_name(column: str, taken: set[str]) -> str:
    return f"{column}_column" if column in taken else column


def _block(graph: Graph, block: Any, names: list[str]) -> tuple[str, list[tuple[int, list[Any]]]]:
    """Add one block; return its features, and types and shapes of its inputs."""
    text = graph.text, ["rows"]
    if isinstance(block, NumericBlock):
        return _numbers(graph, block, names), [(graph.double, ["rows"])] * len(names)
    if isinstance(block, CategoricalBlock):
        return _categories(graph, block, names), [text] * len(names)
    if isinstance(block, VectorBlock):
        centred = graph.node("Sub", names[0], graph.constant(block.mean))
        missing = graph.node("IsNaN", centred)
        zero = graph.constant(np.float64(0.0))
        return graph.node("Where", missing, zero, centred), [
            (graph.double, ["rows", block.width()])
        ]
    if isinstance(block, TextBlock):
        return _words(graph, block, names[0]), [text]
    raise ValueError(
        f"the column {names[0]!r} is hashed, which no operator of ONNX does. {FEATURES_FIRST}"
    )


def _column(graph: Graph, name: str) -> str:
    return graph.node("Unsqueeze", name, graph.constant(np.array([1])))


def _numbers(graph: Graph, block: NumericBlock, names: list[str]) -> str:
    values = graph.node("Concat", *(_column(graph, name) for name in names), axis=1)
    missing = graph.node("IsNaN", values)
    filled = graph.node("Where", missing, graph.constant(block.median), values)
    centred = graph.node("Sub", filled, graph.constant(block.mean))
    standard = graph.node("Div", centred, graph.constant(block.scale))
    places = np.flatnonzero(block.indicated)
    if not len(places):
        return standard
    shown = graph.node("Gather", missing, graph.constant(places), axis=1)
    return graph.node("Concat", standard, graph.node("Cast", shown, to=graph.double), axis=1)


def _categories(graph: Graph, block: CategoricalBlock, names: list[str]) -> str:
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
        each = graph.constant(np.arange(len(levels) + bool(rare)))
        parts.append(graph.node("Cast", graph.node("Equal", code, each), to=graph.double))
    return graph.node("Concat", *parts, axis=1)


def _words(graph: Graph, block: TextBlock, name: str) -> str:
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
    none = graph.node("Expand", graph.constant(np.array([[""]])), lines)
    found = graph.node("Concat", found, none, axis=1)
    letters = graph.node(
        "Tokenizer", found, domain=RUNTIME, mark=1, mincharnum=1, pad_value=END, separators=[""]
    )
    flat = graph.node("Reshape", letters, graph.constant(np.array([0, -1])))
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
    return tfidf(graph, graph.node("Cast", counts, to=graph.double), block.weights.idf_)


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
