"""Fits on two workers with one thread each, in units of fits in one process with two threads.

Rows are drawn with replacement from `imdb_tfidf`. Each fit has a process of its own, which first
fits a few rows, since compiled code is imported when it is first called. The workers hold their
rows in memory, or read them from the disk. Processor time, of the driver and of the busiest
worker, hardly depends on what else the machine does. The memory of the workers is looked at all
the time: what their anonymous memory grew by, while they loaded the rows and fitted, in units of
their share of X.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import getpid
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from papers.methods import METHODS, REG, SEMI_SUPERVISED, UNLABELED_WEIGHT
from papers.table import Report, verdict
from papers.timing import Spread
from scipy import sparse

from benchmarks import ROOT
from benchmarks.outofcore import FEW, LABELED_PER_CLASS, N_ROWS, write_problem
from semisvm.designs import RowsOnDisk, Workers, make_design, open_rows
from semisvm.distributed.cluster import Cluster
from semisvm.distributed.connecting import connected
from semisvm.distributed.rows import DistributedRows
from semisvm.distributed.shard import Form
from semisvm.distributed.sources import source_of
from semisvm.labels.hierarchy import flat

REPEAT = 3
N_WORKERS = 2
ONE, MEMORY, DISK = "one process", "workers, memory", "workers, disk"
WAYS = (ONE, MEMORY, DISK)
COUNTED = ("passes", "rounds", "bytes")
RATIO_BAR, MEMORY_BAR = 1.7, 1.5
TICK = 0.02
COLUMNS = (10_000, 100_000, 1_000_000, 10_000_000)
PASS_ROWS, PASS_ENTRIES, PASSES, ROUNDS = 100_000, 100, 3, 6


def anonymous_bytes(process: int) -> int:
    """Return the anonymous memory that a process has in use."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


@contextmanager
def watched_memory(processes: list[int], told: dict[str, Any]) -> Iterator[None]:
    """Look at the memory of processes all the time; tell by how much the worst one grew."""
    ended, before = threading.Event(), [anonymous_bytes(process) for process in processes]
    most = list(before)

    def set_direction() -> None:
        while not ended.wait(TICK):
            most[:] = [max(m, anonymous_bytes(p)) for m, p in zip(most, processes, strict=True)]

    watch = threading.Thread(target=set_direction)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
        told["MB"] = max(m - b for m, b in zip(most, before, strict=True)) / 1e6


def fit_here(place: str, name: str, how: str) -> None:
    """Fit, and print what came of it."""
    rows = open_rows(place)
    y, few = np.asarray(rows.y), few_rows(rows)
    model = METHODS[name](reg=REG, unlabeled_weight=UNLABELED_WEIGHT)
    told: dict[str, Any] = {}
    if how == ONE:
        model.set_params(n_jobs=N_WORKERS).fit(rows[few], y[few])
        told |= timed_fit(model, rows[:], y)
    else:
        with connected(n_workers=N_WORKERS) as client:
            halves = np.array_split(few, N_WORKERS)
            model.fit(in_memory([rows[half] for half in halves]), y[few])
            with watched_memory(list(client.run(getpid).values()), told):
                parts = rows.split(N_WORKERS)
                X = in_memory(parts) if how == MEMORY else parts
                before = client.run(process_time)
                told |= timed_fit(model, X, y)
                after = client.run(process_time)
            told["worker"] = max(after[key] - before[key] for key in before)
    print(json.dumps(told))


def few_rows(rows: RowsOnDisk) -> Any:
    """Return the numbers of all labelled rows and a few others."""
    y = np.asarray(rows.y)
    return np.sort(np.concatenate([np.flatnonzero(y >= 0), np.flatnonzero(y < 0)[:FEW]]))


def in_memory(parts: list[Any]) -> Any:
    """Return a Dask array of CSR matrices, in the memory of the workers."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    chunks = [(delayed(loaded)(part), part.shape, part.dtype) for part in parts]
    X = da.concatenate([da.from_delayed(*chunk) for chunk in chunks]).persist()
    wait(X)
    return X


def loaded(part: Any) -> Any:
    """Return rows in memory."""
    return part[:]


def timed_fit(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Fit, and return what it took."""
    start, processor = perf_counter(), process_time()
    model.fit(X, y)
    told = {"seconds": perf_counter() - start, "processor": process_time() - processor}
    told["objective"] = model.objective_
    last = model.trace_[len(model.trace_) - 1]
    return {**told, **{key: float(last[key]) for key in COUNTED if key in last}}


def measured(place: Path, name: str, how: str) -> dict[str, Any]:
    """Fit in a new process."""
    given = f"{str(place)!r}, {name!r}, {how!r}"
    code = f"""if __name__ == "__main__":
    from benchmarks.distributed import fit_here
    fit_here({given})
"""
    with tempfile.TemporaryDirectory() as folder:
        # a file, since the processes of the workers import what was run
        script = Path(folder) / "fit.py"
        script.write_text(code, encoding="utf-8")
        command = [sys.executable, str(script)]
        path = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=path)
    if done.returncode:
        raise RuntimeError(f"the fit of {name} ({how}) failed:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def rounds_of(place: Path, name: str, repeat: int) -> dict[str, list[dict[str, Any]]]:
    """Measure in turns, backwards in odd rounds."""
    found: dict[str, list[dict[str, Any]]] = {how: [] for how in WAYS}
    for k in range(repeat):
        for how in WAYS[:: -1 if k % 2 else 1]:
            found[how].append(measured(place, name, how))
    return found


def fit_rows(name: str, found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Describe the fits."""
    best = found[ONE][0]["objective"]
    rows = []
    for how, all_told in found.items():
        told, seconds = all_told[0], Spread.of(told["seconds"] for told in all_told)
        rounds = told.get("rounds")
        row = {"method": name, "rows in": how, "seconds": seconds, "passes": told["passes"]}
        row |= {"processor, driver": told["processor"], "worker": told.get("worker")}
        row |= {
            "rounds": int(rounds) if rounds else None,
            "ms per round": 1e3 * seconds.median / rounds if rounds else None,
            "kB per round": told["bytes"] / rounds / 1e3 if rounds else None,
            "MB in all": told["bytes"] / 1e6 if rounds else None,
        }
        apart = abs(told["objective"] / best - 1.0)
        rows.append({**row, "objective, relative difference": apart})
    return rows


def bar_rows(
    name: str, found: dict[str, list[dict[str, Any]]], share: float
) -> list[dict[str, Any]]:
    """Judge times and memory; ``share`` is that of one worker of X, in MB."""
    rows = []
    for how in (MEMORY, DISK):
        pairs = list(zip(found[how], found[ONE], strict=True))
        ratio = Spread.of(ours["seconds"] / theirs["seconds"] for ours, theirs in pairs)
        used = max(ours["MB"] for ours, _ in pairs) / share
        for figure, value, bar, fine in (
            (f"{how} / {ONE}", ratio, RATIO_BAR, ratio.median <= RATIO_BAR),
            (f"memory of a worker / its share of X, {how}", used, MEMORY_BAR, used <= MEMORY_BAR),
        ):
            told = {"method": name, "figure": figure, "measured": value}
            rows.append({**told, "bar": f"<= {bar:g}", "verdict": verdict(fine)})
    return rows


def pass_row(n_columns: int) -> dict[str, Any]:
    """Time a pass of one thread over rows whose columns are drawn at random: the worst case."""
    random = np.random.default_rng(0)
    indices = random.integers(0, n_columns, PASS_ROWS * PASS_ENTRIES, dtype=np.int32)
    ends = np.arange(0, len(indices) + 1, PASS_ENTRIES)
    values = np.ones(len(indices), dtype=np.float32)
    X = sparse.csr_matrix((values, indices, ends), shape=(PASS_ROWS, n_columns))
    with Workers(1) as workers:
        design = make_design(X, 1.0, workers, renumber=False)
        rows, out = design.all_rows, np.empty(design.n_weights)
        w, costs = np.ones(design.n_weights), np.ones(PASS_ROWS)
        design.curvature(w, costs, rows, out)
        start = process_time()
        for _ in range(PASSES):
            design.curvature(w, costs, rows, out)
    seconds = (process_time() - start) / PASSES
    return {"columns": n_columns, "ns per entry": 1e9 * seconds / len(indices)}


def round_row(client: Any, n_columns: int) -> dict[str, Any]:
    """Time a round in which every worker gets and returns a vector over columns."""
    y = np.array([0, 1] * N_WORKERS)
    parts = [sparse.csr_matrix(([1.0, 1.0], ([0, 1], [k, k + 1])), (2, n_columns)) for k in (0, 1)]
    shards = Cluster(client, source_of(in_memory(parts)))
    try:
        form = Form(True, "squared_hinge", 1.0, 0, flat(np.array([0, 1])))
        labeled, weight = np.arange(len(y)), np.full(len(y), 1.0 / len(y))
        with Workers(1) as workers:
            rows = DistributedRows(shards).rows(form, labeled, y, weight, workers)
            w, times = np.zeros(n_columns + 1), []
            for _ in range(ROUNDS):
                start = perf_counter()
                rows.all.score(w)
                rows.all.set_given_costs()
                rows.all.linearize()
                times.append(perf_counter() - start)
    finally:
        shards.close()
    return {"columns": n_columns, "ms per round": 1e3 * float(np.median(times[1:]))}


def show_constants(report: Report) -> None:
    """Print what an estimate for other sizes needs."""
    report.table("one pass of one thread", [pass_row(d) for d in COLUMNS])
    with connected(n_workers=N_WORKERS) as client:
        rows = [round_row(client, d) for d in COLUMNS]
    report.table(f"a round with {N_WORKERS} workers, a vector both ways", rows)


def run(
    folder: Path, repeat: int, n_rows: int = N_ROWS, methods: list[str] | None = None
) -> dict[str, Any]:
    """Print times, rounds and memory of both methods."""
    report = Report(
        "distributed",
        rows=n_rows,
        labelled=2 * LABELED_PER_CLASS,
        workers=f"{N_WORKERS} with one thread each",
        threads=f"{N_WORKERS} in one process",
        reg=REG,
        rounds=repeat,
    )
    fits, bars = [], []
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "imdb.rows"
        write_problem(folder, place, n_rows)
        X = open_rows(place)
        show_constants(report)
        report.table("data", [{"entries": X.nnz, "columns": X.shape[1], "MB": X.nbytes / 1e6}])
        for name in methods or SEMI_SUPERVISED:
            found = rounds_of(place, name, repeat)
            fits += fit_rows(name, found)
            bars += bar_rows(name, found, X.nbytes / N_WORKERS / 1e6)
    report.table("fits", fits)
    report.table("bars", bars)
    return report.result()
