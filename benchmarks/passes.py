"""The time of one pass over the data: a fit cannot take less than its passes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from semisvm.designs import Workers, make_design
from semisvm.reproduce.data import Matrix
from semisvm.reproduce.timing import Spread, Task, Timings

AT_A_TIME = 10
"""A single pass is too short for the clock of the processor."""


@contextmanager
def passing(X: Matrix, n_scores: int, n_jobs: int) -> Iterator[Task]:
    """Prepare a few products with the curvature of all rows, as conjugate gradients need them.

    Parameters
    ----------
    X : matrix of shape (n, d)
    n_scores : int
        Scores per row, 1 for two classes.
    n_jobs : int
    """
    with Workers(n_jobs) as workers:
        design = make_design(X, 1.0, workers)
        each, rows = np.ones(design.n_rows), design.all_rows
        shape = (design.n_weights,) if n_scores == 1 else (design.n_weights, n_scores)
        p, out = np.random.default_rng(0).normal(size=shape), np.empty(shape)

        def product() -> Any:
            if n_scores == 1:
                return design.curvature(p, each, rows, out)
            return design.curvature_many(p, lambda *_: None, rows, out)

        yield lambda: [product() for _ in range(AT_A_TIME)]


def over_passes(timings: Timings, fit: str, products: str) -> tuple[float, Spread]:
    """Return the passes of a fit, and its seconds over those of as many products."""
    passes = float(timings.results[fit].trace_["passes"][-1])
    ratio = timings.ratio(fit, products)
    scale = AT_A_TIME / passes
    return passes, Spread(ratio.median * scale, ratio.low * scale, ratio.high * scale)
