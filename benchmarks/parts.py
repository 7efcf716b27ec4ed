"""Where the processor time of a fit with many classes goes, part by part."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import process_time
from typing import Any
from unittest.mock import patch

from papers.timing import Task

from benchmarks.passes import KINDS
from semisvm.designs.csr import CsrDesign
from semisvm.designs.dense import DenseDesign
from semisvm.methods.transductive import Assigning
from semisvm.solvers import conjugate_gradients, newton, woodbury
from semisvm.tasks.many_beliefs import ManyScoreBlock
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.many_scores import ManyScoredRows

READS = [
    (cls, name) for cls in (CsrDesign, DenseDesign) for names in KINDS.values() for name in names
]
ROWS = ("linearize", "along", "advance", "follow_labels", "set_label_costs", "curvature", "move")
BELIEFS = ("respond", "answer", "answered", "divergence", "entropy")
PARTS: dict[str, list[tuple[Any, str]]] = {
    "reads of X": READS,
    "vectors over columns": [
        (conjugate_gradients, "solve"),
        (newton.LineSearch, "step"),
        (newton.Backtracking, "step"),
        (Assigning, "weight_step"),
    ],
    "preconditioner": [
        (woodbury.LabeledPreconditioner, "inverse"),
        (woodbury.Inverse, "weigh"),
        (woodbury.Inverse, "complete"),
        (ManyScoredRows, "labeled_curvature"),
    ],
    "losses": [
        *((ManyScoredRows, name) for name in ROWS),
        *((ManyScoreBlock, name) for name in BELIEFS),
    ],
    "labels": [(Assigning, "label_step"), (ManyClassTask, "assign"), (ManyClassTask, "soften")],
}
"""Functions whose own time, without that of others in the list, makes a part."""


class Clock:
    """Own times of functions that call each other."""

    def __init__(self) -> None:
        self.own: dict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """Return the function, timed as a part."""

        def call(*arguments: Any, **options: Any) -> Any:
            start = process_time()
            self._inner.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                total = process_time() - start
                self.own[part] += total - self._inner.pop()
                self._inner[-1] += total

        return call


@contextmanager
def timing() -> Iterator[dict[str, float]]:
    """Time the parts of the fits in this context."""
    clock = Clock()
    with ExitStack() as stack:
        for part, functions in PARTS.items():
            for owner, name in functions:
                timed = clock.timed(getattr(owner, name), part)
                stack.enter_context(patch.object(owner, name, timed))
        yield clock.own


def shares_of(fit: Task, repeat: int) -> dict[str, float]:
    """Return the part of a few fits that each part takes, in per cent, and the rest."""
    with timing() as own:
        start = process_time()
        for _ in range(repeat):
            fit()
        total = process_time() - start
    shares = {part: round(100.0 * own[part] / total, 1) for part in PARTS}
    return {**shares, "rest": round(100.0 * (1.0 - sum(own.values()) / total), 1)}
