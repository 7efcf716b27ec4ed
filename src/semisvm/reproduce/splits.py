"""Published splits with few labels: error on the unlabelled rows, beside the papers.

`text1_pcmac` (linear) and `g50c` (Gaussian kernel of half the median distance) with the
true class prior; `uspst` and `coil_ssl` (many classes, Gaussian kernel) with the labelled
fractions and with the true ones, because there the prior decides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from semisvm import (
    AnnealedSVC,
    GradientTSVC,
    LowDensitySeparation,
    NewtonSVC,
    TransductiveSVC,
)
from semisvm.reproduce.data import UNLABELED
from semisvm.reproduce.plans import Found, Part, Plan, draws, mean
from semisvm.reproduce.published import Problem, load_splits, median_distance
from semisvm.reproduce.table import verdict

REPEAT = 10
SPLITS = {"text1_pcmac": "lab_50", "g50c": "lab_50", "uspst": "lab_50", "coil_ssl": "lab_100"}
TITLES = {
    "text1_pcmac": "text",
    "g50c": "g50c",
    "uspst": "uspst (published 17.61 / 15.79)",
    "coil_ssl": "coil_ssl (published 13.6)",
}
BOTH_PRIORS = ("uspst", "coil_ssl")


def error(problem: Problem, k: int, make: Callable[..., Any], prior: bool) -> float:
    """Fit one split; give the share of wrong labels of unlabelled rows."""
    told = problem.labels(k)
    more = {"class_prior": problem.prior(k)} if prior else {}
    model = make(**more).fit(problem.X, told)
    free = told == UNLABELED
    return float(np.mean(model.transduction_[free] != problem.y[free]))


@dataclass(frozen=True)
class Entry:
    """A row of the table: a method, its figure in the papers, and the bar."""

    method: str
    make: Callable[..., Any]
    paper: float | None = None
    bar: float | None = None
    semi: bool = True


def of_kind(kind: type, reg: float, **fixed: Any) -> Callable[..., Any]:
    """Make estimators with some parameters fixed."""
    return lambda **more: kind(reg, **fixed, **more)


def text_entries() -> list[Entry]:
    """List the methods on sparse text."""
    return [
        Entry("supervised", of_kind(NewtonSVC, 1e-3), 18.9, 19.2, semi=False),
        Entry("TransductiveSVC", of_kind(TransductiveSVC, 1e-2), 7.44, 8.0),
        Entry("AnnealedSVC", of_kind(AnnealedSVC, 1e-3), 5.3, 5.7),
        Entry("GradientTSVC", of_kind(GradientTSVC, 1e-2), 5.71, 6.4),
        Entry("LowDensitySeparation", of_kind(LowDensitySeparation, 1e-2), 5.13, 6.0),
    ]


def kernel_entries(width: float, reg: float, bars: bool) -> list[Entry]:
    """List the methods with a Gaussian kernel."""
    shared = {"kernel": "rbf", "gamma": 0.5 / width**2}

    def entry(kind: type, paper: float, bar: float) -> Entry:
        make = of_kind(kind, reg, **shared)
        return Entry(kind.__name__, make, paper, bar) if bars else Entry(kind.__name__, make)

    return [
        Entry("supervised", of_kind(NewtonSVC, reg, **shared), semi=False),
        entry(TransductiveSVC, 6.87, 7.2),
        entry(AnnealedSVC, 5.28, 6.0),
        entry(GradientTSVC, 5.80, 6.2),
        Entry(
            "LowDensitySeparation",
            of_kind(LowDensitySeparation, 1e-2),
            *((5.62, 6.4) if bars else ()),
        ),
    ]


def entries(name: str, width: float) -> list[Entry]:
    """List the methods on a set, with a Gaussian kernel of the width if they have one."""
    if name == "text1_pcmac":
        return text_entries()
    judged = name == "g50c"
    return kernel_entries(width, 1e-2 if judged else 1e-3, bars=judged)


def measure(folder: Path, name: str, method: str, prior: bool, split: int) -> float:
    """Return the share of wrong labels of a method on one split."""
    key = SPLITS[name]
    width = 1.0 if name == "text1_pcmac" else median_distance(folder, name, key) / 2
    (entry,) = (e for e in entries(name, width) if e.method == method)
    return error(load_splits(folder, name, key), split, entry.make, prior)


def row(name: str, entry: Entry, prior: bool, errors: list[float]) -> dict[str, Any]:
    """Average the errors of a method over the splits."""
    here = 100.0 * mean(errors)
    return {
        "set": name,
        "prior": "-" if not entry.semi else "true" if prior else "labelled",
        "method": entry.method,
        "splits": len(errors),
        "error %": here,
        "paper": entry.paper,
        "bar": entry.bar,
        "ok": None if entry.bar is None else verdict(here <= entry.bar),
    }


def priors(name: str, entry: Entry) -> tuple[bool, ...]:
    """List whether a method is told the true class prior, once or in both ways."""
    if not entry.semi:
        return (False,)
    return (False, True) if name in BOTH_PRIORS else (True,)


def rows_of(name: str, found: Found) -> list[dict[str, Any]]:
    """Return the rows of a set."""
    return [
        row(name, entry, prior, draws(found, name, entry.method, prior))
        for entry in entries(name, 1.0)
        for prior in priors(name, entry)
    ]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table for each set."""
    parts = []
    for name, key in SPLITS.items():
        splits = range(min(repeat, len(load_splits(folder, name, key).splits)))
        calls = [
            (name, entry.method, prior, split)
            for entry in entries(name, 1.0)
            for prior in priors(name, entry)
            for split in splits
        ]
        parts.append(Part(TITLES[name], measure, calls, partial(rows_of, name)))
    return Plan({"splits": repeat}, parts)
