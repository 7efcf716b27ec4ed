"""What a new process pays: the import, the first fit with kernels in the cache, and compiling."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from papers.data import hide, load, random_rows
from papers.table import Report, verdict
from papers.timing import Spread, interleaved, seconds_of

from benchmarks import ROOT

REPEAT = 7
IMPORT_BAR = 0.1
FIRST_FIT_BAR = 0.6
SET = "lasvm_reuters"
N_LABELED = 46
BASE_IMPORT = "import sklearn"
BOTH_IMPORTS = "import sklearn; import semisvm"
TIMED_IMPORT = """
from time import perf_counter
import sklearn
start = perf_counter()
import semisvm
print(perf_counter() - start)
"""
# What an estimator costs is compared with what it cannot do without.
ESTIMATOR_BAR = 0.3
TIMED_NUMBA = """
from time import perf_counter
start = perf_counter()
import numba
print(perf_counter() - start)
"""
TIMED_ESTIMATOR = """
from time import perf_counter
import sklearn.base, sklearn.utils.validation, numba
start = perf_counter()
from semisvm import TransductiveSVC
print(perf_counter() - start)
"""
# What a machine pays once, in seconds of the processor.
COLD_BAR = 8.0
COLD_REPEAT = 3
COLD_ROWS = 300
COLD_LABELS = 40
TIMED_COLD = "from benchmarks.startup import fit_cold; fit_cold()"
TIMED_FITS = "from benchmarks.startup import fit_twice; fit_twice()"


def child(code: str, *arguments: str, **variables: str) -> str:
    """Run code in a new process and return what it prints; byte code is kept, as installed."""
    command = [sys.executable, "-c", code, *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env = {**kept, **variables}
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=env)
    return done.stdout


def fit_twice() -> None:
    """Print, in a new process, the seconds of loading the methods and of two equal fits."""
    name, folder = sys.argv[1:]
    X, labels = load(Path(folder), SET)
    y = (labels == 1).astype(np.intp)
    problem = hide(X, y, random_rows(y, N_LABELED, 0))
    start = perf_counter()
    from papers.methods import fitted

    seconds = {"load": perf_counter() - start}
    for which in ("first", "second"):
        seconds[which], _ = seconds_of(partial(fitted, name, problem))
    print(json.dumps(seconds))


def fit_cold() -> None:
    """Print the processor seconds of a default fit that compiles, less those of an equal fit."""
    from semisvm import SemiSupervisedClassifier

    rng = np.random.default_rng(0)
    y = rng.integers(2, size=COLD_ROWS)
    words = np.array([["cheap", "pills", "money", "the"], ["lunch", "team", "plans", "the"]])
    texts = [" ".join(rng.choice(words[label], 6)) for label in y]
    known = [int(label) if row < COLD_LABELS else None for row, label in enumerate(y)]
    seconds = []
    for _ in range(2):
        start = process_time()
        SemiSupervisedClassifier().fit(texts, known)
        seconds.append(process_time() - start)
    print(seconds[0] - seconds[1])


def cold_rows(repeat: int) -> list[dict[str, Any]]:
    """Measure what a default fit compiles, in processes with an empty cache each."""
    found = []
    for _ in range(repeat):
        with TemporaryDirectory() as folder:
            found.append(float(child(TIMED_COLD, NUMBA_CACHE_DIR=folder)))
    what = "default fit to texts, empty cache: processor time on top of the second fit"
    return [figure(what, Spread.of(found), COLD_BAR)]


def figure(what: str, seconds: Spread, bar: float | None = None) -> dict[str, Any]:
    """Put seconds, or a ratio of them, beside their bar, if they have one."""
    reached = None if bar is None else verdict(seconds.median <= bar)
    return {"figure": what, "seconds or ratio": seconds, "bar": bar, "verdict": reached}


def import_rows(repeat: int) -> list[dict[str, Any]]:
    """Time the import inside processes, and compare whole processes without and with it."""
    inside = Spread.of(float(child(TIMED_IMPORT)) for _ in range(repeat))
    tasks = {code: partial(child, code) for code in (BASE_IMPORT, BOTH_IMPORTS)}
    around = interleaved(tasks, repeat).difference(BOTH_IMPORTS, BASE_IMPORT)
    return [
        figure("import semisvm after import sklearn", inside, IMPORT_BAR),
        figure("the same, as a difference of whole processes", around),
    ]


def estimator_rows(repeat: int) -> list[dict[str, Any]]:
    """Compare the import of one estimator with that of numba, in turns."""
    codes = {"numba": TIMED_NUMBA, "estimator": TIMED_ESTIMATOR}
    rounds = [{name: float(child(code)) for name, code in codes.items()} for _ in range(repeat + 1)]
    del rounds[0]  # wrote the byte code
    ratios = Spread.of(one["estimator"] / one["numba"] for one in rounds)
    what = "TransductiveSVC after scikit-learn and numba, in imports of numba"
    return [
        figure("import numba", Spread.of(one["numba"] for one in rounds)),
        figure(what, ratios, ESTIMATOR_BAR),
    ]


def fit_rows(name: str, folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Compare the first with the second fit of new processes."""
    arguments = (name, str(folder.resolve()))
    child(TIMED_FITS, *arguments)  # fills the cache
    runs = [json.loads(child(TIMED_FITS, *arguments)) for _ in range(repeat)]
    parts = {"load": "loading the methods", "first": "first fit", "second": "second fit"}
    rows = [
        figure(f"{name}: {what}", Spread.of(run[part] for run in runs))
        for part, what in parts.items()
    ]
    extra = Spread.of(run["first"] - run["second"] for run in runs)
    return [*rows, figure(f"{name}: first fit on top of the second", extra, FIRST_FIT_BAR)]


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print what is paid once a process."""
    report = Report("startup", processes=repeat, set=SET, labelled=N_LABELED, cache="warm")
    rows = import_rows(repeat) + estimator_rows(repeat)
    for name in ("TSVM", "DA"):
        rows += fit_rows(name, folder, repeat)
    rows += cold_rows(COLD_REPEAT)
    report.table("median over processes", rows)
    return report.result()
