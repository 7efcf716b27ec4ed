"""The class prior: how well it is estimated, and what a wrong one costs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.model_selection import estimate_prior
from semisvm.reproduce.data import Floats, Ints, Matrix, PartlyLabeled, hide, load
from semisvm.reproduce.table import Report, verdict

REPEAT = 8
# An estimate takes a fraction of a fit: errors of priors are averaged over more draws.
MORE_DRAWS = 5
REG = 1e-3
OFFSETS = (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2)
WRONG_ON = ("pcmac", "20 newsgroups, 2 classes")


@dataclass(frozen=True)
class Source:
    """A set: its folder, rows to draw, labels to draw, and how its classes are read."""

    folder: str
    n_rows: int
    n_labels: int
    read: Callable[[Ints], Any] = lambda y: y


SETS = {
    "pcmac": Source("text1_pcmac", 1946, 40),
    "20 newsgroups, 2 classes": Source("20news_tfidf", 8000, 46, lambda y: y >= 10),
    "imdb": Source("imdb_tfidf", 8000, 60, lambda y: np.where(y == 2, -1, y)),
    "reuters, 6.5% positive": Source("lasvm_reuters", 8000, 100),
    "r8, 8 classes": Source("r8_tfidf", 4000, 100),
    "usps, 10 classes": Source("usps", 2000, 100),
}


def read(folder: Path, source: Source) -> tuple[Matrix, Ints]:
    """Load a set, sparse or dense, with classes 0, 1, ..."""
    X, y = load(folder, source.folder)
    if isinstance(X, np.ndarray):
        X = normalize(X.astype(np.float64))
    target = source.read(y)
    known = np.flatnonzero(target >= 0) if source.folder == "imdb_tfidf" else np.arange(len(y))
    _, codes = np.unique(target[known], return_inverse=True)
    return X[known], codes.astype(np.intp)


def draw(X: Matrix, y: Ints, source: Source, seed: int) -> PartlyLabeled:
    """Draw rows, and labels at random, again while a class has fewer than two."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: source.n_rows]
    while True:
        labeled = rng.choice(len(rows), source.n_labels, replace=False)
        if np.bincount(y[rows][labeled], minlength=y.max() + 1).min() >= 2:
            return hide(X[rows], y[rows], labeled)


def shares(y: Ints, n_classes: int) -> Floats:
    """Return the shares of the classes."""
    return np.bincount(y, minlength=n_classes) / len(y)


def missed(prior: Floats, truth: Floats) -> float:
    """Return the share of rows that a prior puts in the wrong class at least."""
    return 0.5 * float(np.abs(prior - truth).sum())


def priors_of(data: PartlyLabeled) -> dict[str, Floats]:
    """Return the three priors of a draw."""
    m = int(data.y.max()) + 1
    return {
        "fraction": shares(data.labels[data.labels >= 0], m),
        "estimate": estimate_prior(data.X, data.labels, reg=REG),
        "truth": shares(data.y[data.unlabeled], m),
    }


def error_row(name: str, source: Source, draws: Iterable[PartlyLabeled]) -> dict[str, Any]:
    """Average the errors of fraction and estimate over draws."""
    found = [priors_of(data) for data in draws]
    errors = 100.0 * np.array(
        [[missed(p[key], p["truth"]) for key in ("fraction", "estimate")] for p in found]
    )
    gains = errors[:, 0] - errors[:, 1]
    fraction, estimate = errors.mean(axis=0).tolist()
    spread = float(gains.std(ddof=1) / len(gains) ** 0.5)
    return {
        "set": name,
        "labels": source.n_labels,
        "fraction off by %": round(fraction, 1),
        "estimate off by %": round(estimate, 1),
        "gain": f"{gains.mean():.1f} +- {spread:.1f}",
        "estimate nearer in": f"{np.count_nonzero(gains > 0)} of {len(gains)}",
        "not worse": verdict(estimate <= fraction + 2.0 * spread),
    }


def measure(data: PartlyLabeled) -> dict[str, float]:
    """Fit with the three priors; give accuracy and macro F on the unlabelled rows."""
    free, found = data.unlabeled, {}
    models: dict[str, Any] = {"SVM": NewtonSVC(reg=REG, tol=1e-5)}
    models |= {key: TransductiveSVC(reg=REG, class_prior=p) for key, p in priors_of(data).items()}
    for key, model in models.items():
        predicted = model.fit(data.X, data.labels).predict(data.X[free])
        found[f"{key} accuracy"] = float(np.mean(predicted == data.y[free]))
        found[f"{key} macro F"] = float(f1_score(data.y[free], predicted, average="macro"))
    return found


def result_row(name: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Average accuracy and macro F over the draws of a set."""
    cells = {
        f"{key} {what}": round(100.0 * float(np.mean([run[f"{key} {what}"] for run in runs])), 1)
        for what in ("accuracy", "macro F")
        for key in ("SVM", "fraction", "estimate", "truth")
    }
    return {"set": name, **cells}


def sensitivity_row(name: str, method: Any, draws: list[PartlyLabeled]) -> dict[str, Any]:
    """Return the accuracy with priors that are off by so much, two classes."""
    cells = {}
    for offset in OFFSETS:
        found = []
        for data in draws:
            free = data.unlabeled
            share = min(max(float(np.mean(data.y[free])) + offset, 0.02), 0.98)
            model = method(reg=REG, class_prior=[1.0 - share, share]).fit(data.X, data.labels)
            found.append(100.0 * model.score(data.X[free], data.y[free]))
        cells[f"{offset:+.2f}"] = round(float(np.mean(found)), 1)
    return {"set": name, "method": method.__name__, **cells}


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print errors of priors, what comes of them, and the cost of wrong ones."""
    report = Report("priors", draws=repeat, reg=REG, method="TransductiveSVC")
    errors, results, wrong = [], [], []
    for name, source in SETS.items():
        X, y = read(folder, source)
        more = (draw(X, y, source, seed) for seed in range(MORE_DRAWS * repeat))
        errors.append(error_row(name, source, more))
        draws = [draw(X, y, source, seed) for seed in range(repeat)]
        results.append(result_row(name, [measure(data) for data in draws]))
        if name in WRONG_ON:
            methods = (TransductiveSVC, AnnealedSVC)
            wrong += [sensitivity_row(name, method, draws) for method in methods]
    report.table("prior: share of rows put in the wrong class, mean over draws", errors)
    report.table("mean accuracy and macro F on the unlabelled rows, %", results)
    report.table("accuracy, %, where the given share of the second class is off", wrong)
    return report.result()
