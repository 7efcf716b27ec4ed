"""All 77 intents of BANKING77, ten labels of each, words as features: where encoders are ahead.

The published split: some of 10,003 training messages have labels, 3,080 test messages are scored.
With ten labels per intent, I. Casanueva et al. (2020, arXiv:2003.04807, Table 3) report 85.19% for
a classifier on two pre-trained sentence encoders. No encoder is used here. The folder ``banking77``
has the two files of the data set, ``train.csv`` and ``test.csv``.
"""

import csv
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from papers.data import UNLABELED, MissingDataError
from papers.table import Report
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.rivals import logistic
from semisvm.estimators import registry

REPEAT = 2
PER_CLASS = 10
METHODS = ("svm", "tsvm", "da")


def read(path: Path) -> tuple[list[str], list[str]]:
    """Read messages and intents."""
    if not path.exists():
        raise MissingDataError(f"there is no file {str(path)!r} of BANKING77")
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return [row["text"] for row in rows], [row["category"] for row in rows]


def some_of_each(y: Any, seed: int) -> Any:
    """Hide all labels but ten of every class."""
    order = np.random.default_rng(seed).permutation(len(y))
    partly = np.full(len(y), UNLABELED)
    for k in range(y.max() + 1):
        rows = order[y[order] == k][:PER_CLASS]
        partly[rows] = k
    return partly


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print accuracies on the test messages, means over draws of the labels."""
    texts, intents = read(folder / "banking77" / "train.csv")
    new_texts, new_intents = read(folder / "banking77" / "test.csv")
    classes, y = np.unique(intents, return_inverse=True)
    y_new = np.searchsorted(classes, new_intents)
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    X, X_new = words.fit_transform(texts), words.transform(new_texts)
    report = Report("intents", rows=len(y), labelled=PER_CLASS * len(classes), draws=repeat)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(repeat):
        partly = some_of_each(y, seed)
        labelled = np.flatnonzero(partly != UNLABELED)
        for name in ("LogisticRegression", *METHODS):
            start = process_time()
            if name in METHODS:
                model = registry.get(name).make().fit(X, partly)
            else:
                model = logistic().fit(X[labelled], y[labelled])
            right = 100.0 * float(np.mean(model.predict(X_new) == y_new))
            found.setdefault(name, []).append((right, process_time() - start))
    rows = [
        {"method": name, "accuracy %": float(a), "seconds": float(s)}
        for name, values in found.items()
        for a, s in [np.mean(values, axis=0)]
    ]
    report.table("accuracy on new messages", rows)
    return report.result()
