"""Excel files on the command line: every command that reads a CSV file reads them too."""

import csv
import json
import re

import numpy as np
import pytest

import semisvm
from commands import refusal, run
from semisvm.designs import open_rows
from semisvm.labelling import LabelingSession

openpyxl = pytest.importorskip("openpyxl")

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])


def save(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append([None if cell == "" else cell for cell in row])
    book.save(path)


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


@pytest.fixture
def mail(tmp_path, monkeypatch):
    """The same rows as mail.csv and mail.xlsx, and as the second sheet of book.xlsx."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [["id", "body", "size", "kind"]]
    for i in range(60):
        words = " ".join(rng.choice(WORDS[i % 2], 6))
        kind = ["spam", "ham"][i % 2] if i < 24 else ""
        rows.append([f"m{i:02d}", f"the {words}", int(rng.integers(1, 90)) + i % 2, kind])
    write("mail.csv", rows)
    save("mail.xlsx", Mail=rows)
    save("book.xlsx", About=[["made"], ["by hand"], ["by me"]], Mail=rows)
    return tmp_path


FILES = ("mail.csv", "mail.xlsx")


def fitted(name, *options):
    out = f"{name}.semisvm"
    run("fit", name, "--label", "kind", "--text", "body", "-a", "tsvm", "-o", out, *options)
    return semisvm.load(out)


def test_fit_predict_and_evaluate(mail):
    models = [fitted(name) for name in FILES]
    np.testing.assert_array_equal(*(model.estimator.coef_ for model in models))
    guesses = [run("predict", "mail.csv.semisvm", name, "--keep", "id").stdout for name in FILES]
    assert guesses[0] == guesses[1]
    assert guesses[1].startswith("id,label,")
    scores = [json.loads(run("evaluate", "mail.csv.semisvm", f, "--json").stdout) for f in FILES]
    assert [score["accuracy"] for score in scores] == [1.0, 1.0]


def test_compare_convert_select_and_audit(mail):
    quick = {
        "compare": ("--methods", "svm,tsvm", "--folds", 2, "--repeats", 1),
        "audit": ("-a", "svm"),
    }
    for command, options in quick.items():
        about = ("--label", "kind", "--text", "body", "--json", *options)
        found = [json.loads(run(command, name, *about).stdout) for name in FILES]
        assert found[0].keys() == found[1].keys()
    for name in FILES:
        run("convert", name, f"{name}.rows", "--label", "kind", "--text", "body")
    stored = [open_rows(f"{name}.rows").load().toarray() for name in FILES]
    np.testing.assert_array_equal(*stored)
    picked = [run("select", f, "--label", "kind", "--text", "body", "-n", 5).stdout for f in FILES]
    assert picked[0] == picked[1]


def test_answers_that_were_filled_in_in_a_spreadsheet(mail):
    run("select", "mail.xlsx", "--label", "kind", "--text", "body", "-n", 4, "-o", "ask.csv")
    with open("ask.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    place = rows[0].index("kind")
    for row in rows[1:]:
        row[place] = "spam" if int(row[rows[0].index("id")][1:]) % 2 == 0 else "ham"
    save("asked.xlsx", Sheet1=rows)
    model = fitted("mail.xlsx", "--answers", "asked.xlsx")
    assert sum(model.summary["labels"].values()) == 28


def test_the_sheet_is_named(mail):
    result = run("convert", "book.xlsx", "other.rows", "--text", "made", "--min-df", 1)
    assert re.search("'About'.* is read.* --sheet", result.stderr)
    assert result.stderr.count("warning") == 1
    model = fitted("book.xlsx", "--sheet", "Mail")
    assert model.summary["labels"] == {"ham": 12, "spam": 12}
    found = run("predict", "book.xlsx.semisvm", "book.xlsx", "--sheet", "Mail")
    assert len(found.stdout.splitlines()) == 61
    line = refusal("predict", "book.xlsx.semisvm", "book.xlsx", "--sheet", "Mails")
    assert "Did you mean 'Mail'?" in line
    assert "has no sheets" in refusal("predict", "book.xlsx.semisvm", "mail.csv", "--sheet", "Mail")


def test_a_session_on_a_workbook(mail):
    with LabelingSession.open("mail.xlsx", label="kind", text="body", background=False) as session:
        assert session.status().n_answered == 24
        query = session.ask()
        session.answer(query.row, "spam")
    answers = (mail / "mail.answers.csv").read_text(encoding="utf-8").splitlines()
    assert len(answers) == 2
    with LabelingSession.open("mail.xlsx", label="kind", text="body", background=False) as again:
        assert again.status().n_answered == 25
