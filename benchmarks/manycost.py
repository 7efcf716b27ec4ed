"""What Algorithm 1 costs, in supervised fits of the same solver to all rows and labels.

Twenty classes, 100 labelled and 10,000 unlabelled rows. Run it alone: the fits are timed
alternately in one process with two threads.
"""

from pathlib import Path
from typing import Any

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.reproduce.many import NEWS, SUPERVISED_TOL, Draw, draw, load_many
from semisvm.reproduce.newsgroups import BARS, N_LABELED, N_UNLABELED
from semisvm.reproduce.table import Report, verdict
from semisvm.reproduce.timing import Timings, interleaved

REPEAT = 3
SEEDS = (0, 1)
N_JOBS = 2
COST_BAR = 8.0


def time_fits(rows: Draw, loss: str, repeat: int) -> Timings:
    """Time Algorithm 1 and the supervised fit that is given all labels."""
    return interleaved(
        {
            "annealing": lambda: TransductiveSVC(
                loss=loss, class_prior=rows.prior, n_jobs=N_JOBS
            ).fit(rows.X, rows.labels),
            "all labels": lambda: NewtonSVC(loss=loss, tol=SUPERVISED_TOL, n_jobs=N_JOBS).fit(
                rows.X, rows.y
            ),
        },
        repeat,
    )


def row(loss: str, seed: int, timings: Timings) -> dict[str, Any]:
    """Judge the ratio of one loss and draw."""
    ratio = timings.ratio("annealing", "all labels")
    return {
        "loss": loss,
        "seed": seed,
        "annealing, s": timings.median("annealing"),
        "all labels, s": timings.median("all labels"),
        "ratio": ratio,
        "<= 8": verdict(ratio.median <= COST_BAR),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the ratios at the default regularisation of every loss."""
    X, y = load_many(folder, NEWS)
    report = Report("manycost", rounds=repeat, n_jobs=N_JOBS, tol=SUPERVISED_TOL)
    draws = {seed: draw(X, y, N_LABELED, N_UNLABELED, seed) for seed in SEEDS}
    rows = [
        row(loss, seed, time_fits(rows, loss, repeat))
        for loss in BARS
        for seed, rows in draws.items()
    ]
    report.table("Algorithm 1 in supervised fits", rows)
    return report.result()
