"""How far label means are from the optima of Li, Kwok and Zhou (ICML 2009), on few rows.

Problem (7) is what both methods approximate: meanS3VM-iter by alternation, meanS3VM-mkl by a
relaxation. Here it is solved exactly, and so is the relaxation (11) itself.

Problem (5), with the loss (6), is the machine that knows the means of both classes. Given the
means that a method has estimated instead, it is judged by its objective for the true ones.

Draws of 12 unlabelled rows from the sets of Tables 2 and 3, with their labels: 10, and 2 per
class for the newsgroups. Linear kernel, C = 1, true class shares; C_unlabeled is 0.1 as in the
paper, and 1, where the unlabelled rows have more to say. `mean_problems` says how the optima are
proven. Takes about two minutes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from papers.compared import C_UNLABELED
from papers.data import UNLABELED, Floats, Ints
from papers.halves import PAIRS, SMALL, C, labeled_rows, load_rows
from papers.mean_problems import TOL, KnownMeans, Separation, Signs, SmallProblem
from papers.plans import Found, Part, Plan, draws
from semisvm import MeanSVC

REPEAT = 10
N_UNLABELED = 12
COSTS = (C_UNLABELED, 1.0)
METHODS = ("iter", "mkl")
TASKS = (*SMALL, "(1, 2)", "(2, 3)")
# A gap of no more than this fraction is none.
SAME = 100.0 * TOL

Line = Callable[[str, float, dict[str, float]], dict[str, Any]]


@dataclass(frozen=True)
class Draw:
    """A few rows, the labelled ones first, and their classes."""

    X: Floats
    positive: Signs
    n_labeled: int

    @classmethod
    def of(cls, folder: Path, task: str, seed: int) -> "Draw":
        """Draw the labelled rows as the tables do, and a few others, with both classes."""
        X, y = load_rows(folder, task)
        labeled, rng = labeled_rows(y, task, seed), np.random.default_rng(seed)
        rest = np.setdiff1d(np.arange(len(y)), labeled)
        while True:
            drawn: Ints = rng.choice(rest, N_UNLABELED, replace=False)
            if len(np.unique(y[drawn])) == 2:
                break
        rows = X[np.append(labeled, drawn)]
        dense = rows.toarray() if task in PAIRS else rows
        return cls(dense, y[np.append(labeled, drawn)] == 1, len(labeled))

    @property
    def truth(self) -> Signs:
        """Which of the unlabelled rows are positive."""
        return self.positive[self.n_labeled :]

    def problem(self, cost: float) -> SmallProblem:
        """Return what the optima are computed from."""
        known, gram = self.positive[: self.n_labeled], self.X @ self.X.T
        return SmallProblem(gram, known, int(self.truth.sum()), C, cost)

    def estimated(self, method: str, cost: float) -> Signs:
        """Fit label means; give the labels of the unlabelled rows."""
        told = np.where(np.arange(len(self.X)) < self.n_labeled, self.positive, UNLABELED)
        share = float(self.truth.mean())
        model = MeanSVC(C, C_unlabeled=cost, method=method, class_prior=[1.0 - share, share])
        found = model.fit(self.X, told).transduction_[self.n_labeled :]
        return np.asarray(found == 1)

    def all_labels(self, cost: float) -> Signs:
        """Fit the SVM that knows the labels of all rows; give its own labels."""
        given = np.arange(len(self.X)) < self.n_labeled
        model = SVC(kernel="linear").fit(self.X, self.positive, np.where(given, C, cost))
        return np.asarray(model.predict(self.X[self.n_labeled :]))


def percent(a: Signs, b: Signs) -> float:
    """Compute how many labels are the same, in per cent."""
    return 100.0 * float(np.mean(a == b))


def measure(folder: Path, task: str, cost: float, seed: int) -> dict[str, float]:
    """Solve one draw exactly and by label means."""
    draw = Draw.of(folder, task, seed)
    problem, truth = draw.problem(cost), draw.truth
    apart, known = Separation(problem).optimum(), KnownMeans(problem, truth)
    best = known.optimum()
    # objectives of (7) can be negative: gaps are relative to the errors of the same label for all
    scale = C * 2.0 * min(problem.positive.sum(), (~problem.positive).sum())
    found = {
        "optimum": apart.value,
        "programs": apart.solved,
        "relaxation": 100.0 * (apart.value - Separation(problem).relaxed()) / scale,
        "right": percent(apart.labels, truth),
        "optimum (5)": best.value,
        "programs (5)": best.solved,
        "right (5)": percent(best.labels, truth),
        "all labels": percent(draw.all_labels(cost), best.labels),
    }
    for method in METHODS:
        labels = draw.estimated(method, cost)
        gap = (problem.separation(labels) - apart.value) / scale
        model = KnownMeans(problem, labels).optimum()
        excess = known.objective(model.square, model.outputs) - best.value
        found |= {
            f"{method} gap": 100.0 * gap,
            f"{method} optimal": float(gap <= SAME),
            f"{method} same": percent(labels, apart.labels),
            f"{method} right": percent(labels, truth),
            f"{method} gap (5)": 100.0 * excess / best.value,
            f"{method} same (5)": percent(labels, best.labels),
        }
    return found


def separation_row(task: str, cost: float, mean: dict[str, float]) -> dict[str, Any]:
    """Show how close the methods come to the optimum of problem (7)."""
    return {
        "task": task,
        "C_unl": cost,
        "optimum": mean["optimum"],
        "programs": round(mean["programs"], 1),
        "relaxation below %": round(mean["relaxation"], 3),
        **{f"{m} above %": round(mean[f"{m} gap"], 3) for m in METHODS},
        **{f"{m} optimal %": round(100.0 * mean[f"{m} optimal"]) for m in METHODS},
        **{f"{m} same labels %": round(mean[f"{m} same"], 1) for m in METHODS},
        "right %": round(mean["right"], 1),
        **{f"{m} right %": round(mean[f"{m} right"], 1) for m in METHODS},
    }


def known_row(task: str, cost: float, mean: dict[str, float]) -> dict[str, Any]:
    """Show what estimated means cost in problem (5)."""
    return {
        "task": task,
        "C_unl": cost,
        "optimum": mean["optimum (5)"],
        "programs": round(mean["programs (5)"], 1),
        "right %": round(mean["right (5)"], 1),
        "SVM on all labels: same %": round(mean["all labels"], 1),
        **{f"{m} above %": round(mean[f"{m} gap (5)"], 1) for m in METHODS},
        **{f"{m} same labels %": round(mean[f"{m} same (5)"], 1) for m in METHODS},
    }


def rows_of(line: Line, found: Found) -> list[dict[str, Any]]:
    """Average the draws of every task and cost, and show a line of each."""
    rows = []
    for cost in COSTS:
        for task in TASKS:
            cells = draws(found, task, cost)
            means = {key: float(np.mean([cell[key] for cell in cells])) for key in cells[0]}
            rows.append(line(task, cost, means))
    return rows


def plan(folder: Path, repeat: int) -> Plan:
    """Plan one table for each problem; they share the measurements."""
    calls = [(task, cost, seed) for cost in COSTS for task in TASKS for seed in range(repeat)]
    lines: dict[str, Line] = {
        "problem (7): the means separated by the largest margin": separation_row,
        "problem (5), loss (6): the means of the true labels known": known_row,
    }
    parts = [Part(title, measure, calls, partial(rows_of, line)) for title, line in lines.items()]
    return Plan({"draws": repeat, "unlabelled": N_UNLABELED, "C": C}, parts)
