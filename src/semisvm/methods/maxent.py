r"""Shared by the maxent classifiers with constraints on the class shares.

They model p_i(y) = exp(s_iy) / sum_z exp(s_iz), the softmax of the scores. The share r(y) of
each class among the u unlabelled rows is known: the mean of p_i(y) over them is fixed to
r(y), or pulled towards it. It is a mean, so r(y) u need not be a whole number.
"""

import numpy as np

from semisvm.designs import Floats
from semisvm.losses.log import probabilities
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.row_weights import weighs
from semisvm.solvers import State


def mean_rows(p: Floats, mass: Floats) -> Floats:
    """Return the mean of the rows of probabilities (u, m), by their masses."""
    found: Floats = mass @ p / mass.sum() if weighs(mass) else p.mean(axis=0)
    return found


def share_residual(p: Floats, task: ManyClassTask) -> float:
    """Return the largest difference between mean probabilities (u, m) and required shares."""
    return float(np.abs(mean_rows(p, task.rows.in_one_place().mass) - task.shares).max())


def first_state(task: ManyClassTask, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: from the weights of the last fit")
        return task.from_weights(start)
    state = task.first(tol)
    task.at(state)
    block = task.rows.in_one_place()
    residual = share_residual(probabilities(block.scores[block.unlabeled]), task)
    task.recorder.record("supervised", state, objective=state.objective, residual=residual)
    task.recorder.level_done()
    return state
