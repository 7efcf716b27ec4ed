"""Twenty classes: Macro F with and without annealing, over the regularisation and the loss.

100 labelled rows, at least one of each class, 10,000 unlabelled ones, the rest for the
test; true class counts. "counts" is the supervised model with the test rows assigned to
the true counts: part of every gain is the counts.
"""

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.data import UNLABELED, Ints, Matrix, load
from benchmarks.table import Report, verdict
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.labels import exact

REPEAT = 3
N_LABELED, N_UNLABELED = 100, 10_000
REGS = {"squared_hinge": (1e-4, 1e-3, 1e-2), "log": (1e-5, 1e-4, 1e-3)}
CHOSEN = {"squared_hinge": 1e-3, "log": 1e-4}
BARS = {"squared_hinge": 0.70, "log": 0.69}
ANNEALED_BAR = 0.72
COST_BAR = 8.0
N_JOBS = 2


def draw(y: Ints, seed: int) -> Ints:
    """Order the rows: labelled, unlabelled, test; every class has a labelled row."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if len(np.unique(y[order[:N_LABELED]])) == len(np.unique(y)):
            return order


def without_annealing(supervised: Any, **parameters: Any) -> Any:
    """Give a TSVM that starts at the final level from the supervised solution."""
    model = TransductiveSVC(warm_start=True, **parameters)
    for name in ("classes_", "coef_", "node_coef_", "node_intercept_"):
        setattr(model, name, getattr(supervised, name))
    return model


def measure(X: Matrix, y: Ints, order: Ints, loss: str, reg: float) -> dict[str, float]:
    """Fit all methods to one draw; Macro F on the test rows, and what annealing cost."""
    train, test = order[: N_LABELED + N_UNLABELED], order[N_LABELED + N_UNLABELED :]
    labels = np.where(np.arange(len(train)) < N_LABELED, y[train], UNLABELED)
    counts = np.bincount(y[train[N_LABELED:]])
    shared: dict[str, Any] = {"reg": reg, "loss": loss, "n_jobs": N_JOBS}
    told = shared | {"class_prior": counts / counts.sum()}

    def score(model: Any) -> float:
        return float(f1_score(y[test], model.predict(X[test]), average="macro"))

    supervised = NewtonSVC(tol=1e-5, **shared).fit(X[train], labels)
    assigned = exact(-supervised.decision_function(X[test]), np.bincount(y[test])).labels
    found = {
        "supervised": score(supervised),
        "counts": float(f1_score(y[test], assigned, average="macro")),
        "no annealing": score(without_annealing(supervised, **told).fit(X[train], labels)),
    }
    start = perf_counter()
    found["annealing"] = score(TransductiveSVC(**told).fit(X[train], labels))
    middle = perf_counter()
    NewtonSVC(tol=1e-5, **shared).fit(X[train], y[train])
    found["fits"] = (middle - start) / (perf_counter() - middle)
    found["DA"] = score(AnnealedSVC(**told).fit(X[train], labels))
    return found


def row(loss: str, reg: float, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Average the runs of one setting and judge those with the chosen regularisation."""
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    cost = mean.pop("fits")
    judged = CHOSEN[loss] == reg
    return {
        "loss": loss,
        "reg": reg,
        **mean,
        "annealing ok": verdict(mean["annealing"] >= BARS[loss]) if judged else None,
        "DA ok": verdict(mean["DA"] >= ANNEALED_BAR) if judged else None,
        "annealing / supervised fit": cost,
        "<= 8": verdict(cost <= COST_BAR) if judged else None,
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print mean Macro F over the runs, a row for each loss and regularisation."""
    X, y = load(folder, "20news_tfidf")
    report = Report("newsgroups", runs=repeat, labelled=N_LABELED, unlabelled=N_UNLABELED)
    orders = [draw(y, seed) for seed in range(repeat)]
    rows = [
        row(loss, reg, [measure(X, y, order, loss, reg) for order in orders])
        for loss, regs in REGS.items()
        for reg in regs
    ]
    report.table("mean Macro F on the test rows", rows)
    return report.result()
