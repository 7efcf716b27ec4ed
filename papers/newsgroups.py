"""Twenty classes: Macro F with and without annealing, over the regularisation and the loss.

100 labelled rows, at least one of each class, 10,000 unlabelled ones, the rest for the
test; true class counts. `papers.many` says what the columns are. What annealing costs
is `papers.manycost`.

The paper says neither how the labelled rows were drawn, nor whether there is an intercept, nor how
rows were scaled. The last two tables have the margin loss with labels drawn at random or as many of
every class, with and without an intercept; the second also has rows that are not of length one,
and the paper's lambda, if the folder has the texts (`20news`).
"""

import gzip
import json
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from papers.data import Ints, Matrix
from papers.many import (
    COLUMNS,
    NEWS,
    SUPERVISED_TOL,
    averaged,
    compare,
    draw,
    draw_evenly,
    draw_rows,
    load_many,
)
from papers.plans import Call, Found, Part, Plan, draws, mean
from papers.table import verdict
from semisvm import NewtonSVC
from semisvm.losses import LOSSES

REPEAT = 5
N_LABELED, N_UNLABELED = 100, 10_000
REGS = {
    "squared_hinge": (1e-4, 1e-3, 1e-2),
    "log": (1e-5, 1e-4, 1e-3),
    "crammer_singer": (1e-5, 1e-4, 1e-3),
}
BARS = {"squared_hinge": 0.70, "log": 0.69, "crammer_singer": 0.63}
ANNEALED_BAR = 0.72
# minutes a fit: thousands of rounds of dual ascent on soft labels, m variables a row
SLOW = {("crammer_singer", "DA")}
FEW_RUNS = 2
"""Runs away from the defaults, where the order of the columns is plain after two."""
PRINTED = 10.0
"""Lambda of the paper, whose objective is normalised and whose rows are not at hand."""
SUMMED = 1.0
READ, READ_METHODS = "squared_hinge", ("supervised", "counts", "no annealing", "annealing")

MARGIN = "crammer_singer"
PAPER = {"supervised": 0.4577, "no annealing": 0.5377, "annealing": 0.6253}
EVENLY, AT_RANDOM = "as many of each class", "at random"
RULES = {AT_RANDOM: draw_rows, EVENLY: draw_evenly}
UNIT, LONG = "length one", "as they are"
"""Scale of the tf-idf rows."""
TEXTS = "20news"
MARGIN_REGS = (1e-4, 1e-3, 1e-2)
AS_PRINTED = ((UNIT, 1e-4), (UNIT, 1e-3), (LONG, PRINTED))
"""Scales and lambdas of the table with all methods, labels drawn evenly and no intercept."""


def readings() -> list[tuple[str, float, float]]:
    """List what a printed lambda may mean: a name, ``reg`` and ``unlabeled_weight``."""
    per_row = N_UNLABELED / N_LABELED
    return [
        ("10, means over rows (as printed)", PRINTED, 1.0),
        ("10, sum over labelled rows", PRINTED / N_LABELED, 1.0),
        ("10, sums over all rows", PRINTED / N_LABELED, per_row),
        ("1, sums over all rows", SUMMED / N_LABELED, per_row),
    ]


def measure(
    folder: Path,
    loss: str,
    reg: float,
    methods: tuple[str, ...],
    unlabeled_weight: float,
    seed: int,
) -> dict[str, float]:
    """Fit the methods to one draw."""
    rows = draw(*load_many(folder, NEWS), N_LABELED, N_UNLABELED, seed)
    return compare(rows, methods, unlabeled_weight, loss=loss, reg=reg)


@lru_cache(maxsize=1)
def load_long(folder: Path) -> tuple[Matrix, Ints]:
    """Make tf-idf of the texts as `NEWS` has it, but leave the length of the rows alone."""
    with gzip.open(folder / TEXTS / f"{TEXTS}.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    words = TfidfVectorizer(
        sublinear_tf=True,
        min_df=2,
        stop_words="english",
        token_pattern="[a-zA-Z]{2,}",
        norm=None,
    )
    y = np.unique([row["label"] for row in found], return_inverse=True)[1].astype(np.intp)
    return words.fit_transform(subject_and_body(row["text"]) for row in found), y


def subject_and_body(text: str) -> str:
    """Leave out all header lines but the subject."""
    head, _, body = text.partition("\n\n")
    subjects = [line[8:] for line in head.split("\n") if line.lower().startswith("subject:")]
    return " ".join([*subjects, body])


def measure_supervised(folder: Path, drawn: str, intercept: bool, reg: float, seed: int) -> float:
    """Fit the supervised machine of the margin loss to one draw."""
    rows = draw(*load_many(folder, NEWS), N_LABELED, N_UNLABELED, seed, rule=RULES[drawn])
    X, y = rows.X[: rows.n_labeled], rows.y[: rows.n_labeled]
    model = NewtonSVC(reg, loss=MARGIN, fit_intercept=intercept, tol=SUPERVISED_TOL).fit(X, y)
    return rows.macro_f(model.predict(rows.X_test))


def supervised_rows(found: Found) -> list[dict[str, Any]]:
    """Return the supervised machine over draws, intercepts and lambdas, beside the paper's."""
    return [
        {
            "labels": drawn,
            "intercept": "yes" if intercept else "no",
            **{f"reg {r:g}": mean(draws(found, drawn, intercept, r)) for r in MARGIN_REGS},
            "paper": PAPER["supervised"],
        }
        for drawn in RULES
        for intercept in (True, False)
    ]


def measure_evenly(folder: Path, scale: str, reg: float, seed: int) -> dict[str, float]:
    """Fit all methods with the margin loss, labels drawn evenly and no intercept."""
    X, y = load_many(folder, NEWS) if scale == UNIT else load_long(folder)
    rows = draw(X, y, N_LABELED, N_UNLABELED, seed, rule=draw_evenly)
    return compare(rows, READ_METHODS, loss=MARGIN, reg=reg, fit_intercept=False)


def even_rows(settings: list[tuple[str, float]], found: Found) -> list[dict[str, Any]]:
    """Return the methods by the scale of the rows and lambda, and the paper's figures."""
    rows = []
    for scale, reg in settings:
        here = averaged(draws(found, scale, reg))
        rows.append({"rows": scale, "lambda": reg, **{m: here[m] for m in READ_METHODS}})
    published = {m: PAPER.get(m) for m in READ_METHODS}
    return [*rows, {"rows": "the paper", "lambda": PRINTED, **published}]


def methods_of(loss: str) -> tuple[str, ...]:
    """Leave out what takes minutes a fit."""
    return tuple(name for name in COLUMNS if (loss, name) not in SLOW)


def row(loss: str, reg: float, runs: int, mean: dict[str, float | None]) -> dict[str, Any]:
    """Judge the mean of the runs where the regularisation is the default of the loss."""
    judged = reg == LOSSES[loss].default_reg
    annealing, annealed = mean["annealing"] or 0.0, mean["DA"]
    return {
        "loss": loss,
        "reg": reg,
        "runs": runs,
        **mean,
        f"annealing >= {BARS[loss]}": verdict(annealing >= BARS[loss]) if judged else None,
        f"DA >= {ANNEALED_BAR}": verdict(annealed >= ANNEALED_BAR) if judged and annealed else None,
    }


def at_regs(title: str, settings: list[tuple[str, float]], runs: int) -> list[Part]:
    """Plan a table for each loss; a dash is a fit of more than a minute."""
    parts = []
    for loss in dict.fromkeys(loss for loss, _ in settings):
        regs = [reg for name, reg in settings if name == loss]
        calls = [(*reg_call(loss, reg), seed) for reg in regs for seed in range(runs)]
        parts.append(Part(f"{title}, {loss}", measure, calls, partial(rows_of, loss, regs, runs)))
    return parts


def reg_call(loss: str, reg: float) -> Call:
    """Return the call of a setting, without its seed."""
    return loss, reg, methods_of(loss), 1.0


def rows_of(loss: str, regs: list[float], runs: int, found: Found) -> list[dict[str, Any]]:
    """Return a row for every regularisation."""
    return [row(loss, r, runs, averaged(draws(found, *reg_call(loss, r)))) for r in regs]


def reading_call(reg: float, weight: float) -> Call:
    """Return the call of a reading, without its seed."""
    return READ, reg, READ_METHODS, weight


def over_readings(found: Found) -> list[dict[str, Any]]:
    """Return what a printed lambda gives, by what it may multiply."""
    rows = []
    for name, reg, weight in readings():
        found_mean = averaged(draws(found, *reading_call(reg, weight)))
        del found_mean["DA"]
        given = {"loss": READ, "lambda": name, "reg": reg, "unlabeled_weight": weight}
        rows.append({**given, **found_mean})
    return rows


def plan(folder: Path, repeat: int) -> Plan:
    """Plan mean Macro F over the runs, a row for each loss and regularisation."""
    defaults = [(loss, LOSSES[loss].default_reg) for loss in REGS]
    others = [(loss, reg) for loss, regs in REGS.items() for reg in regs]
    rest = [setting for setting in others if setting not in defaults]
    few = min(repeat, FEW_RUNS)
    calls = [(*reading_call(reg, w), seed) for _, reg, w in readings() for seed in range(few)]
    even = [s for s in AS_PRINTED if s[0] == UNIT or (folder / TEXTS).is_dir()]
    title = "mean Macro F on the test rows"
    return Plan(
        {"runs": repeat, "labelled": N_LABELED, "unlabelled": N_UNLABELED},
        [
            *at_regs(f"{title}, default reg", defaults, repeat),
            *at_regs(f"{title}, other reg", rest, few),
            Part("mean Macro F, readings of a printed lambda", measure, calls, over_readings),
            Part(
                "supervised Macro F, margin loss: labels and intercept",
                measure_supervised,
                [
                    (drawn, intercept, reg, seed)
                    for drawn in RULES
                    for intercept in (True, False)
                    for reg in MARGIN_REGS
                    for seed in range(repeat)
                ],
                supervised_rows,
            ),
            Part(
                "mean Macro F, margin loss, as many labels of each class, no intercept",
                measure_evenly,
                [(*setting, seed) for setting in even for seed in range(few)],
                partial(even_rows, even),
            ),
        ],
    )
