"""Features from columns of text: tf-idf (sublinear counts, rows of length one), or hashed words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.preprocessing import normalize

from semisvm.tables.blocks import Arrays, OneColumn, State
from semisvm.tables.errors import DataError
from semisvm.tables.kinds import TEXT
from semisvm.tables.table import Table
from semisvm.tables.words import TOKEN_PATTERN, check_ngrams, restored_settings, settings_of


@dataclass
class TextBlock(OneColumn):
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
    kind = TEXT

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

    def count_unknown(
        self, table: Table, min_df: int | float, n_fitted: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the words of each row that are unknown, and all.

        Parameters
        ----------
        table : Table
        min_df : int or float
            The setting of the fit.
        n_fitted : int, optional
            If these are rows of the fit, their number; words then count as known if they would be
            without the row.
        """
        known = set(self.words()) if n_fitted is None else self._in_other_rows(min_df, n_fitted)
        analyze = self.counter.build_analyzer()
        words = [analyze(text) for text in table.text(self.column)]
        return (
            np.array([sum(word not in known for word in row) for row in words], dtype=float),
            np.array([len(row) for row in words], dtype=float),
        )

    def _in_other_rows(self, min_df: int | float, n_fitted: int) -> set[str]:
        """Return the words that would be known without one of the rows they are in."""
        # idf = log((n + 1) / (df + 1)) + 1
        rows = (n_fitted + 1) / np.exp(np.asarray(self.weights.idf_) - 1.0) - 1.0
        least = min_df if isinstance(min_df, int) else min_df * n_fitted
        kept = np.round(rows) - 1 >= max(least, 1)
        return {word for word, fine in zip(self.words(), kept, strict=True) if fine}


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


HASHED = "hashed"
MOST_COLUMNS = 2**31 - 1


@dataclass
class HashedTextBlock(OneColumn):
    """Words, or n-grams, of a text column, each in the column that its hash names.

    Counts are 1 + log(tf) and rows have length one. There are no words to learn, so no idf. Words
    may share a column; half of them, by another bit of the hash, count as negative, so that on
    average shared columns cancel out.

    Attributes
    ----------
    column : str
    hasher : HashingVectorizer
    """

    column: str
    hasher: Any
    kind = HASHED

    @classmethod
    def of(cls, column: str, n_columns: int, **settings: Any) -> Self:
        """Make a block; nothing is learnt from the data.

        Parameters
        ----------
        column : str
        n_columns : int
        **settings
            Of `HashingVectorizer`.
        """
        check_ngrams(settings.get("ngram_range", (1, 1)))
        if not 1 <= n_columns <= MOST_COLUMNS:
            raise ValueError(f"hash_columns must be from 1 to {MOST_COLUMNS}, got {n_columns}.")
        return cls(
            column,
            HashingVectorizer(
                n_features=n_columns,
                norm=None,
                dtype=np.float64,
                **{"token_pattern": TOKEN_PATTERN, **settings},
            ),
        )

    def matrix(self, table: Table) -> Any:
        """Compute the rows."""
        counts = self.hasher.transform(table.text(self.column))
        counts.eliminate_zeros()
        counts.data = np.sign(counts.data) * (1.0 + np.log(np.abs(counts.data)))
        return normalize(counts, copy=False)

    def width(self) -> int:
        """Return the number of features."""
        return int(self.hasher.n_features)

    def names(self) -> list[str]:
        """Return ``column__hash 7`` and so on."""
        return [f"{self.column}__hash {k}" for k in range(self.width())]

    def state(self) -> tuple[State, Arrays]:
        """Return what restores the block."""
        settings = settings_of(self.hasher)
        return {"column": self.column, "n_columns": self.width(), "settings": settings}, {}

    @classmethod
    def restore(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a block from its state."""
        return cls.of(state["column"], state["n_columns"], **restored_settings(state["settings"]))
