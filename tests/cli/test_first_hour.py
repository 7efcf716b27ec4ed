"""What a new user sees first: defaults that end, true words, commands that can be pasted."""

import csv
import json
import re
import shlex

import numpy as np
import pytest

import semisvm
from problems import hide, two_blobs

pytest.importorskip("typer")
pytest.importorskip("rich")


from commands import run

FAST = ["--folds", "3", "--repeats", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of blobs, of noise and of counts, with spaces in a name and a class."""
    folder = tmp_path_factory.mktemp("first hour")
    # one in fifty draws of noise looks like more than chance, and that of seed 0 does
    rng = np.random.default_rng(2)
    X, y = two_blobs(90)
    for name, rows, truth in (("my data.csv", X, y), ("noise.csv", rng.random((90, 4)), y)):
        labels = hide(truth, 30)
        with open(folder / name, "w", newline="") as stream:
            table = csv.writer(stream)
            table.writerow([*(f"x{k}" for k in range(rows.shape[1])), "the kind"])
            for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
                table.writerow([*row, "" if label == -1 else ["a b", "c"][label]])
    counts = rng.poisson(20.0 * (1 + np.outer(y, np.arange(5) > 2)))
    np.savez(folder / "counts.npz", X=counts, y=hide(y, 30))
    return folder


def test_the_command_to_fit_can_be_pasted(folder, monkeypatch):
    monkeypatch.chdir(folder)
    options = ["--label", "the kind", "--numeric", "x0", "--numeric", "x1", "--prior", "a b=0.5"]
    shown = run("compare", "my data.csv", *options, "--methods", "tsvm", *FAST).stdout
    program, *arguments = shlex.split(shown.splitlines()[-1])
    assert program == "semisvm"
    assert arguments[-4:] == ["--algorithm", "svm", "--output", "my data.semisvm"]
    assert "--prior" not in arguments, "svm has none"
    run(*arguments)
    assert semisvm.load("my data.semisvm").settings["label"] == "the kind"


def test_an_option_without_effect_is_named(folder, tmp_path, monkeypatch):
    from semisvm.model_selection import method_choice

    monkeypatch.setattr(method_choice, "QUICK", ("svm", "laprls"))
    message = "the option --unlabeled-weight has no effect: "
    options = ["--label", "the kind", "--unlabeled-weight", "0.5", "--quick", "-o", tmp_path / "m"]
    result = run("fit", folder / "my data.csv", *options, "--report", tmp_path / "r.html")
    assert f"note: {message}" in result.stderr
    assert f"note: {message}" in result.stdout
    assert "the parameter unlabeled_weight has no effect" in (tmp_path / "r.html").read_text(
        encoding="utf-8"
    )
    facts = json.loads(run("fit", folder / "my data.csv", *options, "--json").stdout)
    assert any(note.startswith(message) for note in facts["notes"])
    assert facts["choice"]["ignored"] == ["unlabeled_weight"]
    quiet = run("fit", folder / "my data.csv", *options, "-q")
    assert message in quiet.stderr
    assert "no effect" not in run("fit", folder / "my data.csv", *options[:4], "-a", "da",
                                  "-o", tmp_path / "m").output  # fmt: skip


def test_a_prior_acts_on_whatever_is_chosen(folder, tmp_path, monkeypatch):
    from semisvm.model_selection import method_choice

    monkeypatch.setattr(method_choice, "QUICK", ("svm", "laprls"))
    options = ["--label", "the kind", "--prior", "c=0.3", "--quick", "-o", tmp_path / "m"]
    result = run("fit", folder / "my data.csv", *options)
    assert "no effect" not in result.output
    found = semisvm.load(tmp_path / "m").summary["found"]
    assert found["c"] / sum(found.values()) == pytest.approx(0.3, abs=0.02)


def test_compare_names_methods_on_which_a_prior_has_no_effect(folder):
    options = ["--label", "the kind", "--methods", "tsvm,laprls", "--prior", "c=0.4", *FAST]
    shown = run("compare", folder / "my data.csv", *options).stdout
    assert "--prior has no effect: laprls" in shown


@pytest.mark.parametrize("method", ["svm", "tsvm", "auto"])
def test_unscaled_matrices_are_noted(folder, tmp_path, method):
    options = ["--unlabeled", "-1", "-o", tmp_path / "m", "-a", method]
    shown = run("fit", folder / "counts.npz", *options).stdout
    assert "note: the rows of the matrix have length" in shown
    assert "; --as-is leaves it as it is." in shown
    shown = run("fit", folder / "counts.npz", *options, "--as-is").stdout
    assert "note: the rows have length" in shown
    assert "for rows of about length one" in shown


def test_scaled_matrices_are_not_noted(folder, tmp_path):
    found = np.load(folder / "counts.npz")
    X = found["X"] / np.linalg.norm(found["X"], axis=1, keepdims=True)
    np.savez(tmp_path / "unit.npz", X=X, y=found["y"])
    shown = run("fit", tmp_path / "unit.npz", "--unlabeled", "-1", "-o", tmp_path / "m").stdout
    assert "length one" not in shown
    assert re.search(r"feature seconds +(< 0\.01|\d+\.\d\d|[\d,]+) s\b", shown)


def test_a_model_of_noise_is_called_one(folder, tmp_path):
    message = "labels are too few to show that {} is better than guessing the most frequent class"
    options = ["--label", "the kind"]
    model, page = tmp_path / "m", tmp_path / "r.html"
    shown = run("compare", folder / "noise.csv", *options, "--methods", "da").stdout
    assert message.format("svm") in " ".join(shown.split())
    fitted = run("fit", folder / "noise.csv", *options, "-o", model, "--report", page)
    method = semisvm.load(model).summary["method"]
    assert re.search(message.format(rf"{method}( rbf)?"), fitted.stdout)
    assert re.search(message.format(rf"{method}( rbf)?"), page.read_text(encoding="utf-8"))
    rng = np.random.default_rng(1)
    rows = [f"{','.join(map(str, rng.random(4)))},{('a b', 'c')[k % 2]}" for k in range(90)]
    (tmp_path / "new.csv").write_text("\n".join(["x0,x1,x2,x3,the kind", *rows]) + "\n")
    assert message.format("the model") in run("evaluate", model, tmp_path / "new.csv").stdout
    facts = json.loads(run("evaluate", model, tmp_path / "new.csv", "--json").stdout)
    assert facts["chance"]["better"] is False
    assert facts["most_frequent_class"] in ("a b", "c")


def test_compare_takes_what_is_quick(folder, monkeypatch):
    from semisvm.model_selection import method_comparison as planning

    monkeypatch.setattr(planning, "SECONDS", 0.0)
    options = ["--label", "the kind", "--folds", "2"]
    shown = run("compare", folder / "my data.csv", *options).stdout
    names = [line.split()[0] for line in shown.splitlines() if line.startswith(" ")]
    assert names == ["method", "svm", "tsvm"]
    assert "would take long" in shown
    assert "lds (about 1 s)" in shown
    assert "; --methods all compares them too" in shown
    assert "the folds are not repeated; --repeats 3 would" in shown
