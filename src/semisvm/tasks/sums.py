"""Sums of results of blocks, or of threads of one block: in order, so that they repeat exactly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats


def totals(parts: Sequence[Sequence[float]]) -> list[float]:
    """Add short rows of numbers, column by column."""
    # for a handful of numbers NumPy takes ten times as long
    return (
        list(parts[0]) if len(parts) == 1 else [sum(column) for column in zip(*parts, strict=True)]
    )


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put vectors over rows of several blocks together; that of a single block is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def added(parts: Sequence[Floats | None], n: int) -> Floats:
    """Add vectors; the first is changed in place. None stands for zero."""
    found = [part for part in parts if part is not None]
    if not found:
        return np.zeros(n)
    total = found[0]
    for part in found[1:]:
        total += part
    return total
