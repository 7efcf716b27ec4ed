"""Which numbers, categories and times are clearly associated with the labels.

Beside a text such columns get a small share of the length of a row, since noise would do harm with
a larger one (`semisvm.tables.column_shares`). Where the labels show that a column is no noise, its
share may be larger.

The statistic of a column is ``T = tr(A B)``, with the inner products A of what the column has in
the labelled rows, and B of their classes, both centred. Categories and classes are indicators
divided by the square root of their counts, so T is that of the chi-square test, divided by the
number of rows. Numbers are their ranks, so T is that of Kruskal and Wallis, up to a factor. A time
is several numbers, such as the time that has passed and whether it is a Monday, of equal length.
The mean and the variance of T over all permutations of the labels are known
(`permutation_moments`); the gamma distribution with these gives the p-value. Nothing is assumed
about the sizes of levels and classes.

There are two stages. First the table is tested: a column on its own, or all of them together, must
be associated with the labels at a level that noise reaches in one of a thousand tables (`LEVEL`). A
sum of the matrices A, each divided by its norm, is a matrix A again, so that all columns together
need no other test; several columns that each inform a little pass by it. Then columns are found in
a table that has passed, with a false discovery rate of `FALSE_SHARE`.

The labels of a fit decide, those of folds among them, since all folds share the features. What that
adds to held-out scores was measured; `docs/files.md` has the figures.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc
from scipy.stats import false_discovery_control, rankdata

from semisvm.designs.validation import is_sparse
from semisvm.labels.partial import is_unlabeled, label_array
from semisvm.tables.kinds import TYPES
from semisvm.tables.table import Table

LEVEL = 1e-3
"""Chance that a table without any association passes, about. A stricter level leaves more columns
that inform without their share: with two classes and 60 labels p is often about 1e-4."""
FALSE_SHARE = 0.01
"""Expected share of noise among the columns that are found in a table that passes."""
FEW = 3
"""Labelled rows below which levels, and classes, do not count: a rare level that meets a rare class
once or twice would pass otherwise."""
FEWEST_LABELS = 20
"""Of classes with two labels or more; with fewer no column is tested."""
MOST_LABELS = 1_000
"""Labelled rows that are used, at most: those at equal distances."""

Floats = NDArray[np.float64]


def find_informative(
    table: Table, kinds: Mapping[str, str], y: Any, unlabeled: Any = -1
) -> dict[str, float]:
    """Find columns that are clearly associated with the labels.

    Parameters
    ----------
    table : Table
    kinds : mapping of str
        Kinds of the columns; numbers, categories and times are tested.
    y : array-like of shape (n,), or None
        Labels. If there are none, or several per row, no column is found.
    unlabeled : scalar
        What marks unlabelled rows, besides None and NaN.

    Returns
    -------
    found : dict of float
        The p-value of each column that passes.
    """
    tested = [name for name, kind in kinds.items() if TYPES[kind].is_single]
    if not tested or y is None or np.ndim(y) != 1:
        return {}
    rows, codes = _labeled_rows(y, unlabeled)
    if len(rows) < FEWEST_LABELS or len(np.unique(codes)) < 2:
        return {}
    some = table.take(rows.tolist())
    classes = _products(_indicators(codes))
    together = np.zeros_like(classes)
    alone = []
    for name in tested:
        own = _products(_coordinates(TYPES[kinds[name]].values(some, name)))
        alone.append(_p_value(own, classes))
        together += own / (np.linalg.norm(own) or 1.0)
    best = min(_p_value(together, classes), len(tested) * min(alone))
    if 2 * best > LEVEL:
        return {}
    kept = false_discovery_control(alone) <= FALSE_SHARE
    return {name: p for name, p, fine in zip(tested, alone, kept, strict=True) if fine}


def _labeled_rows(y: Any, unlabeled: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows of classes with two labels or more, and codes of their classes."""
    rows = np.flatnonzero(~is_unlabeled(y, unlabeled))
    rows = rows[:: -(-len(rows) // MOST_LABELS) or 1]
    classes = np.array([str(label) for label in label_array(y)[rows].tolist()])
    codes = np.unique(classes, return_inverse=True)[1]
    kept = np.bincount(codes, minlength=1)[codes] > 1
    return rows[kept], codes[kept]


def p_value(values: Any, codes: NDArray[np.intp]) -> float:
    """Return the p-value of the association of a column with classes.

    Parameters
    ----------
    values : array of shape (n,), or array or sparse matrix of shape (n, k)
        Numbers, NaN if missing, or words; or the features of a column.
    codes : int array of shape (n,)
    """
    coordinates = values if values.ndim == 2 else _coordinates(values)
    return _p_value(_products(coordinates), _products(_indicators(codes)))


def _p_value(A: Floats, B: Floats) -> float:
    mean, variance = permutation_moments(A, B)
    if not variance > 1e-12 * mean**2:
        return 1.0  # one value, or all values distinct: every permutation has the same T
    statistic = max(float(np.vdot(A, B)), 0.0)  # it may be -1e-17
    return float(gammaincc(mean**2 / variance, mean * statistic / variance))


def _coordinates(values: NDArray[Any]) -> Floats:
    if values.dtype.kind != "f":
        return _indicators(values)
    numbers = values.reshape(len(values), -1)
    middle = 0.5 * (np.sum(~np.isnan(numbers), axis=0) + 1)
    # a missing number counts as the mean
    ranks = np.nan_to_num(rankdata(numbers, axis=0, nan_policy="omit") - middle)
    norms = np.linalg.norm(ranks, axis=0)
    return np.asarray(ranks / np.where(norms > 0.0, norms, 1.0))


def _indicators(values: NDArray[Any]) -> Floats:
    """Return an indicator per value, divided by the root of its count; rare values have none."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    weights = np.where(counts < FEW, 0.0, 1.0 / np.sqrt(counts))
    return np.asarray(np.diag(weights)[codes])


def _products(coordinates: Any) -> Floats:
    """Return the inner products of centred rows, shape (n, n)."""
    products = coordinates @ coordinates.T
    products = np.asarray(products.toarray() if is_sparse(products) else products)
    products = products - products.mean(axis=0)
    return products - products.mean(axis=1)[:, None]


def permutation_moments(A: Floats, B: Floats) -> tuple[float, float]:
    """Return mean and variance of ``tr(A P B P')`` over all permutations P.

    Kazi-Aoual, Hitier, Sabatier and Lebreton, Refined approximations to permutation tests for
    multivariate inference, 1995.

    Parameters
    ----------
    A, B : arrays of shape (n, n), n >= 4
        Symmetric; their rows sum to zero.
    """
    n = len(A)
    mean = np.trace(A) * np.trace(B) / (n - 1)
    parts = [
        (
            (n - 1) * np.vdot(M, M) - np.trace(M) ** 2,
            n * (n + 1) * np.sum(np.diag(M) ** 2)
            - (n - 1) * (np.trace(M) ** 2 + 2 * np.vdot(M, M)),
        )
        for M in (A, B)
    ]
    (a, a_diagonal), (b, b_diagonal) = parts
    variance = 2 * a * b / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += a_diagonal * b_diagonal / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return float(mean), float(variance)
