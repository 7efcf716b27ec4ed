"""What the supervised figure of 20 newsgroups depends on: words, weights and lengths of the rows.

The paper has Macro F 0.4577 with 100 labels, on a matrix that is not at hand. The texts are
turned into rows in several ways; the margin loss without an intercept is fitted to 100 labels that
are drawn at random, or as many of each class. Draws and intercepts at our own matrix are in
``python -m papers newsgroups``.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Ints, Matrix, MissingDataError
from papers.many import SUPERVISED_TOL
from papers.newsgroups import MARGIN, N_LABELED, PAPER, RULES, TEXTS, subject_and_body
from papers.table import Report
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize

from semisvm import NewtonSVC

REPEAT = 5
N_TEST = 6_000
WORDS: dict[str, tuple[Callable[[str], str], str | None]] = {
    "subject and body, no stop words": (subject_and_body, "english"),
    "subject and body": (subject_and_body, None),
    "all header lines": (str, None),
}
WEIGHTS = ("tf-idf", "log counts", "counts")
REGS = {"length one": (1e-3, 1e-2), "as they are": (1.0, 10.0)}
"""By the length of the rows."""


def load_texts(folder: Path) -> tuple[list[str], Ints]:
    """Load the texts, and their groups as numbers."""
    place = folder / TEXTS / f"{TEXTS}.jsonl.gz"
    if not place.is_file():
        raise MissingDataError(f"the folder {str(folder)!r} has no texts {place.name!r}")
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    groups = np.unique([row["label"] for row in found], return_inverse=True)[1]
    return [row["text"] for row in found], groups.astype(np.intp)


def weighed(counts: Matrix, weights: str) -> Matrix:
    """Turn counts of words into rows, of any length."""
    if weights == "tf-idf":
        return TfidfTransformer(sublinear_tf=True, norm=None).fit_transform(counts)
    return counts.log1p() if weights == "log counts" else counts


def macro_f(X: Matrix, y: Ints, drawn: str, reg: float, seed: int) -> float:
    """Fit the labels of one draw, and judge the last rows of its order."""
    order = RULES[drawn](y, N_LABELED, seed)
    seen, test = order[:N_LABELED], order[-N_TEST:]
    model = NewtonSVC(reg, loss=MARGIN, fit_intercept=False, tol=SUPERVISED_TOL)
    predicted = model.fit(X[seen], y[seen]).predict(X[test])
    return float(f1_score(y[test], predicted, average="macro"))


def row(X: Matrix, y: Ints, length: str, repeat: int) -> dict[str, Any]:
    """Return mean Macro F by the draw of the labels, at the better lambda of each."""
    found: dict[str, Any] = {}
    for drawn in RULES:
        means = {
            reg: float(np.mean([macro_f(X, y, drawn, reg, seed) for seed in range(repeat)]))
            for reg in REGS[length]
        }
        best = max(means, key=lambda reg: means[reg])
        found |= {f"labels {drawn}": round(means[best], 3), f"lambda, {drawn}": best}
    return found


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print a row for every way to make rows of the texts."""
    texts, y = load_texts(folder)
    report = Report("newsfeatures", draws=repeat, labelled=N_LABELED, paper=PAPER["supervised"])
    rows = []
    for words, (cut, stop) in WORDS.items():
        counts = CountVectorizer(token_pattern="[a-zA-Z]{2,}", min_df=2, stop_words=stop)
        table = counts.fit_transform(cut(text) for text in texts).astype(np.float64).tocsr()
        for weights in WEIGHTS:
            for length in REGS:
                X = weighed(table, weights)
                X = normalize(X) if length == "length one" else X
                made = {"words": words, "weights": weights, "rows": length}
                rows.append({**made, **row(X.tocsr(), y, length, repeat)})
    report.table("supervised Macro F, margin loss, no intercept", rows)
    return report.result()
