"""S3VM as a mixed-integer program: times to the proven optimum, and what VS3VM falls short.

Draws of 20 labelled and 50 unlabelled rows, standardised columns, mu = 1 and nu = 0.1;
then fewer and more unlabelled rows. Seconds are those of the processor, one thread: the
search is long enough for other work on the machine to spoil the clock's.
"""

import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from papers.data import UNLABELED, Floats, Ints, MissingDataError
from papers.table import Report, verdict
from sklearn.preprocessing import scale

from semisvm import ConcaveSVC, MixedIntegerSVC

REPEAT = 10
SETS = ("wbc", "heart_cleveland")
N_LABELED, N_UNLABELED = 20, 50
MU, NU = 1.0, 0.1
MIP_GAP = 1e-4
BAR = 60.0
LIMIT = 600.0
MORE, LIMIT_OF_MORE = (25, 75, 100, 200), 240.0
DRAWS_OF_MORE = 3


def load_dense(folder: Path, name: str) -> tuple[Floats, Ints]:
    """Load a set without rows that miss values and without constant columns, standardised."""
    try:
        X, y = np.load(folder / name / "X.npy"), np.load(folder / name / "y.npy")
    except FileNotFoundError as error:
        raise MissingDataError(f"the folder {str(folder)!r} has no set {name!r}") from error
    whole = np.isfinite(X).all(axis=1)
    X, y = X[whole], y[whole]
    return scale(X[:, X.std(axis=0) > 0.0]), y


def draw(X: Floats, y: Ints, n_unlabeled: int, seed: int) -> tuple[Floats, Ints]:
    """Draw rows of which the first 20 keep their labels, of both classes."""
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.permutation(len(y))[: N_LABELED + n_unlabeled]
        if len(np.unique(y[rows[:N_LABELED]])) == 2:
            return X[rows], np.where(np.arange(len(rows)) < N_LABELED, y[rows], UNLABELED)


def solve(X: Floats, labels: Ints, limit: float) -> dict[str, float]:
    """Fit both machines to one draw; the limit is in seconds of the clock."""
    with warnings.catch_warnings():
        # one-sided models and limits of time are in the table
        warnings.simplefilter("ignore", UserWarning)
        local = ConcaveSVC(MU, NU).fit(X, labels)
        start = process_time()
        best = MixedIntegerSVC(MU, NU, time_limit=limit, mip_gap=MIP_GAP).fit(X, labels)
        seconds = process_time() - start
    search = best.trace_[-1]
    return {
        "seconds": seconds,
        "nodes": search["nodes"],
        "in doubt": search["in_doubt"],
        "gap": best.optimality_gap_,
        "short": local.objective_ / best.objective_ - 1.0,
    }


def fifty(name: str, X: Floats, y: Ints, repeat: int) -> dict[str, Any]:
    """Summarise the draws of fifty unlabelled rows."""
    found = [solve(*draw(X, y, N_UNLABELED, seed), LIMIT) for seed in range(repeat)]
    short = [100.0 * one["short"] for one in found]
    slowest = max(one["seconds"] for one in found)
    return {
        "set": name,
        "draws": repeat,
        "proven": sum(one["gap"] <= MIP_GAP for one in found),
        "median s": float(np.median([one["seconds"] for one in found])),
        "slowest s": slowest,
        "< 60": verdict(slowest < BAR),
        "VS3VM optimal": sum(one <= 100.0 * MIP_GAP for one in short),
        "mean gap %": float(np.mean(short)),
        "largest gap %": max(short),
    }


def more(name: str, X: Floats, y: Ints, n_unlabeled: int) -> dict[str, Any]:
    """Summarise a few draws with other numbers of unlabelled rows."""
    found = [
        solve(*draw(X, y, n_unlabeled, 100 + seed), LIMIT_OF_MORE) for seed in range(DRAWS_OF_MORE)
    ]
    return {
        "set": name,
        "unlabelled": n_unlabeled,
        "in doubt": float(np.median([one["in doubt"] for one in found])),
        "median s": float(np.median([one["seconds"] for one in found])),
        "median nodes": float(np.median([one["nodes"] for one in found])),
        "proven": f"{sum(one['gap'] <= MIP_GAP for one in found)}/{len(found)}",
        "worst gap %": 100.0 * max(one["gap"] for one in found),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the times and gaps."""
    report = Report("mip", draws=repeat, labels=N_LABELED, mu=MU, nu=NU)
    data = {name: load_dense(folder, name) for name in SETS}
    rows = [fifty(name, X, y, repeat) for name, (X, y) in data.items()]
    report.table(f"{N_UNLABELED} unlabelled rows", rows)
    rows = [more(name, X, y, u) for name, (X, y) in data.items() for u in MORE]
    report.table(f"fewer and more, at most {LIMIT_OF_MORE:g} s each", rows)
    return report.result()
