"""What `auto` costs: the choice and the last fit, against fitting everything in its pool once.

At most 3,000 rows of each set, prepared as in `ranks`; 100 labels (ten per class if there are
more). Processor time with one thread, which other work on the machine does not lengthen. Fits of
the pool estimate the class shares each for itself, as they do by default; `auto` does so once for
the choice and once for the last fit.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from papers.data import UNLABELED
from papers.table import Report, verdict

from benchmarks.ranks import labelled, names_of, prepared
from semisvm.labels.partial import encode
from semisvm.model_selection import choose
from semisvm.model_selection.candidates import pool

REPEAT = 1
ROWS = 3_000
SETS = ("australian", "text1_pcmac", "usps", "la1", "20news_tfidf")
MOST_POOLS = 6.0
MOST_SECONDS = 30.0
ONE = {"n_jobs": 1}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call, and its result."""
    start = process_time()
    found = work()
    return process_time() - start, found


def measure(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """Time the choice, the last fit, and one fit of everything in the pool."""
    X, y = prepared(folder, name, seed, ROWS)
    partly = labelled(y, min(max(10 * (int(y.max()) + 1), 100), len(y) // 2), seed)
    choosing, choice = seconds(lambda: choose(X, partly, parameters=ONE))
    last, _ = seconds(lambda: choice.make().fit(X, partly))
    entries = pool(X, encode(partly, UNLABELED), ONE)
    once, _ = seconds(lambda: [entry.make(UNLABELED).fit(X, partly) for entry in entries])
    total = choosing + last
    return {
        "choice": choosing,
        "last fit": last,
        "pool once": once,
        "pools": total / once,
        "candidates": len(entries),
        "given up": len(choice.skipped),
        "bar": verdict(total <= MOST_POOLS * once and total <= MOST_SECONDS),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print a table per set, with a row per draw."""
    report = Report("autocost", draws=repeat, rows=ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [name for name in SETS if name in names_of(folder, None)]
        for name in names[:1]:  # compiles, or reads the cache
            measure(folder, name, 0)
        for name in names:
            rows = [measure(folder, name, seed) for seed in range(repeat)]
            report.table(f"{name}, processor seconds", rows)
    return report.result()
