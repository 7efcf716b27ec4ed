"""Columns of text: tf-idf (sublinear counts, rows of length one), or hashed words."""

import re
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

from semisvm.tables.blocks import (
    EMPTY,
    LEVEL_SHARE,
    SAME,
    Arrays,
    BlockOptions,
    BoundedCounts,
    Cells,
    Kind,
    OneColumn,
    State,
    Tally,
)
from semisvm.tables.errors import DataError
from semisvm.tables.schema import (
    MOST_COLUMNS,
    Array,
    Record,
    listed,
    text,
    whole,
)
from semisvm.tables.table import Table
from semisvm.tables.words import (
    TOKEN_PATTERN,
    WORDS,
    check_ngrams,
    restored_settings,
    settings_of,
)

TEXT_WORDS = 3.0
"""Values of so many words on average are text."""

SHORT_WORDS = 1.5
"""And values of so many words, if they are no categories."""

TEXT_LENGTH = 60.0
"""And so are values of so many characters on average, with or without spaces."""

ID_TEXT = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}|[0-9a-fA-F]{16,}")
"""A UUID, or a hash of 64 bits or more."""
NO_WORDS = "the texts of the column have no words."
TOO_RARE = (
    "no word of the column occurs in {} rows or more: lower the parameter min_df, or add rows."
)


class WordTally(Tally):
    """The words of a text column."""

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        super().__init__(columns, options)
        check_ngrams(options.words["ngram_range"])
        (self.column,), self.words = columns, options.words
        self._limits = options.limits
        self._analyze = CountVectorizer(token_pattern=TOKEN_PATTERN, **self.words).build_analyzer()
        self.rows = BoundedCounts()
        self._times = None if options.limits["max_features"] is None else BoundedCounts()

    def add(self, table: Table) -> None:
        """Count the words of some rows."""
        for cell in table.text(self.column):
            found = self._analyze(cell)
            self.rows.add(set(found))
            if self._times is not None:
                self._times.add(found)

    def merge(self, other: "WordTally") -> None:
        """Add what was counted in other rows."""
        self.rows.merge(other.rows)
        if self._times is not None and other._times is not None:
            self._times.merge(other._times)

    def block(self, columns: list[str], n_rows: int, path: str | None) -> "TextBlock":
        """Choose the words that are features, and weight them."""
        counts = self.rows.counts
        if not counts:
            raise DataError(NO_WORDS, path, None, self.column)
        min_df, max_df, most = (self._limits[name] for name in ("min_df", "max_df", "max_features"))
        low, high = _count_of(min_df, n_rows), _count_of(max_df, n_rows)
        kept = sorted(word for word, count in counts.items() if low <= count <= high)
        if self._times is not None:
            times = self._times.counts
            kept = sorted(sorted(kept, key=lambda word: -times[word])[:most])
        if not kept:
            raise DataError(TOO_RARE.format(min_df), path, None, self.column)
        rows = np.array([counts[word] for word in kept], dtype=np.float64)
        settings = {"lowercase": True, "strip_accents": None, "token_pattern": TOKEN_PATTERN}
        state = {"column": self.column, "words": kept, "settings": {**settings, **self.words}}
        return TextBlock.restore(state, {"idf": np.log((n_rows + 1.0) / (rows + 1.0)) + 1.0})

    def notes(self) -> list[str]:
        """Return which words were forgotten."""
        return self.rows.note(self.column)


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
    kind = "text"
    title = "words"
    tally = WordTally
    shown_as = "text"
    stored = Record(
        {
            "kind": text,
            "column": text,
            "settings": WORDS,
            "words": listed(text, "words", least=1, unique=True),
            "idf": Array("f", ("words",), low=0.0),
        }
    )

    @classmethod
    def recognise(cls, cells: Cells) -> Kind | None:
        """Recognise texts that hardly repeat, of several words or characters; refuse hashes."""
        texts, distinct = cells.words, cells.n_distinct
        if not texts or distinct == 1:
            return Kind(None, SAME if texts else EMPTY)
        n = len(texts)
        if distinct > LEVEL_SHARE * n and all(ID_TEXT.fullmatch(text) for text in texts):
            what = "distinct hashes, like an identifier"
            return Kind(None, f"{distinct} of its {n} values are {what}")
        n_words = sum(text.count(" ") + 1 for text in texts) / n
        is_long = n_words >= TEXT_WORDS or sum(map(len, texts)) / n >= TEXT_LENGTH
        if not cells.has_few and is_long:
            return Kind(cls.kind, f"{distinct} distinct values of {n_words:.0f} words on average")
        if not cells.repeats and n_words >= SHORT_WORDS:
            return Kind(cls.kind, f"{distinct} distinct values of {n_words:.1f} words on average")
        return None

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Learn the words and their weights."""
        (column,) = columns
        check_ngrams(options.words["ngram_range"])
        counter = CountVectorizer(
            dtype=np.float64, token_pattern=TOKEN_PATTERN, **options.words, **options.limits
        )
        try:
            counts = counter.fit_transform(table.text(column))
        except ValueError as error:
            raise _explained(error, table, column, options.limits["min_df"]) from error
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
        """Count the words of each row that are unknown, and all."""
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
        message = NO_WORDS
    elif "no terms remain" in str(error).lower():
        message = TOO_RARE.format(min_df)
    else:
        return error
    return DataError(message, table.path, None, column)


def _count_of(limit: int | float, n_rows: int) -> float:
    """Return a limit as a number of rows; a float is a share of them."""
    return limit * n_rows if isinstance(limit, float) else limit


class HashTally(Tally):
    """A block of hashed words, which is known before the rows are."""

    def __init__(self, columns: list[str], options: BlockOptions) -> None:
        super().__init__(columns, options)
        self._block = HashedTextBlock.of(columns[0], options.hash_columns, **options.words)

    def add(self, table: Table) -> None:
        """Count nothing."""

    def merge(self, other: "HashTally") -> None:
        """Add nothing."""

    def block(self, columns: list[str], n_rows: int, path: str | None) -> "HashedTextBlock":
        """Return the block."""
        return self._block


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
    kind = "hashed"
    title = "hashed words"
    tally = HashTally
    learns = False
    shown_as = "text"
    stored = Record(
        {
            "kind": text,
            "column": text,
            "n_columns": whole(1, MOST_COLUMNS),
            "settings": WORDS,
        }
    )

    @classmethod
    def fit(cls, table: Table, columns: list[str], options: BlockOptions) -> tuple[Self, Any]:
        """Make a block."""
        block = cls.of(columns[0], options.hash_columns, **options.words)
        return block, block.matrix(table)

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
