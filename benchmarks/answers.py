"""What it brings that steps of the weights know how the labels will answer.

Annealing with and without it (weights and beliefs in turns), the last rounds of the
transductive machine with and without it, and how often the start of the path of annealing
beats its end. Switched off is one thing at a time, in the same code.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import (
    UNLABELED,
    Floats,
    Ints,
    hide,
    load,
    load_coded,
    random_rows,
    rows_of_each_class,
)
from papers.ssl_book import load_book
from papers.table import Report
from papers.timing import seconds_of

from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.methods.annealing import NOT_ANNEALED

REPEAT = 4
N_LABELED = 46
REG = 1e-3
LABELED_PER_CLASS = 50
COMP = (1, 2, 3, 4, 5)
BOOK = ("g241c", "digit1", "usps_ssl", "text_ssl")


@dataclass(frozen=True)
class Problem:
    """Data with hidden labels, the true shares, and the kernel."""

    name: str
    X: Any
    y: Ints
    labels: Ints
    prior: Floats | None
    kernel: dict[str, Any]


def texts(folder: Path, repeat: int) -> Iterator[Problem]:
    """Draw labels of two-class tasks made of sets of text."""
    for name, X, y in text_tasks(folder):
        for seed in range(repeat):
            drawn = hide(X, y, random_rows(y, N_LABELED, seed))
            yield Problem(name, X, drawn.y, drawn.labels, drawn.prior, {})


def text_tasks(folder: Path) -> Iterator[tuple[str, Any, Ints]]:
    """List two-class tasks: halves of the groups, and single classes against the rest."""
    X, y = load(folder, "lasvm_reuters")
    yield "reuters", X, (y == 1).astype(np.intp)
    yield "pcmac", *load_coded(folder, "text1_pcmac")
    X, y = load(folder, "20news_tfidf")
    yield "20news halves", X, (y >= 10).astype(np.intp)
    yield "20news comp", X, np.isin(y, COMP).astype(np.intp)
    for name, n_classes in (("r8", 3), ("webkb", 4)):
        X, y = load(folder, f"{name}_tfidf")
        for k, label in enumerate(np.unique(y)[:n_classes]):
            yield f"{name} class {k}", X, (y == label).astype(np.intp)


def books(folder: Path, repeat: int) -> Iterator[Problem]:
    """Take splits of the sets of the SSL book, with both kernels."""
    for name in BOOK:
        book = load_book(folder, name)
        gaussian = {"kernel": "rbf", "gamma": 0.5 / book.width**2}
        for n, kernel in ((10, {}), (10, gaussian), (100, gaussian)):
            title = f"{name} {n} {'rbf' if kernel else 'linear'}"
            for split in range(repeat):
                p = book.problem(n, split)
                yield Problem(title, p.X, np.asarray(p.y), p.labels, p.prior, kernel)


def reviews(folder: Path, repeat: int) -> Iterator[Problem]:
    """Draw labels of many rows."""
    X, y = load(folder, "imdb_tfidf")
    y[y == 2] = UNLABELED
    for seed in range(repeat):
        drawn = hide(X, y, rows_of_each_class(y, LABELED_PER_CLASS, seed))
        yield Problem("imdb", X, drawn.y, drawn.labels, drawn.prior, {})


def fit(kind: type, problem: Problem) -> tuple[float, Any]:
    """Fit a machine; give the seconds too."""
    model = kind(REG, class_prior=problem.prior, n_jobs=2, **problem.kernel)
    return seconds_of(lambda: model.fit(problem.X, problem.labels))


def figures(kind: type, problem: Problem) -> list[float]:
    """Return objective, accuracy, steps of conjugate gradients, rounds and seconds of a fit."""
    seconds, model = fit(kind, problem)
    free = (problem.labels == UNLABELED) & (problem.y != UNLABELED)
    accuracy = float(np.mean(model.transduction_[free] == problem.y[free]))
    steps = float(np.nansum(model.trace_["cg_steps"]))
    return [model.objective_, 100.0 * accuracy, steps, model.n_iter_, seconds]


def compared(kind: type, problems: Iterator[Problem], off: Callable[[], Any]) -> list[Any]:
    """Compare fits as they are with fits without the device, means by problem."""
    found: dict[str, list[list[list[float]]]] = {}
    for problem in problems:
        if not found:
            figures(kind, problem)
        with off():
            without = figures(kind, problem)
        found.setdefault(problem.name, []).append([without, figures(kind, problem)])
    return [row(name, np.array(values)) for name, values in found.items()]


def row(name: str, values: Floats) -> dict[str, Any]:
    """Write the means of one problem; values are (draws, without and with, figures)."""
    without, found = values[:, 0], values[:, 1]
    ratio = found / without
    return {
        "problem": name,
        "draws": len(values),
        "objective %": 100.0 * (float(ratio[:, 0].mean()) - 1.0),
        "lowest %": 100.0 * (float(ratio[:, 0].min()) - 1.0),
        "highest %": 100.0 * (float(ratio[:, 0].max()) - 1.0),
        "accuracy without %": float(without[:, 1].mean()),
        "with %": float(found[:, 1].mean()),
        "cg steps": float(ratio[:, 2].mean()),
        "rounds": float(ratio[:, 3].mean()),
        "seconds": float(np.median(ratio[:, 4])),
    }


def in_turns() -> Any:
    """Let annealing hold its beliefs while the weights move."""
    assert SQUARED_HINGE.two is not None
    held = replace(SQUARED_HINGE, two=replace(SQUARED_HINGE.two, gap_slopes=None))
    return patch.dict(LOSSES, {SQUARED_HINGE.name: held})


def plain_rounds() -> Any:
    """Let the transductive machine never count on an answer."""
    return patch("semisvm.methods.transductive.SLOW", np.inf)


def starts(problems: Iterator[Problem]) -> list[dict[str, Any]]:
    """Count how often the settled start beats the end of the path, whatever the prior."""
    won: dict[str, list[bool]] = {}
    shares: dict[str, float] = {}
    with patch("semisvm.methods.annealing.RARE", 1.0):
        for problem in problems:
            _, model = fit(AnnealedSVC, problem)
            won.setdefault(problem.name, []).append(NOT_ANNEALED in model.trace_.notes)
            shares[problem.name] = 100.0 * float(min(model.class_prior_))
    return [
        {"problem": name, "rarer class %": shares[name], "draws": len(w), "start won": sum(w)}
        for name, w in won.items()
    ]


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the three comparisons."""
    report = Report("answers", draws=repeat, labelled=N_LABELED, reg=REG, n_jobs=2)
    for title, problems in (("texts", texts), ("SSL book", books), ("many rows", reviews)):
        rows = compared(AnnealedSVC, problems(folder, repeat), in_turns)
        report.table(f"annealing against turns of weights and beliefs: {title}", rows)
    for title, problems in (("texts", texts), ("many rows", reviews)):
        rows = compared(TransductiveSVC, problems(folder, repeat), plain_rounds)
        report.table(f"the last rounds of TSVM, against plain ones: {title}", rows)
    rows = starts(texts(folder, 2 * repeat)) + starts(books(folder, repeat))
    report.table("the start of the path, settled", rows)
    return report.result()
