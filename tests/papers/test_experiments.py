"""Every experiment of the papers, run once on made-up rows under the names of the papers' sets."""

import inspect
import json
from importlib import import_module

import numpy as np
import pytest
from papers.data import rows_of_each_class
from papers.runner import run
from papers.table import MISSED, OK
from scipy import sparse

from papers import TABLES, clustered, labelcosts
from problems import save_set, sparse_text, two_blobs
from semisvm import ClusteredSVC

# made-up sets have no published figures
pytestmark = pytest.mark.filterwarnings("ignore")

SMALL_CURVES = {"LABELED": (25, 40), "PARTS": (0.5, 1.0), "FEW": 25}
SHRUNK = {
    "pcmac": {"pcmac": {"TRAINING_ROWS": 120, "LABELED": (20, 40)}},
    "switches": {
        "pcmac": {"TRAINING_ROWS": 120, "LABELED": (20, 40)},
        "switches": {"LABELED": (20, 40), "TWO": ("squared_hinge",)},
    },
    "reuters": {"reuters": {"N_LABELED": 20, "GRADIENT": {}, "COMPARED": ("SVM", "TSVM", "DA")}},
    "newsgroups": {
        "newsgroups": {
            "N_LABELED": 60,
            "N_UNLABELED": 200,
            "REGS": {"squared_hinge": (1e-2,)},
            "MARGIN_REGS": (1e-2,),
            "AS_PRINTED": (("length one", 1e-2),),
        }
    },
    "curves": {"curves": SMALL_CURVES | {"SETS": ("20news_tfidf", "la1")}},
    "labelcosts": {"labelcosts": {"SETS": {"ohscal": 150}, "N_LABELED": 40}},
    "manycost": {
        "manycost": {"N_LABELED": 60, "N_UNLABELED": 200, "SEEDS": (0,), "BARS": {"log": 0.5}}
    },
    "manysets": {"manysets": {"SETS": ("la1",), "LOSSES": ("squared_hinge",), "N_LABELED": 40}},
    "hierarchy": {
        "hierarchy": {"N_LABELED": 60, "N_UNLABELED": 200, "LOSSES": ("squared_hinge",)},
        "curves": SMALL_CURVES | {"LABELED": (60, 80)},
    },
    "maxent": {"maxent": {"LABELED": (16, 64), "MANY": 128, "N_UNLABELED": 200}},
    "toys": {"toys": {"WIDTHS": {"moons": (0.3,)}}},
    "realworld": {"realworld": {"REGS": (1e-2,), "WIDTHS": (0.5,)}},
    "splits": {},
    "annealing": {
        "annealing": {"REGS": (1e-2,), "LABELED": (20, 40)},
        "pcmac": {"TRAINING_ROWS": 120, "LABELED": (20, 40)},
    },
    "clustered": {"clustered": {"SETS": ("wbc", "sonar"), "FOLDS": 3}},
    "sonar": {"sonar": {"FOLDS": 3, "CLUSTERS": (None, 5), "PAIRS": ((1.0, 0.1), (1.0, 1.0))}},
    "features": {"features": {"SETS": ("wdbc",), "FOLDS": 3, "PRICES": (1.0, 2.0)}},
}
"""Experiment -> module -> constants that make it small."""
ELSEWHERE = {"book", "halves", "meantimes", "meangap"}
"""Those of the label means paper are in `test_mean_tables`."""


def topics(n, n_classes, seed=0):
    """Sparse rows, of which each class has words of its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.random((n, 4 * n_classes + 20)) * (rng.random((n, 4 * n_classes + 20)) < 0.15)
    for k in range(4):
        X[np.arange(n), 4 * y + k] += 1.0
    return sparse.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def blobs(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.standard_normal((n, n_classes)) + 4.0 * np.eye(n_classes)[y], y


def splits_of(y, size):
    """Return one split, as many rows of every class."""
    return rows_of_each_class(y, size // len(np.unique(y)), 0)[None]


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Make every set, as small as the experiments allow."""
    folder = tmp_path_factory.mktemp("sets")
    made = {
        "text1_pcmac": (sparse_text(160, 90), "lab_50", 20),
        "g50c": (two_blobs(80), "lab_50", 20),
        "uspst": (blobs(80, 3), "lab_50", 21),
        "coil_ssl": (blobs(90, 3), "lab_100", 30),
        "lasvm_reuters": (sparse_text(200, 90), None, 0),
        "20news_tfidf": (topics(600, 20), None, 0),
        **{name: (topics(240, 4), None, 0) for name in ("la1", "ohscal", "webkb_tfidf")},
        **{name: (topics(240, 4), None, 0) for name in ("r8_tfidf", "mnist", "usps")},
        **{name: (two_blobs(90), None, 0) for name in TABLES["clustered"].needs},
        **{name: (two_blobs(90), None, 0) for name in TABLES["features"].needs},
    }
    for name, ((X, y), key, size) in made.items():
        save_set(folder, name, X, y, {key: splits_of(y, size)} if key else None)
    return folder


def test_every_experiment_is_here():
    assert set(SHRUNK) | ELSEWHERE == set(TABLES)


@pytest.mark.parametrize("name", SHRUNK)
def test_an_experiment_runs(name, sets, monkeypatch, capsys):
    for module, constants in SHRUNK[name].items():
        place = import_module(f"papers.{module}")
        for constant, value in constants.items():
            monkeypatch.setattr(place, constant, value)
    for module in ("pcmac", "many", "published"):
        for cached in vars(import_module(f"papers.{module}")).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()
    result = run(TABLES[name], sets, 1, jobs=1)
    capsys.readouterr()
    assert result["tables"]
    assert all(rows for rows in result["tables"].values())
    assert bool(result["curves"]) == TABLES[name].figure
    for curve in result["curves"]:
        assert curve["lines"] or curve["paths"]
        assert all(len(line) == len(curve["x"]) for line in curve["lines"].values())
    json.dumps(result)
    cells = [v for rows in result["tables"].values() for row in rows for v in row.values()]
    assert (
        not {OK, MISSED}.intersection(v for v in cells if isinstance(v, str)) or TABLES[name].bars
    )


@pytest.mark.parametrize("name", TABLES)
def test_bars_are_described_where_there_are_verdicts(name):
    source = inspect.getsource(import_module(f"papers.{name}"))
    assert bool(TABLES[name].bars) == ("verdict(" in source)
    bars = TABLES[name].bars
    assert not bars or "our bar" in bars or "of the paper's" in bars


def test_bars_below_the_papers_figures_are_named_as_ours():
    gaps = [clustered.PUBLISHED[name][0] - bar for name, bar in clustered.BARS.items()]
    assert f"{min(gaps):.1f} to {max(gaps):.1f} points below" in TABLES["clustered"].bars


def test_the_course_of_a_label_step_goes_from_the_greedy_labels_to_the_optimum():
    rng = np.random.default_rng(0)
    costs, counts = rng.random((300, 5)), np.array([100, 80, 60, 40, 20])
    found = {}
    for (way, cut), step in labelcosts.ways(costs, counts).items():
        result = step()
        assert cut is None or result.n_loops <= cut
        found.setdefault(way, []).append(result.cost)
    best, start = found["exact"][0], found["switching"][0]
    for way in ("simplex", labelcosts.ALL_CELLS, "switching"):
        assert found[way][0] == pytest.approx(start)
        assert np.all(np.diff(found[way]) <= 1e-9)
        assert len(found[way]) > 5
    assert found["simplex"][-1] == pytest.approx(best)
    assert found["switching"][-1] >= best - 1e-9


def test_a_course_never_goes_back_in_time():
    rows = [{"ms": ms, "left to gain %": left} for ms, left in ((1, 100), (3, 50), (2, 0))]
    assert labelcosts.path(rows) == [(1, 100), (3, 50), (3, 0)]
    assert labelcosts.path(rows[-1:]) == [(2, 100), (2, 0)]


def test_rows_of_one_fit_are_judged_with_and_without_those_that_the_oracle_labelled():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] + rng.standard_normal(60) > 0.0).astype(int)
    model = ClusteredSVC(n_labels=12, random_state=0)
    found = clustered.on_its_own_rows(model, X, y)
    queried_share = 100.0 * np.mean(model.predict(X[model.queried_]) == y[model.queried_])
    assert found[clustered.ALL_ROWS] == pytest.approx(
        0.2 * queried_share + 0.8 * found[clustered.UNLABELLED], abs=1e-9
    )
    assert found[clustered.UNLABELLED] < 100.0
