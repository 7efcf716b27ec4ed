"""Checks of parameters and data, with messages of what is wrong and where."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.base import Floats
from semisvm.designs.validation import SCALE

WHOLE = (int, np.integer)
REAL = (int, float, np.integer, np.floating)
LARGEST_COUNT = 10**15
"""Some counts are multiplied with each other, and compiled code counts in 64 bits."""
MOST_BITS = 128
"""Whole numbers with more bits are not printed in messages."""


def check_real(
    name: str, value: Any, *, above: float | None = None, at_least: float | None = None
) -> float:
    """Return a finite number within its bounds, or raise ValueError."""
    fine = isinstance(value, REAL) and not isinstance(value, bool) and _is_finite(value)
    if fine and above is not None:
        fine = float(value) > above
    if fine and at_least is not None:
        fine = float(value) >= at_least
    if not fine:
        bound = f" > {above:g}" if above is not None else ""
        bound += f" >= {at_least:g}" if at_least is not None else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {shown(value)}.")
    return float(value)


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        # a whole number larger than the largest float
        return False


def shown(value: Any) -> str:
    """Return a value as text for a message; whole numbers may have thousands of digits."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a whole number of about {round(value.bit_length() * np.log10(2.0))} digits"
    return repr(value)


def check_count(name: str, value: Any, *, optional: bool = False) -> int | None:
    """Return a whole number >= 1 (or None if ``optional``), or raise ValueError."""
    if optional and value is None:
        return None
    also = " or None" if optional else ""
    if not isinstance(value, WHOLE) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1{also}, got {shown(value)}.")
    if value > LARGEST_COUNT:
        raise ValueError(
            f"{name} must be a whole number from 1 to {LARGEST_COUNT}{also}, got {shown(value)}."
        )
    return int(value)


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """Return the value of a name in a mapping, or the name itself; raise for unknown names."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {value!r}.")
    return choices[value] if isinstance(choices, Mapping) else value


def check_finite_model(w: Floats, X: Any, objective: float = 0.0) -> None:
    """Raise if weights or objective of a fit are not finite: values were out of range."""
    if not (np.isfinite(w).all() and np.isfinite(objective)):
        raise out_of_range(X)


def out_of_range(X: Any) -> ValueError:
    """Return the error of a fit whose numbers are too large, to be raised."""
    if hasattr(X, "check"):
        # remote rows
        largest = X.check()
    else:
        is_sparse: bool = sparse.issparse(X)
        values: NDArray[Any] = X.data if is_sparse else X
        largest = float(np.abs(values).max()) if values.size else 0.0
    return ValueError(
        f"the fit exceeded the range of floating point numbers: the largest value of X is "
        f"{largest:.3g}. {SCALE}"
    )


def floats(name: str, values: Any) -> Floats:
    """Return the numbers of a parameter as float64, or raise."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} holds a whole number that is too large for a float.") from None


def check_same_length(X: Any, other: Any, name: str) -> None:
    """Raise if a vector over rows does not have one entry per row of X."""
    if X.shape[0] != len(other):
        raise ValueError(
            f"Found inconsistent numbers of samples: X has {X.shape[0]} rows but {name} has "
            f"{len(other)} entries."
        )


def check_share(name: str, value: Any) -> float:
    """Return a number between 0 and 1, both excluded, or raise ValueError."""
    share = check_real(name, value)
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must be above 0 and below 1, got {shown(value)}.")
    return share


def check_weights(sample_weight: Any, X: Any) -> Floats | None:
    """Return row weights as float64, or None if there are none."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, REAL):
        value = check_real("sample_weight", sample_weight, at_least=0)
        sample_weight = np.full(X.shape[0], value)
    weight = floats("sample_weight", sample_weight)
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    check_same_length(X, weight, "sample_weight")
    wrong = ~np.isfinite(weight) | (weight < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight must be finite and not negative; entry {row} is {weight[row]}."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"sample_weight sums to more than a float can hold: its largest entry is "
            f"{weight.max():.3g}. Only ratios of weights matter, so divide them all by that."
        )
    return weight
