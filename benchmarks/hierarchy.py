"""20 newsgroups with the hierarchy of the names of its groups, against no hierarchy.

100 labelled rows, 10,000 unlabelled ones, the rest for the test; true class counts.
"""

from pathlib import Path
from typing import Any

import numpy as np

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.reproduce.many import NEWS, Draw, draw, in_parallel, load_many
from semisvm.reproduce.newsgroups import N_LABELED, N_UNLABELED
from semisvm.reproduce.table import Report, verdict

REPEAT = 4
LOSSES = ("squared_hinge", "log")
LARGEST_LOSS = 0.02
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


def measure(folder: Path, seed: int, loss: str, flat: bool) -> dict[str, float]:
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


def row(loss: str, runs: dict[bool, list[dict[str, float]]]) -> dict[str, Any]:
    """Compare the means with and without the hierarchy."""
    flat, deep = (
        {name: float(np.mean([run[name] for run in runs[kind]])) for name in runs[kind][0]}
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


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print Macro F of both, a row for each loss."""
    report = Report("hierarchy", runs=repeat, labelled=N_LABELED, unlabelled=N_UNLABELED)
    kinds = (True, False)
    calls = [(folder, s, loss, kind) for loss in LOSSES for kind in kinds for s in range(repeat)]
    results = in_parallel(measure, calls)
    rows = [
        row(loss, {kind: [next(results) for _ in range(repeat)] for kind in kinds})
        for loss in LOSSES
    ]
    report.table("mean Macro F on the test rows", rows)
    return report.result()
