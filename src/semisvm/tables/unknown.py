"""What of the cells of a table a fit did not have: words, and levels of categories."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.blocks import CategoricalBlock
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.table import Table
from semisvm.tables.text import TextBlock

Counts = NDArray[np.float64]


def unknown_shares(
    features: ColumnFeatures, table: Table, n_fitted: int | None = None
) -> Counts | None:
    """Compute the share of the words and levels of each row that are unknown, shape (n,).

    A level that is rare counts as unknown, as new levels are about as frequent as rare ones. Rows
    without any words and levels have share zero.

    Parameters
    ----------
    features : ColumnFeatures
        Fitted.
    table : Table
    n_fitted : int, optional
        Number of rows of the fit, if the rows are some of them. A word then counts as known only if
        it would be without this row, as for rows that come later.

    Returns
    -------
    shares : array of shape (n,), or None if the features have no words and levels
    """
    counts = [_counts(block, table, features.min_df, n_fitted) for block in features.blocks_]
    found = [pair for pair in counts if pair is not None]
    if not found:
        return None
    unknown, total = (np.sum(parts, axis=0) for parts in zip(*found, strict=True))
    return np.asarray(unknown / np.maximum(total, 1.0))


def _counts(
    block: Any, table: Table, min_df: int | float, n_fitted: int | None
) -> tuple[Counts, Counts] | None:
    if isinstance(block, TextBlock):
        known = set(block.words())
        if n_fitted is not None:
            known = _in_other_rows(block, min_df, n_fitted)
        analyze = block.counter.build_analyzer()
        words = [analyze(text) for text in table.text(block.column)]
        return (
            np.array([sum(word not in known for word in row) for row in words], dtype=float),
            np.array([len(row) for row in words], dtype=float),
        )
    if isinstance(block, CategoricalBlock):
        pairs = [
            (level not in known if level else False, bool(level))
            for name, levels in zip(block.columns, block.levels, strict=True)
            for known in [set(levels)]
            for level in table.levels(name)
        ]
        cells = np.array(pairs, dtype=float).reshape(len(block.columns), len(table), 2)
        return cells[:, :, 0].sum(axis=0), cells[:, :, 1].sum(axis=0)
    return None


def _in_other_rows(block: TextBlock, min_df: int | float, n_fitted: int) -> set[str]:
    """Return the words that would be known without one of the rows they are in."""
    # idf = log((n + 1) / (df + 1)) + 1
    rows = (n_fitted + 1) / np.exp(np.asarray(block.weights.idf_) - 1.0) - 1.0
    least = min_df if isinstance(min_df, int) else min_df * n_fitted
    kept = np.round(rows) - 1 >= max(least, 1)
    return {word for word, fine in zip(block.words(), kept, strict=True) if fine}
