"""Without being told the class shares: how far they are off, and what the models gain.

Sets with 2 to 20 classes, at most 3,000 rows of length one, labels drawn at random (20, or 4 per
class; then 100, or 10 per class), at least one of each class. Everything at its defaults. Choices
were made on every second set in alphabetical order, "choose"; judge by the others, "report".

"matched" is the estimate of earlier versions: mean scores of supervised models, in five folds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from papers.data import Floats, Ints, Matrix, load_coded
from papers.table import Report, verdict
from scipy import sparse
from sklearn.preprocessing import normalize, scale

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.labels.partial import encode
from semisvm.methods.shares import estimate_shares
from semisvm.model_selection import PartialLabelKFold, hide_labels

REPEAT = 2
MOST_ROWS = 3_000
SETS = (
    *("20news_tfidf", "australian", "coil20", "coil_ssl", "digit1", "g241c", "g50c"),
    *("heart_cleveland", "house_votes", "housing", "imdb_tfidf", "ionosphere", "la1"),
    *("lasvm_reuters", "mnist", "ohscal", "optdigits", "pima", "r8_tfidf", "sonar"),
    *("text1_pcmac", "text_ssl", "usps", "usps_ssl", "uspst", "vehicle", "wbc", "wdbc"),
    "webkb_tfidf",
)
CHOOSE = SETS[::2]
# Columns of measurements in units of their own.
TABLES = (
    *("australian", "heart_cleveland", "house_votes", "housing", "ionosphere", "pima", "sonar"),
    *("vehicle", "wbc", "wdbc"),
)
COUNTS = ("la1", "ohscal")
SOURCES = ("labels", "matched", "estimate", "truth")
METHODS = {"TSVM": TransductiveSVC, "DA": AnnealedSVC}
CAUTION = 2.0
# Shares of the second class that are off by so much, on one set with equal shares.
WRONG_ON, WRONG_LABELS = "text1_pcmac", 50
OFFSETS = (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2)
HARM = -0.5
ENOUGH, SELDOM = 0.75, 0.15


@dataclass(frozen=True)
class Case:
    """Rows of which few have a label, and the truth."""

    X: Matrix
    y: Ints
    labels: Ints

    @property
    def free(self) -> Any:
        """Which rows have no label."""
        return self.labels < 0

    def fractions(self, y: Ints) -> Floats:
        """Return the shares of the classes."""
        return np.bincount(y, minlength=int(self.y.max()) + 1) / len(y)


def read(folder: Path, name: str) -> tuple[Matrix, Ints]:
    """Load a set with rows of length one; counts of words become log-tf-idf."""
    X, y = load_coded(folder, name)
    if name == "imdb_tfidf":
        # the third class is that of reviews without a label
        X, y = X[y < 2], y[y < 2]
    if name in COUNTS:
        found = X.tocsr().astype(np.float64)
        found.data = 1.0 + np.log(found.data)
        seen = np.bincount(found.indices, minlength=found.shape[1])
        X = found @ sparse.diags(np.log(found.shape[0] / np.maximum(seen, 1)))
    if name in TABLES:
        X = scale(np.nan_to_num(X.astype(np.float64)))
    X = normalize(X.astype(np.float64), copy=False)
    return X, y


def draw(X: Matrix, y: Ints, n_labels: int, seed: int, most_rows: int = MOST_ROWS) -> Case:
    """Draw rows, and labels at random, again while a class has none."""
    rng = np.random.default_rng(seed)
    while True:
        rows = np.sort(rng.permutation(len(y))[:most_rows])
        given = rng.choice(len(rows), n_labels, replace=False)
        if len(np.unique(y[rows][given])) == y.max() + 1:
            break
    hidden = np.setdiff1d(np.arange(len(rows)), given)
    return Case(X[rows], y[rows], hide_labels(y[rows], hidden))


def matched(case: Case) -> Floats:
    """Explain the mean score of the unlabelled rows by those of held-out rows of each class."""
    given = np.flatnonzero(~case.free)
    codes = case.labels[given]
    counts = np.bincount(codes)
    fractions = counts / len(codes)
    if counts.min() < 2:
        return fractions
    scores, mean = [], 0.0
    held = []
    n_folds = min(5, int(counts.min()))
    splitter = PartialLabelKFold(n_folds, shuffle=True, random_state=0)
    for _, fold in splitter.split(case.X, case.labels):
        model = NewtonSVC().fit(case.X, hide_labels(case.labels, fold))
        found = model.decision_function(case.X).reshape(len(case.y), -1)
        scores.append(found[fold])
        held.append(fold)
        mean = mean + len(fold) / len(given) * found[case.free].mean(axis=0)
    return explained(np.concatenate(scores), case.labels[np.concatenate(held)], np.asarray(mean))


def explained(scores: Floats, codes: Ints, mean: Floats) -> Floats:
    """Weigh mean scores and labelled fractions by their precision."""
    counts = np.bincount(codes)
    n, m = len(codes), len(counts)
    shares = fractions = counts / n
    smooth = (counts + 1.0) / (n + m)
    M = np.array([scores[codes == k].mean(axis=0) for k in range(m)])
    rest = scores - M[codes]
    S = rest.T @ rest / max(n - m, 1)
    S += 1e-3 * np.trace(S) / len(S) * np.eye(len(S))
    for _ in range(5):
        precision = np.linalg.solve(CAUTION * np.sum(shares**2 / counts) * S, M.T)
        A = M @ precision + n * np.diag(1.0 / smooth)
        b = mean @ precision + n * fractions / smooth
        free, ones = np.linalg.solve(A, np.column_stack([b, np.ones(m)])).T
        shares = free - (free.sum() - 1.0) / ones.sum() * ones
        shares = np.maximum(shares, 0.1 * smooth)
        shares = shares / shares.sum()
    return np.asarray(shares)


def shares_of(case: Case) -> tuple[dict[str, Floats], float]:
    """Return the shares of each source, and the seconds of the estimate."""
    start = process_time()
    estimate = estimate_shares(case.X, encode(case.labels)).values
    seconds = process_time() - start
    fractions = case.fractions(case.labels[~case.free])
    found = (fractions, matched(case), estimate, case.fractions(case.y[case.free]))
    return dict(zip(SOURCES, found, strict=True)), seconds


def measure(case: Case, methods: Sequence[str]) -> dict[str, float]:
    """Return the errors of the shares, the accuracies and the seconds of one draw, in percent."""
    shares, seconds = shares_of(case)
    X, truth = case.X[case.free], case.y[case.free]
    found = {"SVM": 100.0 * NewtonSVC().fit(case.X, case.labels).score(X, truth)}
    for source, values in shares.items():
        found[f"off {source}"] = 50.0 * float(np.abs(values - shares["truth"]).sum())
        for method in methods:
            start = process_time()
            # a method that estimates the shares itself is more careful
            prior = None if source == "estimate" else values
            model = METHODS[method](class_prior=prior).fit(case.X, case.labels)
            found[f"seconds {method}"] = process_time() - start
            found[f"{method} {source}"] = 100.0 * model.score(X, truth)
    return {**found, "seconds estimate": seconds}


def rows_of(
    folder: Path, names: Sequence[str], methods: Sequence[str], draws: int
) -> Iterator[dict[str, Any]]:
    """Average the draws of every set and number of labels."""
    for name in names:
        X, y = read(folder, name)
        m = int(np.max(y)) + 1
        for n_labels in (max(20, 4 * m), max(100, 10 * m)):
            runs = [measure(draw(X, y, n_labels, seed), methods) for seed in range(draws)]
            mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            half = "choose" if name in CHOOSE else "report"
            yield {"set": name, "half": half, "labels": n_labels, **mean}
            print(f"{name} {n_labels}", end=" ", flush=True)


def summary(rows: list[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    """Compare with the supervised machine, by half of the sets and source of the shares."""
    found = []
    for half in ("choose", "report"):
        some = [row for row in rows if row["half"] == half]
        if not some:
            continue
        gains = {s: np.array([row[f"{method} {s}"] - row["SVM"] for row in some]) for s in SOURCES}
        told = float(gains["truth"].mean())
        for source, gain in gains.items():
            worse, line = int(np.count_nonzero(gain < HARM)), {"half": half, "shares": source}
            line |= {"off": np.mean([row[f"off {source}"] for row in some])}
            line |= {"gain": gain.mean(), "worst": gain.min(), "worse": f"{worse} of {len(gain)}"}
            if source == "estimate":
                line["enough gain"] = verdict(bool(gain.mean() >= ENOUGH * told))
                line["seldom worse"] = verdict(worse <= SELDOM * len(gain))
            found.append(line)
    return found


def wrong_row(method: str, cases: Sequence[Case]) -> dict[str, Any]:
    """Return the accuracy where the given share of the second of two classes is off."""
    line: dict[str, Any] = {"set": WRONG_ON, "labels": WRONG_LABELS, "method": method}
    for offset in OFFSETS:
        found = []
        for case in cases:
            X, truth = case.X[case.free], case.y[case.free]
            share = float(np.mean(truth)) + offset
            model = METHODS[method](class_prior=[1.0 - share, share]).fit(case.X, case.labels)
            found.append(100.0 * model.score(X, truth))
        line[f"{offset:+.2f}"] = float(np.mean(found))
    return line


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Round to what the draws can tell."""
    places = {key: 2 if key.startswith("seconds") else 1 for key in row}
    return {k: round(float(v), places[k]) if isinstance(v, float) else v for k, v in row.items()}


def run(
    folder: Path,
    repeat: int,
    sets: Sequence[str] = SETS,
    methods: Sequence[str] = tuple(METHODS),
) -> dict[str, Any]:
    """Print a table of all sets, and the gains."""
    report = Report("shares", draws=repeat, rows=MOST_ROWS)
    rows = list(rows_of(folder, sets, methods, repeat))
    print()
    report.table("shares off, accuracies, %; seconds", [rounded(row) for row in rows])
    for method in methods:
        lines = [rounded(line) for line in summary(rows, method)]
        report.table(f"{method} against the supervised machine, points", lines)
    if WRONG_ON in sets:
        X, y = read(folder, WRONG_ON)
        cases = [draw(X, y, WRONG_LABELS, seed) for seed in range(repeat)]
        wrong = [rounded(wrong_row(method, cases)) for method in methods]
        report.table("accuracy, %, where the given share of the second class is off", wrong)
    return report.result()
