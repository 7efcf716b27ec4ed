"""Short texts: whether new rows are predicted like the unlabelled rows of the fit.

12 words of every text, drawn at random; the two largest classes, or all classes in two groups. 60
labels, up to 1,000 unlabelled and 1,500 new rows, everything at its defaults but what a method's
name says. Accuracy on both, and by how many points the share of the second class differs between
them: on average, at most, and on average by chance alone, if classes were drawn independently.
"miss" is how far the share on new rows is from the class share of the fit.

Choices were made on "choose" and on tables of numbers; judge by the others.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Floats, Ints, Matrix, load
from papers.table import Report
from scipy import sparse
from sklearn.preprocessing import normalize, scale

from semisvm import ClusterKernelSVC, MeanSVC, TransductiveSVC

REPEAT = 8
N_LABELED, N_UNLABELED, N_NEW = 60, 1_000, 1_500
N_WORDS, MOST_TEXTS = 12, 4_000
CHOOSE, JUDGE = ("webkb_tfidf", "ohscal"), ("r8_tfidf", "la1", "20news_tfidf", "imdb_tfidf")
TABLES = ("australian", "digit1", "usps_ssl", "g50c", "house_votes", "wdbc")
WHOLE_TEXTS = ("text1_pcmac", "text_ssl", "lasvm_reuters")
GROUPED = ("20news_tfidf",)
METHODS: dict[str, Callable[[], Any]] = {
    "TSVM": TransductiveSVC,
    "means, paper": lambda: MeanSVC(balance_tol=None),
    "means": MeanSVC,
    "means, mkl": lambda: MeanSVC(method="mkl"),
    "clusters": ClusterKernelSVC,
}


def two_classes(y: Ints, grouped: bool) -> Ints:
    """Return 0 and 1 for the two largest classes, or for halves of all, and -1 for no class."""
    kinds, counts = np.unique(y, return_counts=True)
    if grouped:
        return (np.searchsorted(kinds, y) >= len(kinds) // 2).astype(np.intp)
    first, second = kinds[np.argsort(-counts, kind="stable")[:2]]
    return np.where(y == second, 1, np.where(y == first, 0, -1))


def few_words(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Keep some words of every text; weigh them by how rare they are."""
    words = [
        np.sort(rng.choice(row.indices, min(N_WORDS, row.nnz), replace=False)) for row in X.tocsr()
    ]
    ends = np.cumsum([0, *map(len, words)])
    kept = sparse.csr_matrix((np.ones(ends[-1]), np.concatenate(words), ends), shape=X.shape)
    seen = np.bincount(kept.indices, minlength=X.shape[1])
    idf = 1.0 + np.log((1.0 + len(words)) / (1.0 + seen))
    return normalize(kept @ sparse.diags(idf)).tocsr()


def read(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set as rows of length one of two classes."""
    X, y = load(folder, name)
    if name == "imdb_tfidf":
        # the third class is that of reviews without a label
        X, y = X[y < 2], y[y < 2]
    y = two_classes(y, name in GROUPED)
    X, y = X[y >= 0], y[y >= 0]
    if name in TABLES:
        return normalize(scale(X)), y
    if name in WHOLE_TEXTS:
        return normalize(X), y
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:MOST_TEXTS]
    return few_words(X[rows], rng), y[rows]


def drawn(y: Ints, seed: int) -> tuple[Ints, Ints, Ints]:
    """Draw labelled rows, of both classes, unlabelled and new ones."""
    rng, n = np.random.default_rng(seed), len(y)
    u = min(N_UNLABELED, (n - N_LABELED) // 2)
    while True:
        rows = rng.permutation(n)[: N_LABELED + u + N_NEW]
        if len(np.unique(y[rows[:N_LABELED]])) == 2:
            labeled, unlabeled, new = np.split(rows, [N_LABELED, N_LABELED + u])
            return labeled, unlabeled, new


def figures(make: Callable[[], Any], X: Matrix, y: Ints, seed: int) -> list[float]:
    """Fit one draw; return the accuracies, the shares, and what chance alone does to these."""
    labeled, unlabeled, new = drawn(y, seed)
    given = np.append(y[labeled], np.full(len(unlabeled), UNLABELED))
    model = make().fit(X[np.append(labeled, unlabeled)], given)
    found, r = [], float(y.mean())
    for rows in (unlabeled, new):
        labels = model.predict(X[rows])
        found += [float(np.mean(labels == y[rows])), float(labels.mean())]
    prior = getattr(model, "class_prior_", [np.nan, np.nan])[1]
    chance = np.sqrt(2.0 / np.pi * r * (1.0 - r) * (1.0 / len(unlabeled) + 1.0 / len(new)))
    return [*found, prior, float(chance)]


def row(name: str, method: str, values: Floats) -> dict[str, Any]:
    """Summarise the draws of one method, in per cent."""
    right, share, right_new, share_new, prior, chance = 100.0 * values.T
    apart, miss = np.abs(share - share_new), np.abs(share_new - prior)
    return {
        "set": name,
        "method": method,
        "unlabelled": float(right.mean()),
        "new": float(right_new.mean()),
        "shares apart": float(apart.mean()),
        "most": float(apart.max()),
        "by chance": float(chance.mean()),
        "miss": None if np.isnan(miss).any() else float(miss.mean()),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print a table for each kind of set."""
    report = Report("newrows", draws=repeat, labels=N_LABELED, words=N_WORDS)
    kinds = {"choose": CHOOSE, "judge": JUDGE, "whole texts": WHOLE_TEXTS, "tables": TABLES}
    for title, names in kinds.items():
        rows = []
        for name in names:
            X, y = read(folder, name)
            for method, make in METHODS.items():
                values = [figures(make, X, y, seed) for seed in range(repeat)]
                rows.append(row(name, method, np.array(values)))
        report.table(title, rows)
    return report.result()
