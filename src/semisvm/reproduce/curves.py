"""Figs 3 and 4 of Keerthi, Sundararajan and Shevade (2012): Macro F over the number of rows.

The margin loss of the paper, true class counts, Macro F on test rows. Half of the rows are
unlabelled, 30 % for the test, labelled ones come from the rest; "all labels" is the supervised
machine that also knows the labels of the unlabelled rows, the dashed red line of the paper. The
paper's figures are drawings without numbers. Large sets are cut to 10,000 rows.
"""

from pathlib import Path
from typing import Any

import numpy as np

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.reproduce.many import NEWS, Draw, draw, in_parallel, load_many
from semisvm.reproduce.table import Report, verdict

REPEAT = 2
LOSS = "crammer_singer"
SETS = (NEWS, "la1", "webkb_tfidf", "ohscal", "r8_tfidf", "mnist", "usps")
LABELED = (40, 80, 160, 320)
FEW = 80
PARTS = (0.125, 0.25, 0.5, 1.0)
"""Of the unlabelled rows, for Fig. 3."""
MOST_ROWS = 10_000
SUPERVISED, OURS, EVERYTHING = "supervised", "semi-supervised", "all labels"


def draw_of(folder: Path, name: str, n_labeled: int, part: float, seed: int) -> Draw:
    """Draw the rows of one experiment, with a part of the unlabelled ones."""
    X, y = load_many(folder, name)
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    n_test = round(0.3 * len(y))
    return draw(X, y, n_labeled, round(0.5 * part * len(y)), seed, n_test)


def measure(
    folder: Path, name: str, n_labeled: int, part: float, seed: int, everything: bool
) -> dict[str, float]:
    """Return Macro F of the supervised and the semi-supervised machine on one draw."""
    rows = draw_of(folder, name, n_labeled, part, seed)
    ours = TransductiveSVC(loss=LOSS, class_prior=rows.prior)
    found = {
        SUPERVISED: _macro_f(NewtonSVC(loss=LOSS), rows, rows.labels),
        OURS: _macro_f(ours, rows, rows.labels),
    }
    if everything:
        found[EVERYTHING] = _macro_f(NewtonSVC(loss=LOSS), rows, rows.y)
    return found


def _macro_f(model: Any, rows: Draw, labels: Any) -> float:
    return rows.macro_f(model.fit(rows.X, labels).predict(rows.X_test))


def curve_of(
    name: str, column: str, values: tuple[Any, ...], runs: list[list[dict[str, float]]]
) -> list[dict[str, Any]]:
    """Average the draws of every point of a curve."""
    rows: list[dict[str, Any]] = []
    for value, draws in zip(values, runs, strict=True):
        mean = {
            m: float(np.mean([run[m] for run in draws if m in run])) for m in (SUPERVISED, OURS)
        }
        known = [run[EVERYTHING] for run in draws if EVERYTHING in run]
        rows.append({"set": name, column: value, **mean})
        rows[-1][EVERYTHING] = float(np.mean(known)) if known else None
        rows[-1]["above"] = verdict(mean[OURS] > mean[SUPERVISED])
    return rows


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print a curve for each set over the labels, and one over the unlabelled rows."""
    report = Report("curves", runs=repeat, loss=LOSS, most_rows=MOST_ROWS)
    names = [n for n in sets or SETS if (folder / n).is_dir()]
    calls = [
        (folder, name, n, 1.0, seed, n == LABELED[-1])
        for name in names
        for n in LABELED
        for seed in range(repeat)
    ]
    results = in_parallel(measure, calls)
    for name in names:
        runs = [[next(results) for _ in range(repeat)] for _ in LABELED]
        report.table(
            f"{name}: Macro F over labelled rows (Fig. 4)",
            curve_of(name, "labelled", LABELED, runs),
        )
    first = names[0]
    calls = [(folder, first, FEW, part, seed, False) for part in PARTS for seed in range(repeat)]
    results = in_parallel(measure, calls)
    runs = [[next(results) for _ in range(repeat)] for _ in PARTS]
    report.table(
        f"{first}: Macro F over the part of the unlabelled rows, {FEW} labels (Fig. 3)",
        curve_of(first, "part", PARTS, runs),
    )
    return report.result()
