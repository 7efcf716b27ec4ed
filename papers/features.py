"""How few features are enough: counting the weights (FSV) beside the 1-norm.

Fung and Mangasarian (2001) name FSV, of Bradley and Mangasarian (1998), among the forms of the
support vector machine. Ten-fold test correctness on standardised columns, supervised, with the
number of features that each machine uses. The price mu is chosen in each fold by correctness on
a fifth of its training rows; of equally good prices the highest.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from papers.clustered import load_complete
from papers.data import Floats, Ints
from papers.plans import Found, Part, Plan, draws
from semisvm import FeatureSelectionSVC, OneNormSVC

REPEAT = 1
FOLDS = 10
SETS = ("wdbc", "ionosphere", "sonar", "heart_cleveland")
PRICES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MACHINES: dict[str, Callable[[float], Any]] = {"1-norm": OneNormSVC, "FSV": FeatureSelectionSVC}


def tuned(make: Callable[[float], Any], X: Floats, y: Ints) -> Any:
    """Fit with the price that does best on held-out rows."""
    inner, held, y_inner, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    scores = [make(mu).fit(inner, y_inner).score(held, y_held) for mu in PRICES]
    best = max(mu for mu, score in zip(PRICES, scores, strict=True) if score == max(scores))
    return make(best).fit(X, y)


def measure(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """Return test correctness in % and the number of features of every machine, and the columns."""
    X, y = load_complete(folder, name)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in MACHINES}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        scaler = StandardScaler().fit(X[train])
        rows, others = scaler.transform(X[train]), scaler.transform(X[test])
        for name, make in MACHINES.items():
            model = tuned(make, rows, y[train])
            found[name].append((100.0 * model.score(others, y[test]), float(model.n_nonzero_[0])))
    means = {name: np.mean(pairs, axis=0) for name, pairs in found.items()}
    return {**means, "columns": X.shape[1]}


def row(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return correctness and features of both machines on a set."""
    found: dict[str, Any] = {"set": name, "columns": runs[0]["columns"]}
    for machine in MACHINES:
        correct, features = np.mean([run[machine] for run in runs], axis=0)
        found |= {f"{machine} %": float(correct), f"{machine} features": float(features)}
    return found


def rows_of(found: Found) -> list[dict[str, Any]]:
    """Return a row for every set."""
    return [row(name, draws(found, name)) for name in SETS]


def plan(folder: Path, repeat: int) -> Plan:
    """Plan correctness and the number of features of both machines on every set."""
    calls = [(name, seed) for name in SETS for seed in range(repeat)]
    title = "ten-fold test correctness and features used"
    return Plan({"draws": repeat, "folds": FOLDS}, [Part(title, measure, calls, rows_of)])
