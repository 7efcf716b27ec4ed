"""Methods that are linear programs: RLP, 1-norm SVM, FSV and VS3VM; S3VM as an integer program.

RLP and the 1-norm SVM are one program, or a few. FSV minimises a smooth count of the weights by a
sequence of programs, VS3VM a concave objective with unlabelled rows. Branch and cut (S3VM as a
mixed-integer program) starts from the solution of VS3VM.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs import Floats
from semisvm.designs.validation import is_sparse
from semisvm.methods.loop import Level, follow
from semisvm.methods.solution import ScoredState, scores_of
from semisvm.solvers import State
from semisvm.solvers.highs import solve_mixed_integer
from semisvm.solvers.hinge_programs import (
    Balance,
    HingeProgram,
    HingeSolution,
    LabelProgram,
    undecided,
)
from semisvm.solvers.programs import ProgramError, Status
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.two_classes import TwoClassTask

FEWEST_ERRORS_TOL = 1e-6
"""Relative tolerance at which a sum of errors counts as the smallest."""
LARGEST_PRICE = 1e9
"""Price of errors relative to the 1-norm; beyond it, data have margins of 1e-9 of their size."""
TIE = 1e-9
"""Outputs smaller than this are on neither side; the margin is 1."""
EXPECTED = 3.0
"""Warn only if at least this many rows of the missing class were expected."""


@dataclass(frozen=True)
class Found:
    """The solution of a problem of two classes.

    Attributes
    ----------
    w : array of shape (n_weights,)
    objective : float
    n_iter : int
        Number of programs solved.
    converged : bool
    bound : float
        Lower bound on the objective; -inf if none is known.
    """

    w: Floats
    objective: float
    n_iter: int
    converged: bool = True
    bound: float = -np.inf


def signs_of(block: OneScoreBlock) -> Floats:
    """Return 1 for labelled rows of the second class, -1 for the others."""
    return np.where(block.positive, 1.0, -1.0)


def record(task: TwoClassTask, phase: str, found: HingeSolution, objective: float) -> None:
    """Add a row to the trace for a solved program."""
    n_rows = task.rows.n_labeled
    state = State(found.w, gradient_norm=np.nan, n_iter=found.pivots, n_active=n_rows)
    task.recorder.record(phase, state, objective=objective, pivots=found.pivots)
    task.recorder.level_done()


def fewest_errors(task: TwoClassTask) -> Found:
    """Raise the price of errors until their sum is as small as without the 1-norm (RLP)."""
    block = task.rows.single_shard()
    X, signs = block.design.matrix(block.labeled), signs_of(block)
    # the solution does not depend on the unit of X, so scale the numbers to about one
    unit = float(abs(X).max()) or 1.0
    X, ones = X / unit, np.ones(len(signs))
    least = HingeProgram(X, signs, mu=0.0).bound(ones)
    program = HingeProgram(X, signs, mu=1.0)
    enough = least + FEWEST_ERRORS_TOL * max(1.0, least)
    price, n_iter = 1.0, 1
    while price <= LARGEST_PRICE:
        found, n_iter = program.solve(price * ones), n_iter + 1
        errors = found.loss / price
        record(task, "pricing", found, errors)
        if errors <= enough:
            w = np.append(found.w[:-1] / unit, found.w[-1])
            return Found(w, errors, n_iter)
        price *= 10.0
    raise ProgramError(Status.TROUBLE, "the program of least errors and least 1-norm")


def one_norm(task: TwoClassTask, mu: float) -> Found:
    """Solve the program of the 1-norm SVM."""
    block = task.rows.single_shard()
    X, signs = block.design.matrix(block.labeled), signs_of(block)
    found = HingeProgram(X, signs, mu).solve(np.ones(len(signs)))
    record(task, "program", found, found.value)
    return Found(found.w, found.value, 1, bound=found.bound)


START_POWERS = (1.0, 0.5, 0.0)
"""Prices of the 1-norm at the starts, as powers of the sharpness times mu."""
LEAST_SLOPE = 1e-4
"""Tangents at large weights are no flatter than this: a weight that is free has no bound."""


class Counting:
    """The two steps: solve a linear program above the objective, and linearise again.

    A weight costs mu (1 - exp(-sharpness |w_k|)): nearly nothing, or nearly mu. This is concave
    in |w_k|, so it lies below its tangent at the last weights. The minimum of a program with
    the tangents is therefore never worse than the point before.

    There are local minima, so each level is a start of its own: the 1-norm SVM with the tangents
    at zero, and with prices that fall to mu. The best of all points is kept.
    """

    def __init__(self, task: TwoClassTask, mu: float, sharpness: float) -> None:
        self.task, self.mu, self.sharpness = task, mu, sharpness
        block = task.rows.single_shard()
        X, self.signs = block.design.matrix(block.labeled), signs_of(block)
        self.program = HingeProgram(X, self.signs, mu * sharpness)
        self.state = self.last = self.found = State(np.empty(0))

    def follow(self, tol: float, max_iter: int) -> tuple[int, bool]:
        """Solve programs from every start; return their number, and whether all settled."""
        prices = np.unique(self.mu * self.sharpness ** np.array(START_POWERS))[::-1]
        levels = [Level(float(price), tol, last=price == prices[-1]) for price in prices]
        return follow("counting", levels, self, self.task.recorder, max_iter)

    def enter(self, level: Level) -> None:
        """Start from the 1-norm SVM with the price of the level."""
        self.program.change_mu(np.full(len(self.program.mu), level.value))
        self.last = State(np.empty(0))

    def weight_step(self, level: Level) -> State:
        """Solve the linear program of the current tangents."""
        found = self.program.solve(np.ones(len(self.signs)))
        objective = found.loss + self.mu * float(self.counted(found.w[:-1]).sum())
        self.found = State(
            found.w,
            objective,
            gradient_norm=np.nan,
            gap=found.value - found.bound,
            n_iter=found.pivots,
            n_active=len(self.signs),
        )
        return self.found

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Take the tangents at the new weights; settled when the program gained nothing."""
        before, now = self.last.objective, self.found.objective
        self.last = self.found
        if now < self.state.objective:
            self.state = self.found
        slopes = np.exp(-self.sharpness * np.abs(self.found.w[:-1]))
        self.program.change_mu(self.mu * self.sharpness * np.maximum(slopes, LEAST_SLOPE))
        settled = bool(np.isfinite(before)) and before - now <= level.tol * max(before, self.mu)
        return settled, {"objective": self.state.objective, "pivots": self.found.n_iter}

    def counted(self, weights: Floats) -> Floats:
        """Return 1 - exp(-sharpness |w_k|)."""
        return np.asarray(-np.expm1(-self.sharpness * np.abs(weights)))


class Majorizing:
    """The two steps: minimise a linear program above the objective, and linearise again.

    An unlabelled row costs min(r, s) with r = max(0, 1 - f) and s = max(0, 1 + f) at its
    output f. This is concave in r and s, so any share p of a supergradient gives
    p r + (1 - p) s >= min(r, s), with equality at the outputs where it was computed. The
    minimum of the sum is therefore never worse than the point before.

    Each level is a start of its own, at the shares of ``starts``; the best point is kept.
    """

    def __init__(
        self,
        task: TwoClassTask,
        mu: float,
        nu: float,
        balance: Balance | None,
        starts: Sequence[Floats] = (),
    ) -> None:
        self.task = task
        self.mu = mu
        self.nu = nu
        self.block = block = task.rows.single_shard()
        free, given = (block.design.matrix(rows) for rows in (block.unlabeled, block.labeled))
        rows = [sparse.csr_matrix(part) for part in (given, free, free)]
        self.signs = signs_of(block)
        ones = np.ones(task.n_unlabeled)
        signs = np.concatenate([self.signs, ones, -ones])
        self.program = HingeProgram(sparse.vstack(rows, format="csr"), signs, mu, balance)
        self.starts = (0.5 * ones, *starts)
        self.begun, self.share = 0, self.starts[0]
        self.state = self.last = self.found = ScoredState(np.empty(0))
        self.value = np.inf

    def follow(self, tol: float, max_iter: int) -> tuple[int, bool]:
        """Solve programs from every start until nothing is gained.

        Returns their number, and whether the last ones settled.
        """
        n = len(self.starts)
        levels = [Level(self.nu, tol, last=k == n - 1, progress=k / n) for k in range(n)]
        return follow("concave", levels, self, self.task.recorder, max_iter)

    def take(self, labels: Floats) -> None:
        """Fit to labels of the unlabelled rows, 1 or 0, and keep the weights if better."""
        self.share = labels
        found = self.solve()
        if found.objective < self.state.objective:
            self.state = found

    def enter(self, level: Level) -> None:
        """Begin at the next start."""
        self.share, self.last = self.starts[self.begun], ScoredState(np.empty(0))
        self.begun += 1

    def weight_step(self, level: Level) -> ScoredState:
        """Solve the linear program of the current supergradient."""
        self.found = self.solve()
        return self.found

    def solve(self) -> ScoredState:
        """Solve a linear program and compute the concave objective at its solution."""
        shares = [self.nu * self.share, self.nu * (1.0 - self.share)]
        found = self.program.solve(np.concatenate([np.ones(len(self.signs)), *shares]))
        scores = scores_of(self.block, found.w)
        self.value = found.value
        return ScoredState(
            found.w,
            self.objective(found.norm, scores),
            gradient_norm=np.nan,
            gap=found.value - found.bound,
            n_iter=found.pivots,
            n_active=len(scores),
            scores=scores,
        )

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Take the supergradient at the new outputs; settled when the program gained nothing."""
        before = self.last.objective
        done = bool(np.isfinite(before)) and before - self.value <= level.tol * before
        if self.found.objective < before:
            self.last = self.found
        if self.last.objective < self.state.objective:
            self.state = self.last
        share = supergradient(self.last.scores[self.block.unlabeled])
        changed = int(np.count_nonzero(share != self.share))
        self.share = share
        facts = {"changed": changed, "pivots": self.found.n_iter}
        return done or changed == 0, {"objective": self.state.objective, **facts}

    def objective(self, norm: float, scores: Floats) -> float:
        """Compute the concave objective from the 1-norm and the outputs."""
        labeled = np.maximum(1.0 - self.signs * scores[self.block.labeled], 0.0)
        free = np.maximum(1.0 - np.abs(scores[self.block.unlabeled]), 0.0)
        return self.mu * norm + float(labeled.sum()) + self.nu * float(free.sum())


def random_starts(task: TwoClassTask, n: int, rng: np.random.RandomState) -> list[Floats]:
    """Draw supergradients: a label for every unlabelled row, with even chances."""
    return [rng.randint(0, 2, task.n_unlabeled).astype(np.float64) for _ in range(n)]


def supergradient(outputs: Floats) -> Floats:
    """Compute the share of r in the supergradient of min(r, s): 1, 0, or 0.5 for a tie."""
    return 0.5 * (1.0 + np.sign(np.where(np.abs(outputs) <= TIE, 0.0, outputs)))


def balance_of(task: TwoClassTask) -> Balance | None:
    """Return the equation that makes 2 r - 1 the mean output, r being the class share."""
    if task.n_unlabeled == 0:
        return None
    block, share = task.rows.single_shard(), np.full(task.n_unlabeled, 1.0 / task.n_unlabeled)
    rows = block.design.matrix(block.unlabeled)
    mean = np.asarray(rows.T @ share, dtype=np.float64).ravel()
    return Balance(mean, task.mean_output)


def warn_if_one_sided(task: TwoClassTask, scores: Floats, name: str) -> None:
    """Warn if no unlabelled row is on one side where several are expected."""
    free = scores[task.rows.single_shard().unlabeled]
    n_above = int(np.count_nonzero(free > 0.0))
    missed = task.n_positive if n_above == 0 else len(free) - task.n_positive
    if n_above not in (0, len(free)) or missed < EXPECTED:
        return
    side = "negative" if n_above == 0 else "positive"
    message = (
        f"{name}: the outputs of all {len(free)} unlabelled rows are {side}, but about "
        f"{missed} were expected on the other side. The objective does not balance the classes: "
        "set class_prior, or lower nu or mu."
    )
    task.recorder.note(message)
    warnings.warn(message, UserWarning, stacklevel=2)


TIGHTENING_SHARE = 0.25
"""Maximum share of the time for bounds on the outputs; the rest is for the search."""
START_TOL = 1e-6


@dataclass(frozen=True)
class BranchAndCut:
    """The method with its parameters, which are those of `MixedIntegerSVC`."""

    mu: float
    nu: float
    max_iter: int
    time_limit: float | None
    mip_gap: float
    threads: int

    def solve(self, task: TwoClassTask, *, balanced: bool) -> tuple[Majorizing, int, float]:
        """Find the labels of least cost.

        Returns
        -------
        method : Majorizing
            With the best weights found.
        rounds : int
        bound : float
            Lower bound on the objective.
        """
        begun = perf_counter()
        balance = balance_of(task) if balanced else None
        method = Majorizing(task, self.mu, self.nu, balance)
        rounds, _ = method.follow(START_TOL, self.max_iter)
        # no objective is negative; without unlabelled rows the start is the optimum
        bound = 0.0 if task.n_unlabeled else method.state.objective
        if task.n_unlabeled and not task.recorder.stopped:
            bound = max(bound, self._search(method, balance, begun))
            rounds += 1
        return method, rounds, bound

    def _search(self, method: Majorizing, balance: Balance | None, begun: float) -> float:
        """Let branch and cut choose the labels; return the lower bound that it proved."""
        task, start, block = method.task, method.state, method.block
        program = LabelProgram(
            dense(block.design.matrix(block.labeled)),
            method.signs,
            dense(block.design.matrix(block.unlabeled)),
            method.mu,
            method.nu,
            balance,
        ).scaled(start.objective)
        seconds = np.inf if self.time_limit is None else self.time_limit
        bounds = program.first_bounds(start.objective)
        deadline = begun + TIGHTENING_SHARE * seconds
        bounds = program.tightened(*bounds, start.objective, deadline)
        found = solve_mixed_integer(
            program.program(*bounds),
            start=program.point(start.w),
            time_limit=max(seconds - (perf_counter() - begun), 0.0),
            mip_gap=self.mip_gap,
            threads=self.threads,
        )
        method.take(program.labels(found.x))
        bound = program.unit * found.bound
        in_doubt = int(np.count_nonzero(undecided(*bounds)))
        task.recorder.record(
            "search",
            method.state,
            objective=method.state.objective,
            nodes=found.nodes,
            bound=bound,
            in_doubt=in_doubt,
        )
        task.recorder.level_done()
        return bound


def dense(X: Any) -> Floats:
    """Return a matrix as an array of float64."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
