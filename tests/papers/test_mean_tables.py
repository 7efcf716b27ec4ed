"""The tables of the label means paper, on made-up rows under the names of its sets."""

from dataclasses import replace

import numpy as np
import pytest
from papers.data import MissingDataError
from papers.runner import run
from papers.ssl_book import PUBLISHED, SETS, load_book, present, published

from papers import TABLES, book, compared, halves, meangap, meantimes
from problems import hide, save_set, sparse_text, two_blobs

QUICK = ("1-NN", "SVM", "TSVM", "SelfTraining", "LabelSpreading", "meanS3VM-iter", "meanS3VM-mkl")


@pytest.fixture
def quick(monkeypatch):
    """Leave out the methods that take seconds."""
    entries = tuple(entry for entry in compared.ENTRIES if entry.name in QUICK)
    for module in (book, halves, meantimes):
        monkeypatch.setattr(module, "ENTRIES", entries)


@pytest.fixture
def sets(tmp_path):
    for name, (X, y) in {"g241c": two_blobs(90, 4), "text_ssl": sparse_text(90, 80)}.items():
        rows = {n: [np.flatnonzero(hide(y, n, k) >= 0)[:n] for k in (0, 1)] for n in (10, 50)}
        splits = {"lab_10": np.array(rows[10]), "lab_100": np.array(rows[50])}
        save_set(tmp_path, name, X, 2 * y - 1, splits)
    return tmp_path


def test_published_figures_are_whole():
    for n in (10, 100):
        assert all(len(row) == len(SETS) for row in PUBLISHED[n].values())
    assert published("meanS3VM-iter", "text_ssl", 10) == 69.57
    assert published("Laplacian SVM", "bci", 100) == 67.61
    assert published("DA", "g241c", 10) is None


def test_table_one(sets, quick, capsys):
    assert present(sets) == ["g241c", "text_ssl"]
    result = run(TABLES["book"], sets, 1, jobs=1)
    capsys.readouterr()
    assert list(result["tables"])[:2] == ["g241c, 10 labels", "Text, 10 labels"]
    rows = result["tables"]["g241c, 10 labels"]
    cells = {(row["method"], row["kernel"], row["prior"]): row for row in rows}
    assert {
        ("meanS3VM-mkl", kernel, prior)
        for kernel in ("linear", "rbf")
        for prior in ("true", "labels")
    } <= set(cells)
    assert ("SVM", "linear", "-") in cells
    assert cells["meanS3VM-iter", "linear", "true"]["paper"] == 72.22
    # the bar is to be close to the figures of g241c, which these blobs are not
    assert cells["meanS3VM-iter", "linear", "true"]["ok"] == "MISSED"
    assert cells["meanS3VM-iter", "linear", "labels"]["ok"] is None
    assert cells["meanS3VM-iter", "linear", "true"]["accuracy %"] > 80
    ranked = result["tables"]["10 labels: better kernel, true prior (rank)"]
    assert [row["method"] for row in ranked] == list(QUICK)
    best = max(cells["TSVM", kernel, "true"]["accuracy %"] for kernel in ("linear", "rbf"))
    assert ranked[2]["g241c"].startswith(f"{best:.2f} (")


def test_ranks_and_bars():
    assert book.ranks({"a": 3.0, "b": 5.0, "c": 3.0}) == {"a": 2, "b": 1, "c": 2}
    key = ("meanS3VM-iter", "linear", "true")
    assert book.bar(key, "g241c", 10, 72.8) == "ok"
    assert book.bar(key, "g241c", 10, 73.0) == "MISSED"
    assert book.bar(key, "g241c", 100, 80.0) is None
    assert book.bar(("TSVM", "linear", "labels"), "text_ssl", 10, 70.0) == "ok"
    assert book.bar(("TSVM", "linear", "labels"), "text_ssl", 10, 65.0) == "MISSED"


def test_the_width_is_chosen_by_the_labels_where_there_are_enough(sets):
    data = load_book(sets, "g241c")
    assert compared.chosen_width(data.problem(10, 0), data.width) == data.width
    factor = compared.chosen_width(data.problem(100, 0), data.width) / data.width
    assert min(abs(factor - known) for known in compared.WIDTHS) < 1e-12


def test_tables_two_and_three(tmp_path, quick, monkeypatch, capsys):
    votes, y = two_blobs(80, 3)
    votes = np.where(votes > 0, 1.0, -1.0)
    votes[:20, 1] = 0.0
    save_set(tmp_path, "house_votes", votes, y)
    X, groups = sparse_text(200, 60)
    save_set(tmp_path, "20news_tfidf", X, groups)
    monkeypatch.setattr(halves, "SMALL", {"house_votes": halves.SMALL["house_votes"]})
    monkeypatch.setattr(halves, "PAIRS", {"(1, 2)": halves.PAIRS["(1, 2)"]})
    halves.load_rows.cache_clear()
    assert halves.load_rows(tmp_path, "house_votes")[0].shape == (60, 3), "no missing votes"
    result = run(replace(TABLES["halves"], some=True), tmp_path, 2, jobs=1)
    capsys.readouterr()
    small, pairs = result["tables"].values()
    settings = {row["method"]: row["setting"] for row in small}
    assert settings == {
        "SVM": halves.SAME,
        "TSVM": halves.DIFFERENT["TSVM"],
        "TSVM, default": "squared hinge",
        "meanS3VM-iter": halves.SAME,
        "meanS3VM-mkl": halves.SAME,
    }
    assert pairs[-1]["paper"] == 84.27
    assert max(row["accuracy %"] for row in pairs) > 70
    with pytest.raises(MissingDataError, match="wdbc"):
        halves.load_rows(tmp_path, "wdbc")


def test_sets_that_may_be_there_are_run(tmp_path, quick, monkeypatch, capsys):
    X, y = two_blobs(80, 3)
    save_set(tmp_path, "ethn", X, y)
    missing = X.copy()
    missing[:20, 1] = np.nan
    save_set(tmp_path, "heart_cleveland", missing, y)
    save_set(tmp_path, "20news_tfidf", *sparse_text(200, 60))
    monkeypatch.setattr(halves, "SMALL", {})
    monkeypatch.setattr(halves, "PAIRS", {"(1, 2)": halves.PAIRS["(1, 2)"]})
    halves.load_rows.cache_clear()
    assert halves.load_rows(tmp_path, "heart_cleveland")[0].shape == (60, 3), "no missing values"
    result = run(replace(TABLES["halves"], needs=()), tmp_path, 1, jobs=1)
    capsys.readouterr()
    small, _ = result["tables"].values()
    published = {row["task"]: row["paper"] for row in small if row["method"] == "SVM"}
    assert published == {"heart_cleveland": None, "ethn": 67.04}
    assert set(halves.IF_THERE) == set(TABLES["halves"].may_use)


def test_of_many_classes_the_two_of_the_paper_are_kept(tmp_path):
    y = np.repeat([1, 2, 3, 7], [1533, 703, 626, 1508])
    X = np.arange(len(y), dtype=float)[:, None]
    save_set(tmp_path, "sat", X, y)
    save_set(tmp_path, "isolet", X, y)
    halves.load_rows.cache_clear()
    _, found = halves.load_rows(tmp_path, "sat")
    assert np.bincount(found).tolist() == [1533, 1508]
    with pytest.raises(MissingDataError, match="two classes are needed, of 300 and 300 rows"):
        halves.load_rows(tmp_path, "isolet")


def test_every_method_of_the_small_sets_is_linear_with_the_papers_cost():
    made = {entry.name: entry for entry in halves.compared()}
    problem = halves.hide(*two_blobs(40, 3), np.arange(10))
    setting = halves.setting_of(problem, "true")
    assert setting.reg == 1.0 / 20.0, "C = 1 with ten labels"
    assert made["TSVM"].make(setting).loss == "hinge"
    assert made["SemiBoost"].make(setting).estimator.kernel == "linear"
    assert made["Laplacian SVM"].make(setting).kernel == "linear"
    # a row that differs from the paper in what
    assert {name for name in made if "default" in name} <= set(halves.DIFFERENT)


def test_seconds_side_by_side(sets, quick, capsys):
    save_set(sets, "wdbc", *two_blobs(80, 3))
    result = run(TABLES["meantimes"], sets, 1)
    capsys.readouterr()
    rows = result["tables"]["g241c, 90 rows, 10 labels"]
    assert [row["method"] for row in rows] == [*QUICK, meantimes.YARDSTICK]
    assert rows[-1]["share of SVC on all labels"] == 1.0
    assert [row["method"] for row in rows if row["below 1"]] == ["meanS3VM-iter"]
    assert {row["method"]: row["share of TSVM"] for row in rows}["TSVM"] == 1.0
    *_, small, together = result["tables"].values()
    assert {"TSVM, default", meantimes.YARDSTICK} < {row["method"] for row in small}
    assert not any(row["below 1"] for row in small), "nothing is to be won with C = 1"
    assert [row["set"] for row in together] == ["g241c", "Text", "wdbc"]
    assert together[-1]["TSVM"].endswith("(123.02)")


def test_a_folder_without_the_sets(tmp_path):
    with pytest.raises(MissingDataError, match="none of g241c"):
        present(tmp_path)
    with pytest.raises(MissingDataError, match="no set 'bci'"):
        load_book(tmp_path, "bci")


def test_label_means_beside_the_exact_optima(tmp_path, monkeypatch, capsys):
    X, y = two_blobs(80, 3, gap=1.0)
    save_set(tmp_path, "wdbc", X, y)
    save_set(tmp_path, "20news_tfidf", *sparse_text(200, 60))
    halves.load_rows.cache_clear()
    monkeypatch.setattr(meangap, "TASKS", ("wdbc", "(1, 2)"))
    monkeypatch.setattr(meangap, "N_UNLABELED", 6)
    result = run(replace(TABLES["meangap"], some=True), tmp_path, 2, jobs=1)
    capsys.readouterr()
    apart, known = result["tables"].values()
    assert [(row["task"], row["C_unl"]) for row in apart] == [
        (task, cost) for cost in (0.1, 1.0) for task in ("wdbc", "(1, 2)")
    ]
    for row in apart:
        # nothing is above what is proven to be best, and the relaxation is not above it
        assert min(row["iter above %"], row["mkl above %"], row["relaxation below %"]) >= -1e-2
        assert (row["iter optimal %"] == 100) == (row["iter above %"] < 1e-2)
        assert 1 <= row["programs"] <= 20
    assert all(row["iter above %"] >= -1e-2 and row["right %"] >= 50 for row in known)
