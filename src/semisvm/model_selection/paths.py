"""Solutions along a grid of regularisations and weights of the unlabelled rows.

All of them share one design, and each starts from the solution of its neighbour. Only
the first one, in the middle of the grid of regularisations, goes through the schedule of
the method: from there the labels follow to both sides.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from semisvm.designs import Design, Floats, Index
from semisvm.hierarchy import Hierarchy
from semisvm.loop import Recorder
from semisvm.methods.solution import Solution
from semisvm.objectives.tasks import Task
from semisvm.partial_labels import PartialLabels


@dataclass(frozen=True)
class PathPoint:
    """A solution on the grid.

    Attributes
    ----------
    row, column : int
        Position among the weights of the unlabelled rows and the regularisations.
    task : TwoClassTask or ManyClassTask
    solution : Solution
    """

    row: int
    column: int
    task: Task
    solution: Solution

    def scores(self, rows: Index) -> Floats:
        """Score the classes of rows, shape (r,) or (r, m)."""
        return self.task.class_scores(self.solution.w, rows)


@dataclass(frozen=True)
class Grid:
    """What is the same for all solutions: the data behind the seam, the hierarchy, the grid.

    Attributes
    ----------
    make : callable (reg, unlabeled_weight) -> estimator
    regs, weights : sequences of floats
        The weights are followed in their order.
    design : Design
    hierarchy : Hierarchy
    sample_weight : array of shape (n,), optional
    """

    make: Callable[[float, float], Any]
    regs: Sequence[float]
    weights: Sequence[float]
    design: Design
    hierarchy: Hierarchy
    sample_weight: Floats | None = None

    def path(self, labels: PartialLabels, prior: Floats) -> Iterator[PathPoint]:
        """Yield the solutions for the given labels, neighbours one after the other."""
        middle = len(self.regs) // 2
        start: Floats | None = None
        for row in range(len(self.weights)):
            first = self._solve(row, middle, labels, prior, start)
            yield first
            for columns in (range(middle - 1, -1, -1), range(middle + 1, len(self.regs))):
                last = first
                for column in columns:
                    last = self._solve(row, column, labels, prior, last.solution.w)
                    yield last
            start = first.solution.w

    def _solve(
        self, row: int, column: int, labels: PartialLabels, prior: Floats, start: Floats | None
    ) -> PathPoint:
        estimator = self.make(self.regs[column], self.weights[row])
        given = (labels, prior, self.sample_weight, self.hierarchy)
        task = estimator._task(self.design, *given, Recorder())
        # a solver changes the weights that it starts from
        solution = estimator._solve_task(task, None if start is None else start.copy())
        return PathPoint(row, column, task, solution)
