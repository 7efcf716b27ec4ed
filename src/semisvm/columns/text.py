"""Features from one text column: tf-idf with sublinear counts and rows of length one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from semisvm.columns.blocks import Arrays, State
from semisvm.io.errors import DataError
from semisvm.io.table import Table

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""Of a word: two or more letters or digits."""
MAX_NGRAM = 20
"""Longest n-gram: a text has as many of each length as it has words, each as long as n words."""
SETTINGS = ("analyzer", "ngram_range", "lowercase", "strip_accents", "token_pattern")
STOP_WORDS = "stop_words"
"""A setting that is kept where there are some; the first files had none."""


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

    def sources(self) -> list[str]:
        """Return the column once per feature."""
        return [self.column] * self.width()

    def names(self) -> list[str]:
        """Return ``column__word``."""
        return [f"{self.column}__{word}" for word in self.words()]

    def words(self) -> list[str]:
        """Return the words in the order of the features."""
        return list(self.counter.get_feature_names_out())

    def frequent(self, count: int) -> list[str]:
        """Return the words that are in most rows, the most frequent first."""
        rarest_last = np.argsort(self.weights.idf_, kind="stable")[:count]
        return np.asarray(self.counter.get_feature_names_out())[rarest_last].tolist()

    def plain(self) -> TfidfVectorizer:
        """Return a vectoriser of scikit-learn that computes the same rows."""
        made = TfidfVectorizer(
            vocabulary={word: k for k, word in enumerate(self.words())},
            sublinear_tf=True,
            **restored_settings(settings_of(self.counter)),
        )
        made.idf_ = self.weights.idf_
        return made

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        settings = settings_of(self.counter)
        state = {"column": self.column, "settings": settings, "words": self.words()}
        return state, {"idf": np.asarray(self.weights.idf_, dtype=np.float64)}

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        words, idf = state["words"], arrays["idf"]
        if idf.shape != (len(words),) or len(set(words)) != len(words):
            raise ValueError("the words and their weights differ in number.")
        settings = restored_settings(state["settings"])
        vocabulary = {word: k for k, word in enumerate(words)}
        counter = CountVectorizer(dtype=np.float64, vocabulary=vocabulary, **settings)
        weights = TfidfTransformer(sublinear_tf=True)
        weights.idf_ = idf
        return cls(state["column"], counter, weights)


def settings_of(vectorizer: Any) -> State:
    """Return what a word is, as plain data."""
    settings = {name: getattr(vectorizer, name) for name in SETTINGS}
    settings["ngram_range"] = list(settings["ngram_range"])
    if vectorizer.stop_words is not None:
        settings[STOP_WORDS] = list(vectorizer.stop_words)
    return settings


def restored_settings(state: State) -> State:
    """Return the arguments of a vectoriser for what `settings_of` returned."""
    settings = {name: state[name] for name in SETTINGS}
    settings["ngram_range"] = tuple(settings["ngram_range"])
    return {**settings, STOP_WORDS: state.get(STOP_WORDS)}


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
