"""Features from one text column without a vocabulary: words are hashed to columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from semisvm.columns.blocks import Arrays, State
from semisvm.columns.text import TOKEN_PATTERN, check_ngrams, restored_settings, settings_of
from semisvm.io.table import Table

HASHED = "hashed"
MOST_COLUMNS = 2**31 - 1


@dataclass
class HashedTextBlock:
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

    @property
    def columns(self) -> list[str]:
        """The column that is read."""
        return [self.column]

    def matrix(self, table: Table) -> Any:
        """Compute the rows."""
        counts = self.hasher.transform(table.text(self.column))
        counts.eliminate_zeros()
        counts.data = np.sign(counts.data) * (1.0 + np.log(np.abs(counts.data)))
        return normalize(counts, copy=False)

    def width(self) -> int:
        """Return the number of features."""
        return int(self.hasher.n_features)

    def sources(self) -> list[str]:
        """Return the column once per feature."""
        return [self.column] * self.width()

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
