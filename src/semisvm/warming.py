"""Compiling ahead of the first fit, as for a container or a test machine: `warm`."""

import warnings
from typing import Any

import numpy as np

from semisvm.compiling import WorkClock
from semisvm.tables.table import Table
from semisvm.training import train

WORDS = ("apple pear plum cherry", "train bus tram ferry", "cello flute drum harp")
N_WORDS = 300
"""With so many words latent directions are tried too, which are dense rows of many columns."""
N_ROWS = 400
N_LABELED = 30


def warm() -> float:
    """Compile what default fits to texts and to numbers need, so that the first one starts at once.

    The code is kept in numba's cache: beside the package, or in the user's cache folder. Small
    tables of made-up texts and numbers, with two and with three classes, are fitted.

    Returns
    -------
    seconds : float
        Time spent on compiling; 0 if all code was in the cache.
    """
    clock = WorkClock()
    with warnings.catch_warnings(), clock.running():
        warnings.simplefilter("ignore")
        for n_classes in (2, 3):
            for table in _tables(n_classes):
                train(table)
    return clock.compiling


def _tables(n_classes: int) -> tuple[Table, Table]:
    """Make a table of texts and one of numbers; the labels of most rows are unknown."""
    rng = np.random.default_rng(0)
    codes = rng.integers(n_classes, size=N_ROWS)
    others = [f"word{k}" for k in range(N_WORDS)]
    texts = [
        " ".join([*rng.choice(WORDS[code].split(), 3), *rng.choice(others, 6)]) for code in codes
    ]
    numbers = rng.normal(size=(N_ROWS, 4)) + 2.0 * np.eye(n_classes, 4)[codes]
    labels: Any = np.array([str(code) for code in codes], dtype=object)
    labels[N_LABELED:] = None
    columns: dict[str, Any] = {f"x{j}": numbers[:, j] for j in range(numbers.shape[1])}
    return Table({"text": texts}, labels), Table(columns, labels)
