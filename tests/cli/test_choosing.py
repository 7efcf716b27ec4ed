"""Commands that compare and choose, calibrated probabilities, and the papers' tables."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import semisvm
import semisvm.training
from commands import run
from problems import hide, two_blobs
from semisvm.model_selection import method_choice
from semisvm.tables import MatrixData
from semisvm.tables.labels import text_labels

FAST = ["--methods", "tsvm", "--folds", "3", "--repeats", "1"]


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    """A file with 30 labels in 90 rows, and one with a label a class."""
    folder = tmp_path_factory.mktemp("blobs")
    X, y = two_blobs(90)
    for name, n_labels in (("a.csv", 30), ("few.csv", 2)):
        partly = hide(y, n_labels)
        with open(folder / name, "w", newline="") as stream:
            table = csv.writer(stream)
            table.writerow([*(f"x{k}" for k in range(X.shape[1])), "kind"])
            for row, label in zip(X.tolist(), partly.tolist(), strict=True):
                table.writerow([*row, "" if label == -1 else "ab"[label]])
    return folder


def test_auto_is_the_default_and_gives_its_reason(blobs):
    result = run("fit", blobs / "a.csv", "--label", "kind", "-o", blobs / "m")
    assert "why: " in result.stdout
    assert "why: Mean accuracy" in result.stdout
    assert "why: The choice took " in result.stdout
    model = semisvm.load(blobs / "m")
    choice = model.summary["choice"]
    assert choice["method"] == model.summary["method"]
    assert len(choice["methods"]["methods"][0]["scores"]) == 5
    assert f"why: {choice['reasons'][0]}" in run("inspect", blobs / "m").stdout
    facts = json.loads(run("inspect", blobs / "m", "--json").stdout)
    assert facts["summary"]["choice"]["method"] == choice["method"]


@pytest.mark.parametrize("method", ["auto", "da"])
def test_fit_is_train(blobs, monkeypatch, method):
    calls = []

    def recorded(*arguments, **options):
        calls.append((arguments, options))
        return train(*arguments, **options)

    train = semisvm.training.train
    monkeypatch.setattr(semisvm.training, "train", recorded)
    out = blobs / f"same-{method}"
    options = ["-a", method, "--prior", "equal", "--seed", 5, "--probabilities", "-q"]
    run("fit", blobs / "a.csv", "--label", "kind", "-o", out, *options)
    ((arguments, given),) = calls
    assert arguments[1] == method
    assert (given["random_state"], given["class_prior"]) == (5, {"a": 0.5, "b": 0.5})
    by_command, by_library = semisvm.load(out), train(*arguments, **given)
    np.testing.assert_array_equal(by_command.estimator.coef_, by_library.estimator.coef_)
    assert by_command.summary["notes"] == by_library.summary["notes"]
    reasons = [model.summary.get("choice", {}).get("reasons") for model in (by_command, by_library)]
    assert reasons[0] == reasons[1]


def test_notes_and_jobs_of_train(monkeypatch):
    X, y = two_blobs(60)
    data = MatrixData(X / 5.0, text_labels(["" if v == -1 else v for v in hide(y, 20).tolist()]))
    jobs = []

    def recorded(*arguments, **options):
        jobs.append(options["parameters"]["n_jobs"])
        return choose(*arguments, **options)

    choose = method_choice.choose
    monkeypatch.setattr(method_choice, "choose", recorded)
    model = semisvm.train(data, notes=["2 rows were read twice."], n_jobs=1)
    assert "2 rows were read twice." in model.summary["notes"]
    assert jobs == [1]
    assert model.estimator.n_jobs == 1


def test_auto_with_few_labels_takes_all_methods(blobs):
    result = run("fit", blobs / "few.csv", "--label", "kind", "-o", blobs / "few", "--seed", 3)
    assert "why: 2 labels are too few" in result.stdout
    # members have objectives and rounds of their own
    assert "objective" not in result.stdout
    assert "rounds" not in result.stdout
    model = semisvm.load(blobs / "few")
    assert model.summary["method"] == "committee"
    assert len(set(model.estimator.weights_.tolist())) == 1
    assert model.summary["choice"]["members"][0]["name"] == "svm"


def test_auto_can_be_quick_or_limited(blobs):
    arguments = ["fit", blobs / "a.csv", "--label", "kind", "-o", blobs / "q"]
    shown = run(*arguments, "--quick", "--time-limit", "3000").stdout
    assert "of 4 candidates on 5 folds" in shown
    refused = run(*arguments, "-a", "tsvm", "--quick", code=2)
    assert "--time-limit are for --algorithm auto" in refused.stderr


def test_an_interrupt_of_the_choice_keeps_its_results(blobs, monkeypatch):
    """The signal comes during a fit of the second fold; the model is made nevertheless."""
    from semisvm.model_selection.successive_halving import SuccessiveHalving

    may_start = SuccessiveHalving._may_start

    def interrupted(self, runner, runners, fold):
        if fold == 2 and self.n_fits:
            signal.raise_signal(signal.SIGINT)
        return may_start(self, runner, runners, fold)

    monkeypatch.setattr(SuccessiveHalving, "_may_start", interrupted)
    arguments = ["fit", blobs / "a.csv", "--label", "kind", "-o", blobs / "i", "--quick"]
    result = run(*arguments)
    assert "Interrupted: choosing among the methods" in result.stderr
    assert "Not all folds were used" in result.stdout
    assert len(semisvm.load(blobs / "i").summary["choice"]["methods"]["methods"][0]["scores"]) == 2


def test_probabilities_are_calibrated_and_kept(blobs):
    arguments = ["--label", "kind", "-a", "da", "--probabilities", "-q"]
    run("fit", blobs / "a.csv", *arguments, "-o", blobs / "p")
    model = semisvm.load(blobs / "p")
    assert model.calibrator.method == "temperature"
    out = run("predict", blobs / "p", blobs / "a.csv").stdout
    rows = list(csv.DictReader(out.splitlines()))
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)
    certain = [float(row["probability"]) for row in rows]
    sure = [float(row["score"]) for row in rows]
    assert np.array_equal(np.argsort(certain), np.argsort(sure))
    assert json.loads(run("inspect", blobs / "p", "--json").stdout)["calibrated"]
    few = run("fit", blobs / "few.csv", *arguments, "-o", blobs / "x", code=2)
    assert "no class has two labels" in few.stderr


def test_compare_prints_a_table_and_a_verdict(blobs):
    shown = run("compare", blobs / "a.csv", "--label", "kind", *FAST).stdout
    lines = shown.splitlines()
    assert lines[0] == f"30 labelled and 60 unlabelled rows of {blobs / 'a.csv'}"
    assert [line.split()[0] for line in lines[2:4]] == ["svm", "tsvm"]
    assert lines[1].split() == [
        "method",
        "accuracy",
        "against",
        "svm",
        "95%",
        "interval",
        "verdict",
        "seconds",
    ]
    assert "took no part in the fits" in shown
    assert "held-out ones too, but not from the labels" in shown


def test_compare_as_json_repeats(blobs):
    options = ["--label", "kind", *FAST, "--scoring", "f1_macro", "--prior", "a=0.5", "--json"]
    facts = [json.loads(run("compare", blobs / "a.csv", *options).stdout) for _ in range(2)]
    assert facts[0]["scoring"] == "f1_macro"
    assert facts[0]["did_it_help"]["recommended"] in ("svm", "tsvm")
    assert [m["scores"] for m in facts[0]["methods"]] == [m["scores"] for m in facts[1]["methods"]]
    other = json.loads(run("compare", blobs / "a.csv", *options, "--seed", 1).stdout)
    assert [m["scores"] for m in other["methods"]] != [m["scores"] for m in facts[0]["methods"]]


def test_compare_without_unlabelled_rows(tmp_path):
    X, y = two_blobs(30)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    options = ["--methods", "tsvm,da", "--folds", 2, "--repeats", 1]
    shown = run("compare", tmp_path / "a.npz", *options).stdout
    assert "tsvm is left out" in shown
    assert "Only svm was tried" in shown


def test_compare_draws(blobs, monkeypatch):
    pytest.importorskip("matplotlib")
    figure = blobs / "c.svg"
    run("compare", blobs / "a.csv", "--label", "kind", *FAST, "--figure", figure)
    assert figure.read_text().startswith("<?xml")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("compare", blobs / "a.csv", "--label", "kind", "--figure", figure, code=2)
    assert "pip install 'semisvm[plots]'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "a.csv"], "name the label column with --label"),
        (["compare", "a.csv", "--label", "kind", "--methods", "tsvn"], "Did you mean 'tsvm'?"),
        (["compare", "a.csv", "--label", "kind", "--scoring", "auc"], "--scoring must be one of"),
        (["compare", "a.csv", "--label", "kind", "--folds", "40"], "n_splits=40 folds need"),
        (["compare", "few.csv", "--label", "kind"], "Label more rows"),
        (["compare", "a.csv", "--label", "kind", "--figure", "a.gif"], "not 'a.gif'"),
        (["compare", "a.csv", "--label", "kind", "--figure", "no/a.png"], "there is no folder"),
        (["compare", "a.csv", "--label", "kind", "--prior", "c=1"], "--prior names the class 'c'"),
    ],
)
def test_mistakes_have_one_message(blobs, monkeypatch, arguments, message):
    monkeypatch.chdir(blobs)
    result = run(*arguments, code=2)
    messages = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(messages) == 1
    assert message in messages[0]
    assert result.stdout == ""


def seconds(*command):
    """Return the processor time of a command, which other work on the machine hardly changes."""
    before = os.times()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - sum(before[2:4])


def test_help_is_quick():
    """Bounded by what the libraries of the command line take."""
    libraries = "import typer.main, rich.console, rich.table"
    times = [(seconds("-m", "semisvm", "--help"), seconds("-c", libraries)) for _ in range(3)]
    ours, theirs = (min(column) for column in zip(*times, strict=True))
    assert ours < 2.5 * theirs + 0.1


def test_a_kernel_is_kept_in_the_model(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["a,b,kind"]
    for i in range(120):
        inner = i % 2
        angle, radius = rng.uniform(0, 6.28), 0.5 if inner else 3.0
        label = ("in" if inner else "out") if i < 20 else ""
        lines.append(f"{radius * np.cos(angle):.4f},{radius * np.sin(angle):.4f},{label}")
    (tmp_path / "rings.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data, model = str(tmp_path / "rings.csv"), str(tmp_path / "m")
    command = ["fit", data, "--label", "kind", "-o", model, "--kernel", "rbf", "-a", "da"]
    run(*command)
    kept = semisvm.load(model)
    assert kept.estimator.kernel == "rbf"
    assert kept.estimator.kernel_map_.rank > 2
    run("predict", model, data, "-o", tmp_path / "out.csv")
    found = [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert np.mean([f == ("in" if i % 2 else "out") for i, f in enumerate(found)]) > 0.95
    assert "kernel must be one of" in run(*command[:-3], "gauss", code=2).output


def test_the_report_of_a_chosen_model_has_the_verdict_on_unlabelled_rows(blobs, tmp_path):
    page, model = tmp_path / "report.html", tmp_path / "m"
    run("fit", blobs / "a.csv", "--label", "kind", "-o", model, "--report", page)
    verdict = semisvm.load(model).summary["choice"]["methods"]["did_it_help"]["sentence"]
    assert verdict.split(":")[0] in page.read_text(encoding="utf-8")
    again = tmp_path / "again.html"
    run("report", model, "-o", again)
    assert verdict.split(":")[0] in again.read_text(encoding="utf-8")
