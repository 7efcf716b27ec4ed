"""Six sets: Macro F of supervised and semi-supervised machines at the default settings.

80 labelled rows, at least one of each class, half of the rows unlabelled, 30 % for the
test, the rest unused; true class counts. Counts of words become log-tf-idf; all rows have
length one; mnist is cut to 10,000 rows. `papers.many` says what the columns are.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.many import COLUMNS, Draw, compare, draw, load_many
from papers.plans import Found, Part, Plan, draws, standard_error
from papers.table import verdict

REPEAT = 10
SETS = ("webkb_tfidf", "r8_tfidf", "ohscal", "la1", "usps", "mnist")
LOSSES = ("squared_hinge", "log", "crammer_singer")
N_LABELED = 80
SEMI_SUPERVISED = ("annealing", "DA")
# dual ascent on soft labels takes minutes a fit
SLOW = {("crammer_singer", "DA")}


def draw_of(folder: Path, name: str, seed: int) -> Draw:
    """Draw the rows of one experiment."""
    X, y = load_many(folder, name)
    n_unlabeled, n_test = round(0.5 * len(y)), round(0.3 * len(y))
    return draw(X, y, N_LABELED, n_unlabeled, seed, n_test)


def measure(folder: Path, name: str, loss: str, seed: int) -> dict[str, float]:
    """Fit the methods to one draw."""
    methods = [m for m in COLUMNS if m != "no annealing" and (loss, m) not in SLOW]
    return compare(draw_of(folder, name, seed), methods, loss=loss)


def row(name: str, loss: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Average the runs, and count those in which Algorithm 1 is above the supervised fit."""
    mean = {m: float(np.mean([r[m] for r in runs])) for m in runs[0]}
    gains = [r["annealing"] - r["supervised"] for r in runs]
    return {
        "set": name,
        "loss": loss,
        **{m: mean.get(m) for m in ("supervised", "counts", *SEMI_SUPERVISED)},
        "s.e. of gain": standard_error(gains),
        "runs with gain": f"{sum(g > 0 for g in gains)}/{len(gains)}",
        **{f"{m} ok": judged(mean, m) for m in SEMI_SUPERVISED},
    }


def judged(mean: dict[str, float], method: str) -> str | None:
    """Ask for more than the supervised fit reaches."""
    return verdict(mean[method] > mean["supervised"]) if method in mean else None


def rows_of(loss: str, found: Found) -> list[dict[str, Any]]:
    """Return a row for every set."""
    return [row(name, loss, draws(found, name, loss)) for name in SETS]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table for each loss; a dash is a fit of minutes."""
    parts = [
        Part(
            f"mean Macro F on the test rows, {loss}",
            measure,
            [(name, loss, seed) for name in SETS for seed in range(repeat)],
            partial(rows_of, loss),
        )
        for loss in LOSSES
    ]
    return Plan({"runs": repeat, "labelled": N_LABELED}, parts)
