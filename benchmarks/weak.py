"""A few labels that are right, and unreliable ones of all rows: gold alone, weak alone, both.

Sets of texts, images and tables, at most 1,200 rows, a third of them new rows. Of the others 50 or
150 have a gold label; every row has weak labels, made from the true ones: of one source that is
right in 60, 75 or 90% of the rows, or of three (60, 70 and 80%). Errors are at random, by region
(whole k-means clusters are wrong, the same for all sources) or by class (half of the classes are
mistaken for others). Accuracy on the unlabelled and new rows together, in %, of

- gold: `choose(quick=True)` with the gold labels,
- weak: LogisticRegression on the weak labels, of three sources their majority, with gold labels in
  the place of weak ones,
- both: the same with `WeakLabels` as evidence,
- majority: the weak labels themselves, without a model,
- Snorkel, CROWDLAB: where these packages are installed (``pip install snorkel cleanlab``) and there
  are three sources, LogisticRegression on the labels of Snorkel's LabelModel, and on CROWDLAB's
  consensus of the sources and of held-out predictions; gold labels replace these labels too.

The rules were chosen on the sets marked "chosen on".

``--sets curve`` has the accuracy over the number of gold labels; its JSON in
``docs/results/guide/weak.json`` is what ``make docs`` draws.

``--sets speed`` measures what evidence costs a fit: processor time with it over that without, the
quickest of some fits in turns, summed over draws of the labels. With evidence the labels move in
other rounds, so the ratio is also shown for one step of conjugate gradients.
"""

import warnings
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import UNLABELED
from papers.table import Report, verdict
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from benchmarks.ranks import labelled, prepared
from semisvm import AnnealedSVC, TransductiveSVC, WeakLabels
from semisvm.maps.latent import fit_latent
from semisvm.model_selection import choose

SETS = {
    "text_ssl": True,
    "la1": False,
    "text1_pcmac": False,
    "r8_tfidf": True,
    "optdigits": True,
    "usps": False,
    "wdbc": True,
    "g241c": False,
    "vehicle": False,
    "uspst": True,
}
"""Sets, and whether the rules were chosen on them."""
ROWS = 1_200
REPEAT = 3
FIRST_SEED = 4_000
GOLD = (50, 150)
SOURCES = {"60": (0.6,), "75": (0.75,), "90": (0.9,), "three": (0.6, 0.7, 0.8)}
ERRORS = ("random", "regions", "classes")
FEWEST_SOURCES = 3
"""Sources from which other packages learn how reliable each is."""
REGIONS = 12
MOSTLY, RARELY = 0.85, 0.05
TIME_LIMIT = 10.0
SPEED, SPEED_SETS, SPEED_ROWS = "speed", ("text1_pcmac", "la1", "usps"), 3_000
SLOWEST, TURNS, DRAWS = 1.1, 3, 4
"""What evidence may cost, in fits without it."""
CURVE, CURVE_SET, CURVE_GOLD, CURVE_SOURCE = "curve", "usps", (20, 50, 100, 200), "75"
LINES = {"gold only": "gold", "weak only": "weak", "both": "both"}
WITHIN, GAIN, WORST = 1.0, 1.5, -2.0
"""What is wanted: points below the better of gold and weak, mean above it, least above gold."""


def weak_labels(X: Any, y: Any, accuracy: float, errors: str, seed: int, which: int = 0) -> Any:
    """Make the labels of a source; the regions and classes of the errors are those of the seed."""
    rng, own = np.random.default_rng(seed), np.random.default_rng([seed, which])
    n, m, wrong = len(y), int(y.max()) + 1, 1.0 - accuracy
    rates, other = np.full(n, wrong), (y + own.integers(1, m, n)) % m
    if errors == "regions":
        found = KMeans(REGIONS, n_init=1, random_state=seed).fit_predict(fit_latent(X)[1])
        inside = np.zeros(n, dtype=bool)
        share = (wrong - RARELY) / (MOSTLY - RARELY)
        for region in rng.permutation(REGIONS):
            if inside.mean() + 0.5 * np.mean(found == region) <= share:
                inside |= found == region
        rates = np.where(inside, MOSTLY, RARELY)
    elif errors == "classes":
        bad = rng.permutation(m)[: max(m // 2, 1)]
        rates = np.where(np.isin(y, bad), MOSTLY, RARELY)
        rates = rates * min(wrong / rates.mean(), 1.0 / MOSTLY)
        other = (y + 1 + rng.integers(0, m - 1)) % m
    return np.where(own.random(n) < rates, other, y)


def majority(votes: Any, m: int, seed: int) -> Any:
    """Return the class with most votes, ties at random."""
    counts = np.stack([(np.stack(votes) == k).sum(axis=0) for k in range(m)], axis=1)
    return (counts + 0.5 * np.random.default_rng(seed).random(counts.shape)).argmax(axis=1)


def rivals(X: Any, partly: Any, votes: list[Any], common: Any) -> dict[str, Any]:
    """Return labels of the rows by other packages, as far as these are installed."""
    if len(votes) < FEWEST_SOURCES:
        return {}
    found, table = {}, np.stack(votes, axis=1)
    m, given = int(common.max()) + 1, partly != UNLABELED
    with suppress(ImportError):
        from snorkel.labeling.model import LabelModel

        model = LabelModel(cardinality=m, verbose=False)
        model.fit(table, n_epochs=500, seed=0, progress_bar=False)
        found["Snorkel"] = model.predict(table)
    with suppress(ImportError):
        from cleanlab.multiannotator import get_label_quality_multiannotator
        from sklearn.model_selection import cross_val_predict

        labels = np.where(given, partly, common)
        machine = LogisticRegression(C=10.0, max_iter=1_000)
        p = cross_val_predict(machine, X, labels, cv=5, method="predict_proba")
        own = get_label_quality_multiannotator(table, p, verbose=False)
        found["CROWDLAB"] = own["label_quality"]["consensus_label"].to_numpy()
    return {name: np.where(given, partly, own) for name, own in found.items()}


def case(
    X: Any, y: Any, n_gold: int, sources: str, errors: str, seed: int, gold: Any = None
) -> dict[str, float]:
    """Return the accuracy in % of every way; ``gold`` keeps that of gold alone."""
    n, m = 2 * len(y) // 3, int(y.max()) + 1
    partly = labelled(y[:n], n_gold, seed)
    votes = [
        weak_labels(X, y, accuracy, errors, seed, k)[:n]
        for k, accuracy in enumerate(SOURCES[sources])
    ]
    rest = np.concatenate([np.flatnonzero(partly == UNLABELED), np.arange(n, len(y))])
    known = {f"source {k}": own for k, own in enumerate(votes)}
    given, common = partly != UNLABELED, majority(votes, m, seed)

    def right(predicted: Any) -> float:
        return 100.0 * float(np.mean(predicted == y[rest]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if gold is None:
            gold = right(chosen(X[:n], partly, None).predict(X[rest]))
        weak = LogisticRegression(C=10.0, max_iter=1_000)
        weak.fit(X[:n], np.where(given, partly, common))
        both = chosen(X[:n], partly, WeakLabels(known, X[:n]))
        others = {
            name: right(clone(weak).fit(X[:n], labels).predict(X[rest]))
            for name, labels in rivals(X[:n], partly, votes, common).items()
        }
    found = {
        "gold": gold,
        "weak": right(weak.predict(X[rest])),
        "both": right(both.predict(X[rest])),
    }
    found["majority"] = 100.0 * float(np.mean(common[~given] == y[:n][~given]))
    return found | others


def chosen(X: Any, y: Any, weak: Any) -> Any:
    """Let `auto` choose, by processor time, and fit."""
    given = {} if weak is None else {"evidence": weak}
    with patch("semisvm.compiling.perf_counter", process_time):
        choice = choose(X, y, quick=True, time_limit=TIME_LIMIT, **given)
        return choice.make().fit(X, y, **given)


def wanted(cases: list[dict[str, float]]) -> dict[str, float]:
    """Return the share of cases within a point of the better one, and gains in points."""
    ways = [way for way in cases[0] if all(way in found for found in cases)]
    table = {way: np.array([found[way] for found in cases]) for way in ways}
    better = np.maximum(table["gold"], table["weak"])
    ahead, over = table["both"] - better, table["both"] - table["gold"]
    return {
        "cases": len(cases),
        "within 1 %": 100.0 * float(np.mean(ahead >= -WITHIN)),
        "over the better": float(ahead.mean()),
        "over gold": float(over.mean()),
        "least over gold": float(over.min()),
        **{way: float(own.mean()) for way, own in table.items()},
    }


def cost(X: Any, y: Any, kind: Any) -> dict[str, Any]:
    """Fit with evidence and without in turns, for some labels; return ratios."""
    m = int(y.max()) + 1
    shares = np.bincount(y, minlength=m) / len(y)
    seconds, steps = {False: 0.0, True: 0.0}, {False: 0, True: 0}
    for seed in range(DRAWS):
        partly, votes = labelled(y, 100, seed), weak_labels(X, y, 0.75, "random", seed)
        q = np.full((len(y), m), 0.25 / (m - 1))
        q[np.arange(len(y)), votes] = 0.75
        taken: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(2 * (TURNS + 1)):
            known = turn % 2 == 1
            start = process_time()
            model = kind(class_prior=shares).fit(X, partly, evidence=q if known else None)
            if turn > 1:  # the first turn compiles
                taken[known].append(process_time() - start)
            if turn < 2:
                steps[known] += sum(row.get("cg_steps", 0) for row in model.trace_)
        for known, own in taken.items():
            seconds[known] += min(own)
    ratio = seconds[True] / seconds[False]
    each = ratio * steps[False] / steps[True]
    return {
        "seconds without": round(seconds[False], 3),
        "steps without": steps[False],
        "steps with": steps[True],
        "ratio": round(ratio, 2),
        "of a step": round(each, 2),
        f"at most {SLOWEST}": verdict(ratio <= SLOWEST),
    }


def curves_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the curves of accuracies, as `papers.figures.draw_curves` takes them."""
    return [
        {
            "title": f"{CURVE_SET}, one source, errors {title}",
            "x": list(CURVE_GOLD),
            "lines": {
                name: [
                    [row[way] / 100.0 for row in rows if (row["gold labels"], row["errors"]) == at]
                    for at in [(n, errors) for n in CURVE_GOLD]
                ]
                for name, way in LINES.items()
            },
            "levels": {},
            "x_name": "gold labels",
            "y_name": "accuracy",
            "scale": CURVE,
        }
        for errors, title in (("random", "at random"), ("regions", "in regions"))
    ]


def curve_rows(folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Measure the accuracy over the number of gold labels."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + repeat):
        X, y = prepared(folder, CURVE_SET, seed, ROWS)
        for n_gold in CURVE_GOLD:
            gold = None
            for errors in ("random", "regions"):
                own = case(X, y, n_gold, CURVE_SOURCE, errors, seed, gold)
                gold = own["gold"]
                rows.append({"gold labels": n_gold, "errors": errors, "seed": seed, **own})
    return rows


def run(folder: Path, repeat: int, sets: list[str] | None = None) -> dict[str, Any]:
    """Print every case and summaries of sets, errors and sources; or what evidence costs."""
    report = Report("weak", draws=repeat, rows=ROWS)
    if sets == [CURVE]:
        rows = curve_rows(folder, repeat)
        report.table("accuracy over gold labels", rows)
        return {**report.result(), "curves": curves_of(rows)}
    if sets == [SPEED]:
        rows = [
            {"set": name, "rows": len(y), "fit": kind.__name__, **cost(X, y, kind)}
            for name in SPEED_SETS
            for X, y in [prepared(folder, name, 0, SPEED_ROWS)]
            for kind in (TransductiveSVC, AnnealedSVC)
        ]
        report.table("what evidence costs", rows)
        return report.result()
    found: list[tuple[dict[str, Any], dict[str, float]]] = []
    for name in sets or list(SETS):
        rows = []
        for n_gold in GOLD:
            for seed in range(FIRST_SEED, FIRST_SEED + repeat):
                X, y = prepared(folder, name, seed, ROWS)
                gold = None
                for sources in SOURCES:
                    for errors in ERRORS:
                        about = {"set": name, "gold labels": n_gold, "sources": sources}
                        about |= {"errors": errors, "chosen on": SETS.get(name, False)}
                        own = case(X, y, n_gold, sources, errors, seed, gold)
                        gold = own["gold"]
                        found.append((about, own))
                        rows.append({**about, **own})
        report.table(name, rows)
    for group in ("chosen on", "errors", "sources", "gold labels"):
        parts = dict.fromkeys(about[group] for about, _ in found)
        table = [
            {group: str(part), **wanted([own for about, own in found if about[group] == part])}
            for part in parts
        ]
        report.table(f"by {group}", table)
    return report.result()
