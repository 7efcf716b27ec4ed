"""What was tried on sonar, where CVS3VM in ten folds is far below Fung and Mangasarian (2001).

The paper names neither the scale of the columns, nor the number of clusters, nor mu and nu; and it
says "ten-fold" of its two RLP columns, but not of CVS3VM. So every setting is judged in three ways:
on the rows of ten folds that no fit saw; with all rows in one fit, on its unlabelled ones; and the
same on all rows, as the paper judges its graphic example.
"""

import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from papers.clustered import (
    ALL_ROWS,
    CVS3VM,
    FOLDS,
    MU,
    NU,
    PUBLISHED,
    SHARE,
    UNLABELLED,
    load_complete,
    on_its_own_rows,
)
from papers.data import Floats, Ints
from papers.plans import Found, Part, Plan, draws
from semisvm import ClusteredSVC

REPEAT = 3
NAME = "sonar"
SCALES: dict[str, Any] = {
    "standardised": StandardScaler,
    "unit interval": MinMaxScaler,
    "as they are": FunctionTransformer,
}
CLUSTERS = (None, 2, 5)
"""Clusters from which the rows to label are taken; None is one per label."""
PAIRS = tuple(product((0.1, 1.0, 10.0), (0.01, 0.1, 1.0)))
TEN_FOLD = "ten-fold"
JUDGED = (TEN_FOLD, UNLABELLED, ALL_ROWS)


def measure(
    folder: Path, scale: str, clusters: int | None, mu: float, nu: float, seed: int
) -> list[float]:
    """Return the correctness of one setting in per cent, in the order of `JUDGED`."""
    X, y = load_complete(folder, NAME)

    def model(state: int) -> ClusteredSVC:
        return ClusteredSVC(mu, nu, n_labels=SHARE, n_clusters=clusters, random_state=state)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*unlabelled rows are")
        whole = on_its_own_rows(model(seed), SCALES[scale]().fit_transform(X), y)
        folds = [
            unseen(model(FOLDS * seed + k), scale, X, y, *fold) for k, fold in parted(X, y, seed)
        ]
    return [float(np.mean(folds)), whole[UNLABELLED], whole[ALL_ROWS]]


def parted(X: Floats, y: Ints, seed: int) -> Iterator[tuple[int, tuple[Ints, Ints]]]:
    """Yield the number of every fold, and its training and test rows."""
    yield from enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y))


def unseen(model: Any, scale: str, X: Floats, y: Ints, train: Ints, test: Ints) -> float:
    """Fit to the training rows of a fold; give the correctness on its test rows in per cent."""
    scaler = SCALES[scale]().fit(X[train])
    model.fit(scaler.transform(X[train]), oracle=y[train])
    return 100.0 * float(model.score(scaler.transform(X[test]), y[test]))


def row(scale: str, clusters: int | None, found: Found) -> dict[str, Any]:
    """Compare the usual mu and nu with the best ones, in every way to judge."""
    means = {pair: np.mean(draws(found, scale, clusters, *pair), axis=0) for pair in PAIRS}
    shown: dict[str, Any] = {"columns": scale, "clusters": clusters or "one per label"}
    for k, judged in enumerate(JUDGED):
        best = max(PAIRS, key=lambda pair: means[pair][k])
        shown |= {
            judged: round(float(means[MU, NU][k]), 1),
            f"{judged}, best": round(float(means[best][k]), 1),
            f"{judged}, mu, nu": f"{best[0]:g}, {best[1]:g}",
        }
    return shown


def rows_of(found: Found) -> list[dict[str, Any]]:
    """Return a row for every scale and number of clusters."""
    return [row(scale, clusters, found) for scale, clusters in product(SCALES, CLUSTERS)]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table of all settings."""
    calls = [
        (scale, clusters, *pair, seed)
        for scale, clusters, pair in product(SCALES, CLUSTERS, PAIRS)
        for seed in range(repeat)
    ]
    published = PUBLISHED[NAME][0]
    title = f"correctness of {CVS3VM} on {NAME} in per cent; the paper has {published}"
    settings = {"seeds": repeat, "folds": FOLDS, "labelled": SHARE, "mu": MU, "nu": NU}
    return Plan(settings, [Part(title, measure, calls, rows_of)])
