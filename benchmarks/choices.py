"""Is the default choice safe? On rows of the fit and on new rows, on hard data, with a rare class.

A third of the rows of every set is kept away from everything and scored at the end: new rows. The
rest is partly labelled. Three kinds of cases, always `choose` beside the supervised SVM (`svm`):

- sets: those of `ranks`, 20 labels (four per class if there are more) and 100 (ten per class).
- hard: short sentences of two classes, 60 labels, twelve draws. Ten words of a review of imdb, and
  twenty words of messages in pairs of newsgroups that are hard to tell apart. All methods are
  near chance there; a choice must not do harm.
- rare: 2% positive rows, 60 labels of which five are positive, twelve draws; average precision.
- probabilities: 30 labels of nine sets, two draws, on new rows. Log-loss, accuracy, mean confidence
  of the predicted class, and the expected calibration error (ECE): the mean distance of confidence
  and accuracy in ten bins of confidence with as many rows each.

Figures are points in %: accuracy, or average precision for the rare classes.
"""

import gzip
import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import UNLABELED, load_coded
from papers.table import Report, verdict
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import normalize

from benchmarks.ranks import labelled, prepared, reliability
from semisvm import EntropyRegularizedClassifier, NewtonSVC, TransductiveSVC
from semisvm.model_selection import CalibratedPartialClassifier, choose

REPEAT = 2
DRAWS = 12
FIRST_SEED = 2_000
N_LABELS = 60
N_POSITIVE = 5
RARE = 0.02
ROWS = 1_500
WORDS = 10
NOISE = 2.0
"""Standard errors of the mean difference within which a choice is not below the supervised SVM."""
SETS = ("australian", "digit1", "pima", "text1_pcmac", "usps_ssl", "webkb_tfidf")
PAIRS = (
    ("talk.politics.misc", "talk.religion.misc"),
    ("comp.sys.ibm.pc.hardware", "comp.os.ms-windows.misc"),
)
NINE = (
    "australian",
    "digit1",
    "g50c",
    "house_votes",
    "pima",
    "text1_pcmac",
    "text_ssl",
    "usps_ssl",
    "wdbc",
)
PROBABILITY_LABELS = 30
TOPICS = ("lasvm_reuters", "ohscal", "r8_tfidf")

Draw = tuple[Any, Any, Any]
Metric = Callable[[Any, Any, Any], float]


def short_reviews(folder: Path, seed: int) -> tuple[Any, Any]:
    """Keep ten random words of reviews, about a sentence: X (n, d) and classes."""
    X, y = load_coded(folder, "imdb_tfidf")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero(y < y.max()))[:ROWS]
    X = X[rows].tocsr()
    kept = np.zeros(X.nnz, dtype=bool)
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        kept[start + rng.permutation(end - start)[:WORDS]] = True
    X.data = np.where(kept, X.data, 0.0)
    X.eliminate_zeros()
    return normalize(X), y[rows]


def short_messages(folder: Path, pair: tuple[str, str], seed: int) -> tuple[Any, Any]:
    """Take twenty words of messages of two newsgroups, headers and quotations left out."""
    texts, y = [], []
    with gzip.open(folder / "20news" / "20news.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            if message["label"] in pair:
                texts.append(_sentence(message["text"]))
                y.append(pair.index(message["label"]))
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero([len(text) > 0 for text in texts]))[:ROWS]
    X = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([texts[i] for i in rows])
    return X, np.array(y)[rows]


def _sentence(text: str) -> str:
    """Return twenty words from the middle of the body, which is no greeting and no signature."""
    body = text.partition("\n\n")[2]
    words = [w for line in body.split("\n") if line[:1] not in (">", ":") for w in line.split()]
    middle = max(len(words) // 2 - WORDS, 0)
    return " ".join(words[middle : middle + 2 * WORDS])


def rare_topic(folder: Path, name: str, seed: int) -> tuple[Any, Any]:
    """Make one class of a set 2% of its rows: X and 0 or 1."""
    X, y = load_coded(folder, name)
    rng = np.random.default_rng(seed)
    topic = 1 if y.max() == 1 else seed % (int(y.max()) + 1)
    is_it = y == topic
    few = rng.choice(np.flatnonzero(is_it), min(int(RARE * 2 * ROWS), is_it.sum()), replace=False)
    rest = rng.choice(np.flatnonzero(~is_it), 2 * ROWS - len(few), replace=False)
    rows = rng.permutation(np.concatenate([few, rest]))
    X, found = X[rows], is_it[rows].astype(np.intp)
    if name == "ohscal":
        from sklearn.feature_extraction.text import TfidfTransformer

        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    return normalize(X), found


def with_positives(y: Any, seed: int) -> Any:
    """Label 60 rows at random, five of them positive."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate(
        [
            rng.choice(np.flatnonzero(y == 1), N_POSITIVE, replace=False),
            rng.choice(np.flatnonzero(y == 0), N_LABELS - N_POSITIVE, replace=False),
        ]
    )
    partly = np.full(len(y), UNLABELED)
    partly[rows] = y[rows]
    return partly


def accuracy(model: Any, X: Any, y: Any) -> float:
    """Return the share of rows that are right, in %."""
    return 100.0 * float(np.mean(model.predict(X) == y))


def precision(model: Any, X: Any, y: Any) -> float:
    """Return the average precision of the rare class, in %."""
    return 100.0 * float(average_precision_score(y, model.decision_function(X)))


def judged(X: Any, y: Any, partly_of: Any, metric: Metric, **options: Any) -> dict[str, float]:
    """Fit to two thirds of the rows; return figures of `svm` and `choose`, and seconds."""
    # rows come in random order, so the last third is a random one
    n = 2 * len(y) // 3
    fit, new = np.arange(n), np.arange(n, len(y))
    partly = partly_of(y[fit])
    free = fit[partly == UNLABELED]
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("svm", "choose"):
            start = process_time()
            model = NewtonSVC() if name == "svm" else _choice(X[fit], partly, options)
            model.fit(X[fit], partly)
            seconds = process_time() - start
            found[f"{name}, fit"] = metric(model, X[free], y[free])
            found[f"{name}, new"] = metric(model, X[new], y[new])
        found["seconds"] = seconds
    return found


def _choice(X: Any, y: Any, options: dict[str, Any]) -> Any:
    with patch("semisvm.compiling.perf_counter", process_time):
        return choose(X, y, **options).make()


def cases(folder: Path, kind: str, repeat: int) -> Iterator[tuple[str, list[dict[str, float]]]]:
    """Yield the name of a case and its draws."""
    seeds = range(FIRST_SEED, FIRST_SEED + (repeat if kind == "sets" else DRAWS))
    if kind == "sets":
        for name in SETS:
            for few in (True, False):
                draws = []
                for s in seeds:
                    X, y = prepared(folder, name, s)
                    m = int(y.max()) + 1
                    n = min(max(4 * m, 20) if few else max(10 * m, 100), len(y) // 3)
                    draws.append(judged(X, y, partial(labelled, n_labels=n, seed=s), accuracy))
                yield f"{name}, {'few' if few else 'more'} labels", draws
    if kind == "hard":
        for pair in (None, *PAIRS):
            draws = []
            for s in seeds:
                found = short_messages(folder, pair, s) if pair else short_reviews(folder, s)
                draws.append(judged(*found, partial(labelled, n_labels=N_LABELS, seed=s), accuracy))
            yield " / ".join(pair) if pair else "short reviews", draws
    if kind == "rare":
        for name in TOPICS:
            yield (
                f"2% of {name}",
                [
                    judged(*rare_topic(folder, name, s), partial(with_positives, seed=s), precision)
                    for s in seeds
                ],
            )


def models() -> dict[str, Callable[[Any, Any], Any]]:
    """Return functions that fit models with probabilities."""

    def calibrated(method: str, use: str) -> Callable[[Any, Any], Any]:
        return CalibratedPartialClassifier(TransductiveSVC(), method=method, use=use).fit

    return {
        "EntropyRegularizedClassifier": EntropyRegularizedClassifier().fit,
        'TransductiveSVC(loss="log")': TransductiveSVC(loss="log").fit,
        "calibrated, sigmoid, rows of the fit": calibrated("sigmoid", "transduction"),
        "calibrated, temperature, rows of the fit": calibrated("temperature", "transduction"),
        "calibrated, sigmoid": calibrated("sigmoid", "new_rows"),
        "calibrated, temperature": calibrated("temperature", "new_rows"),
        "choose": lambda X, y: _choice(X, y, {}).fit(X, y),
    }


def probabilities(folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Return a row per model: means over sets and draws, on new rows."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in models()}
    for name in NINE:
        for seed in range(FIRST_SEED, FIRST_SEED + repeat):
            X, y = prepared(folder, name, seed)
            n = 2 * len(y) // 3
            partly = labelled(y[:n], PROBABILITY_LABELS, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for model, fit in models().items():
                    p = np.asarray(fit(X[:n], partly).predict_proba(X[n:]))
                    found[model].append(reliability(p, y[n:]))
    return [
        {"model": name, **{key: float(np.mean([r[key] for r in rows])) for key in rows[0]}}
        for name, rows in found.items()
    ]


def row_of(name: str, draws: list[dict[str, float]]) -> dict[str, Any]:
    """Summarise a case: mean figures, and the mean difference with its standard error."""
    row: dict[str, Any] = {"case": name}
    for key in draws[0]:
        row[key] = float((np.median if key == "seconds" else np.mean)([d[key] for d in draws]))
    for place in ("fit", "new"):
        ahead = np.array([d[f"choose, {place}"] - d[f"svm, {place}"] for d in draws])
        error = float(ahead.std(ddof=1) / np.sqrt(len(ahead))) if len(ahead) > 1 else np.inf
        row[f"gain, {place}"] = f"{ahead.mean():+.1f} ± {error:.1f}"
        row[f"safe, {place}"] = bool(ahead.mean() >= -NOISE * error)
    return row


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print the cases; ``sets`` are kinds: sets, hard, rare, probabilities."""
    report = Report("choices", draws=repeat, rows=ROWS)
    for kind in sets or ("sets", "hard", "rare", "probabilities"):
        if kind == "probabilities":
            report.table("probabilities of new rows, 30 labels", probabilities(folder, repeat))
            continue
        rows = [row_of(name, draws) for name, draws in cases(folder, kind, repeat)]
        for row in rows:
            safe = [row.pop(f"safe, {place}") for place in ("fit", "new")]
            row["bar"] = verdict(all(safe)) if kind != "sets" else ""
        report.table(kind, rows)
    return report.result()
