"""Figs 3 and 4 of Keerthi, Sundararajan and Shevade (2012): Macro F over the number of rows.

The margin loss of the paper, true class counts, Macro F on test rows. Half of the rows are
unlabelled, 30 % for the test, labelled ones come from the rest; "all labels" is the supervised
machine that also knows the labels of the unlabelled rows, the dashed red line of the paper. The
paper's figures are drawings without numbers. Of mnist 10,000 rows are used. Fig. 2, the same with a
hierarchy, is `papers.hierarchy`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from papers.many import NEWS, Draw, draw, load_many
from papers.plans import Call, Curve, Found, Part, Plan, draws, mean, standard_error
from papers.table import verdict
from semisvm import NewtonSVC, TransductiveSVC

REPEAT = 3
LOSS = "crammer_singer"
SETS = (NEWS, "la1", "webkb_tfidf", "ohscal", "r8_tfidf", "mnist", "usps")
LABELED = (40, 80, 160, 320, 640)
ALL = 0
"""In place of a number of labels: the labels of the unlabelled rows are known too."""
FEW = 80
PARTS = (0.0625, 0.125, 0.25, 0.5, 1.0)
"""Of the unlabelled rows, for Fig. 3."""
SUPERVISED, OURS, EVERYTHING = "supervised", "semi-supervised", "all labels"


def draw_of(folder: Path, name: str, n_labeled: int, part: float, seed: int) -> Draw:
    """Draw the rows of one experiment, with a part of the unlabelled ones."""
    X, y = load_many(folder, name)
    n_test = round(0.3 * len(y))
    return draw(X, y, n_labeled or LABELED[-1], round(0.5 * part * len(y)), seed, n_test)


def measure(folder: Path, name: str, n_labeled: int, part: float, seed: int) -> dict[str, float]:
    """Return Macro F of the supervised and the semi-supervised machine on one draw."""
    return scores(draw_of(folder, name, n_labeled, part, seed), n_labeled == ALL)


def scores(rows: Draw, everything: bool, **shared: Any) -> dict[str, float]:
    """Return Macro F of both machines, or of the one that knows all labels."""
    supervised = NewtonSVC(loss=LOSS, **shared)
    if everything:
        return {EVERYTHING: _macro_f(supervised, rows, rows.y)}
    ours = TransductiveSVC(loss=LOSS, class_prior=rows.prior, **shared)
    return {
        SUPERVISED: _macro_f(supervised, rows, rows.labels),
        OURS: _macro_f(ours, rows, rows.labels),
    }


def _macro_f(model: Any, rows: Draw, labels: Any) -> float:
    return rows.macro_f(model.fit(rows.X, labels).predict(rows.X_test))


def row(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Average the draws of a point of a curve."""
    gains = [run[OURS] - run[SUPERVISED] for run in runs]
    return {
        SUPERVISED: mean([run[SUPERVISED] for run in runs]),
        OURS: mean([run[OURS] for run in runs]),
        "gain": mean(gains),
        "s.e. of gain": standard_error(gains),
        "above": verdict(mean(gains) > 0.0),
    }


def level(runs: list[dict[str, float]]) -> float:
    """Return the mean of the machine that knows all labels."""
    return mean([run[EVERYTHING] for run in runs])


def lines(points: Sequence[list[dict[str, float]]]) -> dict[str, list[list[float]]]:
    """Return the draws of both lines, at every point."""
    return {name: [[run[name] for run in runs] for runs in points] for name in (SUPERVISED, OURS)}


def label_rows(name: str, found: Found) -> list[dict[str, Any]]:
    """Return the rows of a set, one for each number of labels."""
    top = level(draws(found, name, ALL, 1.0))
    return [
        {"set": name, "labelled": n, **row(draws(found, name, n, 1.0)), EVERYTHING: top}
        for n in LABELED
    ]


def label_curve(name: str, found: Found) -> list[Curve]:
    """Return the panel of a set."""
    points = [draws(found, name, n, 1.0) for n in LABELED]
    levels = {EVERYTHING: level(draws(found, name, ALL, 1.0))}
    return [Curve(f"{name} (Fig. 4)", LABELED, lines(points), levels)]


def part_rows(name: str, n_unlabeled: Sequence[int], found: Found) -> list[dict[str, Any]]:
    """Return the rows of Fig. 3."""
    return [
        {"set": name, "unlabelled": n, **row(draws(found, name, FEW, part))}
        for part, n in zip(PARTS, n_unlabeled, strict=True)
    ]


def part_curve(name: str, n_unlabeled: Sequence[int], found: Found) -> list[Curve]:
    """Return the panel of Fig. 3."""
    points = [draws(found, name, FEW, part) for part in PARTS]
    title = f"{name}, {FEW} labels (Fig. 3)"
    return [Curve(title, n_unlabeled, lines(points), x_name="unlabelled rows")]


def over_parts(folder: Path, name: str, repeat: int) -> Part:
    """Plan Fig. 3."""
    n_unlabeled = [round(0.5 * part * len(load_many(folder, name)[1])) for part in PARTS]
    calls: list[Call] = [(name, FEW, part, seed) for part in PARTS for seed in range(repeat)]
    return Part(
        f"{name}: Macro F over the unlabelled rows, {FEW} labels (Fig. 3)",
        measure,
        calls,
        partial(part_rows, name, n_unlabeled),
        partial(part_curve, name, n_unlabeled),
    )


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a curve for each set over the labels, and one over the unlabelled rows."""
    names = [name for name in SETS if (folder / name).is_dir()] or [SETS[0]]
    parts = [
        Part(
            f"{name}: Macro F over labelled rows (Fig. 4)",
            measure,
            [(name, n, 1.0, seed) for n in (*LABELED, ALL) for seed in range(repeat)],
            partial(label_rows, name),
            partial(label_curve, name),
        )
        for name in names
    ]
    return Plan({"runs": repeat, "loss": LOSS}, [over_parts(folder, names[0], repeat), *parts])
