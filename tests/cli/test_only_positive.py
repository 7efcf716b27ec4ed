"""``--only-positive CLASS``: labels of one class alone on the command line."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import semisvm
from commands import run
from semisvm.tables import read

WORDS = (["win", "money", "prize", "offer"], ["lunch", "meeting", "plan", "notes"])
IS_SPAM = np.arange(120) % 3 == 0


@pytest.fixture
def mail(tmp_path):
    """Write texts, a third of which are spam; half of these have a label."""
    rng, path = np.random.default_rng(0), tmp_path / "mail.csv"
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "kind"])
        for i, spam in enumerate(IS_SPAM):
            table.writerow([" ".join(rng.choice(WORDS[1 - spam], 4)), "spam" if i % 6 == 0 else ""])
    return path


def run_json(*line):
    return json.loads(run(*line, "--json").stdout)


def test_a_model_of_one_class_is_fitted_and_used(mail):
    output = mail.parent / "m.semisvm"
    line = ("fit", mail, "--label", "kind", "--only-positive", "spam", "-o", output)
    found = run_json(*line)
    assert found["method"] == "da"
    assert found["prior_source"] == "estimate"
    notes = " ".join(found["notes"])
    assert "no row is labelled 'not spam'" in notes
    assert "nor choose a method" in notes
    assert "of the rows labelled 'spam', 100% are predicted as such" in notes
    model = semisvm.load(output)
    assert model.classes_.tolist() == ["not spam", "spam"]
    assert np.mean((model.predict(read(mail)) == "spam") == IS_SPAM) > 0.9
    assert run("predict", output, mail).stdout.count("not spam") > 60
    assert "no row is labelled 'not spam'" in run("inspect", output).stdout


def test_rows_on_the_disk(mail):
    folder, output = mail.parent / "mail.rows", mail.parent / "m.semisvm"
    run("convert", mail, folder, "--label", "kind")
    found = run_json("fit", folder, "--only-positive", "spam", "-o", output)
    assert found["method"] == "da"
    assert "of the rows labelled 'spam', 100%" in " ".join(found["notes"])


def test_other_classes_are_one_in_evaluations(mail):
    output, checked = mail.parent / "m.semisvm", mail.parent / "checked.csv"
    run("fit", mail, "--label", "kind", "--only-positive", "spam", "-o", output)
    lines = mail.read_text().splitlines()
    kinds = ["spam" if spam else ("ham", "news")[i % 2] for i, spam in enumerate(IS_SPAM)]
    rows = [f"{line.split(',')[0]},{kind}" for line, kind in zip(lines[1:], kinds, strict=True)]
    checked.write_text("\n".join([lines[0], *rows]))
    found = run_json("evaluate", output, checked)
    assert list(found["classes"]) == ["not spam", "spam"]
    assert found["accuracy"] > 0.9


@pytest.mark.parametrize("method", ["auto", "tsvm"])
def test_the_share_of_the_class_may_be_given(mail, method):
    output = mail.parent / "m.semisvm"
    line = ("fit", mail, "--label", "kind", "--only-positive", "spam", "-a", method, "-o", output)
    found = run_json(*line, "--prior", "spam=0.25")
    assert found["prior_source"] == "given"
    assert found["prior"] == pytest.approx({"spam": 0.25, "not spam": 0.75})


def test_numbers_as_labels(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 3)) + np.repeat([[0.0], [3.0]], 40, axis=0)
    y = np.where(np.arange(80) >= 60, 1.0, np.nan)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    output = tmp_path / "m.semisvm"
    line = ("fit", tmp_path / "d.npz", "--only-positive", "1", "--prior", "1=0.4")
    assert run_json(*line, "-o", output)["labels"] == {"1": 20}
    assert semisvm.load(output).classes_.tolist() == ["1", "not 1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "a fit takes the option --only-positive"),
        (("--only-positive", "Spam"), "no row is labelled so. Did you mean 'spam'?"),
        (("--only-positive", "spam", "-a", "svm"), "'svm' needs labels of every class"),
        (("--only-positive", "spam", "--probabilities"), "probabilities need held-out labels"),
        (("--only-positive", "spam", "--prior", "ham=0.2"), "The classes are not spam, spam"),
    ],
)
def test_what_cannot_be_is_refused(mail, options, message):
    output = mail.parent / "m.semisvm"
    result = run("fit", mail, "--label", "kind", *options, "-o", output, code=2)
    assert message in result.stderr
    assert not output.exists()


def test_labels_of_other_classes_are_refused(mail):
    mail.write_text(mail.read_text() + "a plan,ham\r\n")
    line = ("fit", mail, "--label", "kind", "--only-positive", "spam")
    result = run(*line, "-o", mail.parent / "m.semisvm", code=2)
    assert "1 row has another label, such as 'ham'" in result.stderr
