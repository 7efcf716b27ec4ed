"""Fits with many classes in units of supervised machines, one per class, that know all labels.

3,000 rows, few of them labelled, true class shares. Bars hold for processor time, which other
processes on the machine hardly change; a second table says what two threads bring.
"""

from functools import partial
from pathlib import Path
from typing import Any

from papers.data import UNLABELED, PartlyLabeled
from papers.many import draw, load_many
from papers.methods import REG, SEMI_SUPERVISED, UNLABELED_WEIGHT, fitted
from papers.table import Report, verdict
from papers.timing import Timings, interleaved
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.parts import shares_of
from benchmarks.passes import limit_of, passing, reads_of

REPEAT = 3
N_ROWS = 3_000
N_LABELED = {
    "la1": 100,
    "20news_tfidf": 200,
    "ohscal": 100,
    "usps": 100,
    "r8_tfidf": 100,
    "webkb_tfidf": 100,
}
JUDGED = ("la1", "20news_tfidf", "ohscal")
RATIO_BAR = {"TSVM": 3.0, "DA": 7.0}
PASSES_BAR = 1.25
SEED = 0


def problem_of(folder: Path, name: str) -> PartlyLabeled:
    """Draw the rows of one set."""
    X, y = load_many(folder, name)
    n_labeled = N_LABELED[name]
    rows = draw(X, y, n_labeled, N_ROWS - n_labeled, SEED)
    return PartlyLabeled(rows.X, rows.labels, rows.y)


def yardstick(problem: PartlyLabeled) -> Any:
    """Fit one supervised machine per class to all labels, with one thread."""
    with threadpool_limits(1):
        machine = LinearSVC(C=1.0 / (REG * N_ROWS), dual=False, tol=1e-4)
        return machine.fit(problem.X, problem.y)


def key(name: str, n_jobs: int) -> str:
    """Name a measurement."""
    return f"{name}, {n_jobs}"


def time_methods(problem: PartlyLabeled, repeat: int) -> Timings:
    """Time the yardstick, both methods with one thread and with two, and passes, in turns."""
    fits = {
        key(name, n_jobs): partial(fitted, name, problem, n_jobs=n_jobs)
        for name in SEMI_SUPERVISED
        for n_jobs in (1, 2)
    }
    tasks = {"yardstick": partial(yardstick, problem), **fits}
    with passing(problem.X, int(problem.y.max()) + 1, 1) as products:
        return interleaved({**tasks, **products}, repeat)


def row(data: str, name: str, problem: PartlyLabeled, timings: Timings) -> dict[str, Any]:
    """Judge the processor time of a method with one thread."""
    busy, fit = timings.on_processor(), key(name, 1)
    ratio, model = busy.ratio(fit, "yardstick"), busy.results[fit]
    bar = RATIO_BAR[name] if data in JUDGED else None
    hidden = problem.labels == UNLABELED
    limit = limit_of(busy, fit, reads_of(partial(fitted, name, problem, n_jobs=1)))
    return {
        "set": data,
        "classes": len(model.classes_),
        "labels": N_LABELED[data],
        "method": name,
        "yardstick, s": busy.median("yardstick"),
        "seconds": busy.median(fit),
        "yardsticks": ratio,
        "bar": bar,
        "speed ok": None if bar is None else verdict(ratio.median <= bar),
        "rounds": int(model.n_iter_),
        "passes": limit.passes,
        "seconds / (passes x curvature)": limit.over_curvatures,
        f"<= {PASSES_BAR}": verdict(limit.over_curvatures.median <= PASSES_BAR),
        "seconds / reads": limit.over,
        "first call +s": timings.first_extra(fit),
        "objective": float(model.objective_),
        "accuracy": float(model.score(problem.X[hidden], problem.y[hidden])),
    }


def threads_row(data: str, name: str, timings: Timings) -> dict[str, Any]:
    """Compare two threads with one."""
    one, two = key(name, 1), key(name, 2)
    return {
        "set": data,
        "method": name,
        "elapsed, 2 threads, s": timings.median(two),
        "elapsed, 1 thread / 2 threads": timings.ratio(one, two),
        "processor, 2 threads / 1 thread": timings.on_processor().ratio(two, one),
    }


def parts_row(data: str, name: str, problem: PartlyLabeled, repeat: int) -> dict[str, Any]:
    """Tell where the time of a method goes, with one thread."""
    shares = shares_of(partial(fitted, name, problem, n_jobs=1), repeat)
    return {"set": data, "method": name, **shares}


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the ratios for every set."""
    report = Report(
        "manyspeed", rows=N_ROWS, reg=REG, unlabeled_weight=UNLABELED_WEIGHT, rounds=repeat
    )
    fits, threads, parts = [], [], []
    for data in N_LABELED:
        problem = problem_of(folder, data)
        timings = time_methods(problem, repeat)
        fits += [row(data, name, problem, timings) for name in SEMI_SUPERVISED]
        threads += [threads_row(data, name, timings) for name in SEMI_SUPERVISED]
        parts += [parts_row(data, name, problem, repeat) for name in SEMI_SUPERVISED]
    report.table("one thread, processor seconds", fits)
    report.table("parts of the processor time, one thread, %", parts)
    report.table("two threads", threads)
    return report.result()
