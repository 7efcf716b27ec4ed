"""The table of real-world sets of Sindhwani, Keerthi and Chapelle (ICML 2006), for those at hand.

"Unlab" are errors on the unlabelled rows that a method saw, "Test" on rows that it did not: the
rows without label are halved. As in the paper lambda' = 1, and lambda and the width of the kernel
are optimised for each method, by the error on the unlabelled rows itself. PCMAC is linear here,
COIL6 has a Gaussian kernel; the draws are the published ones of these sets, since the paper's own
are not known. The class shares are the true ones. ESET2 is not public, and which digits USPS2
are the paper does not say.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from semisvm import AnnealedSVC, GradientTSVC, NewtonSVC, TransductiveSVC
from semisvm.reproduce.data import UNLABELED
from semisvm.reproduce.plans import Found, Part, Plan, draws
from semisvm.reproduce.published import Problem, load_splits, median_distance

REPEAT = 10
REGS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
WIDTHS = (0.25, 0.5, 1.0)
"""Of the Gaussian kernel, in units of the median distance of two rows."""
PLACES = {"PCMAC": ("text1_pcmac", "lab_50"), "COIL6": ("coil_ssl", "lab_100")}
KERNEL = "COIL6"
METHODS: dict[str, Callable[..., Any]] = {
    "SVM": NewtonSVC,
    "JTSVM": lambda reg, **more: TransductiveSVC(reg, max_switches=1, max_iter=20_000, **more),
    "TSVM, all switches": TransductiveSVC,
    "gradient TSVM": GradientTSVC,
    "DA (l2)": AnnealedSVC,
    "DA (sqr)": lambda reg, **more: AnnealedSVC(reg, loss="squared", **more),
}
PUBLISHED = {
    "PCMAC": {
        "SVM": (18.9, 17.9),
        "JTSVM": (10.4, 7.0),
        "gradient TSVM": (5.4, 4.5),
        "DA (l2)": (5.3, 4.8),
        "DA (sqr)": (5.4, 4.7),
    },
    "COIL6": {
        "SVM": (21.5, 21.9),
        "JTSVM": (19.9, 21.2),
        "gradient TSVM": (21.4, 21.6),
        "DA (l2)": (13.6, 15.0),
        "DA (sqr)": (13.8, 15.2),
    },
}


@dataclass(frozen=True)
class Halved:
    """A split: the rows that a method sees, with few labels, and those that it does not."""

    seen: Any
    labels: Any
    unseen: Any

    @classmethod
    def of(cls, problem: Problem, k: int) -> "Halved":
        """Halve the rows of split k that have no label, at random."""
        told = problem.labels(k)
        free = np.random.default_rng(k).permutation(np.flatnonzero(told == UNLABELED))
        unseen = np.sort(free[: len(free) // 2])
        seen = np.setdiff1d(np.arange(len(told)), unseen)
        return cls(seen, told[seen], unseen)


def settings(name: str) -> Iterator[tuple[float, float]]:
    """List the values of lambda and the widths to choose from; zero is no kernel."""
    for reg in REGS:
        yield from ((reg, width) for width in (WIDTHS if name == KERNEL else (0.0,)))


def measure(
    folder: Path, name: str, method: str, reg: float, width: float, split: int
) -> tuple[float, float]:
    """Return the errors on the unlabelled and on the unseen rows, in per cent."""
    problem = load_splits(folder, *PLACES[name])
    halved, make = Halved.of(problem, split), METHODS[method]
    free = halved.labels == UNLABELED
    truth = problem.y[halved.seen][free]
    told: dict[str, Any] = {}
    if width:
        sigma = width * median_distance(folder, *PLACES[name])
        told = {"kernel": "rbf", "gamma": 0.5 / sigma**2}
    if make is not NewtonSVC:
        told["class_prior"] = np.bincount(truth, minlength=int(problem.y.max()) + 1) / len(truth)
    model = make(reg=reg, **told).fit(problem.X[halved.seen], halved.labels)
    wrong = model.predict(problem.X[halved.unseen]) != problem.y[halved.unseen]
    missed = model.transduction_[free] != truth
    return 100.0 * float(np.mean(missed)), 100.0 * float(np.mean(wrong))


def row(name: str, method: str, found: Found) -> dict[str, Any]:
    """Optimise the parameters of a method, and put its errors beside the published ones."""
    means = {
        setting: np.mean(draws(found, name, method, *setting), axis=0).tolist()
        for setting in settings(name)
    }
    best = min(means, key=lambda setting: means[setting][0])
    published = PUBLISHED[name].get(method, (None, None))
    unlabelled, test = means[best]
    return {
        "method": method,
        "unlab %": unlabelled,
        "paper": published[0],
        "test %": test,
        "paper, test": published[1],
        "reg": best[0],
        "width": best[1] or None,
    }


def rows_of(name: str, found: Found) -> list[dict[str, Any]]:
    """Return a row for every method."""
    return [row(name, method, found) for method in METHODS]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table for each set."""
    parts = []
    for name, place in PLACES.items():
        splits = range(min(repeat, len(load_splits(folder, *place).splits)))
        calls = [
            (name, m, *setting, k) for m in METHODS for setting in settings(name) for k in splits
        ]
        parts.append(Part(name, measure, calls, partial(rows_of, name)))
    return Plan({"splits": repeat, "unlabeled_weight": 1.0}, parts)
