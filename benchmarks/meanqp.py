"""The quadratic program of label means: pairwise ascent against Clarabel's interior point.

The sequence of programs that a fit solves, one a round of labels, on a published split with
10 and with 100 labels; linear kernel, C = 100, C_unlabeled = 0.1, true class prior.
Pairwise ascent starts every program from the last solution. Objectives are compared as
shares of the scale that the duality gap is measured by.
"""

from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from papers.ssl_book import LABELED, SETS, BookSet, load_book, present
from papers.table import Report
from scipy import sparse

from semisvm import MeanSVC
from semisvm.designs import Floats, Workers, make_design
from semisvm.label_steps import top_labels
from semisvm.solvers.label_means import MeanMargin, Plane

REPEAT = 5
TOL = MeanSVC().tol
MAX_STEPS = 10**6


def machine_of(book: BookSet, n_labeled: int) -> tuple[MeanMargin, int]:
    """Return the machine of the first split, and the number of positive rows to find."""
    problem = book.problem(n_labeled, 0)
    given, free = np.flatnonzero(problem.labels >= 0), problem.unlabeled
    design = make_design(book.X, 1.0, Workers())
    gram = design.gram(design.rows(given))
    machine = MeanMargin(design, given, free, problem.labels[given] == 1, 100.0, 0.1, gram)
    return machine, int(problem.y[free].sum())


def planes_of(machine: MeanMargin, n_positive: int) -> tuple[list[Plane], list[Floats]]:
    """Alternate until the labels settle; give the planes, and the duals each began with."""
    design, beta = machine.design, machine.start(TOL, MAX_STEPS)
    w = machine.labeled_direction(beta)
    planes: list[Plane] = []
    starts: list[Floats] = []
    last = np.zeros(0, dtype=bool)
    while True:
        scores = design.scores(w, design.all_rows, np.zeros(design.n_rows))
        labels = top_labels(scores[machine.unlabeled], n_positive)
        if np.array_equal(labels, last):
            return planes, starts
        planes.append(machine.plane(labels))
        starts.append(beta)
        found = machine.solve(planes[-1:], np.ones(1), beta, tol=TOL, max_iter=MAX_STEPS)
        w, beta, last = machine.weights(found), found.dual.beta, labels


def by_clarabel(machine: MeanMargin, plane: Plane) -> float:
    """Solve one program; give its objective."""
    clarabel = import_module("clarabel")
    problem = machine.problem([plane], np.ones(1))
    n = problem.size
    P = sparse.csc_matrix(np.triu(problem.gram.among(np.arange(n))[0]))
    A = sparse.csc_matrix(np.vstack([np.ones(n), np.eye(n), -np.eye(n)]))
    b = np.concatenate([[0.0], problem.upper, -problem.lower])
    kinds = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(P, problem.push - problem.target, A, b, kinds, settings).solve()
    return -float(answer.obj_val) - 0.5 * plane.square


def row(book: BookSet, n_labeled: int, rounds: int) -> dict[str, Any]:
    """Time all programs of a fit, both solvers in turns."""
    machine, n_positive = machine_of(book, n_labeled)
    planes, starts = planes_of(machine, n_positive)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        start = perf_counter()
        found = [
            machine.solve([plane], np.ones(1), beta, tol=TOL, max_iter=MAX_STEPS)
            for plane, beta in zip(planes, starts, strict=True)
        ]
        middle = perf_counter()
        objectives = [by_clarabel(machine, plane) for plane in planes]
        ours.append(middle - start)
        theirs.append(perf_counter() - middle)
    excess = [(f.objective - o) / f.dual.scale for f, o in zip(found, objectives, strict=True)]
    return {
        "set": SETS[book.name],
        "labels": n_labeled,
        "programs": len(planes),
        "pairs ms": round(1e3 * float(np.median(ours)), 2),
        "Clarabel ms": round(1e3 * float(np.median(theirs)), 2),
        "ratio": round(float(np.median(theirs) / np.median(ours)), 1),
        "excess over Clarabel": float(max(excess)),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print one table."""
    report = Report("meanqp", rounds=repeat, tol=TOL)
    books = [load_book(folder, name) for name in present(folder)]
    report.table("all programs of a fit", [row(b, n, repeat) for b in books for n in LABELED])
    return report.result()
