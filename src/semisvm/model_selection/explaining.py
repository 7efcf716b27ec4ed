"""The columns, or with a kernel the training rows, that speak for a prediction."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats
from semisvm.designs.validation import is_sparse
from semisvm.validation import check_count

Reasons = list[tuple[int, float]]
"""Columns and their contributions, the largest first."""


def column_weights(estimator: Any) -> Floats | None:
    """Return the weights of the columns, shape (1, d) or (m, d); None if there is a kernel.

    Of a committee, the linear members count.
    """
    weights = getattr(estimator, "column_weights_", None)
    if weights is None and getattr(estimator, "kernel_map_", None) is None:
        weights = getattr(estimator, "coef_", None)
    return None if weights is None else np.asarray(weights)


def check_weights(estimator: Any) -> Floats:
    """Return the weights of the columns, or raise ValueError."""
    weights = column_weights(estimator)
    if weights is None:
        raise ValueError(
            f"{type(estimator).__name__} has a kernel here, so its columns have no weights that "
            f"could explain a prediction. {_instead(estimator)}"
        )
    return weights


def _instead(estimator: Any) -> str:
    without = "fit a method without a kernel, such as tsvm."
    if not has_row_weights(estimator):
        return without.capitalize()
    return f"explain_by_rows names the training rows that speak for it; or {without}"


def has_row_weights(estimator: Any) -> bool:
    """Return whether scores are sums over training rows that the model keeps."""
    return hasattr(getattr(estimator, "kernel_map_", None), "expansion")


def row_reasons(
    estimator: Any, X: Any, scores: Floats, codes: NDArray[np.intp], count: int
) -> list[Reasons]:
    """Find the training rows that speak most for the class of each row.

    A score of a kernel method is b + sum_p a_p k(p, x), over training rows p (`reasons` with
    k(p, x) in place of x_p, and a_p of w_p).

    Parameters
    ----------
    estimator : fitted, with a kernel
    X : rows, as the estimator takes them
    scores, codes, count
        As of `reasons`.

    Returns
    -------
    found : list of lists of (training row, contribution)
    """
    if not has_row_weights(estimator):
        raise ValueError(
            f"{type(estimator).__name__} has no weights of training rows here that could explain a "
            "prediction. Models with a kernel such as rbf have; linear ones are explained by "
            "their columns."
        )
    known = estimator.kernel_map_
    weights = known.expansion(np.asarray(estimator.coef_))
    found = reasons(weights, known.similarities(X), scores, codes, count)
    rows = known.pivots
    return [[(int(rows[k]), part) for k, part in each] for each in found]


def reasons(
    weights: Floats, X: Any, scores: Floats, codes: NDArray[np.intp], count: int
) -> list[Reasons]:
    """Find the columns that speak most for the class of each row.

    Two classes: ``x_j w_j``, whose sum over all columns is the score of the class but for the
    intercept. More: ``x_j (w_cj - w_rj)``, of the class c against the best other class r.

    Parameters
    ----------
    weights : array of shape (1, d) or (m, d)
    X : array or sparse matrix of shape (n, d)
    scores : array of shape (n, m)
    codes : int array of shape (n,)
        The class of each row.
    count : int
        Maximum number of columns of a row; those that speak against the class are left out.
    """
    check_count("count", count)
    X = X.tocsr() if is_sparse(X) else np.asarray(X)
    others = scores.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    found = []
    for row, (code, other) in enumerate(zip(codes, others.argmax(axis=1), strict=True)):
        columns, values = _row(X, row)
        if len(weights) == 1:
            parts = values * weights[0, columns] * (1.0 if code else -1.0)
        else:
            parts = values * (weights[code, columns] - weights[other, columns])
        best = np.argsort(-parts, kind="stable")[:count]
        found.append([(int(columns[k]), float(parts[k])) for k in best if parts[k] > 0])
    return found


def _row(X: Any, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the columns and values of a row that may not be zero."""
    if is_sparse(X):
        place = slice(X.indptr[row], X.indptr[row + 1])
        return X.indices[place], X.data[place]
    return np.arange(X.shape[1]), np.asarray(X[row])
