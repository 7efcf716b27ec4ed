"""Label the unlabelled rows so that the means of the classes are far apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import dot
from semisvm.label_steps import exact, top_labels
from semisvm.labels.weights import has_weights, masses
from semisvm.losses import SQUARED_HINGE, Signs
from semisvm.methods.loop import Level, follow
from semisvm.methods.solution import Solution, joined, one_vs_rest, scores_of
from semisvm.solvers import State
from semisvm.solvers.label_means import MeanMargin, Plane
from semisvm.solvers.smo import (
    PairProblem,
    PairState,
    RowGram,
    hinge_problem,
    leverages,
    solve_pairs,
)
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import out_of_range

# A step of the solver is one pass over a vector of rows; a solution takes thousands.
STEPS_PER_ITERATION = 10_000
# Rows on either side of the threshold that may be exchanged.
EXCHANGED = 64
# A gain of energy below this fraction is rounding.
ROUNDING = 1e-12
# Number of rows by which the average push of a row on its own output is estimated: it is then known
# to a few per cent.
PROBES = 256
SUPERVISED = "no unlabelled rows: this is the supervised solution"


class Alternating:
    """Alternate: the largest margin between the means, then the best labels.

    Neither step raises the objective, so the labels settle. If rounding or ties lead back
    to earlier labels, the method stops too.
    """

    def __init__(self, task: TwoClassTask, machine: MeanMargin, tol: float, max_steps: int) -> None:
        self.task = task
        self.block = task.rows.single_shard()
        self.machine = machine
        self.options: dict[str, Any] = {"tol": tol, "max_iter": max_steps}
        self.beta = machine.start(tol, max_steps)
        self.scores = scores_of(self.block, machine.labeled_direction(self.beta))
        self.labels = self._best(self.scores)
        self.seen = {self.labels.tobytes()}

    def _best(self, scores: Floats) -> Signs:
        block = self.block
        return top_labels(scores[block.unlabeled], self.task.n_positive, block.mass)

    def enter(self, level: Level) -> None:
        """Do nothing: there is one level."""

    def weight_step(self, level: Level) -> State:
        """Separate the means of the current labels."""
        plane = self.machine.plane(self.labels)
        self.found = self.machine.solve([plane], np.ones(1), self.beta, **self.options)
        self.beta = self.found.dual.beta
        return self._state()

    def _state(self) -> State:
        w = self.machine.weights(self.found)
        self.scores = scores_of(self.block, w)
        return summary(w, self.found.dual, self.found.objective)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Label the largest outputs positive."""
        labels = self._best(self.scores)
        changed = int(np.count_nonzero(labels != self.labels))
        self.labels, before = labels, len(self.seen)
        self.seen.add(labels.tobytes())
        return len(self.seen) == before, {**self._facts(), "changed": changed}

    def _facts(self) -> dict[str, Any]:
        return {"objective": self.found.objective, "margin": self.machine.margin(self.found)}


@dataclass(frozen=True)
class Labelling:
    """Labels of the unlabelled rows, the energy of their plane, and the outputs of its weights."""

    labels: Signs
    energy: float
    scores: Floats


class CuttingPlanes(Alternating):
    """Cutting planes: weights for all labellings found so far, then one more labelling.

    A labelling is added while it is violated, that is, while its energy exceeds those of the
    others. The energy 1/2 ||w_t||^2 is convex in the labels, so its maximum is hard to find;
    it is searched for from several starts, each of which climbs. The first is what the labelled
    rows alone would choose, as in the paper. The others, and then exchanges of rows, are tried
    only when nothing violated is found without them.
    """

    def __init__(self, task: TwoClassTask, machine: MeanMargin, tol: float, max_steps: int) -> None:
        super().__init__(task, machine, tol, max_steps)
        first = 0.5 * machine.C_unlabeled * np.where(machine.positive, 1.0, -1.0)
        self.planes = [machine.plane(self._of_labeled(first))]
        self.mu = np.ones(1)

    def _of_labeled(self, beta: Floats) -> Signs:
        """Return the labels that the labelled rows alone would choose."""
        return self._best(scores_of(self.block, self.machine.labeled_direction(beta)))

    def _violated(self, least: float) -> Plane | None:
        """Look for a plane whose energy exceeds a given one."""
        seen: set[bytes] = set()
        ends: list[Labelling] = []
        for labels in self._starts():
            end = self._climb(labels, seen)
            if end is not None:
                if end.energy > least:
                    return self.machine.plane(end.labels)
                ends.append(end)
        for end in ends:
            better = self._exchanges(end, seen)
            if better.energy > least:
                return self.machine.plane(better.labels)
        return None

    def _starts(self) -> Iterator[Signs]:
        """Yield labellings to climb from: of the labelled rows, of the model, and their reverses.

        A large norm may point anywhere: with few labels often against them.
        """
        alone = scores_of(self.block, self.machine.labeled_direction(self.beta))
        for scores in (alone, self.scores, -self.scores, -alone):
            yield self._best(scores)

    def _climb(self, labels: Signs, seen: set[bytes]) -> Labelling | None:
        """Label the largest outputs positive until that raises the energy no more.

        It never lowers it, because the energy is convex in the labels. None if the way meets an
        earlier one.
        """
        found = None
        while labels.tobytes() not in seen:
            seen.add(labels.tobytes())
            other = self._labelling(labels)
            if found is not None and other.energy <= found.energy:
                return found
            found = other
            labels = top_labels(found.scores, self.task.n_positive, self.block.mass)
            if np.array_equal(labels, found.labels):
                return found
        return None

    def _exchanges(self, found: Labelling, seen: set[bytes]) -> Labelling:
        """Climb on by exchanges of rows, where the largest outputs are positive already."""
        while (labels := self._exchanged(found)) is not None:
            other = self._climb(labels, seen)
            if other is None or other.energy <= found.energy:
                break
            found = other
        return found

    def _labelling(self, labels: Signs) -> Labelling:
        w = self.machine.direction(labels, self.beta)
        return Labelling(labels, 0.5 * dot(w, w), scores_of(self.block, w)[self.block.unlabeled])

    def _exchanged(self, found: Labelling) -> Signs | None:
        """Exchange pairs of rows near the threshold while the energy grows; None if with none.

        It grows by c (s_j - s_i) + c^2/2 ||x_j - x_i||^2 if j becomes positive instead of i, and
        the outputs s by c x . (x_j - x_i). So the inner products of a few rows are enough.
        """
        if has_weights(self.block.mass):
            return None
        labels, scores = found.labels.copy(), found.scores
        sides = np.flatnonzero(labels), np.flatnonzero(~labels)
        near = [
            side[np.argsort(sign * scores[side], kind="stable")[:EXCHANGED]]
            for side, sign in zip(sides, (1.0, -1.0), strict=True)
        ]
        rows, design = np.concatenate(near), self.block.design
        gram = design.gram(design.rows(self.block.unlabeled[rows]))
        squares, s, c = gram.diagonal(), scores[rows], self.machine.pull(labels, self.beta)
        apart = squares[:, None] + squares - 2.0 * gram
        for _ in range(len(rows)):
            up, down = np.flatnonzero(labels[rows]), np.flatnonzero(~labels[rows])
            gain = c * (s[down] - s[up][:, None]) + 0.5 * c * c * apart[np.ix_(up, down)]
            best = int(gain.argmax())
            if gain.flat[best] <= ROUNDING * found.energy:
                break
            i, j = up[best // len(down)], down[best % len(down)]
            labels[rows[i]], labels[rows[j]] = False, True
            s = s + c * (gram[:, j] - gram[:, i])
        return None if np.array_equal(labels, found.labels) else labels

    def weight_step(self, level: Level) -> State:
        """Compute the weights of the planes."""
        self.found = self.machine.mix(self.planes, self.mu, self.beta, **self.options)
        self.mu, self.beta = self.found.mu, self.found.dual.beta
        return self._state()

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Look for a violated plane; label the largest outputs positive."""
        facts = {**self._facts(), "planes": len(self.planes)}
        least = float(self.found.energies.max()) + level.tol * self.found.dual.scale
        plane = self._violated(least)
        self.labels = self._best(self.scores)
        if plane is None:
            return True, facts
        self.planes = [*self.planes, plane]
        self.mu = np.append(self.mu, 0.0)
        return False, facts


def summary(w: Floats, dual: PairState, objective: float) -> State:
    """Return a solution in the form that the trace and the loop use."""
    return State(
        w,
        objective,
        gradient_norm=dual.violation,
        gap=dual.gap,
        n_iter=dual.n_iter,
        n_active=int(np.count_nonzero(dual.beta)),
        converged=dual.converged,
    )


METHODS = {"iter": Alternating, "mkl": CuttingPlanes}


@dataclass(frozen=True)
class LabelMeans:
    """The method with its parameters, which are those of `MeanSVC`."""

    method: str
    C: float
    C_unlabeled: float
    tol: float
    max_iter: int
    balance_tol: float | None

    @property
    def _max_steps(self) -> int:
        return STEPS_PER_ITERATION * self.max_iter

    def solve(self, task: TwoClassTask) -> Solution:
        """Solve for two classes."""
        _check_range(task)
        _check_classes(task)
        labels, rounds, settled = np.zeros(0, dtype=bool), 0, True
        if task.n_unlabeled:
            scores, rounds, settled = self._outputs(task, _labeled_gram(task))
            labels = top_labels(scores, task.n_positive, task.rows.single_shard().mass)
        else:
            task.recorder.note(SUPERVISED)
        gram = RowGram(task.rows.single_shard().design)
        state, problem, found = self._machine(task, gram, labels)
        if self.balance_tol is not None and task.n_unlabeled:
            leave_out(task.rows.single_shard(), problem, found)
            task.balance(state, task.balancing_shift(self.balance_tol))
        codes, converged = labels.astype(np.intp), settled and state.converged
        return Solution(state.w, state.objective, rounds + 1, converged, codes)

    def solve_many(self, task: ManyClassTask) -> Solution:
        """Solve for many classes, each against the rest; labels keep the counts."""
        _check_range(task)
        tasks = one_vs_rest(task, SQUARED_HINGE)
        for one in tasks:
            _check_classes(one)
        codes, found = np.zeros(0, dtype=np.intp), []
        if task.n_unlabeled:
            gram = _labeled_gram(task)
            found = [self._outputs(one, gram) for one in tasks]
            scores = np.column_stack([scores for scores, _, _ in found])
            codes = exact(-scores, task.counts, mass=task.rows.single_shard().mass).labels
        else:
            task.recorder.note(SUPERVISED)
        gram_of_rows = RowGram(task.rows.single_shard().design)
        states = [self._machine(one, gram_of_rows, codes == y)[0] for y, one in enumerate(tasks)]
        parts = [Solution(s.w, s.objective, 0, s.converged, codes) for s in states]
        solution = joined(parts, [], codes)
        solution.n_iter = sum(rounds for _, rounds, _ in found) + 1
        solution.converged &= all(settled for _, _, settled in found)
        return solution

    def _outputs(self, task: TwoClassTask, gram: Floats) -> tuple[Floats, int, bool]:
        """Separate the means; return the unlabelled outputs, rounds, and whether they settled."""
        block = task.rows.single_shard()
        machine = MeanMargin(
            block.design,
            block.labeled,
            block.unlabeled,
            block.positive,
            self.C,
            self.C_unlabeled,
            gram,
            masses(block.weight)[0],
            block.mass,
        )
        if not 0 < task.n_positive < task.n_unlabeled:
            task.recorder.note("a class without unlabelled rows has no mean to separate")
            duals = machine.start(self.tol, self._max_steps)
            return scores_of(block, machine.labeled_direction(duals))[block.unlabeled], 0, True
        method = METHODS[self.method](task, machine, self.tol, self._max_steps)
        level = Level(self.C_unlabeled, self.tol, last=True)
        rounds, settled = follow("means", [level], method, task.recorder, self.max_iter)
        if machine.margin(method.found) < 0.0:
            task.recorder.note(
                "the class means of the unlabelled rows are not separated (negative margin): "
                "class_prior may not fit the data"
            )
        return method.scores[block.unlabeled], rounds, settled

    def _machine(
        self, task: TwoClassTask, gram: RowGram, labels: Signs
    ) -> tuple[State, PairProblem, PairState]:
        """Fit the final SVM to labels of all rows; return it with its dual."""
        block = task.rows.single_shard()
        design, n = block.design, block.design.n_rows
        positive, cost = np.zeros(n, dtype=bool), np.empty(n)
        positive[block.labeled], positive[block.unlabeled] = block.positive, labels
        cost[block.labeled] = self.C * masses(block.weight)[0]
        cost[block.unlabeled] = self.C_unlabeled * block.mass
        problem = hinge_problem(gram, positive, cost)
        found = PairState.zero(problem)
        solve_pairs(problem, found, tol=self.tol, max_iter=self._max_steps)
        w = design.pull_back(found.beta, design.all_rows, np.empty(design.n_weights))
        w[-1] = found.intercept / design.bias
        task.rows.all.score(w)
        state = summary(w, found, found.scale)
        task.recorder.record("machine", state, objective=state.objective)
        task.recorder.level_done()
        return state, problem, found


def leave_out(block: OneScoreBlock, problem: PairProblem, found: PairState) -> None:
    r"""Turn the outputs of the unlabelled rows into what they would be without the row.

    As `TwoClassTask.leave_out` for the hinge: of an unlabelled row j with dual beta_j and
    leverage k_j, the output without the row is f(x_j) - beta_j k_j (see `leverages`). The average
    of the k_j of some rows serves for all of them. These are drawn by content: the order of the
    rows does not matter. A row that counts for several loses one of them.
    """
    mass = np.broadcast_to(block.mass, block.unlabeled.shape)
    dual = np.where(mass > 0.0, found.beta[block.unlabeled], 0.0)
    pushing = block.unlabeled[dual != 0.0]
    random = np.random.default_rng(0).standard_normal(block.n_weights)
    drawn = np.argsort(block.content(random, pushing), kind="stable")[:PROBES]
    k = leverages(problem, found, pushing[drawn])
    known = np.isfinite(k)
    if known.any():
        average = np.average(k[known], weights=mass[dual != 0.0][drawn[known]])
        scores = block.scores.copy()
        scores[block.unlabeled] -= average * dual / np.maximum(mass, np.finfo(float).tiny)
        block.take_scores(scores)


def _check_range(task: TwoClassTask | ManyClassTask) -> None:
    """Raise if the sum of all squares of X is not finite: inner products may then not be."""
    design = task.rows.single_shard().design
    ones, squares = np.ones(design.n_rows), np.empty(design.n_weights)
    with np.errstate(over="ignore"):
        total = design.column_scales(ones, design.all_rows, squares).sum()
    if not np.isfinite(total):
        raise out_of_range(design.matrix(design.all_rows.index))


def _check_classes(task: TwoClassTask) -> None:
    """Raise if a class has no row with a weight: its side of a margin would be anywhere."""
    block = task.rows.single_shard()
    if not all(block.weight[side].any() for side in (block.positive, ~block.positive)):
        raise ValueError(
            "sample_weight is zero for every labelled row of a class. Give at least one row of "
            "each class a positive weight."
        )


def _labeled_gram(task: TwoClassTask | ManyClassTask) -> Floats:
    design, rows = task.rows.labeled_rows()
    return design.gram(rows)
