"""20 newsgroups with the hierarchy of the names of its groups, against no hierarchy.

100 labelled rows, 10,000 unlabelled ones, the rest for the test; true class counts. Fig. 2 of
Keerthi, Sundararajan and Shevade (2012) is Macro F over the number of labels with the hierarchy
and the paper's margin loss, in the draws of `papers.curves`; its other set, rcv-
mcat, is not at hand.
"""

from pathlib import Path
from typing import Any

from papers import curves
from papers.many import NEWS, Draw, draw, load_many
from papers.newsgroups import N_LABELED, N_UNLABELED
from papers.plans import Curve, Found, Part, Plan, draws, mean
from papers.table import verdict
from semisvm import NewtonSVC, TransductiveSVC

REPEAT = 4
LOSSES = ("squared_hinge", "log", "crammer_singer")
LARGEST_LOSS = 0.02
COLUMNS = ("supervised", "annealing")
GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)
"""Names of the classes, in the order of their numbers."""


def paths() -> list[tuple[Any, ...]]:
    """Return the path of every group: the beginnings of its name that other groups share.

    That makes three levels and, with the root, eight inner nodes.
    """
    pieces = [name.split(".") for name in GROUPS]
    prefixes = [[".".join(p[:k]) for k in range(1, len(p))] for p in pieces]
    users = {p: sum(p in other for other in prefixes) for own in prefixes for p in own}
    return [(*(p for p in own if users[p] > 1), k) for k, own in enumerate(prefixes)]


def measure(folder: Path, loss: str, flat: bool, seed: int) -> dict[str, float]:
    """Fit the supervised machine and Algorithm 1 to one draw."""
    rows = draw(*load_many(folder, NEWS), N_LABELED, N_UNLABELED, seed)
    shared: dict[str, Any] = {"loss": loss, "hierarchy": None if flat else paths()}
    return {
        "supervised": score(NewtonSVC(tol=1e-5, **shared), rows),
        "annealing": score(TransductiveSVC(class_prior=rows.prior, **shared), rows),
    }


def score(model: Any, rows: Draw) -> float:
    """Return Macro F over the groups."""
    return rows.macro_f(model.fit(rows.X, rows.labels).predict(rows.X_test))


def row(loss: str, found: Found) -> dict[str, Any]:
    """Compare the means with and without the hierarchy."""
    flat, deep = (
        {name: mean([run[name] for run in draws(found, loss, kind)]) for name in COLUMNS}
        for kind in (True, False)
    )
    difference = deep["annealing"] - flat["annealing"]
    return {
        "loss": loss,
        "supervised, flat": flat["supervised"],
        "hierarchy": deep["supervised"],
        "annealing, flat": flat["annealing"],
        "with hierarchy": deep["annealing"],
        "difference": round(difference, 4),
        ">= -0.02": verdict(difference >= -LARGEST_LOSS),
    }


def rows_of(found: Found) -> list[dict[str, Any]]:
    """Return a row for every loss."""
    return [row(loss, found) for loss in LOSSES]


def measure_curve(folder: Path, n_labeled: int, seed: int) -> dict[str, float]:
    """Return Macro F of the machines of Fig. 2 on one draw."""
    rows = curves.draw_of(folder, NEWS, n_labeled, 1.0, seed)
    return curves.scores(rows, n_labeled == curves.ALL, hierarchy=paths())


def label_rows(found: Found) -> list[dict[str, Any]]:
    """Return Fig. 2 as a table."""
    top = curves.level(draws(found, curves.ALL))
    return [
        {"labelled": n, **curves.row(draws(found, n)), curves.EVERYTHING: top}
        for n in curves.LABELED
    ]


def label_curve(found: Found) -> list[Curve]:
    """Return Fig. 2."""
    lines = curves.lines([draws(found, n) for n in curves.LABELED])
    levels = {curves.EVERYTHING: curves.level(draws(found, curves.ALL))}
    return [Curve(f"{NEWS}, hierarchy (Fig. 2)", curves.LABELED, lines, levels)]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan Macro F with and without the hierarchy, a row for each loss, and Fig. 2."""
    seeds = range(repeat)
    calls = [(loss, flat, seed) for loss in LOSSES for flat in (True, False) for seed in seeds]
    points = [(n, seed) for n in (*curves.LABELED, curves.ALL) for seed in seeds]
    title = f"Macro F over labelled rows with the hierarchy, {curves.LOSS} (Fig. 2)"
    return Plan(
        {"runs": repeat, "labelled": N_LABELED, "unlabelled": N_UNLABELED},
        [
            Part("mean Macro F on the test rows", measure, calls, rows_of),
            Part(title, measure_curve, points, label_rows, label_curve),
        ],
    )
