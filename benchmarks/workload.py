"""Fits that `benchmarks.revisions` times in a process of its own, by the public interface alone.

Any revision of the package can run them, so nothing here may come from inside it. The process
reads names of fits from its standard input, one a line, and answers each with a line of JSON.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from semisvm import AnnealedSVC, TransductiveSVC

METHODS = {"TSVM": TransductiveSVC, "DA": AnnealedSVC}
UNLABELED = -1
# Sets of counts, which become tf-idf.
COUNTED = ("la1", "ohscal")
# Scores of these many rows stand for the model when two revisions are compared.
COMPARED_ROWS = 2_000


@cache
def load(folder: Path, name: str) -> tuple[Any, Any]:
    """Load a set of the data folder: X and its labels."""
    place = folder / name
    if (place / "X.npz").exists():
        X: Any = sparse.load_npz(place / "X.npz")
    else:
        X = normalize(np.load(place / "X.npy").astype(np.float64))
    return X, np.unique(np.load(place / "y.npy"), return_inverse=True)[1]


def hidden(X: Any, y: Any, rows: Any, known: Any) -> tuple[Any, Any, Any]:
    """Choose rows, keep the labels of a few, and tell the true shares of the others."""
    labels = np.full(len(y), UNLABELED)
    labels[known] = y[known]
    X, y, labels = X[rows], y[rows], labels[rows]
    truth = y[labels == UNLABELED]
    return X, labels, np.bincount(truth, minlength=y.max() + 1) / len(truth)


@cache
def newsgroups(folder: Path, n_rows: int, n_labeled: int, *, two_classes: bool) -> Any:
    """Draw texts of twenty classes, or of two halves of them."""
    X, y = load(folder, "20news_tfidf")
    y = (y >= 10).astype(np.intp) if two_classes else y
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return hidden(X, y, rows, rows[:n_labeled])


@cache
def reviews(folder: Path) -> Any:
    """Hide all but a hundred labels of 100,000 reviews; nobody knows half of them."""
    X, y = load(folder, "imdb_tfidf")
    known = np.random.default_rng(0).choice(np.flatnonzero(y < 2), 100, replace=False)
    labels = np.full(len(y), UNLABELED)
    labels[known] = y[known]
    return X, labels, None


@cache
def few_labels(folder: Path, name: str, n_labeled: int) -> Any:
    """Keep a few labels of a whole set."""
    X, y = load(folder, name)
    known = np.random.default_rng(0).choice(len(y), n_labeled, replace=False)
    return hidden(X, y, np.arange(len(y)), known)


@cache
def many_classes(folder: Path, name: str, n_labeled: int) -> Any:
    """Draw 3,000 texts or images of many classes, a few of each with labels."""
    X, y = load(folder, name)
    if name in COUNTED:
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:3_000]
    while len(np.unique(y[rows[:n_labeled]])) <= y.max():
        rows = rng.permutation(len(y))[:3_000]
    return hidden(X, y, rows, rows[:n_labeled])


FITS: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "two classes": (lambda folder: newsgroups(folder, 14_000, 46, two_classes=True), {}),
    "100,000 rows": (reviews, {}),
    "100,000 rows, two threads": (reviews, {"n_jobs": 2}),
    "kernel": (
        lambda folder: few_labels(folder, "digit1", 10),
        {"kernel": "rbf", "gamma": "mean_distance"},
    ),
    "pcmac": (lambda folder: few_labels(folder, "text1_pcmac", 50), {}),
    "usps": (lambda folder: few_labels(folder, "usps_ssl", 100), {}),
    "g241c": (lambda folder: few_labels(folder, "g241c", 100), {}),
    "text": (lambda folder: few_labels(folder, "text_ssl", 100), {}),
    "twenty classes": (lambda folder: newsgroups(folder, 5_000, 100, two_classes=False), {}),
    "la1": (lambda folder: many_classes(folder, "la1", 100), {}),
    "20 newsgroups": (lambda folder: many_classes(folder, "20news_tfidf", 200), {}),
    "ohscal": (lambda folder: many_classes(folder, "ohscal", 100), {}),
    "usps, ten classes": (lambda folder: many_classes(folder, "usps", 100), {}),
}


@cache
def made_texts(n_rows: int, n_classes: int, n_labeled: int) -> Any:
    """Make tf-idf of words, of which each class prefers some."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    n_words, length = 5_000, 60
    usual = rng.zipf(1.3, size=(n_rows, length)) % n_words
    own = rng.integers(n_words // 10, size=(n_rows, length)) * n_classes + y[:, None]
    words = np.where(rng.random((n_rows, length)) < 0.15, own % n_words, usual)
    ends = np.arange(0, n_rows * length + 1, length)
    counts = sparse.csr_matrix((np.ones(words.size), words.ravel(), ends), (n_rows, n_words))
    counts.sum_duplicates()
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    return hidden(X, y, np.arange(n_rows), np.arange(n_labeled))


@cache
def made_numbers(n_rows: int, n_labeled: int) -> Any:
    """Make rows of two classes around four centres each."""
    rng = np.random.default_rng(0)
    y, centre = rng.integers(2, size=n_rows), rng.integers(4, size=n_rows)
    X = rng.normal(size=(2, 4, 20))[y, centre] + 0.5 * rng.normal(size=(n_rows, 20))
    return hidden(normalize(X), y, np.arange(n_rows), np.arange(n_labeled))


MADE: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "made texts": (lambda _: made_texts(120_000, 2, 60), {}),
    "made texts, five classes": (lambda _: made_texts(25_000, 5, 100), {}),
    "made numbers, kernel": (lambda _: made_numbers(5_000, 40), {"kernel": "rbf"}),
}
"""Fits that need no data folder, for the gate of `benchmarks.revisions`."""


def fit(name: str, folder: Path) -> dict[str, Any]:
    """Time one fit, and say what it found."""
    method, _, which = name.partition(", ")
    problem, parameters = (FITS | MADE)[which]
    X, labels, prior = problem(folder)
    model = METHODS[method](class_prior=prior, **parameters)
    start, busy = perf_counter(), process_time()
    model.fit(X, labels)
    return {
        "seconds": perf_counter() - start,
        "processor": process_time() - busy,
        "objective": float(model.objective_),
        "rounds": int(model.n_iter_),
        "scores": model.decision_function(X[:COMPARED_ROWS]).ravel().tolist(),
    }


def serve(folder: Path) -> None:
    """Answer every name on standard input."""
    for line in sys.stdin:
        print(json.dumps(fit(line.strip(), folder)), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
