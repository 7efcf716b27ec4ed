"""What a checkpoint must be, declared once and checked before a fit goes on from it.

Compiled code trusts its arrays: "weights" and "classes" are sizes that all arrays of a phase
agree in. The number of weights itself is compared by the fit, which knows it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.checkpoints.comparing import FINGERPRINTS
from semisvm.model_files.checks import (
    Check,
    Sizes,
    agree,
    anything,
    either,
    flag,
    listed,
    mapping,
    number,
    optional,
    record,
    refuse,
    scalar,
    text,
    whole,
)

MOST, LEAST = 1e75, 1e-75
"""Sizes of weights, prices and temperatures. Rows are as long as 1e75 at most, so that scores have
finite squares; others could keep a label step in its loop for ever."""


@dataclass(frozen=True)
class Vector:
    """Ask for a vector in double precision.

    Attributes
    ----------
    size : str
        Name of the length.
    unbounded : bool
        Whether entries may be -inf, as the prices of classes without rows are.
    """

    size: str
    unbounded: bool = False

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a value."""
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != 1:
            raise refuse(where, "a vector of numbers in double precision")
        agree(self.size, len(value), where, sizes)
        known = value[value != -np.inf] if self.unbounded else value
        if not (np.abs(known) <= MOST).all():
            raise refuse(where, f"a vector of numbers up to {MOST:g}")


def extended(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for a number that may be infinite, as a best value is before there is one."""
    if type(value) not in (int, float) or math.isnan(value):
        raise refuse(where, "a number")


WEIGHTS = Vector("weights")
PRICES = Vector("classes", unbounded=True)
STATE: dict[str, Check] = {
    "w": WEIGHTS,
    "objective": extended,
    "gradient_norm": extended,
    "gap": extended,
    "n_iter": whole(),
    "cg_steps": whole(),
    "n_active": whole(),
    "converged": flag,
}
SNAPSHOT = record(
    {},
    {
        # of the start, which is a state and nothing else
        **STATE,
        "state": record(STATE),
        "gradient": optional(WEIGHTS),
        "best": WEIGHTS,
        "chosen_at": WEIGHTS,
        "solved": optional(number(LEAST, MOST)),
        "switched": listed(whole()),
        "anticipating": flag,
        "temperature": number(LEAST, MOST),
        "price": optional(either(number(-MOST, MOST), PRICES)),
        "prices": optional(PRICES),
        "hard_prices": optional(PRICES),
        "entropies": listed(extended, length=2),
        "energy": optional(extended),
        "lowest": extended,
        "here": extended,
        "best_key": listed(extended, length=2),
        "facts": mapping(text, extended),
        "search": record({"idle": whole(), "smallest": extended}),
    },
)
PLACE = record({"level": whole(), "iteration": whole(), "rounds": whole(), "settled": flag})
TRACE_ROW = record({"phase": text, "seconds": number(0.0)}, {"passes": number(0.0)}, others=scalar)
IDENTITY = record(
    {
        "estimator": text,
        "parameters": mapping(text, text),
        "shape": listed(whole(), length=2),
        "classes": whole(),
        "threads": whole(1),
        **dict.fromkeys(FINGERPRINTS, text),
    },
)
ABOUT = record({"identity": IDENTITY, "finished": flag}, others=anything)
"""What tells whose checkpoint it is."""
PLACES = record(
    {
        "phases": listed(record({"name": text, "place": PLACE, "snapshot": optional(SNAPSHOT)})),
        "rows": listed(TRACE_ROW),
        "notes": listed(text),
        "seconds": number(0.0),
    },
    others=anything,
)
"""What a fit goes on from."""
