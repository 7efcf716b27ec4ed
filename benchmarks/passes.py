"""The least time that the machine allows a fit: what its reads of the data take on their own.

There are three products with the rows: scores (x_i . w), sums over rows (of v_i x_i) and the
curvature, which is both in one. Scores or sums alone take about half as long as a curvature. So
the limit counts each read at the price of its kind, over all rows, in turn with the fits: a product
with the curvature, or half of one in which the scores of all rows come before the sums.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import Matrix
from papers.timing import Spread, Task, Timings

from semisvm.designs import Workers, make_design
from semisvm.designs.base import Design
from semisvm.designs.csr import CsrDesign
from semisvm.designs.dense import DenseDesign

AT_A_TIME = 10
"""A single pass is too short for the clock of the processor."""

SCORES = ("scores", "scores_many", "few_scores")
SUMS = ("pull_back", "pull_back_found", "pull_back_many", "add_few", "column_scales")
KINDS = {"curvature": ("curvature", "curvature_many"), "halves": (*SCORES, *SUMS)}
PER_TASK = {"curvature": AT_A_TIME, "halves": 2 * AT_A_TIME}
"""Reads in one task of `passing`."""


@dataclass(frozen=True)
class Limit:
    """A fit over the least that its reads take.

    Attributes
    ----------
    passes : float
        Rows read, over the number of rows; reads of all kinds count once.
    reads : dict
        The same by kind.
    over : Spread
        Seconds of the fit over those of its reads.
    over_curvatures : Spread
        Seconds of the fit over those of as many products with the curvature as there are passes.
    """

    passes: float
    reads: dict[str, float]
    over: Spread
    over_curvatures: Spread


@contextmanager
def passing(X: Matrix, n_scores: int, n_jobs: int) -> Iterator[dict[str, Task]]:
    """Prepare a few products of each kind with all rows, as tasks named after the kinds.

    Parameters
    ----------
    X : matrix of shape (n, d)
    n_scores : int
        Scores per row, 1 for two classes.
    n_jobs : int
    """
    with Workers(n_jobs) as workers:
        design = make_design(X, 1.0, workers, merge=True)
        products = _one_score(design) if n_scores == 1 else _many_scores(design, n_scores)

        def repeated(product: Task) -> Task:
            return lambda: [product() for _ in range(AT_A_TIME)]

        yield {kind: repeated(product) for kind, product in products.items()}


def _one_score(design: Design) -> dict[str, Task]:
    rows, w, out = design.all_rows, _random(design.n_weights), np.empty(design.n_weights)
    each, scores = np.ones(design.n_rows), np.empty(design.n_rows)
    return {
        "curvature": lambda: design.curvature(w, each, rows, out),
        "halves": lambda: design.pull_back(design.scores(w, rows, scores), rows, out),
    }


def _many_scores(design: Design, n_scores: int) -> dict[str, Task]:
    rows, shape = design.all_rows, (design.n_weights, n_scores)
    w, out = _random(shape), np.empty(shape)
    each = np.ones((design.n_rows, n_scores))
    scores = np.empty_like(each)

    def operator(index: Any, start: int, stop: int, q: Any) -> None:
        q[: stop - start] *= each[start:stop]

    return {
        "curvature": lambda: design.curvature_many(w, operator, rows, out),
        "halves": lambda: design.pull_back_many(design.scores_many(w, rows, scores), rows, out),
    }


def _random(shape: Any) -> Any:
    return np.random.default_rng(0).normal(size=shape)


@contextmanager
def counting() -> Iterator[dict[str, float]]:
    """Count the reads of all designs in this process by kind, in units of all their rows."""
    found: dict[str, float] = defaultdict(float)
    with ExitStack() as stack:
        for design in (CsrDesign, DenseDesign):
            for kind, names in KINDS.items():
                for name in names:
                    counted = _counted(getattr(design, name), kind, found)
                    stack.enter_context(patch.object(design, name, counted))
        yield found


def _counted(product: Callable[..., Any], kind: str, found: dict[str, float]) -> Callable[..., Any]:
    def call(design: Design, *arguments: Any, **options: Any) -> Any:
        inner, before = sum(found.values()), design.passes()
        result = product(design, *arguments, **options)
        # a product may be made of others, which have been counted
        found[kind] += design.passes() - before - (sum(found.values()) - inner)
        return result

    return call


def reads_of(fit: Task) -> dict[str, float]:
    """Fit once more, and count what is read."""
    with counting() as found:
        fit()
    return dict(found)


def limit_of(timings: Timings, name: str, reads: dict[str, float]) -> Limit:
    """Compare a fit with its reads; the tasks of `passing` are among the timings."""
    passes = float(timings.results[name].trace_["passes"][-1])

    def over(reads: dict[str, float]) -> Spread:
        least = sum(
            np.array(timings.seconds[kind]) * count / PER_TASK[kind]
            for kind, count in reads.items()
        )
        return Spread.of(np.array(timings.seconds[name]) / least)

    return Limit(passes, reads, over(reads), over({"curvature": passes}))
