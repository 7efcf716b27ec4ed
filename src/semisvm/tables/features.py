"""From a table of columns to a sparse matrix."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from semisvm.tables.blocks import Block, BlockOptions
from semisvm.tables.column_shares import FOR_CLUSTERS, BlockStatistics, weigh
from semisvm.tables.encoders import Encoder, NamedEncoder, check_encoder, open_encoder
from semisvm.tables.errors import DataError, missing_column
from semisvm.tables.frames import as_table
from semisvm.tables.informative import find_informative
from semisvm.tables.kinds import (
    HASHED,
    NUMERIC,
    RECOGNISED,
    TEXT,
    TYPES,
    VECTOR,
    columns_by_type,
    find_kind,
    is_array,
)
from semisvm.tables.row_vectors import SUFFIX, encode_texts
from semisvm.tables.table import Table, holds_vectors
from semisvm.tables.text_columns import TextBlock
from semisvm.tables.words import STOP_WORDS, as_tokens
from semisvm.validation import check_real

GIVEN = ("text", "numeric", "categorical")
"""Parameters that name columns of a kind."""
ZERO_WEIGHT = "its weight is zero"


class ColumnFeatures(TransformerMixin, BaseEstimator):
    r"""Features from the columns of a table, each by what it holds.

    - Text: tf-idf with counts 1 + log(tf), idf over all rows, rows of length one. Every
      text column is a block of its own.
    - Numbers: standardised; a missing one counts as the median, and columns with missing
      values have an indicator. All of them are one block.
    - Categories: one indicator per level. Levels that are rare share one; levels that were
      not seen in training, and missing ones, have none. All of them are one block.
    - Dates and times, as text in ISO 8601 or like 31.12.2025 too: the time that has passed, the
      place in the year and in the day as sine and cosine, and the day of the week, all
      standardised. Parts that do not vary are left out. A missing one counts as the mean, and has
      an indicator. Every column is a block of its own.
    - Vectors, such as embeddings: cells that are lists of numbers of one length, or an array of
      two dimensions. The mean is subtracted; a missing vector counts as the mean. Every
      column is a block of its own.
    - With an ``encoder``, the vectors of every text column are a further column,
      ``column__encoded``.

    The squared length of an average row is one, so that the default ``reg`` of the estimators
    suits. Each block has a share of it in proportion to the number of directions in which its
    rows vary, ``sum(l)**2 / sum(l**2)`` with the eigenvalues of its covariance: hundreds for a
    text, three for a category of four levels. So a column of few values cannot make clusters
    that drown the others. Numbers, categories and times divide their part by the number of
    columns. If labels are given, those that are clearly associated with them have a larger share
    beside texts and vectors. ``notes_`` names the columns that are damped and raised.

    Columns of no given kind are looked at. A column of words with many distinct values is
    text, few distinct values are categories, numbers are numbers. Constant columns
    and identifiers (words that hardly repeat; whole numbers that count the rows, or whose
    column has the name of an identifier) are left out, with a note in ``notes_``.

    Parameters
    ----------
    text, numeric, categorical : sequence of str, optional
        Columns that are of this kind, whatever they look like.
    features : sequence of str, optional
        The columns to use, besides those of a given kind; by default all. With an empty
        sequence those of given kinds are the only ones.
    ngram_range : tuple (shortest, longest), default=(1, 1)
        Words, or also pairs of words with (1, 2); at most 20.
    min_df : int or float, default=2
        Words in fewer rows (or a smaller share) are left out.
    max_df : int or float, default=1.0
        Words in more rows (or a larger share) are left out.
    max_features : int, optional
        Keep the most frequent words only.
    hash_columns : int, optional
        Give every text column so many features, to which its words are hashed. There is no
        vocabulary then, and no idf, so nothing grows with the data. By default words are
        features.
    analyzer : {"word", "char", "char_wb"}, default="word"
        The latter make n-grams of characters, "char_wb" within words only: for languages without
        spaces, compounds and misspelt words.
    stop_words : sequence of str or str, optional
        Words to leave out, before n-grams are made; or the code of a language, such as "en",
        whose list is that of the package stopwordsiso.
    encoder : str or callable, optional
        What makes vectors of texts: "model2vec:NAME", "sentence-transformers:NAME" or
        "fastembed:NAME", with the name of a published model or, but for the last one, a folder; or
        a function from a list of texts to an array with a row for each. Vectors of named encoders
        are cached on the disk, in the user's cache folder or that of the environment variable
        SEMISVM_CACHE_DIR. A model file has the name and the vectors of a few fixed sentences, by
        which another encoder is recognised and refused. A function is in no model file.
    words : bool, default=True
        False leaves out the words of texts that are encoded.
    min_count : int, default=2
        Levels in fewer rows are rare.
    max_levels : int, default=100
        Levels beyond the most frequent ones are rare.
    column_weights : mapping of str to float, optional
        Factors of columns, by which their features are multiplied besides; zero leaves a column
        out. "text", "numeric", "categorical", "time" and "vector" stand for all columns of that
        kind that have no factor of their own, unless a column is called so. An average row has
        length one in any case. Columns with a factor, or of a kind with one, are not raised.
    raised : float, optional
        How far numbers, categories and times that are clearly associated with the labels are raised
        to an equal share of the length beside texts and vectors: 0 for not at all, 1 for an equal
        one, and in between on a logarithmic scale. By default 0.15, which suits methods that look
        for clusters; 0.5 suits supervised methods.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    dtype : float64 or float32, default=float64
    sparse_output : bool, default=True
        False gives a dense array, which ``set_output(transform="pandas")`` needs. If there are
        vectors, and all other columns are numbers, the features are a dense array in any case.

    Attributes
    ----------
    blocks_ : list
        Text, hashed text, numeric, categorical, time and vector blocks, in this order.
    scales_ : array of shape (number of blocks,)
        What the blocks are multiplied by.
    kinds_ : dict of str
        Kind of every column that is used.
    encoded_ : list of str
        Text columns that are encoded.
    fingerprint_ : array of shape (8, k) or None
        Vectors of fixed sentences, by the named encoder.
    informative_ : dict of float
        Columns that are raised, with the p-values of their association with the labels.
    notes_ : list of str
        What was left out, damped or raised, and why.
    n_features_out_ : int

    Examples
    --------
    >>> from semisvm.tables import ColumnFeatures
    >>> table = {
    ...     "subject": ["cheap pills now", "lunch on monday", "cheap cheap flights", "monday plan"],
    ...     "size": [3, None, 12, 7],
    ... }
    >>> features = ColumnFeatures(text=["subject"]).fit(table)
    >>> features.kinds_
    {'subject': 'text', 'size': 'numeric'}
    >>> features.get_feature_names_out().tolist()
    ['subject__cheap', 'subject__monday', 'size', 'size__missing']
    >>> features.transform(table).shape
    (4, 4)
    """

    def __init__(
        self,
        *,
        text: Sequence[str] | None = None,
        numeric: Sequence[str] | None = None,
        categorical: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: int | float = 2,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        hash_columns: int | None = None,
        analyzer: str = "word",
        stop_words: Sequence[str] | str | None = None,
        encoder: str | Encoder | None = None,
        words: bool = True,
        min_count: int = 2,
        max_levels: int = 100,
        column_weights: Mapping[str, float] | None = None,
        raised: float | None = None,
        unlabeled: Any = -1,
        dtype: DTypeLike = np.float64,
        sparse_output: bool = True,
    ) -> None:
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.features = features
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.hash_columns = hash_columns
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.encoder = encoder
        self.words = words
        self.min_count = min_count
        self.max_levels = max_levels
        self.column_weights = column_weights
        self.raised = raised
        self.unlabeled = unlabeled
        self.dtype = dtype
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the columns and learn the features.

        Parameters
        ----------
        X : Table, dict of columns, or data frame
            Labelled and unlabelled rows alike; the label is not among the columns.
        y : array-like of shape (n,), optional
            Labels, and the marker for unlabelled rows. They show which numbers, categories and
            times inform; without them, and with several labels per row, all count by what varies.
        """
        self.fit_matrix(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the features of the same rows.

        Parameters
        ----------
        X : Table, dict of columns, or data frame
        y : array-like of shape (n,), optional
            Labels, and the marker for unlabelled rows.

        Returns
        -------
        features : CSR matrix of shape (n, d), or array or frame if asked for
            An array also if there are vectors, and all other columns are numbers.
        """
        return self.fit_matrix(X, y)

    def fit_matrix(self, X: Any, y: Any = None) -> Any:
        """Do what `fit_transform` does; the result is a matrix whatever ``set_output`` says."""
        table = as_table(X)
        if len(table) == 0:
            raise DataError("the table has no rows.", table.path)
        notes: list[str] = []
        if self.raised is not None and check_real("raised", self.raised, at_least=0.0) > 1.0:
            raise ValueError(f"raised must be at most 1, got {self.raised!r}.")
        kinds = self._find_kinds(table, notes)
        table = self._encoded(table)
        self.informative_ = self._find_informative(table, kinds, y)
        blocks, parts = self._fit_blocks(table, kinds)
        self.blocks_ = blocks
        statistics = BlockStatistics(len(blocks))
        statistics.add(parts)
        self.scales_, about_shares = self._weigh(statistics)
        self.kinds_ = kinds
        self.notes_ = notes + about_shares
        self.n_features_out_ = sum(part.shape[1] for part in parts)
        return self._join(parts)

    def transform(self, X: Any) -> Any:
        """Compute the features of a table.

        Parameters
        ----------
        X : Table, dict of columns, or data frame
            With the columns of the fit, in any order; others are ignored.

        Returns
        -------
        features : CSR matrix of shape (n, d), or array or frame if asked for
            An array also if there are vectors, and all other columns are numbers.
        """
        return self.matrix(X)

    def matrix(self, X: Any) -> Any:
        """Do what `transform` does; the result is a matrix whatever ``set_output`` says."""
        check_is_fitted(self)
        table = as_table(X)
        if self.encoded_:
            table = self._encoded(table.without(name + SUFFIX for name in self.encoded_))
        return self._join([block.matrix(table) for block in self.blocks_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names.

        They are ``column__word``, ``column``, ``column__missing``, ``column=level``,
        ``column__Monday`` and ``column[0]``.
        """
        check_is_fitted(self)
        names = [name for block in self.blocks_ for name in block.names()]
        return np.array(names, dtype=object)

    def source_columns(self) -> NDArray[np.object_]:
        """Return the column that each feature comes from, shape (d,)."""
        check_is_fitted(self)
        return np.array([name for block in self.blocks_ for name in block.sources()], dtype=object)

    def is_coordinate(self) -> NDArray[np.bool_]:
        """Return which features are coordinates of vectors, shape (d,)."""
        check_is_fitted(self)
        kinds = [block.kind == VECTOR for block in self.blocks_]
        return np.repeat(kinds, [block.width() for block in self.blocks_])

    def kept_words(self, count: int = 10) -> dict[str, dict[str, Any]]:
        """Return how many words of every text column are features, and the most frequent ones.

        Parameters
        ----------
        count : int, default=10
            Number of words to name, by the number of rows that they are in.
        """
        check_is_fitted(self)
        return {
            block.column: {"words": block.width(), "most_frequent": block.frequent(count)}
            for block in self.blocks_
            if isinstance(block, TextBlock)
        }

    def unknown_shares(
        self, table: Table, n_fitted: int | None = None
    ) -> NDArray[np.float64] | None:
        """Compute the share of the words and levels of each row that are unknown, shape (n,).

        A level that is rare counts as unknown, as new levels are about as frequent as rare ones.
        Rows without any words and levels have share zero; None if the features have neither.

        Parameters
        ----------
        table : Table
        n_fitted : int, optional
            Number of rows of the fit, if the rows are some of them. A word then counts as known
            only if it would be without this row, as for rows that come later.
        """
        found = [block.count_unknown(table, self.min_df, n_fitted) for block in self.blocks_]
        counted = [parts for parts in found if parts is not None]
        if not counted:
            return None
        unknown, total = (np.sum(parts, axis=0) for parts in zip(*counted, strict=True))
        return np.asarray(unknown / np.maximum(total, 1.0))

    @property
    def columns_(self) -> list[str]:
        """Columns that `transform` needs."""
        return self._read_columns(self.kinds_)

    def _read_columns(self, kinds: Iterable[str]) -> list[str]:
        """Return the columns to read for some columns, of which some are encoded."""
        made = {name + SUFFIX for name in self.encoded_}
        return list(dict.fromkeys([*(n for n in kinds if n not in made), *self.encoded_]))

    def _given(self) -> dict[str, str]:
        given: dict[str, str] = {}
        for kind in GIVEN:
            for name in getattr(self, kind) or ():
                if given.setdefault(name, kind) != kind:
                    raise ValueError(
                        f"the column {name!r} is given as both {given[name]} and {kind}."
                    )
        return given

    def _find_kinds(self, table: Table, notes: list[str]) -> dict[str, str]:
        given = self._given()
        free = table.names if self.features is None else list(self.features)
        for name in [*given, *free]:
            if name not in table.columns:
                raise missing_column(name, table.names, table.path)
        kinds = {}
        for name in dict.fromkeys([*free, *given]):
            if name in given:
                numbers = given[name] == NUMERIC and holds_vectors(table.columns[name])
                kinds[name] = VECTOR if numbers else given[name]
                continue
            kind = find_kind(table, name)
            if kind.name is None:
                notes.append(f"the column {name!r} is left out: {kind.reason}")
            else:
                kinds[name] = kind.name
        encoded = self._texts_to_encode(table, kinds)
        kinds |= {name + SUFFIX: VECTOR for name in encoded}
        if not self.words:
            kinds = {name: kind for name, kind in kinds.items() if name not in encoded}
        self._factors = self._find_factors(table, kinds)
        for name in [name for name in kinds if self._factors[name] == 0.0]:
            del kinds[name]
            notes.append(f"the column {name!r} is left out: {ZERO_WEIGHT}")
        self.encoded_ = [name for name in encoded if name + SUFFIX in kinds]
        self.fingerprint_: NDArray[Any] | None = None
        if self.hash_columns is not None:
            kinds = {name: HASHED if kind == TEXT else kind for name, kind in kinds.items()}
        if not kinds:
            reasons = "; ".join(notes) or "there is no column"
            raise DataError(
                f"no column is left to learn from ({reasons}). Name columns with text=, numeric= "
                "or categorical=.",
                table.path,
            )
        return kinds

    def _texts_to_encode(self, table: Table, kinds: Mapping[str, str]) -> list[str]:
        """Return the text columns, if there is an encoder."""
        if self.encoder is None:
            if not self.words:
                raise ValueError("words=False is for texts that are encoded: give an encoder.")
            return []
        check_encoder(self.encoder)
        found = [name for name, kind in kinds.items() if kind == TEXT]
        if not found:
            raise DataError(
                "no column looks like text, so there is nothing to encode: name one with text=.",
                table.path,
            )
        return found

    def _encoded(self, table: Table) -> Table:
        """Return a table with the vectors of its texts, after a check that they are as fitted."""
        if not self.encoded_:
            return table
        encoder = self._opened()
        if isinstance(encoder, NamedEncoder):
            if self.fingerprint_ is None:
                self.fingerprint_ = encoder.fingerprint
            encoder.check(self.fingerprint_)
        return encode_texts(table, self.encoded_, encoder)

    def _opened(self) -> Encoder:
        """Return the encoder, which is loaded once."""
        name, encoder = self.__dict__.get("_loaded", (None, None))
        if encoder is None or name != self.encoder:
            assert self.encoder is not None
            encoder = open_encoder(self.encoder)
            self._loaded = (self.encoder, encoder)
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        """Leave out an encoder that was loaded; its name loads it again."""
        return {k: value for k, value in super().__getstate__().items() if k != "_loaded"}

    def _find_factors(self, table: Table, kinds: Mapping[str, str]) -> dict[str, float]:
        """Return the factors of columns, after a check."""
        given = dict(self.column_weights or {})
        of_any_kind = {one.kind for one in RECOGNISED}
        for name, factor in given.items():
            if not any(name in known for known in (table.columns, kinds, of_any_kind)):
                raise missing_column(name, table.names, table.path)
            check_real(f"the weight of {name!r}", factor, at_least=0.0)
        # a column that is called like a kind means itself
        of_kinds = {kind: factor for kind, factor in given.items() if kind not in table.columns}
        return {name: float(given.get(name, of_kinds.get(k, 1.0))) for name, k in kinds.items()}

    def _find_informative(self, table: Table, kinds: Mapping[str, str], y: Any) -> dict[str, float]:
        """Return p-values of columns to raise: not where a factor was given, or nothing is wide."""
        if y is not None and len(y) != len(table):
            raise ValueError(f"there are {len(y)} labels for {len(table)} rows.")
        if self.raised == 0.0 or all(TYPES[kind].is_single for kind in kinds.values()):
            return {}
        given = {*(self.column_weights or {})}
        of_kinds = given - {*table.columns}
        free = {name: k for name, k in kinds.items() if name not in given and k not in of_kinds}
        return find_informative(table, free, y, self.unlabeled)

    def _weigh(self, statistics: BlockStatistics) -> tuple[NDArray[np.float64], list[str]]:
        """Return what to multiply the blocks by, and notes."""
        # the columns of a block have the same factor
        weights = [self._factors[block.columns[0]] for block in self.blocks_]
        raised = FOR_CLUSTERS if self.raised is None else self.raised
        return weigh(self.blocks_, statistics, weights, self.informative_, raised)

    def _parted(self, columns: list[str]) -> list[list[str]]:
        """Part columns of one kind by their factors, and whether they are raised: into blocks."""
        found: dict[tuple[float, bool], list[str]] = {}
        for name in columns:
            key = (self._factors[name], name in self.informative_)
            found.setdefault(key, []).append(name)
        return list(found.values())

    def _fit_blocks(self, table: Table, kinds: Mapping[str, str]) -> tuple[list[Block], list[Any]]:
        options = self._options()
        fitted = [
            one.fit(table, names, options)
            for one, columns in columns_by_type(kinds).items()
            for names in (self._parted(columns) if one.shared else [[name] for name in columns])
        ]
        return [block for block, _ in fitted], [part for _, part in fitted]

    def _options(self) -> BlockOptions:
        """Return what the types of columns are fitted with."""
        words = {"ngram_range": tuple(self.ngram_range), "analyzer": self.analyzer}
        stopped = as_tokens(self.stop_words, self.analyzer)
        return BlockOptions(
            words if stopped is None else {**words, STOP_WORDS: stopped},
            {name: getattr(self, name) for name in ("min_df", "max_df", "max_features")},
            self.hash_columns or 0,
            self.min_count,
            self.max_levels,
        )

    def _join(self, parts: Iterable[Any]) -> Any:
        kept, scales = np.dtype(self.dtype), self.scales_.tolist()
        if is_array(self.kinds_):
            parts = list(parts)
            joined, first = np.empty((len(parts[0]), self.n_features_out_), dtype=kept), 0
            for part, scale in zip(parts, scales, strict=True):
                place = joined[:, first : first + part.shape[1]]
                np.multiply(part, scale, out=place, casting="same_kind")
                first += part.shape[1]
            return joined
        scaled = [sparse.csr_matrix(part) * s for part, s in zip(parts, scales, strict=True)]
        together = sparse.csr_matrix(sparse.hstack(scaled, format="csr"), dtype=kept)
        return together if self.sparse_output else together.toarray()
