"""Commands that the guide names beside its figures exist, and benchmarks can be started."""

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks import columns, trust, weak
from benchmarks.__main__ import BENCHMARKS, ONLY, TOOLS, read_arguments
from benchmarks.revisions import Revision, gate_row
from benchmarks.workload import MADE
from papers.table import MISSED
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from papers import TABLES

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
# What an option takes -> an example.
EXAMPLES = {"N": "1000", "DIR": "folder", "REV": "HEAD", "FILE": "file"}
# Names of parameters, where they are not those of the options.
PARAMETERS = {"rows": "n_rows", "memory": "share"}
OWN = sorted({*BENCHMARKS, *TOOLS})


def named(program):
    """Yield page and arguments of every mention of a program between backticks."""
    for page in PAGES:
        text = " ".join(page.read_text(encoding="utf-8").split())
        for found in re.findall(rf"`{program}((?: [^` ]+)*)`", text):
            arguments = [EXAMPLES.get(word, word) for word in found.split()]
            if arguments and "NAME" not in arguments:
                yield page.name, arguments


def test_pages_name_benchmarks_that_exist():
    mentions = [m for m in named("python -m benchmarks") if m[1][0] != "fuzz"]
    assert len(mentions) > 30
    for _, arguments in mentions:
        read_arguments(arguments)


def test_pages_name_tables_that_exist():
    mentions = list(named("python -m papers"))
    assert len(mentions) > 30
    wrong = [m for m in mentions if m[1][0] not in (*TABLES, "all", "--list")]
    assert not wrong


def test_what_benchmarks_replace_exists():
    for page in (ROOT / "benchmarks").rglob("*.py"):
        for found in re.findall(
            r'patch\("(semisvm[\w.]*)\.(\w+)"', page.read_text(encoding="utf-8")
        ):
            assert hasattr(import_module(found[0]), found[1]), (page.name, *found)


@pytest.mark.parametrize("name", OWN)
def test_benchmarks_take_their_options(name):
    module = import_module(f"benchmarks.{name}")
    taken = inspect.signature(module.run).parameters
    assert module.REPEAT >= 0
    assert [*taken][1] == "repeat"
    for option, names in ONLY.items():
        if name in names:
            assert PARAMETERS.get(option, option) in taken


@pytest.mark.parametrize("name", trust.TABLES)
def test_what_trust_measures(name):
    X, y = load_breast_cancer(return_X_y=True)
    _, _, measure, rows_of = trust.TABLES[name]
    rows = rows_of("wdbc", 30, [measure(trust.draw(scale(X) / 5, y, 30, seed)) for seed in (0, 1)])
    assert all(np.isfinite(v) for row in rows for v in row.values() if not isinstance(v, str))
    if name == "classes":
        assert [row["rows"] for row in rows] == ["unlabelled", "new"]
        assert all(row["linear 90%"] > 85.0 for row in rows)


def test_new_rows_of_trust_take_no_part_in_the_fit():
    X, y = load_breast_cancer(return_X_y=True)
    data = trust.draw(X, y, 30, 0)
    fit, new = trust.without_new(data)
    assert len(fit.y) + len(new) == len(data.y)
    assert np.all(data.labels[new] < 0)
    assert np.sum(fit.labels >= 0) == 30


def test_what_columns_measures():
    rng = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    table = columns._table(X[:, :6], (range(2, 4), range(5, 6)))
    assert list(table) == ["x0", "x1", "x4", "c2", "c5"]
    methods = [columns.BASE, columns.EQUAL]
    found = {"none": columns.accuracies(table, y, 300, 0, methods)}
    for kind, make in {**columns.NOISE, **columns.INFORMS}.items():
        more = {**table, **make(y, rng)}
        found[kind] = columns.accuracies(more, y, 300, 0, methods)
    rows = columns.summary("wdbc", [found], methods)
    assert [row["column"] for row in rows] == [*found]
    assert all(60.0 < accuracy <= 100.0 for pair in found["none"].values() for accuracy in pair)
    assert rows[0]["role"] == "chosen on"
    assert re.fullmatch(r"[\d.]+ [\d.]+", rows[0][columns.BASE])
    again = columns.summary("wdbc", [found, found], methods)
    assert re.fullmatch(r"[\d.]+±0\.0 [\d.]+±0\.0", again[0][columns.BASE])


def test_tables_of_noise_are_counted():
    rows = columns.by_chance(2)
    assert len(rows) == 9
    assert all(re.fullmatch(r"[012] of 2", row["30 columns"]) for row in rows)
    assert rows[1]["classes"] == "90% 10%"


def test_bars_of_columns_can_be_missed():
    methods = [columns.BASE, columns.EQUAL]
    noise, informs = next(iter(columns.NOISE)), next(iter(columns.INFORMS))

    def verdicts(with_noise, informed):
        draw = {
            "none": {columns.BASE: (80.0, 80.0), columns.EQUAL: (80.0, 80.0)},
            noise: {columns.BASE: with_noise, columns.EQUAL: (50.0, 50.0)},
            informs: {columns.BASE: informed, columns.EQUAL: (85.0, 84.0)},
        }
        return [row["bar"] for row in columns.summary("x", [draw], methods)[1:]]

    assert verdicts((78.5, 79.0), (84.5, 83.1)) == ["ok", "ok"]
    assert verdicts((79.0, 77.5), (83.5, 84.0)) == ["MISSED", "MISSED"]


def test_texts_of_counts_have_each_word_as_often_as_it_is_counted():
    X = sparse.csr_matrix([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.37, 0.0]])
    assert columns._words(X) == ["word0 word0 word2", "", "word1"]


@pytest.mark.parametrize(
    ("base", "head", "passed"),
    [(1.0, 1.1, True), (0.1, 0.14, True), (1.0, 1.2, False), (0.1, 0.2, False), (1.0, 0.5, True)],
)
def test_the_gate_needs_a_share_and_a_time(base, head, passed):
    """A fit fails if it is slower by both 15% and 50 ms."""
    name = "TSVM, made texts"
    both = [Revision("", None, processor={name: [seconds] * 3}) for seconds in (base, head)]
    found = gate_row(name, *both)
    assert (MISSED not in found.values()) == passed


def test_fits_of_the_gate_need_no_data():
    for which in MADE:
        X, labels, shares = MADE[which][0](None)
        assert X.shape[0] == len(labels)
        assert (labels >= 0).sum() < 0.1 * len(labels)
        assert len(shares) == labels.max() + 1


def test_the_curves_of_weak_labels_are_those_that_the_guide_draws():
    path = ROOT / "docs" / "results" / "guide" / "weak.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    (rows,) = saved["tables"].values()
    assert saved["curves"] == weak.curves_of(rows)
    assert "build/papers/weak.png" in (ROOT / "docs" / "weak_labels.md").read_text()


def test_weak_labels_are_wrong_as_often_as_is_said():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 150)
    X = rng.normal(size=(600, 5)) + 3.0 * np.eye(4, 5)[y]
    for errors in weak.ERRORS:
        found = [np.mean(weak.weak_labels(X, y, 0.75, errors, s) == y) for s in range(4)]
        assert np.mean(found) == pytest.approx(0.75, abs=0.06)
