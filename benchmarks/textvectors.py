"""Words, vectors of texts, and both: the messages of the science groups of 20 newsgroups.

Headers are left out. The vectors are those of an encoder that needs no download: the first hundred
singular directions of n-grams of characters of all texts. "both" has a block of words and one of
vectors, with the shares of the length of rows that `ColumnFeatures` gives them. "as they come"
has the same two blocks without that: words have length one, and vectors ten times or a tenth of it.
Encoders have no common unit, and without scaling their unit decides which block counts.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, MissingDataError, hide, random_rows
from papers.table import Report, verdict
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.tables import ColumnFeatures, encode_texts

REPEAT = 3
GROUP = "sci."
N_LABELED = 20
WIDTH = 100
UNITS = (0.1, 10.0)
LOSS = 0.01
"""How much worse than the better one of its blocks "both" may be."""
METHODS: dict[str, type] = {"svm": NewtonSVC, "tsvm": TransductiveSVC}
BOTH = "both"


def read(folder: Path) -> tuple[list[str], Any]:
    """Read the bodies of the messages of some groups, and the codes of the groups."""
    place = folder / "20news" / "20news.jsonl.gz"
    if not place.exists():
        raise MissingDataError(f"the folder {str(folder)!r} has no set '20news'")
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    rows = [row for row in found if row["label"].startswith(GROUP)]
    texts = [row["text"].partition("\n\n")[2] for row in rows]
    groups = np.unique([row["label"] for row in rows], return_inverse=True)[1]
    return texts, groups.astype(np.intp)


def fitted_encoder(texts: list[str]) -> Callable[[list[str]], Any]:
    """Return a function from texts to vectors of length one."""
    words = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), min_df=5, max_features=50_000, sublinear_tf=True
    )
    directions = TruncatedSVD(WIDTH, random_state=0).fit(words.fit_transform(texts))
    return lambda some: normalize(directions.transform(words.transform(some)))


def features_of(texts: list[str]) -> dict[str, Any]:
    """Return the features that are compared."""
    table = encode_texts({"body": texts}, ["body"], fitted_encoder(texts))
    vectors = np.asarray(table.columns["body__encoded"])
    words = ColumnFeatures(text=["body"], features=[]).fit_transform(table)
    as_they_come = {
        f"as they come, vectors {unit:g} long": sparse.csr_matrix(
            sparse.hstack([words, sparse.csr_matrix(unit * vectors)])
        )
        for unit in UNITS
    }
    return {
        "words": words,
        "vectors": ColumnFeatures().fit_transform({"vectors": vectors}),
        BOTH: ColumnFeatures(text=["body"]).fit_transform(table),
        **as_they_come,
    }


def accuracy(model: Any, X: Any, y: Any, labelled: Any) -> float:
    """Fit with some labels; return the accuracy on the other rows."""
    problem = hide(X, y, labelled)
    free = problem.labels == UNLABELED
    predicted = model.fit(problem.X, problem.labels).predict(problem.X[free])
    return float(np.mean(predicted == y[free]))


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print accuracies on the unlabelled rows, means over draws of the labels."""
    texts, y = read(folder)
    draws = [random_rows(y, N_LABELED, seed) for seed in range(repeat)]
    report = Report("textvectors", rows=len(y), labelled=N_LABELED, draws=repeat)
    means: dict[str, dict[str, float]] = {}
    rows = []
    for features, X in features_of(texts).items():
        found = {name: [accuracy(m(), X, y, d) for d in draws] for name, m in METHODS.items()}
        means[features] = {name: float(np.mean(values)) for name, values in found.items()}
        errors = {f"{name} +-": float(np.std(v) / np.sqrt(repeat)) for name, v in found.items()}
        rows.append({"features": features, **means[features], **errors})
    report.table("accuracy on the unlabelled rows", rows)
    lost = {m: max(means["words"][m], means["vectors"][m]) - means[BOTH][m] for m in METHODS}
    fine = verdict(max(lost.values()) <= LOSS)
    report.table("what both lose to the better block", [{**lost, "bar": LOSS, "ok": fine}])
    return report.result()
