"""Paths that begin on a sample of the unlabelled rows, against paths on all rows at every level.

Rows are drawn from a set, with replacement where there are fewer of them; others take no part and
judge the accuracy. Both fits of a draw are made in the same run, one after the other: passes over
all rows, seconds of the processor, the objective and the accuracy. A yardstick is the supervised
machine of scikit-learn that is given all labels (two classes, one thread).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import PartlyLabeled, hide, load, rows_of_each_class
from papers.methods import METHODS, REG, SEMI_SUPERVISED, UNLABELED_WEIGHT
from papers.table import Report, verdict
from papers.timing import Spread
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

REPEAT = 3
N_NEW = 4_000
OBJECTIVE_BAR, ACCURACY_BAR = 0.1, -0.1
# name -> set, which class a label is, rows, labels of each class
SETS: dict[str, tuple[str, Callable[[Any], Any], int, int]] = {
    "imdb": ("imdb_tfidf", lambda y: y, 200_000, 50),
    "mnist odd": ("mnist", lambda y: y % 2, 60_000, 50),
    "20news two": ("20news_tfidf", lambda y: y >= 10, 100_000, 50),
    "ohscal two": ("ohscal", lambda y: y >= 5, 60_000, 50),
    "mnist": ("mnist", lambda y: y, 60_000, 20),
    "20news": ("20news_tfidf", lambda y: y, 100_000, 20),
    "ohscal": ("ohscal", lambda y: y, 60_000, 20),
}


@contextmanager
def whole_path() -> Iterator[None]:
    """Take all rows at every level for a while."""
    with patch("semisvm.methods.sample_sizes.WHOLE_BELOW", np.inf):
        yield


def draw(folder: Path, name: str, seed: int, n_rows: int | None) -> tuple[PartlyLabeled, Any, Any]:
    """Draw a problem, and rows that take no part in it."""
    place, class_of, size, n_labels = SETS[name]
    size = size if n_rows is None else n_rows
    X, y = load(folder, place)
    if name == "imdb":
        # without those of which nobody knows the class
        X, y = X[y != 2], y[y != 2]
    y = np.unique(class_of(y), return_inverse=True)[1]
    random = np.random.default_rng(seed)
    new, *others = np.split(random.permutation(len(y)), [min(N_NEW, len(y) // 5)])
    rows = random.choice(others[0], size, replace=size > len(others[0]))
    if place == "ohscal":
        # counts of words
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    if isinstance(X, np.ndarray):
        X = X / np.sqrt(np.mean(np.einsum("ij,ij->i", X, X, dtype=np.float64)))
    problem = hide(X[rows], y[rows], rows_of_each_class(y[rows], n_labels, seed))
    return problem, X[new], y[new]


def shares(problem: PartlyLabeled) -> Any:
    """Return the true shares of the classes among the unlabelled rows."""
    return np.bincount(problem.y[problem.unlabeled]) / len(problem.unlabeled)


def fitted(name: str, problem: PartlyLabeled) -> tuple[Any, float]:
    """Fit with one thread; return the model and the seconds of the processor."""
    model = METHODS[name](
        reg=REG, class_prior=shares(problem), unlabeled_weight=UNLABELED_WEIGHT, n_jobs=1
    )
    start = process_time()
    model.fit(problem.X, problem.labels)
    return model, process_time() - start


def yardstick(problem: PartlyLabeled) -> float:
    """Return the seconds of a supervised fit with all labels."""
    machine = LinearSVC(C=1.0 / (REG * len(problem.y)), dual=False, tol=1e-4)
    with threadpool_limits(1):
        start = process_time()
        machine.fit(problem.X, problem.y)
        return process_time() - start


def compared(name: str, problem: PartlyLabeled, X: Any, y: Any) -> dict[str, float]:
    """Fit both ways."""
    with whole_path():
        whole, seconds = fitted(name, problem)
    model, ours = fitted(name, problem)
    each = yardstick(problem) if problem.y.max() == 1 else np.nan
    return {
        "passes, whole": float(whole.trace_["passes"][-1]),
        "passes": float(model.trace_["passes"][-1]),
        "seconds, whole": seconds,
        "seconds / whole": ours / seconds,
        "objective, %": 100.0 * (model.objective_ / whole.objective_ - 1.0),
        "accuracy, points": 100.0 * (model.score(X, y) - whole.score(X, y)),
        "yardsticks, whole": seconds / each,
        "yardsticks": ours / each,
    }


def row(name: str, method: str, draws: list[dict[str, float]]) -> dict[str, Any]:
    """Summarise the draws; objective and accuracy are means, since single valleys differ."""
    means = {key: float(np.mean([one[key] for one in draws])) for key in draws[0]}
    objective, accuracy = means.pop("objective, %"), means.pop("accuracy, points")
    spread = {key: Spread.of(one[key] for one in draws) for key in means}
    fine = objective <= OBJECTIVE_BAR and accuracy >= ACCURACY_BAR
    judged = {"objective, mean %": objective, "accuracy, mean points": accuracy}
    return {"set": name, "method": method, **spread, **judged, "bar": verdict(fine)}


def run(
    folder: Path,
    repeat: int,
    n_rows: int | None = None,
    sets: list[str] | None = None,
    methods: list[str] | None = None,
) -> dict[str, Any]:
    """Print both ways side by side."""
    report = Report("samples", reg=REG, unlabeled_weight=UNLABELED_WEIGHT, draws=repeat, threads=1)
    rows = []
    for name in sets or SETS:
        found: dict[str, list[dict[str, float]]] = {}
        for seed in range(repeat):
            problem = draw(folder, name, seed, n_rows)
            for method in methods or SEMI_SUPERVISED:
                found.setdefault(method, []).append(compared(method, *problem))
        rows += [row(name, method, draws) for method, draws in found.items()]
    report.table("a path that begins on a sample, beside one on all rows", rows)
    return report.result()
