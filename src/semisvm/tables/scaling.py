"""Matrices whose rows are far from length one, brought to it.

The default regularisation of all methods is for rows of about length one. Columns of tables are
scaled when their features are made; a matrix of a file may hold counts, or columns in different
units. Then counts become tf-idf, columns in different units are standardised, and everything
else is divided by one number.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.validation import has_usual_length, is_sparse

COUNTS, COLUMNS, LENGTH = "counts", "columns", "length"
KINDS = (COUNTS, COLUMNS, LENGTH)
MANY_COLUMNS = 50
UNEVEN = 3.0
"""Ratio of the largest values of columns beyond which they are in different units."""
WORDS = {
    COUNTS: "the matrix holds counts: they were turned into tf-idf, rows of length one",
    COLUMNS: "the columns of the matrix are in different units: they were standardised",
    LENGTH: "the rows of the matrix have length {length:.3g} (root mean square): they were "
    "divided by it",
}


@dataclass(frozen=True)
class MatrixScaling:
    """A change of rows that is kept with a model.

    Attributes
    ----------
    kind : {"counts", "columns", "length"}
    scale : array of shape (d,)
        Factors of the columns.
    centre : array of shape (d,), optional
        Subtracted before, from dense columns.
    length : float
        Root mean square length of the rows before.
    """

    kind: str
    scale: NDArray[np.float64]
    centre: NDArray[np.float64] | None = None
    length: float = field(default=1.0, compare=False)

    def transform(self, X: Any) -> Any:
        """Change rows, shape (n, d)."""
        if X.shape[1] != len(self.scale):
            return X  # the estimator raises the error
        if self.kind == COUNTS:
            return _unit_rows(_logarithms(X) @ sparse.diags_array(self.scale))
        if is_sparse(X):
            return sparse.csr_matrix(X @ sparse.diags_array(self.scale))
        centred = np.asarray(X, dtype=np.float64)
        return (centred if self.centre is None else centred - self.centre) * self.scale

    def note(self) -> str:
        """Return what was done, and how to turn it off."""
        return f"{WORDS[self.kind].format(length=self.length)}; as_is=True leaves it as it is."


def fit_scaling(X: Any) -> MatrixScaling | None:
    """Find out what a matrix needs; None if its rows are fine, or hold what is not finite.

    Parameters
    ----------
    X : matrix of shape (n, d)
    """
    values = np.asarray(X.data if is_sparse(X) else X, dtype=np.float64)
    with np.errstate(all="ignore"):
        length = float(np.sqrt(np.square(values).sum() / max(X.shape[0], 1)))
    if not np.isfinite(length) or length == 0.0:
        return None
    fine = has_usual_length(length)
    if is_sparse(X):
        if not fine and _is_counts(values):
            return MatrixScaling(COUNTS, _rarities(X), length=length)
        return None if fine else _by_length(X.shape[1], length)
    if _different_units(values):
        return _standardised(values, length)
    return None if fine else _by_length(X.shape[1], length)


def _by_length(n_columns: int, length: float) -> MatrixScaling:
    return MatrixScaling(LENGTH, np.full(n_columns, 1.0 / length), length=length)


def _is_counts(values: NDArray[np.float64]) -> bool:
    return bool((values >= 0.0).all() and (values == np.floor(values)).all())


def _rarities(X: Any) -> NDArray[np.float64]:
    """Compute log((1 + n) / (1 + rows with the column)) + 1 of each column."""
    rows = sparse.csr_matrix(X, copy=True)
    rows.eliminate_zeros()
    holding = np.bincount(rows.indices, minlength=X.shape[1])
    return np.asarray(np.log((1.0 + X.shape[0]) / (1.0 + holding)) + 1.0)


def _logarithms(X: Any) -> Any:
    """Turn counts c into 1 + log c, and leave what is not positive."""
    rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    positive = rows.data > 0.0
    rows.data[positive] = 1.0 + np.log(rows.data[positive])
    return rows


def _unit_rows(X: Any) -> Any:
    rows = sparse.csr_matrix(X)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    factors = np.divide(1.0, lengths, out=np.ones_like(lengths), where=lengths > 0.0)
    return sparse.csr_matrix(sparse.diags_array(factors) @ rows)


def _different_units(values: NDArray[np.float64]) -> bool:
    """Return whether the largest values of columns differ much; images have one unit for all."""
    largest = np.abs(values).max(axis=0)
    largest = largest[values.std(axis=0) > 0.0]
    if len(largest) < 2:
        return False
    low, high = np.quantile(largest, [0.5, 0.9] if len(largest) >= MANY_COLUMNS else [0.0, 1.0])
    return bool(high > UNEVEN * low)


def _standardised(values: NDArray[np.float64], length: float) -> MatrixScaling:
    deviation = values.std(axis=0)
    used = deviation > 1e-12 * np.abs(values).max(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=used)
    scale /= np.sqrt(max(int(used.sum()), 1))
    return MatrixScaling(COLUMNS, scale, values.mean(axis=0), length)
