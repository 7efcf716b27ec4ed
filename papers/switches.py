"""One switch at a time against as many as improve: Sindhwani and Keerthi (SIGIR 2006).

The rows of Table 3 for pcmac with S = 1 and S = max, their times beside those of DA (Fig. 3), the
row of Table 4, and the same two ways with every loss of two classes. The draws are those of the
table `pcmac`. The published figures of "TSVM" are those of S = 1; the row of S = max is not
legible in the copy at hand, and the text calls the two "nearly identical". Processor seconds.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from papers.methods import REG, UNLABELED_WEIGHT
from papers.pcmac import (
    LABELED,
    PUBLISHED_ERROR,
    TRAINING_ROWS,
    draw_pcmac,
    error_of,
)
from papers.plans import Curve, Found, Part, Plan, draws, mean
from papers.table import verdict
from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.losses import LOSSES

REPEAT = 5
WAYS: dict[str, tuple[type, dict[str, Any]]] = {
    "TSVM, S = 1": (TransductiveSVC, {"max_switches": 1, "max_iter": 20_000}),
    "TSVM, S = max": (TransductiveSVC, {}),
    "DA": (AnnealedSVC, {}),
}
ONE, MOST = "TSVM, S = 1", "TSVM, S = max"
USUAL = "squared_hinge"
PUBLISHED_SECONDS = {ONE: 4.0, MOST: 2.0, "DA": 12.0}
"""Table 4, pcmac, fewest labels."""
CLOSE = 0.5
"""What "nearly identical" errors may differ by, in points."""
TWO = tuple(name for name, loss in LOSSES.items() if loss.two is not None)


def measure(folder: Path, way: str, loss: str, n_labeled: int, seed: int) -> dict[str, float]:
    """Return error in percent, objective and seconds of one way on one split."""
    compiled(folder, loss)
    problem, X_test, y_test = draw_pcmac(folder, n_labeled, seed)
    model = make(way, loss, problem.prior)
    start = process_time()
    model.fit(problem.X, problem.labels)
    return {
        "seconds": process_time() - start,
        "error": error_of(model, X_test, y_test),
        "objective": model.objective_,
        "rounds": float(model.n_iter_),
    }


def make(way: str, loss: str, prior: Any) -> Any:
    """Make the estimator of a way."""
    kind, parameters = WAYS[way]
    told = {"class_prior": prior, "unlabeled_weight": UNLABELED_WEIGHT}
    return kind(reg=REG, loss=loss, **told, **parameters)


@cache
def compiled(folder: Path, loss: str) -> None:
    """Load the compiled code of a loss, so that no time has it."""
    problem, _, _ = draw_pcmac(folder, LABELED[0], 0)
    for way in WAYS if loss == USUAL else (ONE, MOST):
        make(way, loss, problem.prior).fit(problem.X, problem.labels)


def averaged(runs: list[dict[str, float]]) -> dict[str, float]:
    """Average the draws; seconds by their median."""
    found = {key: mean([run[key] for run in runs]) for key in runs[0]}
    return found | {"seconds": float(np.median([run["seconds"] for run in runs]))}


def over_labels(found: Found) -> list[dict[str, Any]]:
    """Return the rows of Table 3, with times."""
    rows = []
    for k, n in enumerate(LABELED):
        here = {way: averaged(draws(found, way, USUAL, n)) for way in WAYS}
        rows += [
            _row(n, way, here, PUBLISHED_ERROR["DA" if way == "DA" else "TSVM"][k]) for way in WAYS
        ]
    return rows


def over_losses(found: Found) -> list[dict[str, Any]]:
    """Return a pair of rows for every loss."""
    rows = []
    for loss in TWO:
        here = {way: averaged(draws(found, way, loss, LABELED[1])) for way in (ONE, MOST)}
        rows += [{"loss": loss, **_row(LABELED[1], way, here, None)} for way in here]
    return rows


def times(found: Found) -> Sequence[Curve]:
    """Return Fig. 3."""
    lines = {
        way: [[run["seconds"] for run in draws(found, way, USUAL, n)] for n in LABELED]
        for way in WAYS
    }
    return [Curve("pcmac: time of a fit (Fig. 3)", LABELED, lines, y_name="processor seconds")]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan errors, objectives and times of all ways, over labels and over losses."""
    seeds = range(repeat)
    labels = [(way, USUAL, n, seed) for n in LABELED for way in WAYS for seed in seeds]
    losses = [
        (way, loss, LABELED[1], seed) for loss in TWO for way in (ONE, MOST) for seed in seeds
    ]
    title = "pcmac: Table 3, Fig. 3; Table 4 at 37 labels"
    return Plan(
        {"splits": repeat, "training": TRAINING_ROWS, "reg": REG},
        [
            Part(title, measure, labels, over_labels, times, timed=True),
            Part(f"every loss, {LABELED[1]} labels", measure, losses, over_losses, timed=True),
        ],
    )


def _row(
    n: int, way: str, found: dict[str, dict[str, float]], published: float | None
) -> dict[str, Any]:
    here, most = found[way], found[MOST]
    row: dict[str, Any] = {
        "labelled": n,
        "way": way,
        "error %": here["error"],
        "published": published,
        "objective": here["objective"],
        "rounds": here["rounds"],
        "seconds": here["seconds"],
        "of S = max": here["seconds"] / most["seconds"],
    }
    first = published is not None and n == LABELED[0]
    row["Table 4"] = PUBLISHED_SECONDS[way] / PUBLISHED_SECONDS[MOST] if first else None
    close = abs(here["error"] - most["error"]) <= CLOSE
    row["nearly identical"] = verdict(close) if way == ONE else None
    return row
