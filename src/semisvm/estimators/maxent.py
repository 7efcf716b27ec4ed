r"""What the maxent classifiers with class constraints share.

They model p_i(y) = exp(s_iy) / sum_z exp(s_iz), the softmax of the scores, and know how
many of the u unlabelled rows belong to every class: the mean of p_i(y) over them is held
at, or drawn to, n(y)/u.
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.task import BinaryTask
from semisvm.multi_losses import MAXENT, probabilities
from semisvm.weights import State


def share_residual(p: Floats, counts: Any) -> float:
    """Give the largest difference of mean probabilities (u, m) and wanted shares."""
    return float(np.abs(p.mean(axis=0) - counts / len(p)).max())


def first_state(task: MultiTask, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: from the weights of the last fit")
        state = State(start, np.empty(0))
        task.score_all(state)
        return state
    state = task.start(np.zeros(task.n_weights), tol)
    task.score_all(state)
    residual = share_residual(probabilities(state.scores[task.unlabeled]), task.counts)
    task.recorder.record("supervised", state, objective=state.objective, residual=residual)
    task.recorder.level_done()
    return state


class MaxentClassifier(LinearSemiSupervisedClassifier):
    """Base of the classifiers whose scores are logarithms of probabilities."""

    # not a parameter: the constraints are on the probabilities of this loss
    loss = MAXENT.name

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        raise AssertionError("maxent has one score a class, so two classes are a MultiTask too")
