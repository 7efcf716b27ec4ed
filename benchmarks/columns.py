"""One more column beside texts and tables: noise that must do no harm, and columns that inform.

Tables of one text column (newsgroups without headers; other sets have a word per nonzero, as often
as it is counted) or of numbers and categories. To each, one of these is added: a category of noise
of 2, 4 or 20 levels, three flags, three normal numbers; or a category that is the class in 70% of
the rows and random in the others, or two numbers with another mean in each class. Texts also get a
second text, which is that of another row. At most 1,000 rows are fitted, 60 of them with labels; up
to 600 others are new. "auto" is `semisvm.train` without the name of a method, which takes at most
`SECONDS` of the processor to choose. Tables without text have 25 times as many draws, since they
have few rows; "auto" takes part in the first ones.

Cells are points of accuracy gained by the column, on the unlabelled rows and on the new ones: means
over the draws, with half the width of their 95% intervals. A draw of a table is off by 3 points or
more, so a few of them show nothing. Noise must not lose more than 2 points with any method; a text
of noise, which has as many directions as the other one, must not with "auto", which may leave it
out. What informs must not gain `NewtonSVC` more than 1 point less than it does if all blocks of
columns have equal shares of the length of rows ("svm equal"), or than nothing if it does harm
there. Features are made as `semisvm.train` makes them: columns that labels show to inform are
raised, for "svm" further than for the methods that look for clusters. With an equal share, these
follow such a column.

The rule was chosen on the sets of that role, with other draws.

``--methods held-out`` has the accuracy of "svm" on held-out labels, of texts with a category that
is the class in 20 to 70% of the rows or two numbers: with features that were made once, with all
labels, and with features of the labels of each fold; both less the accuracy on all other rows.

``--methods by-chance`` counts the tables of noise in which a column is raised: 1, 6 or 30 columns,
in turn categories of 2 to 20 levels of which some are rare, normal numbers, and dates.
"""

import gzip
import json
import warnings
from collections.abc import Callable
from functools import partial
from itertools import cycle, product
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from papers.data import UNLABELED, Ints, MissingDataError, load_coded
from papers.table import Report, verdict
from scipy import sparse, stats

import semisvm
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.model_selection import PartialLabelKFold
from semisvm.tables import ColumnFeatures, Table, as_table
from semisvm.tables.column_shares import SUPERVISED
from semisvm.tables.informative import find_informative
from semisvm.tables.kinds import CATEGORICAL, NUMERIC, TIME

REPEAT = 4
TABLE_DRAWS = 25
"""Draws of a table without text per draw of a text: it has few rows, and takes little time."""
N_FITTED, N_NEW, N_LABELED = 1_000, 600, 60
SECONDS = 10.0
MOST_LOST, MOST_BEHIND = 2.0, 1.0
AUTO, BASE, EQUAL = "auto", "svm", "svm equal"
HELD_OUT, BY_CHANCE = "held-out", "by-chance"
TABLES_OF_NOISE = 50
"""Tables per draw, number of labels, shares of the classes and number of columns."""
ESTIMATORS: dict[str, type] = {BASE: NewtonSVC, "tsvm": TransductiveSVC, "da": AnnealedSVC}
NEWS = {
    "20news mixed": ("rec.autos", "rec.sport.hockey", "talk.politics.mideast", "misc.forsale"),
    "20news sci": ("sci.crypt", "sci.electronics", "sci.med", "sci.space"),
}
# The most frequent classes of sets with rare ones.
MOST_CLASSES = {"webkb_tfidf": 4}
# Columns of a matrix that are a category: its number, or the indicators of its levels.
CATEGORIES: dict[str, tuple[range, ...]] = {
    "australian": tuple(range(k, k + 1) for k in (0, 3, 4, 5, 7, 8, 10, 11)),
    "heart_cleveland": tuple(
        range(*ends) for ends in ((1, 3), (3, 7), (9, 11), (11, 14), (15, 17), (18, 21), (22, 25))
    ),
    "housing": (range(3, 4),),
}
TABLES = (
    *("australian", "pima", "vehicle", "wdbc"),
    *("heart_cleveland", "housing", "ionosphere"),
)
CHOSEN_ON = ("20news mixed", "la1", "r8_tfidf", "text_ssl", "webkb_tfidf", *TABLES[:4])
REPORTED = ("20news sci", "ohscal", "text1_pcmac", *TABLES[4:])

Columns = dict[str, Any]


def levels(codes: Any) -> list[str]:
    """Return names of levels."""
    return [f"level {code}" for code in codes]


def hints(y: Ints, rng: np.random.Generator, share: float = 0.7) -> Columns:
    """Return a category that is the class in a share of the rows, and random in the others."""
    found = np.where(rng.random(len(y)) < share, y, rng.integers(0, y.max() + 1, len(y)))
    return {"informs": levels(found)}


def measured(y: Ints, rng: np.random.Generator) -> Columns:
    """Return two numbers whose means differ between classes."""
    means = rng.standard_normal((int(y.max()) + 1, 2))
    found = means[y] + rng.standard_normal((len(y), 2))
    return {f"measured {k}": found[:, k] for k in range(2)}


NOISY_TEXT = "noise, a text"
NOISE: dict[str, Callable[[Ints, np.random.Generator], Columns]] = {
    "noise, 2 levels": lambda y, rng: {"noise": levels(rng.integers(0, 2, len(y)))},
    "noise, 4 levels": lambda y, rng: {"noise": levels(rng.integers(0, 4, len(y)))},
    "noise, 20 levels": lambda y, rng: {"noise": levels(rng.integers(0, 20, len(y)))},
    "noise, 3 flags": lambda y, rng: {
        f"noise {k}": levels(rng.integers(0, 2, len(y))) for k in range(3)
    },
    "noise, 3 numbers": lambda y, rng: {
        f"noise {k}": rng.standard_normal(len(y)) for k in range(3)
    },
}
INFORMS: dict[str, Callable[[Ints, np.random.Generator], Columns]] = {
    "informs, category": hints,
    "informs, 2 numbers": measured,
}


def read(folder: Path, name: str, seed: int) -> tuple[Columns, Ints]:
    """Return the columns and classes of a set, at most as many rows as are used, shuffled."""
    rng = np.random.default_rng(seed)
    if name in NEWS:
        texts, y = _news(folder, NEWS[name])
        rows = rng.permutation(len(y))[: N_FITTED + N_NEW]
        return {"text": [texts[k] for k in rows]}, y[rows]
    X, y = load_coded(folder, name)
    frequent = np.argsort(-np.bincount(y), kind="stable")[: MOST_CLASSES.get(name)]
    rows = rng.permutation(np.flatnonzero(np.isin(y, frequent)))[: N_FITTED + N_NEW]
    y = np.unique(y[rows], return_inverse=True)[1]
    if hasattr(X, "tocsr"):
        return {"text": _words(X[rows])}, y
    return _table(np.asarray(X[rows], dtype=np.float64), CATEGORIES.get(name, ())), y


def _news(folder: Path, groups: tuple[str, ...]) -> tuple[list[str], Ints]:
    place = folder / "20news" / "20news.jsonl.gz"
    if not place.exists():
        raise MissingDataError(f"the folder {str(folder)!r} has no set '20news'")
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        found = [row for row in map(json.loads, lines) if row["label"] in groups]
    classes = np.unique([row["label"] for row in found], return_inverse=True)[1]
    return [row["text"].partition("\n\n")[2] for row in found], classes


def _words(X: Any) -> list[str]:
    """Write rows of counts as texts; a weight that is no count is a word once."""
    counts = np.where(X.data == np.round(X.data), X.data, 1.0).astype(int)
    ends = X.indptr[1:-1]
    pairs = zip(np.split(X.indices, ends), np.split(counts, ends), strict=True)
    return [" ".join(f"word{k}" for k in np.repeat(places, some)) for places, some in pairs]


def _table(X: Any, categories: tuple[range, ...]) -> Columns:
    """Name the columns of a matrix; a category is written in words, NaN is missing."""
    columns: Columns = {}
    used = {k for places in categories for k in places}
    for k in range(X.shape[1]):
        if k not in used:
            columns[f"x{k}"] = [None if np.isnan(v) else float(v) for v in X[:, k]]
    for places in categories:
        own = np.nan_to_num(X[:, places])
        codes = own.argmax(axis=1) if len(places) > 1 else own[:, 0].astype(int)
        columns[f"c{places.start}"] = levels(codes)
    return columns


def labelled(y: Ints, seed: int) -> Ints:
    """Hide all labels but some, two or more of every class."""
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.choice(len(y), min(N_LABELED, len(y) // 2), replace=False)
        if np.bincount(y[rows], minlength=int(y.max()) + 1).min() >= 2:
            return np.where(np.isin(np.arange(len(y)), rows), y, UNLABELED)


def with_equal_shares(X: Any, features: ColumnFeatures) -> Any:
    """Return what scales the columns of X so that all blocks have the same mean square."""
    squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    widths = [block.width() for block in features.blocks_]
    own = np.array([part.sum() for part in np.split(squares, np.cumsum(widths)[:-1])])
    return sparse.diags_array(np.repeat(1.0 / np.sqrt(len(own) * own), widths))


def accuracies(columns: Columns, y: Ints, n: int, seed: int, methods: list[str]) -> dict[str, Any]:
    """Fit the first n rows; return accuracy in % on the unlabelled and on the new rows."""
    fitted = {name: cells[:n] for name, cells in columns.items()}
    new = {name: cells[n:] for name, cells in columns.items()}
    partly = labelled(y[:n], seed)
    free = partly == UNLABELED

    def matrices(features: ColumnFeatures) -> tuple[Any, Any]:
        of_fit = features.fit_transform(fitted, partly)
        return sparse.csr_matrix(of_fit), sparse.csr_matrix(features.transform(new))

    plain = matrices(ColumnFeatures())
    supervised = matrices(ColumnFeatures(raised=SUPERVISED))

    def scores(of_fit: Any, of_new: Any) -> tuple[float, float]:
        return 100.0 * np.mean(of_fit[free] == y[:n][free]), 100.0 * np.mean(of_new == y[n:])

    found = {}
    for name in methods:
        if name == AUTO:
            labels = partly.astype(object)
            labels[free] = None
            with patch("semisvm.compiling.perf_counter", process_time):
                model = semisvm.train(Table(fitted, labels), time_limit=SECONDS)
            found[name] = scores(model.predict(fitted), model.predict(new))
        elif name == EQUAL:
            features = ColumnFeatures(raised=0.0)
            X, Z = matrices(features)
            scale = with_equal_shares(X, features)
            estimator = NewtonSVC().fit(X @ scale, partly)
            found[name] = scores(estimator.predict(X @ scale), estimator.predict(Z @ scale))
        else:
            X, Z = supervised if name == BASE else plain
            estimator = ESTIMATORS[name]().fit(X, partly)
            found[name] = scores(estimator.predict(X), estimator.predict(Z))
    return found


def measure(folder: Path, name: str, seed: int, methods: list[str]) -> dict[str, Any]:
    """Return accuracies of one draw by the column that was added."""
    columns, y = read(folder, name, seed)
    n = min(N_FITTED, int(0.7 * len(y)))
    rng = np.random.default_rng(seed)
    found = {"none": accuracies(columns, y, n, seed, methods)}
    for kind, make in {**NOISE, **INFORMS}.items():
        found[kind] = accuracies({**columns, **make(y, rng)}, y, n, seed, methods)
    if "text" in columns:
        others = [columns["text"][k] for k in rng.permutation(len(y))]
        found[NOISY_TEXT] = accuracies({**columns, "other": others}, y, n, seed, methods)
    return found


def summary(name: str, draws: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Return a row of accuracies without a column, and one of gains per column."""
    role = "chosen on" if name in CHOSEN_ON else "reported"
    rows = []
    for kind in draws[0]:
        of_draws = {m: _gains(draws, kind, m) for m in methods}
        gains = {m: np.mean(found, axis=0) for m, found in of_draws.items()}
        reached = True
        if kind in NOISE or kind == NOISY_TEXT:
            judged = [m for m in methods if m == AUTO or (kind in NOISE and m != EQUAL)]
            reached = all(np.min(gains[m]) >= -MOST_LOST for m in judged)
        elif kind in INFORMS and {BASE, EQUAL} <= {*methods}:
            least = np.maximum(gains[EQUAL], 0.0) - MOST_BEHIND
            reached = bool(np.all(gains[BASE] >= least))
        sign = "" if kind == "none" else "+"
        cells = {m: " ".join(_with_error(v, sign) for v in of_draws[m].T) for m in methods}
        rows.append({"set": name, "role": role, "column": kind, **cells, "bar": verdict(reached)})
    return rows


def _gains(draws: list[dict[str, Any]], kind: str, method: str) -> Any:
    """Return gains in the draws in which the method took part, shape (draws, 2)."""
    there = [draw for draw in draws if method in draw[kind]]
    without = np.array([draw["none"][method] for draw in there])
    found = np.array([draw[kind][method] for draw in there])
    return found if kind == "none" else found - without


def _with_error(values: Any, sign: str) -> str:
    """Write a mean, with half the width of its 95% interval."""
    mean = f"{np.mean(values):{sign}.1f}"
    if len(values) == 1:
        return mean
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{mean}±{half:.1f}"


def held_out(folder: Path, name: str, seed: int) -> list[dict[str, Any]]:
    """Compare the accuracy on held-out labels with that on all other rows."""
    columns, y = read(folder, name, seed)
    n = min(N_FITTED, int(0.7 * len(y)))
    rng = np.random.default_rng(seed)
    partly = labelled(y[:n], seed)
    rows = np.flatnonzero(partly != UNLABELED)
    others = np.setdiff1d(np.arange(len(y)), rows)
    folds = list(PartialLabelKFold(5, shuffle=True, random_state=seed).folds(partly[rows]))
    kinds: dict[str, Callable[..., Columns]] = {
        f"category, {p:.0%}": partial(hints, share=p) for p in (0.2, 0.35, 0.5, 0.7)
    }
    found = []
    for kind, make in {**kinds, "2 numbers": measured}.items():
        table = {**columns, **make(y, rng)}
        fitted = {name: cells[:n] for name, cells in table.items()}

        def matrix(labels: Ints, table: Columns = table, fitted: Columns = fitted) -> Any:
            features = ColumnFeatures(raised=SUPERVISED).fit(fitted, labels)
            return sparse.csr_matrix(features.transform(table)), bool(features.informative_)

        def right(X: Any, held: Any, known: Any) -> Any:
            return NewtonSVC().fit(X[known], y[known]).predict(X[held]) == y[held]

        X, raised = matrix(partly)
        once, own = [], []
        for fold in folds:
            held, known = rows[fold], np.delete(rows, fold)
            hidden = np.where(np.isin(np.arange(n), held), UNLABELED, partly)
            once += right(X, held, known).tolist()
            own += right(matrix(hidden)[0], held, known).tolist()
        truth = np.mean(right(X, others, rows))
        points = {"once": 100 * (np.mean(once) - truth), "by fold": 100 * (np.mean(own) - truth)}
        found.append({"column": kind, "raised": raised, **points})
    return found


def held_out_summary(draws: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means and deviations of held-out accuracies less the true ones, by column."""
    rows = []
    for kind in [*dict.fromkeys(draw["column"] for draw in draws), "all"]:
        own = [draw for draw in draws if kind in (draw["column"], "all")]
        cells = {"draws": len(own), "raised": f"{np.mean([draw['raised'] for draw in own]):.0%}"}
        for how in ("once", "by fold"):
            cells[how] = f"{np.mean([draw[how] for draw in own]):+.1f}"
        deviation = f"{np.std([draw['once'] for draw in own]):.1f}"
        rows.append({"column": kind, **cells, "deviation of one": deviation})
    return rows


def noise_columns(n_rows: int, n_columns: int, rng: np.random.Generator) -> Columns:
    """Return categories, numbers and dates that mean nothing, in turn."""
    found: Columns = {}
    for k in range(n_columns):
        shares = 1.0 / np.arange(1, rng.integers(3, 22)) ** rng.uniform(0, 2)
        codes = rng.choice(len(shares), n_rows, p=shares / shares.sum())
        days = np.datetime64("2024-01-01") + rng.integers(0, 500, n_rows)
        found[f"noise {k}"] = (levels(codes), rng.standard_normal(n_rows), days.tolist())[k % 3]
    return found


def by_chance(n_tables: int) -> list[dict[str, Any]]:
    """Count tables of noise in which a column is raised, by labels, classes and columns."""
    rng = np.random.default_rng(0)
    rows = []
    for n_labels, shares in product((24, 60, 200), ((0.5, 0.5), (0.9, 0.1), (0.25,) * 4)):
        cells = {}
        for n_columns in (1, 6, 30):
            raised = 0
            for _ in range(n_tables):
                columns = noise_columns(n_labels, n_columns, rng)
                in_turn = cycle((CATEGORICAL, NUMERIC, TIME))
                kinds = dict(zip(columns, in_turn, strict=False))
                y = rng.choice(len(shares), n_labels, p=shares)
                raised += bool(find_informative(as_table(columns), kinds, y))
            cells[f"{n_columns} columns"] = f"{raised} of {n_tables}"
        rows.append({"labels": n_labels, "classes": " ".join(f"{p:.0%}" for p in shares), **cells})
    return rows


def run(
    folder: Path, repeat: int, sets: list[str] | None = None, methods: list[str] | None = None
) -> dict[str, Any]:
    """Print a table per set; ``methods`` are svm, tsvm, da and auto, or held-out or by-chance."""
    chosen = [*ESTIMATORS, EQUAL, AUTO] if methods is None else methods
    report = Report("columns", draws=repeat, labels=N_LABELED, rows=N_FITTED)
    if BY_CHANCE in chosen:
        title = "tables of noise in which a column is raised"
        report.table(title, by_chance(TABLES_OF_NOISE * repeat))
        return report.result()
    if HELD_OUT in chosen:
        texts = [name for name in sets or [*CHOSEN_ON, *REPORTED] if name not in TABLES]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pairs = [held_out(folder, name, seed) for name in texts for seed in range(repeat)]
        report.table(
            "accuracy on held-out labels less that on other rows, in points",
            held_out_summary([draw for draws in pairs for draw in draws]),
        )
        return report.result()
    for name in sets or [*CHOSEN_ON, *REPORTED]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws = [measure(folder, name, seed, chosen) for seed in range(repeat)]
            if name in TABLES:
                quick = [m for m in chosen if m != AUTO]
                more = range(repeat, TABLE_DRAWS * repeat)
                draws += [measure(folder, name, seed, quick) for seed in more]
        report.table(f"{name}: unlabelled rows, new rows", summary(name, draws, chosen))
    return report.result()
