"""Files as they come: each is read rightly, or refused with one message and exit code 2."""

import gzip
import json

import numpy as np
import pytest

from commands import run

ROWS = [
    f"{i % 7}.5,{'ab'[i % 2]} word{i % 2} here {i},{'xy'[i % 2] if i < 8 else ''}"
    for i in range(30)
]
CSV = "size,text,kind\n" + "\n".join(ROWS) + "\n"
SVM = "".join(f"{(1, -1, 0)[i % 3]} {1 + i % 3}:1.5 {5 + i % 2}:0.5\n" for i in range(30))


def fit(tmp_path, name, content, *options, code=0):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    label = ["--label", "kind"] if name.startswith("a.csv") else []
    return run("fit", path, *label, "-o", tmp_path / "m", "-a", "svm", "-q", *options, code=code)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", CSV.replace("kind", "sort", 1), "there is no column 'kind'"),
        ("a.csv", CSV.encode("utf-16")[2:], "a.csv"),
        ("a.csv", CSV.replace("word1", "w\xf6rter").encode("latin-1"), "encoding"),
        ("a.csv", CSV.replace("3.5,", "3.5,more,", 1), "line 5"),
        ("a.csv", CSV.replace(",b word1 here 1,y", "", 1), "line 3"),
        ("a.csv", CSV.replace("b word1 here 1,", '"b word1 here 1,', 1), "line 3"),
        ("a.csv", "", "empty"),
        ("a.csv", "size,text,kind\n", "no row below"),
        ("a.csv", CSV.replace(",y", ",x"), "of one class only"),
        ("a.svm", SVM.replace("2:1.5", "1:1 1:1", 1), "line 2, column"),
        ("a.svm", SVM.replace("2:1.5", "2:nan", 1), "line 2, column"),
        ("a.svm", SVM.replace("2:1.5", "2:1.5:3", 1), "line 2, column"),
        ("a.svm", SVM.replace("2:1.5", "-2:1.5", 1), "line 2, column"),
        ("a.svm", "", "empty"),
        ("a.svm", SVM.replace("2:1.5", "2147483646:1.5", 1), "line 2: the index 2147483646"),
        ("a.svm", SVM.replace("2:1.5", "qidfoo 2:1.5", 1), "line 2, column"),
        ("a.svm", SVM.replace("-1 ", "1e19 "), "line 2: the label 1e+19"),
        ("a.npz", b"no zip", "a.npz"),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:60], "a.csv.gz"),
    ],
)
def test_refused_with_one_message(tmp_path, name, content, words):
    lines = fit(tmp_path, name, content, code=2).stderr.splitlines()
    assert len([line for line in lines if line.startswith("error: ")]) == 1
    assert words in lines[-1]
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", CSV.rstrip("\n"), []),
        ("a.csv", CSV.replace("\n", "\r\n"), []),
        ("a.csv", "\ufeff" + CSV, []),
        ("a.csv", CSV.encode("utf-16"), []),
        ("a.csv", CSV.replace("word1", "w\xf6rter").encode("latin-1"), ["--encoding", "latin-1"]),
        ("a.csv", CSV.replace("0.5,", ",", 1), []),
        ("a.csv", CSV.replace("word0", "word0 " * 60_000, 1), []),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0), []),
        ("a.csv", CSV.replace(",", ";"), ["--delimiter", ";"]),
        ("a.svm", SVM, []),
        ("a.svm", SVM.rstrip("\n"), []),
        ("a.svm", SVM.replace("1:1.5 5:0.5", "5:0.5 1:1.5"), []),
        ("a.svm", SVM.replace(" 1:1.5", " 0:1.5"), []),
        ("a.svm.gz", gzip.compress(SVM.encode(), mtime=0), []),
    ],
)
def test_read_rightly(tmp_path, name, content, options):
    assert fit(tmp_path, name, content, *options).stderr == ""


def test_missing_labels_are_counted_and_kept_on_demand(tmp_path):
    content = CSV.replace(",\n", ",None\n")
    result = fit(tmp_path, "a.csv", content)
    assert "22 rows count as unlabelled" in result.stderr
    assert "'None' (22)" in result.stderr
    assert "--na-is-class" in result.stderr
    data, model, rows = (str(tmp_path / name) for name in ("a.csv", "m", "rows.csv"))
    shown = run("evaluate", model, data)
    assert "unlabelled rows  22" in shown.output
    assert "note: 22 rows count as unlabelled" in shown.output
    shown = run("select", data, "--label", "kind", "-n", "3", "-o", rows)
    assert "note: 22 rows count as unlabelled" in shown.output
    assert fit(tmp_path, "a.csv", content, "--na-is-class").stderr == ""
    assert "unlabelled rows  0" in run("evaluate", model, data).output
    compare = ["compare", data, "--label", "kind", "--methods", "svm", "--repeats", "1", "--json"]
    facts = json.loads(run(*compare).stdout)
    assert (facts["n_labeled"], "22 rows" in facts["notes"][0]) == (8, True)
    facts = json.loads(run(*compare, "--na-is-class").stdout)
    assert facts["n_labeled"] == 30


def test_as_many_columns_as_the_option_allows(tmp_path):
    wide = SVM.replace("2:1.5", "200000:1.5", 1)
    assert "at most 100" in fit(tmp_path, "a.svm", wide, "--columns", "100", code=2).stderr
    fit(tmp_path, "a.svm", wide, "--columns", "200000")


def test_predictions_beside_unrelated_labels(tmp_path):
    fit(tmp_path, "a.svm", SVM)
    np.savez(tmp_path / "new.npz", X=np.ones((4, 6)))
    np.save(tmp_path / "y.npy", np.zeros(9))
    assert len(run("predict", tmp_path / "m", tmp_path / "new.npz").stdout.splitlines()) == 5
