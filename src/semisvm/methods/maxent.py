r"""Shared by the maxent classifiers with constraints on the class shares.

They model p_i(y) = exp(s_iy) / sum_z exp(s_iz), the softmax of the scores. The number n(y)
of the u unlabelled rows in each class is known: the mean of p_i(y) over them is fixed to
n(y)/u, or pulled towards it.
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.losses.log import probabilities
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.solvers import State


def share_residual(p: Floats, counts: Any) -> float:
    """Return the largest difference between mean probabilities (u, m) and required shares."""
    return float(np.abs(p.mean(axis=0) - counts / len(p)).max())


def first_state(task: ManyClassTask, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: from the weights of the last fit")
        return task.from_weights(start)
    state = task.start(np.zeros(task.n_weights), tol)
    task.at(state)
    block = task.rows.in_one_place()
    residual = share_residual(probabilities(block.scores[block.unlabeled]), task.counts)
    task.recorder.record("supervised", state, objective=state.objective, residual=residual)
    task.recorder.level_done()
    return state
