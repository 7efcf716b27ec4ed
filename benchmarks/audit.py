"""Labels that were made wrong on purpose: does the audit find them, and does `label_noise` help.

The first tables have how far down the list of the audit they are. The cure is measured on other
sets, none of which was used to choose how labels are taken back: accuracy on rows that take no part
in the fit, with 10 and 20% of 50 or 100 labels wrong, beside the same fit without `label_noise`
and logistic regressions of the labelled rows, with C by cross-validation. Intervals are over sets
and draws.
"""

from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Ints, PartlyLabeled
from papers.table import Report
from sklearn.base import clone

from benchmarks.ranks import labelled, prepared
from benchmarks.rivals import logistic
from benchmarks.trust import draw, read
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.model_selection import audit_labels

REPEAT = 5
N_LABELS = 200
FLIPPED = 0.05
SETS = ("text1_pcmac", "webkb_tfidf", "r8_tfidf", "optdigits", "wdbc", "australian", "house_votes")
METHODS = {"TSVM": TransductiveSVC, "SVM": NewtonSVC}
CURE_SETS = (
    *("ohscal", "webkb_tfidf", "uspst", "usps_ssl", "g50c"),
    *("house_votes", "australian", "wbc", "ionosphere", "heart_cleveland"),
)
CURED = {"TSVM": TransductiveSVC, "DA": AnnealedSVC}
CURE_ROWS, CURE_LABELS, CURE_SHARES = 1_200, (50, 100), (0.1, 0.2)


def flipped(given: Ints, m: int, share: float, seed: int) -> tuple[Ints, Ints]:
    """Give some of the labelled rows another class; return the labels and these rows."""
    rng = np.random.default_rng(seed)
    labels, known = given.copy(), np.flatnonzero(given >= 0)
    wrong = rng.choice(known, round(share * len(known)), replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, m, len(wrong))) % m
    return labels, wrong


def found_in(data: PartlyLabeled, method: Any, seed: int) -> dict[str, float]:
    """Flip labels, look for them, and count how many are found."""
    labels, wrong = flipped(data.labels, int(data.y.max()) + 1, FLIPPED, seed)
    audit = audit_labels(method(), data.X, labels)
    hits = np.isin(audit.rows, wrong)
    k = len(wrong)
    return {
        "at_k": float(hits[:k].sum() / k),
        "at_2k": float(hits[: 2 * k].sum() / k),
        "listed": float(hits.sum() / k),
        "doubts": float(len(audit)),
    }


def row_of(name: str, n_labels: int, n_classes: int, runs: list[dict[str, float]]) -> Any:
    """Average the draws of a set."""
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {
        "set": name,
        "classes": n_classes,
        "labels": n_labels,
        "precision at k %": round(100 * mean["at_k"], 1),
        "chance %": round(100 * FLIPPED, 1),
        "found at 2k %": round(100 * mean["at_2k"], 1),
        "found in all %": round(100 * mean["listed"], 1),
        "labels in doubt": round(mean["doubts"], 1),
    }


def cured(X: Any, y: Ints, n_labels: int, share: float, seed: int) -> dict[str, float]:
    """Return the accuracy in % on new rows with wrong labels, with the cure and without."""
    n = 2 * len(y) // 3
    right = labelled(y[:n], n_labels, seed)
    labels, _ = flipped(right, int(y.max()) + 1, share, seed)
    given = labels >= 0

    def accuracy(model: Any) -> float:
        return 100.0 * float(np.mean(model.predict(X[n:]) == y[n:]))

    found = {"LR": accuracy(clone(logistic()).fit(X[:n][given], labels[given]))}
    for name, kind in CURED.items():
        found[name] = accuracy(kind().fit(X[:n], labels))
        found[f"{name} cured"] = accuracy(kind(label_noise=share).fit(X[:n], labels))
        found[f"{name} right labels"] = accuracy(kind().fit(X[:n], right))
    return found


def gains(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Average the draws of all sets; gains are with half a 95% interval."""
    table = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    row: dict[str, Any] = {name: round(float(own.mean()), 1) for name, own in table.items()}
    for name in CURED:
        ahead = table[f"{name} cured"] - table[name]
        row[f"{name} gain"] = round(float(ahead.mean()), 2)
        error = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else np.inf
        row[f"{name} +-"] = round(float(1.96 * error), 2)
        row[f"{name} least"] = round(float(ahead.min()), 1)
    return {"draws": len(runs), **row}


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print a table per method."""
    report = Report("audit", draws=repeat, flipped=FLIPPED)
    for method, estimator in METHODS.items():
        rows = []
        for name in sets or SETS:
            X, y = read(folder, name)
            n = min(N_LABELS, len(y) // 2)
            runs = [found_in(draw(X, y, n, seed), estimator, seed) for seed in range(repeat)]
            rows.append(row_of(name, n, int(y.max()) + 1, runs))
        report.table(f"wrong labels found by {method}; k is their number", rows)
    rows = []
    for n_labels in CURE_LABELS:
        for share in CURE_SHARES:
            runs = [
                cured(*prepared(folder, name, seed, CURE_ROWS), n_labels, share, seed)
                for name in (sets or CURE_SETS)
                for seed in range(repeat)
            ]
            rows.append({"labels": n_labels, "wrong %": round(100 * share), **gains(runs)})
    report.table("the cure: accuracy on new rows of fits with label_noise", rows)
    return report.result()
