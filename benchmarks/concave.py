"""VS3VM: one kept dual program against a cold primal program at every step, and larger data.

Gaussian clouds around two centres that differ in five columns, 50 labels, mu = 1 and
nu = 0.1. The peer runs the same algorithm with `scipy.optimize.linprog` (HiGHS too) on the
program as it is printed, from nothing at every step. Which of several optimal vertices it
gets is its own affair, so that it may need more or fewer programs. Seconds are those of
the processor, one thread on either side: the peer takes long enough for other work on the
machine to spoil the clock's.
"""

from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from papers.data import UNLABELED, Floats, Ints, Matrix
from papers.published import load_splits
from papers.table import Report, verdict
from papers.timing import Spread
from scipy import sparse
from scipy.optimize import linprog

from semisvm import ConcaveSVC
from semisvm.methods.linear_programs import supergradient

REPEAT = 1
MU, NU, TOL = 1.0, 0.1, 1e-6
N_LABELED, SHIFTED = 50, 5
SPEED_BAR, LARGE_BAR, TEXT_BAR = 8.0, 60.0, 20.0
TEXT_MUS = (1.0, 0.1)


@dataclass(frozen=True)
class Outcome:
    """What a run of either side gave, in seconds of the processor."""

    objective: float
    programs: int
    seconds: float


def clouds(n_unlabeled: int, n_columns: int, seed: int = 0) -> tuple[Floats, Ints, Ints]:
    """Draw rows, their classes, and what a method is told."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N_LABELED + n_unlabeled)
    X = rng.standard_normal((len(y), n_columns))
    X[:, :SHIFTED] += y[:, None] - 0.5
    return X, y, np.where(np.arange(len(y)) < N_LABELED, y, UNLABELED)


def ours(X: Matrix, labels: Ints) -> Outcome:
    """Fit the estimator."""
    start = process_time()
    model = ConcaveSVC(MU, NU, tol=TOL).fit(X, labels)
    return Outcome(model.objective_, model.n_iter_, process_time() - start)


def cold(X: Floats, labels: Ints) -> Outcome:
    """Solve every program from nothing, in the variables w+, w-, b, y, r, s."""
    start = process_time()
    known = labels != UNLABELED
    free, signs = X[~known], 2.0 * labels[known] - 1.0
    d, n, u = X.shape[1], int(known.sum()), len(free)
    all_signs = np.repeat([0.0, 1.0, -1.0], [n, u, u])
    all_signs[:n] = signs
    signed = sparse.csr_matrix(all_signs[:, None] * np.vstack([X[known], free, free]))
    column = sparse.csr_matrix(all_signs[:, None])
    A = sparse.hstack([-signed, signed, -column, -sparse.eye_array(n + 2 * u)], format="csr")
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * (n + 2 * u)
    share, best, programs = np.full(u, 0.5), np.inf, 0
    while True:
        costs = np.repeat([MU, 0.0, 1.0], [2 * d, 1, n])
        costs = np.concatenate([costs, NU * share, NU * (1.0 - share)])
        found: Any = linprog(costs, A, -np.ones(n + 2 * u), bounds=bounds)
        programs += 1
        w, b = found.x[:d] - found.x[d : 2 * d], found.x[2 * d]
        below = np.maximum(1.0 - signs * (X[known] @ w + b), 0.0).sum()
        outputs = free @ w + b
        inside = np.maximum(1.0 - np.abs(outputs), 0.0).sum()
        objective = float(below + MU * np.abs(w).sum() + NU * inside)
        if best - found.fun <= TOL * objective:
            return Outcome(min(objective, best), programs, process_time() - start)
        best, share = objective, supergradient(outputs)


def speed(n_unlabeled: int, n_columns: int, repeat: int, judged: bool) -> dict[str, Any]:
    """Time both sides in turns on the same rows."""
    X, _, labels = clouds(n_unlabeled, n_columns)
    rounds = [(ours(X, labels), cold(X, labels)) for _ in range(repeat)]
    kept, peer = rounds[-1]
    ratio = Spread.of(theirs.seconds / own.seconds for own, theirs in rounds).median
    return {
        "unlabelled": n_unlabeled,
        "columns": n_columns,
        "ours, s": Spread.of(own.seconds for own, _ in rounds).median,
        "programs": kept.programs,
        "objective": kept.objective,
        "cold, s": Spread.of(theirs.seconds for _, theirs in rounds).median,
        "its programs": peer.programs,
        "its objective": peer.objective,
        "cold / ours": ratio,
        ">= 8": verdict(ratio >= SPEED_BAR) if judged else None,
    }


def large(n_unlabeled: int, n_columns: int) -> dict[str, Any]:
    """Time one fit that the peer would take too long for."""
    X, _, labels = clouds(n_unlabeled, n_columns)
    found = ours(X, labels)
    return {
        "unlabelled": n_unlabeled,
        "columns": n_columns,
        "seconds": found.seconds,
        "programs": found.programs,
        "< 60": verdict(found.seconds < LARGE_BAR),
    }


def text(folder: Path, mu: float) -> dict[str, Any]:
    """Time a fit to sparse text with 100 labels."""
    problem = load_splits(folder, "text_ssl", "lab_100")
    labels = problem.labels(0)
    start = process_time()
    model = ConcaveSVC(mu, NU, class_prior=problem.prior(0)).fit(problem.X, labels)
    seconds = process_time() - start
    hidden = labels == UNLABELED
    return {
        "mu": mu,
        "rows": problem.X.shape[0],
        "columns": problem.X.shape[1],
        "seconds": seconds,
        "programs": model.n_iter_,
        "weights": int(model.n_nonzero_[0]),
        "error %": 100.0 * float(np.mean(model.transduction_[hidden] != problem.y[hidden])),
        "< 20": verdict(seconds < TEXT_BAR),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the times."""
    X, _, labels = clouds(100, 10)
    ours(X, labels)  # kernels and solver are loaded
    report = Report("concave", rounds=repeat, labels=N_LABELED, mu=MU, nu=NU)
    sizes = ((500, 100, False), (1000, 100, False), (2000, 100, True))
    report.table("against cold programs", [speed(u, d, repeat, bar) for u, d, bar in sizes])
    report.table("larger", [large(5000, 100)])
    report.table("text_ssl, 100 labels, true prior", [text(folder, mu) for mu in TEXT_MUS])
    return report.result()
