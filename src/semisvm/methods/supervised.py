"""The labelled rows alone: the start of most methods, and a method of its own."""

from dataclasses import asdict
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.methods.loop import Level, follow
from semisvm.methods.solution import Solution
from semisvm.solvers import State
from semisvm.solvers.newton import LineSearch
from semisvm.tasks.task import Task
from semisvm.tasks.weight_steps import SoftLabels


def first_state(task: Task, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: the schedule was skipped")
        return task.from_weights(start)

    def solve() -> State:
        state = task.first(tol)
        task.recorder.record("supervised", state, objective=state.objective)
        task.recorder.level_done()
        return state

    # the gradient is that of the labelled rows alone
    return task.at(task.recorder.journal.once("supervised", task.n_weights, solve))


def from_shares(task: Task, lam: float, tol: float) -> State:
    """Fit from nothing, with soft labels that follow from class shares and evidence alone.

    Where a class has no labelled row, a fit of the labelled rows is no start: it does not separate
    that class from anything.
    """

    def solve() -> State:
        state = task.from_weights(np.zeros(task.n_weights))
        task.soften(SoftLabels(lam, lam))
        task.rows.all.set_belief_costs(lam)
        state = task.solve(state, tol)
        task.recorder.record("class shares", state, objective=state.objective)
        task.recorder.level_done()
        return state

    return task.at(task.recorder.journal.once("class shares", task.n_weights, solve))


def without_unlabeled_rows(task: Task, tol: float) -> Solution:
    """Return the supervised solution, for unlabelled rows that are absent or have no weight."""
    why = "no unlabelled rows" if task.n_unlabeled == 0 else "unlabelled rows have no weight"
    task.recorder.note(f"{why}: this is the supervised solution")
    state = first_state(task, None, tol)
    codes = task.rows.all.predictions()
    return Solution(state.w, state.objective, state.n_iter, state.converged, codes)


def solve_labeled(
    task: Task, start: Floats | None = None, *, tol: float, max_iter: int
) -> Solution:
    """Fit the labelled rows, with one trace row per step, and predict the others."""
    w = np.zeros(task.n_weights) if start is None else start
    if task.recorder.journal.keeps:
        state = Stepping.solve(task, w, tol, max_iter)
    else:
        state = task.start(w, tol, max_iter=max_iter, on_step=recording(task))
        task.recorder.level_done()
    task.rows.all.score(state.w)
    codes = task.rows.all.predictions()
    return Solution(state.w, state.objective, state.n_iter, state.converged, codes)


class Stepping:
    """Newton steps on the labelled rows one by one, so that a fit can go on after each of them.

    Every step begins with scores and a gradient that are computed anew: two more passes over the
    labelled rows, next to the dozens of a step.
    """

    def __init__(self, task: Task, w: Floats) -> None:
        self.task = task
        self.state = State(w)
        self.search = LineSearch()
        self._moved = True

    @classmethod
    def solve(cls, task: Task, w: Floats, tol: float, max_iter: int) -> State:
        """Fit the labelled rows from ``w``."""
        method = cls(task, w)
        follow("newton", [Level(np.nan, tol, last=True)], method, task.recorder, max_iter)
        return method.state

    def enter(self, level: Level) -> None:
        """Do nothing: there is one level."""

    def weight_step(self, level: Level) -> State:
        """Take a step, unless the weights are a solution already."""
        before = self.state
        state = self.task.start(before.w, level.tol, max_iter=1, search=self.search)
        self._moved = not np.array_equal(state.w, before.w)
        state.n_iter += before.n_iter
        state.cg_steps += before.cg_steps
        self.state = state
        return state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Return whether this was the last step; there are no labels to choose."""
        return self.state.converged or not self._moved, {"objective": self.state.objective}

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        return {"state": self.state.to_dict(), "search": asdict(self.search)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.state = State.from_dict(snapshot["state"])
        self.search = LineSearch(**snapshot["search"])


def recording(task: Task) -> Any:
    """Return the function a solver calls after each step: it records the step and may stop."""

    def record(state: State) -> bool:
        task.recorder.record("newton", state, objective=state.objective)
        return task.recorder.stopped

    return record
