"""What Algorithm 1 costs, in supervised fits of the same solver to all rows and labels.

Twenty classes, 100 labelled and 10,000 unlabelled rows. Run it alone: the fits are timed
alternately in one process with two threads.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from papers.many import NEWS, SUPERVISED_TOL, Draw, draw, load_many
from papers.newsgroups import BARS, N_LABELED, N_UNLABELED
from papers.plans import Found, Part, Plan
from papers.table import verdict
from papers.timing import Spread, Timings, interleaved
from semisvm import NewtonSVC, TransductiveSVC

REPEAT = 3
SEEDS = (0, 1)
N_JOBS = 2
COST_BAR = 8.0
PUBLISHED = "3-5"
"""What Algorithm 1 typically costs, as the paper says."""


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


def measure(folder: Path, loss: str, seed: int, rounds: int) -> dict[str, Any]:
    """Return seconds of both fits, and the quartiles of their ratio."""
    rows = draw(*load_many(folder, NEWS), N_LABELED, N_UNLABELED, seed)
    timings = time_fits(rows, loss, rounds)
    return {
        "annealing": timings.median("annealing"),
        "all labels": timings.median("all labels"),
        "ratio": asdict(timings.ratio("annealing", "all labels")),
    }


def row(loss: str, seed: int, found: dict[str, Any]) -> dict[str, Any]:
    """Judge the ratio of one loss and draw."""
    ratio = Spread(**found["ratio"])
    return {
        "loss": loss,
        "seed": seed,
        "annealing, s": found["annealing"],
        "all labels, s": found["all labels"],
        "ratio": ratio,
        "paper": PUBLISHED,
        f"<= {COST_BAR:g}": verdict(ratio.median <= COST_BAR),
    }


def rows_of(found: Found) -> list[dict[str, Any]]:
    """Return a row for every loss and draw."""
    return [row(loss, seed, times) for (loss, seed, _), times in found.items()]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan the ratios at the default regularisation of every loss."""
    calls = [(loss, seed, repeat) for loss in BARS for seed in SEEDS]
    return Plan(
        {"rounds": repeat, "n_jobs": N_JOBS, "tol": SUPERVISED_TOL},
        [Part("Algorithm 1 in supervised fits", measure, calls, rows_of, timed=True)],
    )
