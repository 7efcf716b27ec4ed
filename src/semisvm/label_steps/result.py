"""What label steps take and return."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Floats
from semisvm.label_steps import _transport_kernels as kernels
from semisvm.labels.weights import UNIT_WEIGHT, has_weights


@dataclass(frozen=True)
class LabelStep:
    """The result of a label step.

    Attributes
    ----------
    labels : int array of shape (n,)
        Class of each row; for soft labels the most probable one.
    prices : array of shape (m,)
        Class prices of the exact and the entropic step; zeros for the heuristic steps.
    cost : float
        Total cost of the labels, or expected cost of the beliefs.
    beliefs : array of shape (n, m), optional
        Probabilities, for soft labels.
    n_loops : int
        Number of rounds of the step.
    """

    labels: NDArray[np.intp]
    prices: Floats
    cost: float
    beliefs: Floats | None = None
    n_loops: int = 1


def check_costs(
    costs: ArrayLike, counts: ArrayLike, mass: Floats = UNIT_WEIGHT
) -> tuple[Floats, NDArray[Any]]:
    """Return costs as a C-contiguous float64 array and counts as integers; raise if invalid.

    The counts of rows with masses are sums of these, as they stand.
    """
    table = np.ascontiguousarray(costs, dtype=np.float64)
    wanted = np.asarray(counts)
    if table.ndim != 2 or wanted.shape != (table.shape[1],):
        raise ValueError(
            "costs must have one column per class and counts one entry per class, got shapes "
            f"{table.shape} and {wanted.shape}."
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0].tolist()
        raise ValueError(f"costs must be finite, but row {row}, column {column} is not.")
    if has_weights(mass):
        if mass.shape != (len(table),) or not np.isclose(wanted.sum(), mass.sum()):
            raise ValueError(
                f"counts must sum to the masses of the {len(table)} rows, {mass.sum():.6g}, got "
                f"{wanted.tolist()}."
            )
        return table, wanted.astype(np.float64)
    whole = np.round(wanted).astype(np.int64)
    if not np.array_equal(whole, wanted) or np.any(whole < 0) or whole.sum() != len(table):
        raise ValueError(
            f"counts must be whole numbers >= 0 that sum to the {len(table)} rows, got "
            f"{wanted.tolist()}. semisvm.labels.partial.prior_counts rounds shares to counts."
        )
    return table, whole


def chosen_cost(costs: Floats, labels: NDArray[np.intp], mass: Floats = UNIT_WEIGHT) -> float:
    """Sum the costs of hard labels, each times the mass of its row."""
    return float(kernels.chosen_cost(costs, labels, mass))
