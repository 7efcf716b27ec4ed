"""Rows with several labels, from files to a model and back."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import semisvm
from commands import run
from semisvm.persistence import ModelFileError

WORDS = {
    "spam": ["win", "cash", "prize", "free"],
    "urgent": ["now", "asap", "deadline", "today"],
    "work": ["meeting", "report", "project", "budget"],
}
OTHERS = ["hello", "the", "we", "you", "is", "was", "about", "note"]


def written(path, n, n_known, seed):
    """Write texts with tags, once in one column and once in three; few rows are known."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "tags", *WORDS, "weight"])
        for i in range(n):
            has = [tag for tag in WORDS if rng.random() < 0.35]
            words = [*(w for tag in has for w in rng.choice(WORDS[tag], 2)), *rng.choice(OTHERS, 4)]
            known = i < n_known
            cells = ["yes" if tag in has else "no" for tag in WORDS]
            tags = ";".join(has) or ";"
            shown = [tags, *cells] if known else ["", *[""] * len(cells)]
            writer.writerow([" ".join(words), *shown, 1 + i % 2])
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    written(folder / "train.csv", 240, 90, 0)
    written(folder / "test.csv", 80, 80, 1)
    fit = ("fit", folder / "train.csv", "--features", "text", "--text", "text")
    run(*fit, "--tags", "tags", "--probabilities", "-o", folder / "tags.semisvm")
    columns = [part for name in WORDS for part in ("--label", name)]
    run(*fit, *columns, "-a", "tsvm", "-o", folder / "columns.semisvm", "--quiet")
    return folder


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_predictions_have_one_column_per_label(files):
    found = rows_of(run("predict", files / "tags.semisvm", files / "test.csv").stdout)
    assert list(found[0]) == [*WORDS, *(f"probability_{name}" for name in WORDS)]
    truth = rows_of((files / "test.csv").read_text())
    for name in WORDS:
        right = [
            row[name] == str(int(name in known["tags"].split(";")))
            for row, known in zip(found, truth, strict=True)
        ]
        assert np.mean(right) > 0.9
        assert all((float(r[f"probability_{name}"]) > 0.5) == (r[name] == "1") for r in found)
    options = ("--all-scores", "--keep", "text")
    other = rows_of(run("predict", files / "columns.semisvm", files / "test.csv", *options).stdout)
    assert list(other[0]) == ["text", *WORDS, *(f"score_{name}" for name in WORDS)]
    assert {row["spam"] for row in other} == {"yes", "no"}


def test_the_model_in_python(files):
    model = semisvm.load(files / "tags.semisvm")
    assert isinstance(model, semisvm.Model)
    data = {"text": ["win cash prize", "we you about"]}
    assert model.predict(data).tolist() == [[1, 0, 0], [0, 0, 0]]
    assert model.predict_proba(data).shape == model.decision_function(data).shape == (2, 3)
    assert model.label_names == list(WORDS)
    assert model.top_features(2)["urgent"][0][0].removeprefix("text__") in WORDS["urgent"]
    with pytest.raises(ValueError, match="several labels per row"):
        model.explain(data)
    with pytest.raises(ValueError, match="several labels per row"):
        model.predict_sets(data, 0.8)
    model.calibrator.__dict__["slope"] = model.calibrator.slope[:2]
    semisvm.save(model, files / "bad.semisvm")
    with pytest.raises(ModelFileError, match="calibrat"):
        semisvm.load(files / "bad.semisvm")


def test_evaluation_of_every_label(files):
    for name in ("tags", "columns"):
        command = ("evaluate", files / f"{name}.semisvm", files / "test.csv")
        facts = json.loads(run(*command, "--json").stdout)
        assert list(facts["labels"]) == list(WORDS)
        assert facts["rows"] == 80
        each = [label["f"] for label in facts["labels"].values()]
        assert facts["macro_f"] == pytest.approx(np.mean(each))
        assert min(facts["micro_f"], facts["macro_f"]) > 0.85
        assert "micro f" in run(*command).stdout
    weighed = json.loads(run(*command, "--json", "--sample-weight", "weight").stdout)
    assert weighed["rows"] == 80
    # labels of the training file are known for some rows only
    part = json.loads(run(*command[:2], files / "train.csv", "--json").stdout)
    assert part["unlabelled_rows"] == 150


def test_what_is_in_a_model(files):
    facts = json.loads(run("inspect", files / "tags.semisvm", "--json").stdout)
    assert facts["labels"] == list(WORDS)
    assert set(facts["prior"]) == set(WORDS)
    assert facts["calibrated"]
    shown = run("inspect", files / "columns.semisvm", "--top", "2").stdout
    assert "TransductiveSVC" in shown
    assert "urgent" in shown


def test_shares_and_weights(files):
    fit = ("fit", files / "train.csv", "--features", "text", "--text", "text", "--tags", "tags")
    options = ("--prior", "spam=0.3,work=0.4", "--sample-weight", "weight", "--json")
    facts = json.loads(run(*fit, *options, "-o", files / "w.semisvm").stdout)
    assert facts["prior"]["spam"] == 0.3
    assert facts["prior"]["urgent"] not in (0.3, 0.4)
    error = run(*fit, "--prior", "ham=0.3", "-o", files / "w.semisvm", code=2).stderr
    assert "The labels are spam, urgent, work" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tags", "tags", "--label", "spam"), "--tags and --label"),
        (("--label", "spam", "--separator", ","), "--separator is for --tags"),
        (("--tags", "tags", "--workers", "2"), "--workers is for one label"),
        (("--tags", "tags", "--checkpoint", "c"), "--checkpoint is for one label"),
        (("--tags", "tags", "--quick"), "--quick is for one label"),
        (("--tags", "tags", "-a", "lds"), "not for several labels"),
        (("--tags", "nothing"), "nothing"),
        (("--label", "spam", "--label", "text"), "same two values"),
    ],
)
def test_fits_that_are_refused(files, options, message):
    done = run("fit", files / "train.csv", *options, "-o", files / "x.semisvm", code=2)
    assert message in done.stderr


def test_commands_for_one_label_refuse_the_model(files):
    model = files / "tags.semisvm"
    test = files / "test.csv"
    for command in (("report", model, "-o", files / "r.html"), ("export", model, files / "m.onnx")):
        assert "several labels per row" in run(*command, code=2).stderr
    for options in (("--top", "2"), ("--explain", "2"), ("--abstain-below", "0.9")):
        assert "one label per row" in run("predict", model, test, *options, code=2).stderr
    kept = run("predict", model, test, "--keep", "spam")
    assert "'spam' of the data is written as 'kept_spam'" in kept.stderr
    assert kept.stdout.startswith("kept_spam,")
    assert "one label per row" in run("evaluate", model, test, "--label", "spam", code=2).stderr
