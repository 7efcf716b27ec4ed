"""Encoders of libraries on the command line."""

import csv
import json

import pytest

import semisvm
from commands import run
from encoders import make_mail, write_encoder

FIT = ("fit", "mail.csv", "--label", "kind", "-a", "svm", "-o", "m", "-q")


@pytest.fixture
def named(tmp_path, monkeypatch):
    """mail.csv with 60 texts and 16 labels, and the name of an encoder."""
    pytest.importorskip("model2vec")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMISVM_CACHE_DIR", str(tmp_path / "cache"))
    with open("mail.csv", "w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["body", "kind"])
        for i, text in enumerate(make_mail()):
            rows.writerow([text, ["spam", "ham"][i % 2] if i < 16 else ""])
    write_encoder(tmp_path / "encoder")
    return "model2vec:encoder"


def test_fit_and_predict(named):
    run(*FIT, "--encoder", named)
    assert semisvm.load("m").features.kinds_ == {"body": "text", "body__encoded": "vector"}
    assert named in run("inspect", "m").stdout
    predicted = run("predict", "m", "mail.csv").stdout
    assert predicted.count("spam") == 30
    printed = json.loads(run("evaluate", "m", "mail.csv", "--json").stdout)
    assert printed["accuracy"] == 1.0
    run("report", "m", "-o", "r.html", "--evaluate", "mail.csv")


def test_an_encoder_that_moved_or_changed(named, tmp_path):
    run(*FIT, "--encoder", named, "--no-words")
    assert semisvm.load("m").features.kinds_ == {"body__encoded": "vector"}
    (tmp_path / "encoder").rename("moved")
    shown = run("predict", "m", "mail.csv", code=2).stderr
    assert "the encoder 'model2vec:encoder' cannot be loaded" in shown
    predicted = run("predict", "m", "mail.csv", "--encoder", "model2vec:moved").stdout
    assert predicted.count("spam") == 30
    write_encoder(tmp_path / "encoder", seed=1)
    shown = run("predict", "m", "mail.csv", code=2).stderr
    assert "computes other vectors" in shown
    assert shown.count("\n") == 1
    shown = run("predict", "m", "mail.csv", "--encoder", "my_module:encode", code=2).stderr
    assert "fitted with the encoder model2vec:encoder" in shown


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "mail.csv", "--methods", "svm", "--repeats", 1),
        ("select", "mail.csv", "-n", 3, "-o", "next.csv"),
        ("audit", "mail.csv", "-a", "svm", "--repeats", 1, "--no-words"),
    ],
)
def test_commands_that_share_the_options(named, command):
    run(*command, "--label", "kind", "--encoder", named)


def test_convert(named):
    convert = ("convert", "mail.csv", "mail.rows", "--label", "kind", "-q", "--encoder")
    run(*convert, named, "--no-words")
    run("fit", "mail.rows", "-a", "svm", "-o", "m", "-q")
    assert run("predict", "m", "mail.csv").stdout.count("spam") == 30
    assert "encoders of libraries" in run(*convert, "my_module:encode", code=2).stderr


def test_an_encoder_that_is_not_there(named):
    shown = run(*FIT, "--encoder", "model2vec:nowhere", code=2).stderr
    assert "the encoder 'model2vec:nowhere' cannot be loaded" in shown
    shown = run(*FIT, "--encoder", "model2vec:", code=2).stderr
    assert "encoder must be one of" in shown
