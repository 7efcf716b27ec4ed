"""Label steps on their own: times, gaps to the optimum, and what they do to Macro F.

Big tables of costs are drawn at random; real ones are those of a supervised machine with
100 labels on 10,000 rows of 20 newsgroups.
"""

from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Floats, Ints
from papers.many import NEWS, SUPERVISED_TOL, Draw, draw, in_parallel, load_many
from papers.newsgroups import N_LABELED, N_UNLABELED
from papers.table import Report, verdict
from papers.timing import interleaved, seconds_of
from scipy import sparse
from scipy.optimize import linprog

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.label_steps import exact, switching
from semisvm.labels.partial import prior_counts
from semisvm.losses import LOSSES

REPEAT = 6
N_ROWS, N_CLASSES = 1_000_000, 20
COLD_BAR, WARM_BAR = 40.0, 10.0
# how far the costs move between the calls of a warm start, next to their spread of one
CHANGE = 0.02
COMPARED = ("squared_hinge", "crammer_singer")


def random_costs(seed: int) -> tuple[Floats, Floats, Ints]:
    """Draw costs, slightly different ones, and counts far from what the rows prefer."""
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(N_ROWS, N_CLASSES))
    after = before + CHANGE * rng.normal(size=before.shape)
    return after, before, prior_counts(rng.dirichlet(np.full(N_CLASSES, 5.0)), N_ROWS)


def big_row(seed: int, repeat: int) -> dict[str, Any]:
    """Time the exact step in units of the labels without counts."""
    costs, before, counts = random_costs(seed)
    prices = exact(before, counts).prices
    timings = interleaved(
        {
            "argmin": lambda: costs.argmin(axis=1),
            "cold": lambda: exact(costs, counts),
            "warm": lambda: exact(costs, counts, prices),
        },
        repeat,
    )
    cold, warm = timings.ratio("cold", "argmin"), timings.ratio("warm", "argmin")
    return {
        "seed": seed,
        "argmin, s": timings.median("argmin"),
        "cold / argmin": cold,
        "< 40": verdict(cold.median < COLD_BAR),
        "warm / argmin": warm,
        "< 10": verdict(warm.median < WARM_BAR),
    }


def real_costs(rows: Draw, loss: str) -> tuple[Floats, Floats, Ints]:
    """Return costs of the unlabelled rows, those of one label less, and the true counts."""
    hidden, labels = rows.X[rows.n_labeled :], rows.labels
    tables = []
    for known in (labels, np.where(np.arange(len(labels)) == 0, -1, labels)):
        model = NewtonSVC(loss=loss, tol=SUPERVISED_TOL).fit(rows.X, known)
        many = LOSSES[loss].many
        assert many is not None
        tables.append(many.costs(model.decision_function(hidden)))
    return tables[0], tables[1], np.bincount(rows.y[rows.n_labeled :])


def program_cost(costs: Floats, counts: Ints) -> float:
    """Solve the label step as a linear program."""
    n, m = costs.shape
    one_each = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    per_class = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    rows: Any = sparse.vstack([one_each, per_class], format="csr")
    sums = np.concatenate([np.ones(n), counts])
    found: Any = linprog(costs.ravel(), A_eq=rows, b_eq=sums, method="highs")
    return float(found.fun)


def real_row(rows: Draw, loss: str, repeat: int) -> dict[str, Any]:
    """Time both steps on real costs, and a linear program once."""
    costs, before, counts = real_costs(rows, loss)
    prices = exact(before, counts).prices
    timings = interleaved(
        {
            "cold": lambda: exact(costs, counts),
            "warm": lambda: exact(costs, counts, prices),
            "switching": lambda: switching(costs, counts),
        },
        repeat,
    )
    optimum, heuristic = timings.results["cold"], timings.results["switching"]
    program, found = seconds_of(lambda: program_cost(costs, counts))
    return {
        "loss": loss,
        "exact, ms": 1e3 * timings.median("cold"),
        "warm, ms": 1e3 * timings.median("warm"),
        "switching, ms": 1e3 * timings.median("switching"),
        "its loops": heuristic.n_loops,
        "its gap %": 100.0 * (heuristic.cost / optimum.cost - 1.0),
        "HiGHS, s": program,
        "same optimum": verdict(abs(found / optimum.cost - 1.0) < 1e-7),
    }


def measure(folder: Path, seed: int, loss: str, label_step: str) -> float:
    """Return Macro F of Algorithm 1 with a label step."""
    rows = draw(*load_many(folder, NEWS), N_LABELED, N_UNLABELED, seed)
    model = TransductiveSVC(loss=loss, label_step=label_step, class_prior=rows.prior)
    return rows.macro_f(model.fit(rows.X, rows.labels).predict(rows.X_test))


def paired_rows(folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Compare Macro F with both label steps in the same draws."""
    steps = ("exact", "switching")
    calls = [(folder, s, loss, step) for loss in COMPARED for step in steps for s in range(repeat)]
    results = in_parallel(measure, calls)
    rows = []
    for loss in COMPARED:
        exactly, heuristic = (np.array([next(results) for _ in range(repeat)]) for _ in steps)
        rows.append(
            {
                "loss": loss,
                "exact": float(exactly.mean()),
                "switching": float(heuristic.mean()),
                "exact is higher in": f"{np.count_nonzero(exactly > heuristic)}/{repeat}",
            }
        )
    return rows


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print times of random and real costs, and Macro F of paired runs."""
    report = Report("labelsteps", rounds=repeat, rows=N_ROWS, classes=N_CLASSES, change=CHANGE)
    report.table("exact step on random costs", [big_row(seed, repeat) for seed in (0, 1)])
    rows = draw(*load_many(folder, NEWS), N_LABELED, N_UNLABELED, seed=0)
    report.table(
        "10,000 rows of 20 newsgroups", [real_row(rows, loss, repeat) for loss in COMPARED]
    )
    report.table("mean Macro F of Algorithm 1", paired_rows(folder, repeat))
    return report.result()
