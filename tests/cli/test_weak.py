"""``--weak COLUMN``: unreliable labels on the command line."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import semisvm
from commands import run
from semisvm.model_selection.intervals import paired_interval
from semisvm.tables import read

WORDS = (["win", "money", "prize", "offer"], ["lunch", "meeting", "plan", "notes"])
KINDS = ("spam", "ham")


@pytest.fixture
def mail(tmp_path):
    """Write texts, of which 16 have a label, with guesses of two sources."""
    rng, path = np.random.default_rng(0), tmp_path / "mail.csv"
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "llm", "rule", "kind"])
        for i in range(60):
            llm = KINDS[(i + (rng.random() < 0.2)) % 2] if i % 6 else ""
            rule = KINDS[(i + (rng.random() < 0.4)) % 2]
            label = KINDS[i % 2] if i < 16 else ""
            table.writerow([" ".join(rng.choice(WORDS[i % 2], 4)), llm, rule, label])
    return path


def test_weak_columns_are_no_features(mail):
    output = mail.parent / "m.semisvm"
    sources = ("--weak", "llm", "--weak", "rule")
    run("fit", mail, "--label", "kind", "-a", "tsvm", *sources, "-o", output)
    model = semisvm.load(output)
    assert model.features.columns_ == ["text"]
    assert (model.predict(read(mail)) == np.array(KINDS)[np.arange(60) % 2]).mean() > 0.9
    run("predict", output, mail)


def test_wrong_columns_and_methods_are_named(mail):
    output = mail.parent / "m.semisvm"
    line = ("fit", mail, "--label", "kind", "-o", output)
    assert "no column 'nothing'" in run(*line, "--weak", "nothing", code=2).stderr
    result = run(*line, "-a", "svm", "--weak", "llm", code=2)
    assert "takes no evidence" in result.stderr


def test_compare_has_methods_with_and_without_weak_labels(mail):
    line = ("compare", mail, "--label", "kind", "--methods", "tsvm,gradient", "--folds", "2")
    plain = json.loads(run(*line, "--features", "text", "--json").stdout)
    found = json.loads(run(*line, "--weak", "llm", "--weak", "rule", "--json").stdout)
    scores = {method["name"]: method["mean"] for method in found["methods"]}
    assert set(scores) == {"svm", "tsvm", "tsvm weak", "gradient", "gradient weak"}
    assert all(scores[method["name"]] == method["mean"] for method in plain["methods"])
    assert "weak labels are right in about" in " ".join(found["notes"])


@pytest.mark.parametrize(("best", "expected"), [("tsvm weak", True), ("tsvm", False)])
def test_the_suggested_fit_has_weak_labels_if_they_helped(mail, monkeypatch, best, expected):
    from semisvm.model_selection.verdict import Verdict

    verdict = Verdict("helped", best, best, "", None)
    monkeypatch.setattr("semisvm.model_selection.Comparison.did_it_help", lambda _: verdict)
    line = ("compare", mail, "--label", "kind", "--methods", "tsvm", "--weak", "llm")
    suggested = run(*line, "--folds", "2", "--repeats", "1").stdout.splitlines()[-1]
    assert "--algorithm tsvm --output" in suggested
    assert ("--weak llm" in suggested) == expected


def test_compare_refuses_what_no_method_can_use(mail):
    line = ("compare", mail, "--label", "kind", "--methods", "laprls")
    assert "evidence would have no effect" in run(*line, "--weak", "llm", code=2).stderr
    assert "no column 'lm'" in run(*line, "--weak", "lm", code=2).stderr


def test_labels_that_may_be_wrong(mail):
    lines = mail.read_text().splitlines()
    # the third row is about lunch, or a prize
    lines[3] = lines[3].removesuffix("spam") + "ham"
    wrong = mail.parent / "wrong.csv"
    wrong.write_text("\n".join(lines) + "\n")
    output = mail.parent / "m.semisvm"
    line = ("fit", wrong, "--label", "kind", "--features", "text", "-o", output)
    result = run(*line, "-a", "tsvm", "--label-noise", "0.1")
    assert "label_noise" not in result.stderr
    assert "labels count as evidence only" in result.stdout
    result = run(*line, "-a", "svm", "--label-noise", "0.1", code=2)
    assert "has no --label-noise" in result.stderr
    assert "below 1" in run(*line, "-a", "tsvm", "--label-noise", "1", code=2).stderr


def known_rows(mail, more):
    """Write the mails with all labels and further columns; return the rows and the path."""
    rows = list(csv.DictReader(mail.read_text().splitlines()))
    for i, row in enumerate(rows):
        row["kind"] = KINDS[i % 2]
        row |= more(i, row)
    path = mail.parent / "known.csv"
    with open(path, "w", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    return rows, path


def test_evaluate_has_weak_labels_beside_the_model(mail):
    output, sources = mail.parent / "m.semisvm", ("--weak", "llm", "--weak", "rule")
    run("fit", mail, "--label", "kind", "-a", "tsvm", *sources, "-o", output)
    rows, known = known_rows(mail, lambda i, row: {"late": row["llm"] if i > 50 else "", "no": ""})
    sources += ("--weak", "late", "--weak", "no")
    found = json.loads(run("evaluate", output, known, *sources, "--json").stdout)
    model = semisvm.load(output).predict(read(known, label="kind"))
    for part in found["weak"][:3]:
        voted = [k for k, row in enumerate(rows) if row[part["source"]]]
        right = [rows[k][part["source"]] == rows[k]["kind"] for k in voted]
        assert part["rows"] == len(voted)
        assert part["accuracy"] == pytest.approx(np.mean(right))
        assert part["model"] == pytest.approx(np.mean([model[k] == KINDS[k % 2] for k in voted]))
        right, ahead = np.array(right), np.array([model[k] == KINDS[k % 2] for k in voted])
        alone = np.mean(ahead & ~right), np.mean(right & ~ahead)
        assert part["model_ahead_interval"] == pytest.approx(paired_interval(*alone, len(voted)))
    assert found["weak"][3] == {"source": "no", "votes": 0, "rows": 0, "accuracy": None}
    shown = run("evaluate", output, known, *sources).stdout
    assert "Weak labels, where they have a vote" in shown
    assert "no votes" in shown
    assert "no column 'gpt'" in run("evaluate", output, known, "--weak", "gpt", code=2).stderr
    folder = mail.parent / "rows"
    run("convert", known, folder, "--label", "kind", "--features", "text")
    message = run("evaluate", output, folder, "--weak", "llm", code=2).stderr
    assert "--weak name columns of a table" in message


def test_evaluate_weighs_weak_labels(mail):
    rows, known = known_rows(mail, lambda _, row: {"n": 3 if row["rule"] == row["kind"] else 1})
    output = mail.parent / "m.semisvm"
    run("fit", mail, "--label", "kind", "-a", "tsvm", "--features", "text", "-o", output)
    line = ("evaluate", output, known, "--weak", "rule", "--sample-weight", "n", "--json")
    (part,) = json.loads(run(*line).stdout)["weak"]
    right = sum(row["rule"] == row["kind"] for row in rows)
    assert part["accuracy"] == pytest.approx(3 * right / (3 * right + len(rows) - right))
