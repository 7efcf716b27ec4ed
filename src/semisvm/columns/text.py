"""Features from one text column: tf-idf with sublinear counts and rows of length one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from semisvm.columns.blocks import Arrays, State
from semisvm.io.errors import DataError
from semisvm.io.table import Table

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""Of a word: two or more letters or digits."""
MAX_NGRAM = 20
"""Longest n-gram: a text has as many of each length as it has words, each as long as n words."""
SETTINGS = ("analyzer", "ngram_range", "lowercase", "strip_accents", "token_pattern")


@dataclass
class TextBlock:
    """Words, or n-grams, of a text column, weighted by tf-idf.

    Attributes
    ----------
    column : str
    counter : CountVectorizer
    weights : TfidfTransformer
    """

    column: str
    counter: Any
    weights: Any
    kind = "text"

    @classmethod
    def fit(cls, table: Table, column: str, **settings: Any) -> tuple[Self, Any]:
        """Learn the words and their weights; return the block and the rows of the table.

        Parameters
        ----------
        table : Table
        column : str
        **settings
            Of `CountVectorizer`.
        """
        check_ngrams(settings.get("ngram_range", (1, 1)))
        counter = CountVectorizer(dtype=np.float64, token_pattern=TOKEN_PATTERN, **settings)
        try:
            counts = counter.fit_transform(table.text(column))
        except ValueError as error:
            raise _explained(error, table, column, settings["min_df"]) from error
        counts.sort_indices()  # so that rows are summed in the order of later calls
        weights = TfidfTransformer(sublinear_tf=True).fit(counts)
        return cls(column, counter, weights), weights.transform(counts)

    @property
    def columns(self) -> list[str]:
        """The column that is read."""
        return [self.column]

    def matrix(self, table: Table) -> Any:
        """Compute the tf-idf rows."""
        counts = self.counter.transform(table.text(self.column))
        counts.sort_indices()
        return self.weights.transform(counts, copy=False)

    def width(self) -> int:
        """Return the number of features."""
        return len(self.words())

    def names(self) -> list[str]:
        """Return ``column__word``."""
        return [f"{self.column}__{word}" for word in self.words()]

    def words(self) -> list[str]:
        """Return the words in the order of the features."""
        return list(self.counter.get_feature_names_out())

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        settings = {name: getattr(self.counter, name) for name in SETTINGS}
        settings["ngram_range"] = list(settings["ngram_range"])
        state = {"column": self.column, "settings": settings, "words": self.words()}
        return state, {"idf": np.asarray(self.weights.idf_, dtype=np.float64)}

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        words, idf = state["words"], arrays["idf"]
        if idf.shape != (len(words),) or len(set(words)) != len(words):
            raise ValueError("the words and their weights differ in number.")
        settings = {name: state["settings"][name] for name in SETTINGS}
        settings["ngram_range"] = tuple(settings["ngram_range"])
        vocabulary = {word: k for k, word in enumerate(words)}
        counter = CountVectorizer(dtype=np.float64, vocabulary=vocabulary, **settings)
        weights = TfidfTransformer(sublinear_tf=True)
        weights.idf_ = idf
        return cls(state["column"], counter, weights)


def check_ngrams(lengths: Any) -> None:
    """Refuse lengths of n-grams that make no sense, or more of them than memory has room for."""
    fine = len(lengths) == 2 and all(isinstance(n, (int, np.integer)) for n in lengths)
    if not fine or not 1 <= lengths[0] <= lengths[1] <= MAX_NGRAM:
        raise ValueError(
            f"ngram_range must be two whole numbers, the shortest and the longest, from 1 to "
            f"{MAX_NGRAM}, got {lengths!r}."
        )


def _explained(error: ValueError, table: Table, column: str, min_df: Any) -> Exception:
    if "empty vocabulary" in str(error):
        message = "the texts of the column have no words."
    elif "no terms remain" in str(error).lower():
        message = (
            f"no word of the column occurs in {min_df} rows or more: lower the parameter min_df, "
            "or add rows."
        )
    else:
        return error
    return DataError(message, table.path, None, column)
