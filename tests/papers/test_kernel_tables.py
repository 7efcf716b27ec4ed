"""The tables of the annealing paper, on made-up rows under the names of its sets."""

import numpy as np
import pytest
from papers.data import rows_of_each_class
from papers.published import Problem
from papers.runner import run

from papers import TABLES, realworld, splits
from problems import save_set, sparse_text, two_blobs


def three_blobs(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.standard_normal((n, 3)) + 4.0 * np.eye(3)[y], y


def save_split(folder, name, X, y, key):
    save_set(folder, name, X, y, {key: rows_of_each_class(y, 6, 0)[None]})


@pytest.fixture
def sets(tmp_path):
    save_split(tmp_path, "text1_pcmac", *sparse_text(120, 90), "lab_50")
    save_split(tmp_path, "g50c", *two_blobs(60), "lab_50")
    save_split(tmp_path, "uspst", *three_blobs(), "lab_50")
    save_split(tmp_path, "coil_ssl", *three_blobs(), "lab_100")
    return tmp_path


def test_published_splits_with_every_kind_of_shares_and_both_sources(sets, capsys):
    tables = run(TABLES["splits"], sets, 1, jobs=1)["tables"]
    capsys.readouterr()
    text = {row["method"]: row for row in tables["text1_pcmac"]}
    assert (text["TransductiveSVC"]["paper"], text["TransductiveSVC"]["AISTATS 2005"]) == (
        10.4,
        7.44,
    )
    assert text["GradientTSVC"]["paper"] == 5.4
    assert {row["prior"] for row in tables["text1_pcmac"]} == {"-", "true"}
    shares = [(row["method"], row["prior"]) for row in tables["uspst"]]
    assert shares[0] == ("supervised", "-")
    assert ("AnnealedSVC, T from 10", "true") in shares
    assert shares[1:4] == [("TransductiveSVC", prior) for prior in ("labels", "estimate", "true")]


def test_methods_are_given_the_shares_of_the_table():
    X, y = two_blobs(40)
    problem, settings = Problem(X, y, rows_of_each_class(y, 3, 0)[None]), []

    class Recorder:
        def __init__(self, **given):
            settings.append(given)

        def fit(self, X, labels):
            self.transduction_ = np.zeros(len(labels))
            return self

    for prior in (None, "labels", "estimate", "true"):
        assert splits.error(problem, 0, Recorder, prior) == 0.5
    assert settings[:3] == [{}, {"class_prior": "labels"}, {"class_prior": "estimate"}]
    assert np.allclose(settings[3]["class_prior"], [0.5, 0.5])


def test_real_world_sets_with_unseen_rows_and_fixed_temperatures(sets, monkeypatch, capsys):
    monkeypatch.setattr(realworld, "REGS", (1e-2,))
    monkeypatch.setattr(realworld, "WIDTHS", (0.5,))
    tables = run(TABLES["realworld"], sets, 1, jobs=1)["tables"]
    assert list(tables) == ["COIL6", "PCMAC"], "the other two are not in the folder"
    save_split(sets, "usps2", *two_blobs(60), "lab_50")
    tables = run(TABLES["realworld"], sets, 1, jobs=1)["tables"]
    capsys.readouterr()
    assert list(tables) == ["USPS2", "COIL6", "PCMAC"]
    rows = {row["method"]: row for row in tables["USPS2"]}
    assert list(rows) == list(realworld.METHODS)
    assert {row["splits"] for row in rows.values()} == {1}
    assert (rows["DA (sqr)"]["paper"], rows["DA (sqr)"]["paper, test"]) == (5.7, 6.3)
    assert (rows["DA (l2), T = 0.1"]["paper"], rows["DA (l2), T = 0.1"]["paper, test"]) == (
        6.6,
        6.8,
    )
    assert rows["SVM"]["test %"] < 30
    # every figure has a method, and every set as many figures
    for figures in realworld.PUBLISHED.values():
        assert set(figures) == set(realworld.METHODS) - {
            "TSVM, all switches",
            "DA (l2), our default",
        }
