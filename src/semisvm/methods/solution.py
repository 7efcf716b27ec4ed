"""What a method returns, and what several methods need to make it.

`refuse_balancing` refuses a tolerance of the class shares where the intercept is never moved.
`ScoredState` and `scores_of` are for methods that need all rows in a single shard and hold vectors
over them. `one_vs_rest` makes two-class problems of many classes: each class against the rest, over
the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats
from semisvm.losses import Loss
from semisvm.solvers import State
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.two_classes import TwoClassTask

BALANCE_TOL = 0.1
"""Default of balance_tol: error of the share of positive outputs, relative to the rarer class."""


def refuse_balancing(balance_tol: float | None) -> None:
    """Raise ValueError for a tolerance that models with one score per class would ignore."""
    if balance_tol is not None and balance_tol != BALANCE_TOL:
        raise ValueError(
            f"balance_tol={balance_tol!r} would have no effect: the intercept is moved only for "
            "two classes without a hierarchy, and not with loss='crammer_singer'. Use "
            "balance_tol=None."
        )


@dataclass
class ScoredState(State):
    """A state with the scores of all rows."""

    scores: Floats = field(default_factory=lambda: np.empty(0))


def scores_of(block: OneScoreBlock, w: Floats) -> Floats:
    """Compute the scores of all rows."""
    design = block.design
    return design.scores(w, design.all_rows, np.zeros(design.n_rows))


def one_vs_rest(task: ManyClassTask, loss: Loss) -> list[TwoClassTask]:
    """Return the two-class problems of all classes; they share the design."""
    return [_against_rest(task, y, loss) for y in range(len(task.counts))]


def _against_rest(task: ManyClassTask, y: int, loss: Loss) -> TwoClassTask:
    block = task.rows.single_shard()
    return TwoClassTask.of(
        block.design,
        block.labeled,
        block.unlabeled,
        block.codes == y,
        block.weight,
        n_positive=task.counts[y].item(),
        loss=loss,
        reg=task.reg,
        recorder=task.recorder.part(y, len(task.counts)),
        mass=block.mass,
        share=float(task.shares[y]) if task.n_unlabeled else None,
        evidence=None if block.evidence is None else _evidence_against_rest(block.evidence, y),
    )


def _evidence_against_rest(costs: Floats, y: int) -> Floats:
    """Return the cost of class y minus that of the rest, (u,), relative to equal costs."""
    p = np.exp(-costs)
    own, rest = p[:, y], p.sum(axis=1) - p[:, y]
    # none of the rest is possible, or the class is not: an infinite cost
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(rest, 0.0) / (p.shape[1] - 1.0)) - np.log(own))


@dataclass
class Solution:
    """The result of a method.

    Attributes
    ----------
    w : array of shape (n_weights,)
        Flat, in the order of the design; one column per node of the class hierarchy.
    objective : float
    n_iter : int
    converged : bool
    codes : int array of shape (u,)
        Classes chosen for the unlabelled rows.
    beliefs : array of shape (u, m), optional
        Probabilities of the classes, for methods that have them.
    """

    w: Floats
    objective: float
    n_iter: int
    converged: bool
    codes: NDArray[np.intp]
    beliefs: Floats | None = None


def joined(
    parts: Sequence[Solution], outputs: Sequence[Floats], codes: NDArray[np.intp] | None = None
) -> Solution:
    """Join the solutions of the one-vs-rest problems.

    Parameters
    ----------
    parts : sequence of Solution
        One per class.
    outputs : sequence of arrays of shape (u,)
        Outputs of the unlabelled rows, one array per class.
    codes : int array of shape (u,), optional
        Classes of the unlabelled rows; by default those of the largest outputs.
    """
    best = np.column_stack(outputs).argmax(axis=1) if codes is None else codes
    return Solution(
        np.column_stack([part.w for part in parts]).ravel(),
        sum(part.objective for part in parts),
        sum(part.n_iter for part in parts),
        all(part.converged for part in parts),
        best,
    )
