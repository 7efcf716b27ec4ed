"""Fits of the semi-supervised methods in units of a supervised one that knows all labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Ints, Matrix, PartlyLabeled, hide, load, stratified_rows
from papers.methods import REG, SEMI_SUPERVISED, UNLABELED_WEIGHT, fitted
from papers.table import Report, verdict
from papers.timing import Task, Timings, interleaved
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.passes import AT_A_TIME, limit_of, passing, reads_of
from semisvm.methods import loop as schedules

REPEAT = 5
SEEDS = (0, 1, 2, 3, 4)
N_ROWS = 14_000
N_LABELED = 46
N_JOBS = 2
TIGHT = 1e-8
RATIO_BAR = {"TSVM": 7.0, "DA": 20.0}
CPP_RATIO = {"TSVM": 77.0, "DA": 252.0}
EXCESS_BAR = 0.5
PASSES_BAR = 1.25


def draw(X: Matrix, y: Ints, seed: int) -> PartlyLabeled:
    """Choose the rows of one experiment, and those with labels."""
    rows = np.sort(np.random.default_rng(seed).choice(len(y), N_ROWS, replace=False))
    labeled, _ = stratified_rows(y[rows], N_LABELED, seed)
    return hide(X[rows], y[rows], labeled)


def yardstick(problem: PartlyLabeled, blas_threads: int | None = 1) -> Any:
    """Fit the supervised machine to all labels.

    Its vector operations go through BLAS, whose threads bring nothing at this size and on
    a busy machine make it several times slower: one thread is the honest yardstick.
    """
    with threadpool_limits(blas_threads):
        machine = LinearSVC(C=1.0 / (REG * N_ROWS), dual=False, tol=1e-4)
        return machine.fit(problem.X, problem.y)


@contextmanager
def tight_path() -> Iterator[None]:
    """Solve every level of a schedule tightly for a while."""
    usual = schedules.LOOSE_TOL, schedules.COOLING_TOL
    schedules.LOOSE_TOL = schedules.COOLING_TOL = TIGHT
    try:
        yield
    finally:
        schedules.LOOSE_TOL, schedules.COOLING_TOL = usual


def tight_objective(name: str, problem: PartlyLabeled) -> float:
    """Return the objective that a method reaches when no step is solved loosely."""
    with tight_path():
        return float(fitted(name, problem, tol=TIGHT, n_jobs=N_JOBS).objective_)


def row(name: str, seed: int, problem: PartlyLabeled, timings: Timings) -> dict[str, Any]:
    """Judge the speed and the objective of a method on one draw of rows."""
    ratio = timings.ratio(name, "yardstick")
    model, tight = timings.results[name], tight_objective(name, problem)
    excess = 100.0 * (model.objective_ / tight - 1.0)
    hidden = problem.unlabeled
    return {
        "method": name,
        "seed": seed,
        "seconds": timings.median(name),
        "yardsticks": ratio,
        "bar": RATIO_BAR[name],
        "speed ok": verdict(ratio.median <= RATIO_BAR[name]),
        "C++ 2006": CPP_RATIO[name],
        "objective": float(model.objective_),
        "over tight %": round(excess, 3),
        "<= 0.5 %": verdict(excess <= EXCESS_BAR),
        "accuracy": float(model.score(problem.X[hidden], problem.y[hidden])),
        "first call +s": timings.first_extra(name),
    }


def time_methods(problem: PartlyLabeled, repeat: int) -> Timings:
    """Time the yardstick and both methods alternately."""
    tasks = fits(problem, N_JOBS)
    return interleaved({"yardstick": lambda: yardstick(problem), **tasks}, repeat)


def fits(problem: PartlyLabeled, n_jobs: int) -> dict[str, Task]:
    """Return one task per method."""
    return {name: partial(fitted, name, problem, n_jobs=n_jobs) for name in SEMI_SUPERVISED}


def passes_rows(seed: int, problem: PartlyLabeled, repeat: int) -> list[dict[str, Any]]:
    """Judge what fits take beyond reading the data, with one thread on the processor's clock."""
    with passing(problem.X, 1, 1) as products:
        timings = interleaved({**products, **fits(problem, 1)}, repeat).on_processor()
    rows = []
    for name in SEMI_SUPERVISED:
        limit = limit_of(timings, name, reads_of(fits(problem, 1)[name]))
        rows.append(
            {
                "method": name,
                "seed": seed,
                "seconds": timings.median(name),
                "passes": limit.passes,
                "one curvature, ms": 1e3 * timings.median("curvature") / AT_A_TIME,
                "seconds / (passes x curvature)": limit.over_curvatures,
                f"<= {PASSES_BAR}": verdict(limit.over_curvatures.median <= PASSES_BAR),
                "seconds / reads": limit.over,
            }
        )
    return rows


def yardstick_row(problem: PartlyLabeled, repeat: int) -> dict[str, Any]:
    """Measure what the threads of BLAS do to the yardstick."""
    tasks = {"one": lambda: yardstick(problem), "free": lambda: yardstick(problem, None)}
    timings = interleaved(tasks, repeat)
    return {
        "BLAS threads": "one",
        "seconds": timings.median("one"),
        "seconds with BLAS threads left alone": timings.median("free"),
        "ratio": timings.ratio("free", "one"),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the ratios for several draws of rows."""
    X, groups = load(folder, "20news_tfidf")
    y = (groups >= 10).astype(np.intp)
    report = Report(
        "speed",
        rows=N_ROWS,
        labelled=N_LABELED,
        reg=REG,
        unlabeled_weight=UNLABELED_WEIGHT,
        n_jobs=N_JOBS,
        rounds=repeat,
        data=str(X.dtype),
    )
    problems = {seed: draw(X, y, seed) for seed in SEEDS}
    report.table("the yardstick", [yardstick_row(problems[SEEDS[0]], repeat)])
    rows, passes = [], []
    for seed, problem in problems.items():
        timings = time_methods(problem, repeat)
        passes += passes_rows(seed, problem, repeat)
        rows += [row(name, seed, problem, timings) for name in SEMI_SUPERVISED]
    report.table("fits in yardsticks", sorted(rows, key=lambda r: -CPP_RATIO[r["method"]]))
    report.table("passes over the data, one thread", sorted(passes, key=lambda r: r["method"]))
    return report.result()
