"""The command line: files, output and exit codes."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import semisvm
from problems import hide, sparse_text, two_blobs
from semisvm.tables import read, write_bytes
from semisvm.tables.svmlight import write_svmlight

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from commands import run
from semisvm.cli.app import app
from semisvm.cli.evaluate import _show
from semisvm.cli.printing import show
from semisvm.cli.progress import describe, share_done

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    """A folder with train.csv (few labels), test.csv (all labels) and a model of the first."""
    folder = tmp_path_factory.mktemp("mail")
    rng = np.random.default_rng(0)
    for name, n, n_labels in (("train.csv", 80, 12), ("test.csv", 40, 40)):
        with open(folder / name, "w", newline="") as stream:
            table = csv.writer(stream)
            table.writerow(["id", "text", "size", "kind"])
            for i in range(n):
                text = " ".join(rng.choice(WORDS[i % 2], 6))
                label = ["spam", "ham"][i % 2] if i < n_labels else ""
                table.writerow([f"m{i}", text, i % 7 + i % 2, label])
    options = ["--label", "kind", "-a", "tsvm", "-q"]
    run("fit", folder / "train.csv", *options, "-o", folder / "m.semisvm")
    return folder


def test_fit_shows_a_summary(mail):
    result = run("fit", mail / "train.csv", "--label", "kind", "-o", mail / "a", "-a", "da")
    assert "labels           ham=6, spam=6" in result.stdout
    assert "text=text, size=numeric" in result.stdout
    assert "'id' is left out" in result.stdout
    assert semisvm.load(mail / "a").summary["method"] == "da"


def test_fit_prints_json(mail):
    options = ["--label", "kind", "--text", "text", "--features", "size", "--reg", "0.01"]
    options += [
        "--unlabeled-weight",
        "0.5",
        "--prior",
        "spam=0.25",
        "--jobs",
        "2",
        "--json",
        "-a",
        "tsvm",
    ]
    result = run("fit", mail / "train.csv", "-o", mail / "b", *options)
    facts = json.loads(result.stdout)
    assert facts["labels"] == {"ham": 6, "spam": 6}
    assert facts["prior"] == {"ham": 0.75, "spam": 0.25}
    model = semisvm.load(mail / "b")
    assert (model.estimator.reg, model.estimator.unlabeled_weight) == (0.01, 0.5)
    assert model.features.columns_ == ["size", "text"]


def test_predict_writes_rows(mail):
    out = mail / "out.csv"
    run("predict", mail / "m.semisvm", mail / "test.csv", "-o", out, "--keep", "id")
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["label"] for row in rows] == ["spam", "ham"] * 20
    assert rows[3]["id"] == "m3"
    assert all(float(row["score"]) > 0 for row in rows)
    assert "probability" not in rows[0]
    result = run("predict", mail / "m.semisvm", mail / "test.csv", "--all-scores")
    assert result.stdout.startswith("label,score,score_ham,score_spam\nspam,")


def test_kept_columns_are_not_overwritten(mail, tmp_path):
    new_lines = [f"{i},win cash,{i}," + "old,older,100,kept" for i in range(3)]
    header = "id,text,size,label,kept_label,score,probability"
    (tmp_path / "new.csv").write_text("\n".join([header, *new_lines]))
    names = ("label", "kept_label", "id", "score", "probability", "label")
    keep = [part for name in names for part in ("--keep", name)]
    result = run("predict", mail / "m.semisvm", tmp_path / "new.csv", *keep)
    first, *_ = csv.DictReader(result.stdout.splitlines())
    assert (first["label"], first["kept_kept_label"], first["kept_label"]) == (
        "spam",
        "old",
        "older",
    )
    assert float(first["score"]) < 100 == int(first["kept_score"])
    # nothing is written that this name would hide
    assert (first["id"], first["probability"]) == ("0", "kept")
    notes = [line for line in result.stderr.splitlines() if line.startswith("note")]
    assert len(notes) == 2
    assert "'label' of the data is written as 'kept_kept_label'" in notes[0]
    assert "'score'" in notes[1]


def test_a_matrix_for_a_model_of_columns_is_refused(mail):
    (mail / "x.svm").write_text("1 1:2.0\n")
    stderr = run("predict", mail / "m.semisvm", mail / "x.svm", code=2).stderr
    assert "x.svm: an svmlight file" in stderr


def test_predict_with_probabilities_in_pieces(mail, monkeypatch):
    run("fit", mail / "train.csv", "--label", "kind", "-o", mail / "p", "-a", "maxent", "-q")
    whole, pieces = mail / "whole.jsonl", mail / "pieces.jsonl"
    run("predict", mail / "p", mail / "test.csv", "-o", whole)
    from semisvm.tables import reading

    chunks = reading.read_chunks.__kwdefaults__
    monkeypatch.setitem(chunks, "chunk_rows", 7)
    run("predict", mail / "p", mail / "test.csv", "-o", pieces)
    assert whole.read_text() == pieces.read_text()
    row = json.loads(whole.read_text().splitlines()[0])
    assert 0.5 < row["probability"] <= 1
    assert row["label"] == "spam"


def test_evaluate(mail):
    facts = json.loads(run("evaluate", mail / "m.semisvm", mail / "test.csv", "--json").stdout)
    assert facts["accuracy"] == facts["macro_f"] == 1.0
    assert facts["confusion"] == [[20, 0], [0, 20]]
    assert facts["classes"]["spam"]["rows"] == 20
    table = run("evaluate", mail / "m.semisvm", mail / "train.csv").stdout
    assert "unlabelled rows  68" in table
    assert "Rows: true class; columns: predicted" in table


def test_many_classes_have_a_list_of_confusions(capsys):
    names = [f"class {k}" for k in range(12)]
    confusion = np.diag(np.arange(12))
    confusion[3, 4], confusion[5, 1] = 2, 7
    classes = {name: {"precision": 1, "recall": 1, "f": 1, "rows": 1} for name in names}
    facts = {"rows": 1, "notes": [], "unlabelled_rows": 0, "accuracy": 1.0, "macro_f": 1.0}
    facts["interval"] = [0.2, 1.0]
    facts |= {"most_frequent_class": "class 1", "chance": {"guess": 0.5, "sentence": "Better."}}
    _show({**facts, "classes": classes, "confusion": confusion.tolist(), "unknown_classes": []})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[-2:] == [
        ["class", "5", "class", "1", "7"],
        ["class", "3", "class", "4", "2"],
    ]


def test_evaluate_with_an_unknown_class(mail):
    path = mail / "more.csv"
    path.write_text((mail / "test.csv").read_text() + "m99,win cash,1,fraud\n")
    result = run("evaluate", mail / "m.semisvm", path)
    assert "has no class fraud" in result.stdout
    facts = json.loads(run("evaluate", mail / "m.semisvm", path, "--json").stdout)
    assert facts["accuracy"] == pytest.approx(40 / 41)


def test_inspect(mail):
    shown = run("inspect", mail / "m.semisvm").stdout
    assert "unlabeled" not in shown
    assert "TransductiveSVC" in shown
    assert "shares used" in shown
    facts = json.loads(run("inspect", mail / "m.semisvm", "--top", "3", "--json").stdout)
    words = {name.removeprefix("text__") for name, _ in facts["top"]["spam"]}
    assert words <= set(WORDS[0])
    assert facts["summary"]["rows"] == 80


def test_methods_and_version():
    assert "deterministic annealing" in run("methods").stdout
    listed = json.loads(run("methods", "--json").stdout)["methods"]
    assert [method["name"] for method in listed][:3] == ["svm", "tsvm", "da"]
    assert run("--version").stdout == f"semisvm {semisvm.__version__}\n"


def test_svmlight_with_a_file_of_labels(tmp_path):
    X, y = sparse_text()
    partly = hide(y, 20)
    with write_bytes(tmp_path / "x.svm") as stream:
        write_svmlight(stream, X, np.where(partly == -1, 0, 2 * partly - 1).tolist())
    lines = (tmp_path / "x.svm").read_text().splitlines()
    (tmp_path / "examples").write_text("\n".join(line.partition(" ")[2] for line in lines))
    (tmp_path / "labels").write_text("\n".join(line.partition(" ")[0] for line in lines))
    run("fit", tmp_path / "x.svm", "-o", tmp_path / "a", "-q", "-a", "tsvm")
    more = ["--labels", tmp_path / "labels", "--format", "svmlight", "-a", "tsvm"]
    run("fit", tmp_path / "examples", *more, "-o", tmp_path / "b", "-q")
    first, second = semisvm.load(tmp_path / "a"), semisvm.load(tmp_path / "b")
    np.testing.assert_array_equal(first.estimator.coef_, second.estimator.coef_)
    assert first.classes_.tolist() == [-1, 1]
    run("predict", tmp_path / "a", tmp_path / "x.svm", "-o", tmp_path / "p.csv")
    rows = csv.DictReader((tmp_path / "p.csv").read_text().splitlines())
    assert [int(row["label"]) for row in rows] == first.predict(read(tmp_path / "x.svm")).tolist()
    facts = json.loads(run("evaluate", tmp_path / "a", tmp_path / "x.svm", "--json").stdout)
    assert facts["rows"] == 20
    assert (
        "matrices"
        in run("predict", tmp_path / "a", tmp_path / "x.svm", "--keep", "id", code=2).stderr
    )


def test_npz(tmp_path):
    X, y = two_blobs(80)
    sparse.save_npz(tmp_path / "X.npz", sparse.csr_matrix(X))
    np.save(tmp_path / "y.npy", hide(y + 1, 10))
    run("fit", tmp_path / "X.npz", "-o", tmp_path / "m", "-q", "-a", "tsvm")
    run("predict", tmp_path / "m", tmp_path / "X.npz", "-o", tmp_path / "p.tsv")
    assert (tmp_path / "p.tsv").read_text().startswith("label\tscore\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fit", "train.csv", "-o", "x"], "name the label column with --label"),
        (["fit", "none.csv", "-o", "x"], "none.csv: there is no such file"),
        (["fit", "train.csv", "--label", "knd", "-o", "x"], "Did you mean 'kind'?"),
        (["fit", "train.csv", "--label", "kind", "-o", "no/x"], "there is no folder"),
        (["fit", "train.csv", "--label", "kind", "-o", "x", "-a", "tsvn"], "Did you mean 'tsvm'?"),
        (["fit", "train.csv", "--label", "kind", "-o", "x", "--reg", "-1"], "reg must be"),
        (["fit", "train.csv", "--label", "kind", "-o", "x", "--text", "txt"], "mean 'text'?"),
        (["fit", "train.csv", "--label", "kind", "-o", "x", "--prior", "spa=0.4"], "mean 'spam'?"),
        (["fit", "train.csv", "--label", "kind", "-o", "x", "--prior", "0.4"], "has no '='"),
        (["fit", "train.csv", "--label", "kind", "-o", "x", "--prior", "ham=x"], "not a number"),
        (
            ["fit", "train.csv", "--label", "kind", "-o", "x", "--prior", "ham=0.9,spam=0.9"],
            "must sum to one",
        ),
        (
            ["fit", "train.csv", "--label", "kind", "-o", "x", "-a", "svm", "--prior", "ham=1"],
            "'svm' has no --prior",
        ),
        (["fit", "train.csv", "--label", "id", "-o", "x", "--format", "exe"], "no format 'exe'"),
        (["fit", "train.csv", "--label", "id", "-o", "x"], "all 80 labels are different"),
        (["predict", "train.csv", "test.csv"], "not a model file"),
        (["predict", "m.semisvm", "test.csv", "-o", "x.xlsx"], "not .xlsx"),
        (["predict", "m.semisvm", "none.csv", "-o", "x.csv"], "no such file"),
        (["evaluate", "m.semisvm", "test.csv", "--label", "id2"], "no column 'id2'"),
        (["inspect", "none"], "none: there is no such file"),
    ],
)
def test_mistakes_have_one_message(mail, monkeypatch, arguments, expected):
    monkeypatch.chdir(mail)
    before = sorted(os.listdir())
    result = run(*arguments, code=2)
    messages = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(messages) == 1
    assert expected in messages[0]
    assert result.stdout == ""
    assert sorted(os.listdir()) == before


def test_usage_mistakes_are_exit_code_2():
    run("fitt", code=2)
    run("fit", code=2)
    run("inspect", "m", "--top", "many", code=2)


def test_a_broken_row_is_located(mail):
    path = mail / "broken.csv"
    path.write_text((mail / "test.csv").read_text() + "m99,win cash\n")
    message = run("predict", mail / "m.semisvm", path, "-o", mail / "no.csv", code=2).stderr
    assert "broken.csv, line 42: the row has 2 cells" in message
    assert not (mail / "no.csv").exists()


def test_warnings_are_lines(mail):
    path = mail / "once.csv"
    path.write_text((mail / "train.csv").read_text() + "m99,win cash,1,fraud\n")
    result = run("fit", path, "--label", "kind", "-o", mail / "w", "-q", "-a", "svm")
    assert result.stderr.startswith("warning: the labels 'fraud' appear once")


def test_errors_of_ours_are_exit_code_1(mail, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("oops")

    monkeypatch.setattr("semisvm.training.prepare", fail)
    arguments = ["fit", str(mail / "train.csv"), "--label", "kind", "-o", str(mail / "x")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "internal error in semisvm: RuntimeError: oops" in result.stderr


def test_ctrl_c_during_a_fit(mail, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("semisvm.training.prepare", stop)
    result = run("fit", mail / "train.csv", "--label", "kind", "-o", mail / "x", code=130)
    assert "no file was written" in result.stderr
    assert not (mail / "x").exists()


def start(*arguments, **options):
    command = [sys.executable, "-m", "semisvm", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_the_extra_is_named_if_it_is_missing(tmp_path):
    (tmp_path / "typer.py").write_text("raise ImportError('no typer', name='typer')")
    process = start("--help", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    _, message = process.communicate()
    assert process.returncode == 2
    assert "typer is missing" in message.decode()
    assert "pip install 'semisvm[cli]'" in message.decode()


def test_help_loads_nothing_heavy():
    code = (
        "import sys, semisvm.cli.app; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'numba') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_long_lists_are_shortened():
    assert show(dict.fromkeys(range(33), 1)).endswith("29=1 and 3 more")


def test_progress_goes_up():
    X, y = two_blobs(120)
    for name in ("tsvm", "da"):
        shares = []

        def watch(row, shares=shares):
            shares.append(share_done(row))
            assert "objective" in describe(row, shares[-1])

        semisvm.estimators.registry.get(name).make(callback=watch).fit(X, hide(y, 10))
        assert shares[0] < 0.1
        assert shares[-1] == 0.95
        assert np.mean(np.diff(shares) >= 0) > 0.9


def test_files_for_python_are_refused_in_words(mail, tmp_path):
    X, y = two_blobs(60, 4)
    steps = make_pipeline(StandardScaler(), semisvm.NewtonSVC()).fit(X, y)
    semisvm.save(steps, tmp_path / "m.semisvm")
    for command in ("predict", "evaluate"):
        expected = run(command, tmp_path / "m.semisvm", mail / "test.csv", code=2).stderr
        assert "pipeline" in expected
        assert "semisvm.load" in expected
    assert "pipeline" in run("inspect", tmp_path / "m.semisvm", code=2).stderr


def test_several_labels_of_a_matrix(tmp_path):
    """An estimator that was saved in Python predicts too."""
    X, y = two_blobs(60, 4)
    many = semisvm.MultiLabelSVC(class_prior=0.5).fit(X, np.column_stack([hide(y, 30)] * 2))
    semisvm.save(many, tmp_path / "m.semisvm")
    sparse.save_npz(tmp_path / "X.npz", sparse.csr_matrix(X))
    found = run("predict", tmp_path / "m.semisvm", tmp_path / "X.npz").stdout.splitlines()
    assert found[0] == "0,1"
    assert found[1:] == [",".join(map(str, row)) for row in many.predict(X).tolist()]
    expected = run("evaluate", tmp_path / "m.semisvm", tmp_path / "X.npz", code=2).stderr
    assert "several labels" in expected
    assert "MultiLabelSVC" in run("inspect", tmp_path / "m.semisvm").stdout
