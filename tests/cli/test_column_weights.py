"""``--column-weight COLUMN=FACTOR``, and the note about damped columns."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import semisvm
from commands import refusal, run

N = 80


@pytest.fixture
def mail(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(200)]
    with open(tmp_path / "mail.csv", "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["body", "size", "a=b", "kind"])
        for i in range(N):
            half = words[:120] if i % 2 else words[80:]
            label = ["spam", "ham"][i % 2] if i < 20 else ""
            body = " ".join(rng.choice(half, 12))
            table.writerow([body, rng.normal(), rng.choice(list("wxyz")), label])
    return tmp_path / "mail.csv"


def fit(mail, *more, name="m.semisvm"):
    shown = run("fit", mail, "--label", "kind", "-a", "svm", "-o", mail.parent / name, *more).stdout
    return semisvm.load(mail.parent / name), " ".join(shown.split())


def test_fit_weighs_columns_and_shows_what_is_damped(mail):
    plain, shown = fit(mail)
    assert "damped: the columns 'size', 'a=b' have together " in shown
    assert "Use --column-weight to change it." in shown
    weights = ("--column-weight", "size=4", "--column-weight", "a=b=0")
    model, shown = fit(mail, *weights, name="weighted")
    assert model.features.column_weights == {"size": 4.0, "a=b": 0.0}
    assert model.features.columns_ == ["body", "size"]
    assert "'a=b' is left out" in shown
    assert "damped" not in shown
    ratio = model.features.scales_[1] / model.features.scales_[0]
    alone = fit(mail, "--column-weight", "a=b=0", name="alone")[0].features.scales_
    assert ratio == pytest.approx(4 * alone[1] / alone[0])
    assert len(plain.features.blocks_) == 3


def test_rows_on_disk_keep_weights(mail):
    more = ("--label", "kind", "--column-weight", "size=4", "--column-weight", "categorical=0.5")
    rows = mail.parent / "mail.rows"
    run("convert", mail, rows, *more)
    run("fit", rows, "-a", "svm", "-o", mail.parent / "r.semisvm")
    on_disk = semisvm.load(mail.parent / "r.semisvm")
    model, _ = fit(mail, *more[2:])
    np.testing.assert_allclose(on_disk.features.scales_, model.features.scales_)
    assert on_disk.features.column_weights == {"size": 4.0, "categorical": 0.5}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["size"], "takes COLUMN=FACTOR such as country=0.5, not 'size'"),
        (["=2"], "takes COLUMN=FACTOR"),
        (["size=much"], "not 'size=much'"),
        (["size=-1"], "not 'size=-1'"),
        (["size=nan"], "not 'size=nan'"),
        (["size=1", "size=2"], "given twice for 'size'"),
        (["sise=1"], "Did you mean 'size'"),
    ],
)
def test_weights_that_are_refused(mail, given, message):
    options = [part for text in given for part in ("--column-weight", text)]
    assert message in refusal("fit", mail, "--label", "kind", "-o", mail.parent / "m", *options)


def test_labels_raise_columns_in_fit_compare_and_audit(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(300)]
    topics = rng.integers(0, 2, 200)
    hint = np.where(rng.random(200) < 0.9, topics, 1 - topics)
    lines = ["text,hint,kind"]
    for k in range(200):
        text = " ".join(rng.choice(words, 30))
        lines.append(f"{text},shelf {hint[k]},{'ab'[topics[k]] if k < 60 else ''}")
    data = tmp_path / "a.csv"
    data.write_text("\n".join(lines) + "\n")
    options = ["--label", "kind"]
    shown = run("fit", data, *options, "-a", "svm", "-o", tmp_path / "m.semisvm").stdout
    assert "raised: the column 'hint' has " in " ".join(shown.split())
    assert set(semisvm.load(tmp_path / "m.semisvm").features.informative_) == {"hint"}
    shown = run(
        "compare", data, *options, "--methods", "tsvm", "--folds", "3", "--repeats", "1", "--json"
    ).stdout
    found = json.loads(shown)
    assert [note for note in found["notes"] if note.startswith("raised: the column 'hint' has ")]
    # the texts are noise, so svm follows the column only if it is raised as far as `fit` does
    assert next(m["mean"] for m in found["methods"] if m["name"] == "svm") > 0.8
    shown = run("audit", data, *options, "-a", "svm", "--json").stdout
    found = json.loads(shown)
    assert [note for note in found["notes"] if note.startswith("raised: the column 'hint' has ")]
    assert found["agreement"] > 0.8
