"""The labelled rows alone: the start of most methods, and a method of its own."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.methods.solution import Solution
from semisvm.objectives.tasks import Task
from semisvm.solvers import State


def first_state(task: Task, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: the schedule was skipped")
        return task.from_weights(start)
    state = task.start(np.zeros(task.n_weights), tol)
    task.recorder.record("supervised", state, objective=state.objective)
    task.recorder.level_done()
    # the gradient is that of the labelled rows alone
    return task.at(state)


def without_unlabeled_rows(task: Task, tol: float) -> Solution:
    """Return the supervised solution, for data without unlabelled rows."""
    task.recorder.note("no unlabelled rows: this is the supervised solution")
    state = first_state(task, None, tol)
    nothing = np.zeros(0, dtype=np.intp)
    return Solution(state.w, state.objective, state.n_iter, state.converged, nothing)


def solve_labeled(
    task: Task, start: Floats | None = None, *, tol: float, max_iter: int
) -> Solution:
    """Fit the labelled rows, with one trace row per step, and predict the others."""
    w = np.zeros(task.n_weights) if start is None else start
    state = task.start(w, tol, max_iter=max_iter, on_step=recording(task))
    task.recorder.level_done()
    task.rows.score(state.w)
    codes = task.rows.predictions()
    return Solution(state.w, state.objective, state.n_iter, state.converged, codes)


def recording(task: Task) -> Any:
    """Return the function a solver calls after each step: it records the step and may stop."""

    def record(state: State) -> bool:
        task.recorder.record("newton", state, objective=state.objective)
        return task.recorder.stopped

    return record
