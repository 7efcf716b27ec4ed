"""Labels and weights that settle together: conjugate gradients on the objective of the best labels.

J(w), the objective at the labels that suit the weights best, is a function of the weights alone.
Its gradient is that at these labels. Alternating weights and labels is slow where each weight
step switches labels that pull the weights further in the same direction. Here the step that
labels held fixed would take is a preconditioned gradient, and steps are conjugate to the ones
before (Polak and Ribiere). How far they go is decided by J, with labels that follow.

The preconditioner may be inexact. So products with the curvature take a sample of the rows, weighed
up. A step then reads all rows twice, for its scores and for the next gradient.
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import add, dot
from semisvm.methods import sample_sizes
from semisvm.methods.loop import Level
from semisvm.methods.sample_sizes import no_less, rows_of
from semisvm.solvers import State
from semisvm.solvers.newton import LEAST_GAIN, measure, newton_step
from semisvm.tasks.one_score_driver import Cut
from semisvm.tasks.task import Task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.tasks.weight_steps import RowsProblem

MAX_TRIALS = 4
# How far beyond the minimum at fixed labels a step may go.
FARTHEST = 8.0
# Lengths of steps that differ by less than this are not worth a trial.
CLOSE = 0.2


class Settling:
    """Steps of conjugate gradients on J.

    Parameters
    ----------
    task : Task
    state : State
    """

    def __init__(self, task: Task, state: State) -> None:
        self.task = task
        self.state = state
        # the last step, the gradient where it began, and the product of the gradient with the
        # preconditioned one
        self._step: Floats | None = None
        self._before: Floats | None = None
        self._product = 0.0
        # whether products with the curvature take all rows, and whether no step helps
        self._exact = False
        self._stuck = False
        self._switched = 0
        # where the search for the labels of many classes begins, and the weight of their rows
        self._prices: Floats | None = None
        self._lam = 0.0
        # the best labels of two classes at the last energy
        self._cut = Cut(np.inf, ())

    def _energy(self) -> float:
        """Compute J, the objective with the best labels."""
        task, w = self.task, self.state.w
        if isinstance(task, TwoClassTask):
            energy, self._cut = task.best_labels(w, self._lam)
            return energy
        self._prices, cost, _ = task.assign(self._prices)
        return task.objective(w, self._lam, task.rows.all.fit(), cost)

    def _choose(self) -> None:
        """Choose the labels of which the last energy was computed."""
        task = self.task
        if isinstance(task, TwoClassTask):
            self._switched = task.rows.cut(self._cut)
        else:
            self._switched = task.rows.all.adopt_table()

    def enter(self, level: Level) -> None:
        """Go on with the rows of the level."""
        self._lam = level.value
        # the path may have grown beyond the rows of the level
        self.task = self.task.sampled(no_less(level.rows, self.task.sample_size))
        self.task.at(self.state)
        self.state.objective = self._energy()
        self._choose()
        self._step = self._before = None
        self._exact = self._stuck = False

    def weight_step(self, level: Level) -> State:
        """Take a step, unless the gradient is small enough."""
        task, state = self.task, self.state
        task.rows.all.set_label_costs(self._lam)
        problem = task.problem()
        here, energy = problem.linearize(state.w), state.objective
        measure(state, here, task.reg, level.tol)
        # that of a weight step has no costs of evidence
        state.objective = energy
        state.n_iter = state.cg_steps = self._switched = 0
        if state.converged:
            return state
        curved = problem if self._exact else self._with_few_rows(problem)
        own, _, state.cg_steps = newton_step(curved, here, state, level.tol)
        step = self._conjugate(own, here.gradient)
        problem.set_direction(step)
        state.n_iter = self._move(step, dot(step, here.gradient))
        if not state.n_iter:
            # next with all rows, and then not at all
            self._stuck, self._exact, self._step = self._exact, True, None
        return state

    def _with_few_rows(self, problem: RowsProblem) -> RowsProblem:
        """Return a problem whose products with the curvature take a sample of the rows."""
        task, size = self.task, sample_sizes.CURVATURE_ROWS
        if size >= task.rows.n_free_rows or task.rows.brought(size) is None:
            task.rows.sample_curvature(size)
            return problem
        # in this process, without a round for every product
        few = task.sampled(size)
        few.at(self.state)
        if isinstance(few, TwoClassTask):
            few.label_best()
        else:
            few.assign(self._prices)
            few.rows.all.adopt_table()
        few.rows.all.set_label_costs(self._lam)
        found = few.problem()
        found.linearize(self.state.w)
        return found

    def _conjugate(self, own: Floats, gradient: Floats) -> Floats:
        """Make a step conjugate to the last one, if that is one of descent."""
        product = -dot(own, gradient)
        step = own
        if self._step is not None and self._before is not None:
            factor = (product + dot(own, self._before)) / self._product
            if factor > 0.0:
                step = own.copy()
                add(step, factor, self._step)
                if not dot(step, gradient) < 0.0:
                    step = own
        self._step, self._before, self._product = step, gradient, product
        return step

    def _move(self, step: Floats, slope: float) -> int:
        """Go to about the minimum of J along a step; return 1, or 0 if there is no descent."""
        state, before = self.state, self.state.objective
        t, ahead, found = 0.0, 1.0, [(0.0, before)]
        for _ in range(MAX_TRIALS):
            energy = self._go(step, ahead - t)
            t = ahead
            found.append((t, energy))
            best, lowest = min(found, key=lambda pair: pair[1])
            # the minimum of a parabola through the last value
            bend = energy - before - t * slope
            part = -0.5 * t * slope / bend if bend > 0.0 else FARTHEST
            ahead = float(np.clip(part, 0.1 * t, FARTHEST))
            descended = best > 0.0 and lowest <= before + LEAST_GAIN * best * slope
            if descended and (len(found) > 2 or abs(ahead - t) <= CLOSE * t):
                break
        if not descended:
            best, lowest = 0.0, before
        if best != t:
            lowest = self._go(step, best - t)
        state.objective = lowest
        self._choose()
        return int(best > 0.0)

    def _go(self, step: Floats, t: float) -> float:
        """Move along the step; return J there."""
        add(self.state.w, t, step)
        self.task.rows.all.move(t)
        return self._energy()

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Return whether no step is needed or helps; labels have followed already."""
        state = self.state
        facts = {
            "objective": state.objective,
            "switched": self._switched,
            "imbalance": self.task.imbalance(),
            **rows_of(self.task),
        }
        return state.converged or self._stuck, facts

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round."""
        step, before = self._step, self._before
        return {
            "sampled": self.task.sample_size,
            "state": self.state.to_dict(),
            "step": None if step is None else step.copy(),
            "before": None if before is None else before.copy(),
            "product": self._product,
            "exact": self._exact,
            "prices": None if self._prices is None else self._prices.copy(),
            "lam": self._lam,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken."""
        self.task = self.task.sampled(snapshot["sampled"])
        self.state = self.task.returned(snapshot["state"])
        self._lam = snapshot["lam"]
        self._prices = None if snapshot["prices"] is None else snapshot["prices"].copy()
        self.state.objective = self._energy()
        self._choose()
        self._step = None if snapshot["step"] is None else snapshot["step"].copy()
        self._before = None if snapshot["before"] is None else snapshot["before"].copy()
        self._product, self._exact = snapshot["product"], snapshot["exact"]
