"""Fits to rows on the disk with limited memory, in units of fits to the same rows in memory.

Rows are drawn with replacement from `imdb_tfidf`. Each fit has a process of its own, which first
fits a few rows, since compiled code is imported when it is first called. The one that reads from
the disk may have, beyond what Python and its libraries take then, a quarter of the bytes of X as
anonymous memory (RLIMIT_DATA); a fit for which that is not enough has infinite seconds. With fewer
than about 300,000 rows it may not be, since vectors over columns and small pieces take 8 MB anyway.
Fits in memory to a tenth of the rows show how the time grows with the rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from papers.data import UNLABELED, load, rows_of_each_class
from papers.methods import METHODS, REG, SEMI_SUPERVISED, UNLABELED_WEIGHT
from papers.table import Report, verdict
from papers.timing import Spread

from semisvm.designs import RowsOnDisk, open_rows
from semisvm.tables import write_rows

REPEAT = 3
N_ROWS = 1_000_000
LABELED_PER_CLASS = 50
PIECE = 20_000
N_JOBS = 2
TICK = 0.002
FEW = 2_000
MEMORY, DISK, COLD = "memory", "disk, warm", "disk, cold"
RATIO_BAR = 1.3
MEMORY_SHARE = 0.25
FEWER, GROWTH_BAR = 10, 12.0
TENTH = "memory, a tenth of the rows"


def resampled(whole: Any, n_rows: int) -> Iterator[Any]:
    """Draw rows, or their classes, with replacement, some at a time and the same every time."""
    random = np.random.default_rng(0)
    for start in range(0, n_rows, PIECE):
        yield whole[np.sort(random.integers(0, whole.shape[0], min(PIECE, n_rows - start)))]


def write_problem(folder: Path, place: Path, n_rows: int) -> float:
    """Write the rows, of which a hundred have labels; return the seconds."""
    X, y = load(folder, "imdb_tfidf")
    y[y == 2] = UNLABELED
    classes = np.concatenate(list(resampled(y, n_rows)))
    labels = np.full(n_rows, UNLABELED)
    labeled = rows_of_each_class(classes, LABELED_PER_CLASS, 0)
    labels[labeled] = classes[labeled]
    start = perf_counter()
    write_rows(place, resampled(X, n_rows), labels)
    return perf_counter() - start


def forget(place: Path) -> None:
    """Ask the system to drop the files from its cache."""
    for path in place.iterdir():
        with open(path, "rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def anonymous_bytes() -> int:
    """Return what counts against the limit."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))


@contextmanager
def watched_memory(told: dict[str, Any], wanted: bool) -> Iterator[None]:
    """Look at the anonymous memory all the time; tell by how much it grew at most."""
    if not wanted:
        yield
        return
    ended, most = threading.Event(), [0]

    def set_direction() -> None:
        while not ended.wait(TICK):
            most[0] = max(most[0], anonymous_bytes())

    watch = threading.Thread(target=set_direction)
    watch.start()
    before = anonymous_bytes()
    try:
        yield
    finally:
        ended.set()
        watch.join()
        told["MB"] = (most[0] - before) / 1e6


def limit_memory(X: RowsOnDisk, share: float) -> None:
    """Allow this process a share of the rows beyond what it has."""
    import resource

    most = anonymous_bytes() + int(share * X.nbytes)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def fit_here(place: str, name: str, how: str, share: float) -> None:
    """Fit in this process, and print what came of it."""
    rows = open_rows(place)
    y = np.asarray(rows.y)
    settings: dict[str, Any] = {"unlabeled_weight": UNLABELED_WEIGHT, "n_jobs": N_JOBS}
    model = METHODS[name](reg=REG, **settings)
    few = np.sort(np.concatenate([np.flatnonzero(y >= 0), np.flatnonzero(y < 0)[:FEW]]))
    model.fit(rows[few], y[few])
    X: Any = rows[:] if how == MEMORY else rows
    told: dict[str, Any] = {"seconds": np.inf, "processor": np.inf, "objective": np.nan}
    if how == COLD:
        forget(Path(place))
    with watched_memory(told, how == COLD), suppress(MemoryError):
        if how != MEMORY:
            limit_memory(rows, share)
        start, processor = perf_counter(), process_time()
        model.fit(X, y)
        told |= {"seconds": perf_counter() - start, "processor": process_time() - processor}
        told |= {"objective": model.objective_, "rounds": model.n_iter_}
        told["passes"] = float(model.trace_["passes"][-1])
    print(json.dumps(told))


def measured(place: Path, name: str, how: str, share: float) -> dict[str, Any]:
    """Fit in a new process."""
    given = f"{str(place)!r}, {name!r}, {how!r}, {share!r}"
    code = f"from benchmarks.outofcore import fit_here; fit_here({given})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the fit of {name} ({how}) failed:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def rounds_of(
    place: Path, tenth: Path, name: str, repeat: int, share: float
) -> dict[str, list[dict[str, Any]]]:
    """Measure in turns: memory and disk, backwards in odd rounds; cold once in the end."""
    found: dict[str, list[dict[str, Any]]] = {MEMORY: [], DISK: [], TENTH: []}
    for k in range(repeat):
        for how in (DISK, MEMORY) if k % 2 else (MEMORY, DISK):
            found[how].append(measured(place, name, how, share))
        found[TENTH].append(measured(tenth, name, MEMORY, share))
    return {**found, COLD: [measured(place, name, COLD, share)]}


def fit_rows(name: str, found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Describe the fits."""
    best = found[MEMORY][0]["objective"]
    return [
        {
            "method": name,
            "rows in": how,
            "seconds": Spread.of(told["seconds"] for told in all_told),
            "processor": Spread.of(told["processor"] for told in all_told),
            "rounds": all_told[0].get("rounds"),
            "passes": all_told[0].get("passes"),
            "MB needed": all_told[0].get("MB"),
            "objective, relative difference": abs(all_told[0]["objective"] / best - 1.0)
            if how != TENTH
            else None,
        }
        for how, all_told in found.items()
    ]


def bar_rows(name: str, found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Judge the time from the disk, and how the time grows with the rows."""
    rows = []
    for figure, over, under, bar in (
        ("disk, warm / memory", DISK, MEMORY, RATIO_BAR),
        ("memory / memory, a tenth of the rows", MEMORY, TENTH, GROWTH_BAR),
    ):
        pairs = list(zip(found[over], found[under], strict=True))
        told: dict[str, Any] = {"method": name, "figure": figure}
        processor, ratio = (
            Spread.of(a[key] / b[key] for a, b in pairs) for key in ("processor", "seconds")
        )
        told |= {"processor": processor, "measured": ratio, "bar": f"<= {bar:g}"}
        rows.append({**told, "verdict": verdict(ratio.median <= bar)})
    return rows


def run(
    folder: Path,
    repeat: int,
    n_rows: int = N_ROWS,
    share: float = MEMORY_SHARE,
    methods: list[str] | None = None,
) -> dict[str, Any]:
    """Print the times of both methods."""
    report = Report(
        "outofcore",
        rows=n_rows,
        labelled=2 * LABELED_PER_CLASS,
        memory=f"{share:g} of X beyond libraries",
        threads=N_JOBS,
        reg=REG,
        rounds=repeat,
    )
    fits, bars = [], []
    with tempfile.TemporaryDirectory() as scratch:
        place, tenth = Path(scratch) / "imdb.rows", Path(scratch) / "tenth.rows"
        seconds = write_problem(folder, place, n_rows)
        write_problem(folder, tenth, n_rows // FEWER)
        X = open_rows(place)
        sizes = {"entries": X.nnz, "MB in memory": X.nbytes / 1e6}
        sizes["MB on disk"] = sum(file.stat().st_size for file in place.iterdir()) / 1e6
        report.table("data", [{**sizes, "seconds to write": seconds}])
        for name in methods or SEMI_SUPERVISED:
            found = rounds_of(place, tenth, name, repeat, share)
            fits += fit_rows(name, found)
            bars += bar_rows(name, found)
    report.table("fits", fits)
    report.table("bars", bars)
    return report.result()
