"""How much unlabelled rows should weigh, and how hot annealing should start, with estimated shares.

The choice behind ``unlabeled_weight=None`` and ``temperature=None``. Only sets of the half "choose"
of `benchmarks shares`, and variants of them: classes merged in two ("odd", "low"), one class
against the rest ("rare"), a random projection to twelve columns ("projected"). At most 1,000 rows,
and other draws than there.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import Ints, Matrix
from papers.table import Report
from sklearn.preprocessing import normalize

from benchmarks.shares import CHOOSE, HARM, Case, draw, read
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.labels.partial import encode
from semisvm.methods.shares import estimate_shares

REPEAT = 2
MOST_ROWS, COLUMNS = 1_000, 12
FIRST_SEED = 100
# Name of a set and how it is changed.
SETS = (
    *((name, "") for name in CHOOSE),
    *((name, "odd") for name in ("20news_tfidf", "la1", "optdigits", "usps", "uspst")),
    *(("webkb_tfidf", "odd"), ("mnist", "low"), ("r8_tfidf", "low"), ("usps", "rare")),
    *((name, "projected") for name in ("digit1", "house_votes", "wbc")),
    *(("optdigits", "odd projected"), ("optdigits", "rare projected")),
)
# Weight of the unlabelled rows, and first temperature.
SETTINGS = ((1.0, 10.0), (1.0, 1.0), (1.0, 0.3), (0.5, 0.3), (0.3, 0.3), (0.1, 0.3))
CLASSES: dict[str, Callable[[Ints], Any]] = {
    "odd": lambda y: y % 2,
    "low": lambda y: y > np.max(y) // 2,
    "rare": lambda y: y == 1,
}


def variant(folder: Path, name: str, kind: str) -> tuple[Matrix, Ints]:
    """Load a set, merge its classes and project its rows as the words of a kind say."""
    X, y = read(folder, name)
    for word in kind.split():
        if word in CLASSES:
            y = np.asarray(CLASSES[word](y), dtype=y.dtype)
        else:
            line = np.random.default_rng(7).standard_normal((X.shape[1], COLUMNS))
            X = normalize(np.asarray(X @ line))
    return X, y


def gains(case: Case) -> dict[tuple[str, str], float]:
    """Return the points over the supervised machine by setting and method."""
    X, truth = case.X[case.free], case.y[case.free]

    def accuracy(model: Any) -> float:
        return 100.0 * float(model.fit(case.X, case.labels).score(X, truth))

    supervised = accuracy(NewtonSVC())
    found: dict[tuple[str, str], float] = {}
    estimate = estimate_shares(case.X, encode(case.labels)).values
    told = {"estimated": estimate, "true": case.fractions(truth)}
    for weight, hot in SETTINGS:
        for source, prior in told.items():
            shared: dict[str, Any] = {"unlabeled_weight": weight, "class_prior": prior}
            annealed = accuracy(AnnealedSVC(temperature=hot, **shared))
            found[f"{weight:g}, {hot:g}, {source}", "DA"] = annealed - supervised
            switched = f"{weight:g}, {source}", "TSVM"
            if switched not in found:
                found[switched] = accuracy(TransductiveSVC(**shared)) - supervised
    return found


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the mean gain, the worst case and the draws that lose, by setting."""
    report = Report("careful", draws=repeat, rows=MOST_ROWS)
    cases = []
    for name, kind in SETS:
        X, y = variant(folder, name, kind)
        m = int(np.max(y)) + 1
        for n_labels in (max(20, 4 * m), max(100, 10 * m)):
            seeds = range(FIRST_SEED, FIRST_SEED + repeat)
            cases.append([gains(draw(X, y, n_labels, seed, MOST_ROWS)) for seed in seeds])
            print(f"{name} {kind} {n_labels}", end="; ", flush=True)
    print()
    lines = []
    for setting, method in cases[0][0]:
        table = np.array([[found[setting, method] for found in draws] for draws in cases])
        lines.append(
            {
                "weight, temperature of DA, shares": setting,
                "method": method,
                "gain": round(float(table.mean()), 2),
                "worst case": round(float(table.mean(axis=1).min()), 1),
                "draws worse, %": round(100.0 * float(np.mean(table < HARM)), 1),
            }
        )
    report.table(f"points over the supervised machine, {len(cases)} cases", lines)
    return report.result()
