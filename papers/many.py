"""Experiments with many classes: draws of rows, the methods, Macro F on the test rows.

A draw has few labelled rows, at least one of each class (otherwise it is drawn anew),
unlabelled ones, and test rows. The methods know the true class counts of the unlabelled
rows. "counts" is the supervised model with the test rows assigned to their true counts:
part of every gain is the counts.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize

from papers.data import UNLABELED, Floats, Ints, Matrix, load_coded
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.label_steps import exact

NEWS = "20news_tfidf"
COUNTED = ("la1", "ohscal")
PROCESSES = 2
CUT = {"mnist": 10_000}
"""Large dense sets, and the rows at random that are used of them."""
SUPERVISED_TOL = 1e-5
COLUMNS = ("supervised", "counts", "no annealing", "annealing", "DA")
"""The methods, from the supervised machine to annealing."""


@dataclass(frozen=True)
class Draw:
    """Rows of one experiment.

    Attributes
    ----------
    X : matrix of shape (l + u, d)
        The labelled rows first.
    y : int array of shape (l + u,)
        The truth.
    n_labeled : int
    X_test, y_test : the rows that no method sees
    """

    X: Matrix
    y: Ints
    n_labeled: int
    X_test: Matrix
    y_test: Ints

    @property
    def labels(self) -> Ints:
        """What a method is given."""
        return np.where(np.arange(len(self.y)) < self.n_labeled, self.y, UNLABELED)

    @property
    def prior(self) -> Floats:
        """True shares of the classes among the unlabelled rows."""
        hidden = self.y[self.n_labeled :]
        return np.bincount(hidden, minlength=int(self.y.max()) + 1) / len(hidden)

    def macro_f(self, predicted: Ints) -> float:
        """Judge predictions of the test rows."""
        return float(f1_score(self.y_test, predicted, average="macro"))


@lru_cache(maxsize=2)
def load_many(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set with unit rows; counts of words become log-tf-idf; classes from 0 on."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return normalize(X), y.astype(np.intp)
    X, y = load_coded(folder, name)
    if name in CUT:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[: CUT[name]])
        X, y = X[rows], y[rows]
    if name in COUNTED:
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    return normalize(X.astype(np.float64)), y


def draw_rows(y: Ints, n_labeled: int, seed: int) -> Ints:
    """Order the rows at random; every class is among the first ``n_labeled``."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if len(np.unique(y[order[:n_labeled]])) == len(np.unique(y)):
            return order


def draw_evenly(y: Ints, n_labeled: int, seed: int) -> Ints:
    """Order the rows at random; the first ``n_labeled`` are as many of every class."""
    order, classes = np.random.default_rng(seed).permutation(len(y)), np.unique(y)
    each = n_labeled // len(classes)
    first = np.concatenate([order[y[order] == k][:each] for k in classes])
    return np.concatenate([first, order[~np.isin(order, first)]])


def draw(
    X: Matrix,
    y: Ints,
    n_labeled: int,
    n_unlabeled: int,
    seed: int,
    n_test: int | None = None,
    rule: Callable[[Ints, int, int], Ints] = draw_rows,
) -> Draw:
    """Draw labelled, unlabelled and test rows; all the rest is for the test unless told."""
    order = rule(y, n_labeled, seed)
    train, rest = np.split(order, [n_labeled + n_unlabeled])
    test = rest if n_test is None else rest[-n_test:]
    return Draw(X[train], y[train], n_labeled, X[test], y[test])


def without_annealing(supervised: Any, **parameters: Any) -> Any:
    """Return a TSVM that starts at the final level from the supervised solution."""
    model = TransductiveSVC(warm_start=True, **parameters)
    for name in ("classes_", "coef_", "intercept_", "node_coef_", "node_intercept_"):
        setattr(model, name, getattr(supervised, name))
    return model


def compare(
    rows: Draw, methods: Sequence[str], unlabeled_weight: float = 1.0, **shared: Any
) -> dict[str, float]:
    """Fit the listed methods of `COLUMNS` to one draw; give Macro F."""
    told = shared | {"class_prior": rows.prior, "unlabeled_weight": unlabeled_weight}
    supervised = NewtonSVC(tol=SUPERVISED_TOL, **shared).fit(rows.X, rows.labels)

    def of(model: Any) -> float:
        return rows.macro_f(model.fit(rows.X, rows.labels).predict(rows.X_test))

    def counts() -> float:
        wanted = np.bincount(rows.y_test, minlength=len(rows.prior))
        return rows.macro_f(exact(-supervised.decision_function(rows.X_test), wanted).labels)

    recipes: dict[str, Callable[[], float]] = {
        "supervised": lambda: rows.macro_f(supervised.predict(rows.X_test)),
        "counts": counts,
        "no annealing": lambda: of(without_annealing(supervised, **told)),
        "annealing": lambda: of(TransductiveSVC(**told)),
        "DA": lambda: of(AnnealedSVC(**told)),
    }
    return {name: recipes[name]() for name in methods}


def in_parallel(task: Callable[..., Any], calls: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Run a function in two processes; give its results in order, a dot for each."""
    pool = Parallel(n_jobs=PROCESSES, return_as="generator", pre_dispatch="all")
    for result in pool(delayed(task)(*call) for call in calls):
        print(".", end="", file=sys.stderr, flush=True)
        yield result


def averaged(runs: Sequence[dict[str, float]]) -> dict[str, float | None]:
    """Average draws, in the order of `COLUMNS`; None where a cell is missing."""
    return {c: float(np.mean([r[c] for r in runs])) if c in runs[0] else None for c in COLUMNS}
