"""Checks of the parts of programs: shapes and finite numbers."""

from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs.base import Floats


def matrix(name: str, value: Any, n_columns: int) -> Any:
    """Return a finite CSC matrix with ``n_columns`` columns; without rows if value is None."""
    if value is None:
        return sparse.csc_matrix((0, n_columns))
    found = sparse.csc_matrix(value, dtype=np.float64)
    if found.shape[1] != n_columns:
        raise ValueError(
            f"{name} must have one column per variable, {n_columns}, but has {found.shape[1]}."
        )
    _check_finite(name, found.data)
    return found


def vector(name: str, value: Any, length: int) -> Floats:
    """Return a finite vector of the given length; None is the empty vector."""
    found = np.empty(0) if value is None else np.array(value, dtype=np.float64)
    if found.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {found.shape}.")
    _check_finite(name, found)
    return found


def bounds(lower: Any, upper: Any, n: int, what: str = "variable") -> tuple[Floats, Floats]:
    """Return the bounds of n variables or rows; missing ones are infinite."""
    low = np.array(np.broadcast_to(-np.inf if lower is None else lower, n), dtype=np.float64)
    high = np.array(np.broadcast_to(np.inf if upper is None else upper, n), dtype=np.float64)
    wrong = ~(low <= high)
    if wrong.any():
        j = int(np.argmax(wrong))
        raise ValueError(
            f"the bounds of {what} {j} are {low[j]} and {high[j]}: the lower bound must not "
            "exceed the upper bound, and neither may be NaN."
        )
    return low, high


def _check_finite(name: str, values: Floats) -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinity; programs need finite numbers.")
