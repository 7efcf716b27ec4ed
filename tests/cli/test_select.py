"""``semisvm select``, the file to fill in, and the way back through ``fit --answers``."""

import csv
import json

import numpy as np
import pytest
from scipy import sparse

import semisvm
from problems import two_blobs
from semisvm.tables import DataError, Table, read
from semisvm.tables.answers import join_answers, same_cell

pytest.importorskip("typer")
pytest.importorskip("rich")


from commands import run
from semisvm.cli.compare import _named

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])


def table_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def kind_of(i):
    return ["spam", "ham"][i % 2]


@pytest.fixture
def mail(tmp_path, monkeypatch):
    """mail.csv with 60 texts and no label; labelled.csv with a column of four labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": f"m{i}",
            "text": " ".join(rng.choice(WORDS[i % 2], 6)) + ',\n"end"',
            "size": 0.1 * (i % 7),
        }
        for i in range(60)
    ]
    write(tmp_path / "mail.csv", rows)
    write(
        tmp_path / "labelled.csv",
        [{**row, "kind": kind_of(i) if i < 4 else ""} for i, row in enumerate(rows)],
    )
    return tmp_path


def fill(path, label="label", change=None):
    """Do the work of the expert."""
    rows = table_of(path)
    for row in rows:
        number = int(row["id"].removeprefix("m"))
        row[label] = kind_of(number)
    for line, cells in (change or {}).items():
        rows[line] |= cells
    write(path, rows)
    return rows


def test_from_no_label_to_a_model(mail):
    shown = run("select", "mail.csv", "-n", 12, "-o", "todo.csv").stdout
    assert "12 of 60 rows of mail.csv are in todo.csv." in shown
    assert "\nsemisvm fit mail.csv --answers todo.csv --output mail.semisvm\n" in shown
    assert "'id' is left out" in shown
    rows = table_of("todo.csv")
    assert list(rows[0]) == ["semisvm_row", "label", "id", "text", "size", "semisvm_picked"]
    assert len(rows) == 12
    original = table_of("mail.csv")
    for row in rows:
        assert row["label"] == ""
        assert {name: row[name] for name in ("id", "text", "size")} == original[
            int(row["semisvm_row"]) - 1
        ]
    fill("todo.csv")
    run("fit", "mail.csv", "--answers", "todo.csv", "-o", "m", "-a", "svm", "-q")
    model = semisvm.load("m")
    assert model.summary["labelled"] == 12
    assert model.predict(read("mail.csv")).tolist() == [kind_of(i) for i in range(60)]


def test_rounds_add_up(mail):
    options = ["labelled.csv", "--label", "kind"]
    run("select", *options, "-n", 6, "-o", "one.csv")
    rows = fill("one.csv", "kind", {5: {"kind": ""}})
    assert all(int(row["semisvm_row"]) > 4 for row in rows), "four are labelled already"
    run("select", *options, "--answers", "one.csv", "-n", 6, "-o", "two.csv", "--by", "margin")
    second = {row["id"] for row in fill("two.csv", "kind")}
    assert not second & {row["id"] for row in rows[:5]}
    answers = ["--answers", "one.csv", "--answers", "two.csv"]
    facts = run("fit", *options, *answers, "-o", "m", "-a", "svm", "--json").stdout
    found = json.loads(facts)
    assert found["labelled"] == 4 + 5 + 6
    assert "1 of the 6 rows of one.csv have no label yet." in found["notes"]
    shown = run("compare", *options, *answers, "--methods", "tsvm", "--folds", 2).stdout
    assert "15 labelled and 45 unlabelled rows" in shown


def test_keys_find_rows_that_have_moved(mail):
    run("select", "mail.csv", "-n", 10, "-o", "todo.csv", "--key", "id", "--keep", "text")
    assert list(table_of("todo.csv")[0]) == ["id", "label", "text", "semisvm_picked"]
    fill("todo.csv")
    rows = table_of("mail.csv")
    write("mail.csv", rows[::-1])
    run("fit", "mail.csv", "--answers", "todo.csv", "--key", "id", "-o", "m", "-a", "svm", "-q")
    model = semisvm.load("m")
    assert "id" not in model.features.columns_
    assert model.predict(read("mail.csv")).tolist() == [kind_of(59 - i) for i in range(60)]


def test_changed_data_are_found(mail):
    run("select", "mail.csv", "-n", 3, "-o", "todo.csv")
    rows = fill("todo.csv")
    write("mail.csv", table_of("mail.csv")[1:])
    message = run("fit", "mail.csv", "--answers", "todo.csv", "-o", "m", code=2).stderr
    assert "todo.csv, line 2, column 'id': " in message
    assert "of mail.csv. " in message
    assert rows[0]["id"] not in message.split("differs")[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"semisvm_row": "61"}, "'61' is not a row of labelled.csv, which has 60 rows"),
        ({"semisvm_row": "1.5"}, "'1.5' is not a row"),
        ({"semisvm_row": ""}, "'' is not a row"),
        ({"semisvm_row": "x"}, "'x' is not a number"),
        ({"semisvm_row": "1", "id": "m0", "kind": "ham"}, "'ham' disagrees with 'spam' of row 1"),
        ({"text": "other"}, "column 'text': this cell differs"),
    ],
)
def test_lines_that_do_not_fit(mail, change, words):
    run("select", "labelled.csv", "--label", "kind", "-n", 4, "-o", "todo.csv", "--keep", "id")
    rows = table_of("todo.csv")
    if "text" in change:
        rows = [{**row, "text": ""} for row in rows]
    elif "id" in change:
        rows = [{k: v for k, v in row.items() if k != "id"} for row in rows]
        change = {k: v for k, v in change.items() if k != "id"}
    rows[0] |= change
    write("todo.csv", rows)
    options = ["labelled.csv", "--label", "kind", "--answers", "todo.csv"]
    result = run("fit", *options, "-o", "m", code=2)
    assert "todo.csv, line 2" in result.stderr
    assert words in result.stderr
    assert not (mail / "m").exists()


def test_two_answers_for_a_row(mail):
    run("select", "mail.csv", "-n", 3, "-o", "todo.csv", "--keep", "id")
    rows = fill("todo.csv")
    write("todo.csv", [*rows, rows[0]])
    run("fit", "mail.csv", "--answers", "todo.csv", "-o", "m", "-a", "svm", "-q")
    assert semisvm.load("m").summary["labelled"] == 3
    other = {**rows[0], "label": "other"}
    write("todo.csv", [*rows, other])
    message = run("fit", "mail.csv", "--answers", "todo.csv", "-o", "m2", code=2).stderr
    assert "todo.csv, line 5: the label 'other' disagrees with" in message
    assert "of todo.csv, line 2" in message


def test_mistakes_with_keys(mail):
    write("answers.csv", [{"id": "m1", "label": "ham"}, {"id": "m99", "label": "spam"}])
    arguments = ["fit", "mail.csv", "--answers", "answers.csv", "-o", "m"]
    assert "name a column that identifies the rows" in run(*arguments, code=2).stderr
    message = run(*arguments, "--key", "id", code=2).stderr
    assert "answers.csv, line 3, column 'id': mail.csv has no row with the key 'm99'" in message
    assert "Did you mean 'id'?" in run(*arguments, "--key", "idd", code=2).stderr
    write("mail.csv", table_of("mail.csv") + table_of("mail.csv")[:2])
    assert "2 rows of mail.csv have the key 'm1'" in run(*arguments, "--key", "id", code=2).stderr
    message = run("select", "mail.csv", "--key", "id", code=2).stderr
    assert "mail.csv, line 122, column 'id': a key must be unique" in message


def test_a_file_that_is_there_is_never_overwritten(mail):
    run("select", "mail.csv", "-n", 3, "-o", "todo.csv")
    before = (mail / "todo.csv").read_bytes()
    message = run("select", "mail.csv", "-n", 5, "-o", "todo.csv", code=2).stderr
    assert "perhaps with labels filled in" in message
    assert (mail / "todo.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "61"], "61 rows were requested, but only 60"),
        (["--by", "margins"], "Did you mean 'margin'?"),
        (["--by", "margin"], "needs labels"),
        (["-o", "x.xlsx"], "not .xlsx"),
        (["-o", "no/x.csv"], "there is no folder"),
        (["--keep", "txt"], "Did you mean 'text'?"),
        (["--key", "idd"], "Did you mean 'id'?"),
    ],
)
def test_mistakes_of_select(mail, arguments, words):
    assert words in run("select", "mail.csv", *arguments, code=2).stderr


def test_columns_in_the_way(mail):
    rows = table_of("mail.csv")
    write("mail.csv", [{**row, "label": "", "semisvm_row": 1} for row in rows])
    assert "use --label label" in run("select", "mail.csv", code=2).stderr
    assert "--key" in run("select", "mail.csv", "--label", "label", code=2).stderr
    run("select", "mail.csv", "--label", "label", "--key", "id", "-n", 2)


def test_seeds_ways_and_json(mail):
    def chosen(*options):
        return json.loads(run("select", "mail.csv", "-n", 5, "--json", *options).stdout)["rows"]

    assert chosen() == chosen()
    assert chosen("--by", "random") == chosen("--by", "random", "--seed", 0)
    assert chosen("--by", "random") != chosen("--by", "random", "--seed", 1)
    shown = run("select", "mail.csv", "-n", 2, "--keep", "id").stdout
    assert shown.startswith("semisvm_row,label,id,semisvm_picked\n")
    assert len(shown.splitlines()) == 3


def test_json_lines_and_matrices(tmp_path):
    X, y = two_blobs(60)
    sparse.save_npz(tmp_path / "X.npz", sparse.csr_matrix(X))
    run("select", tmp_path / "X.npz", "-n", 8, "-o", tmp_path / "todo.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "todo.jsonl").read_text().splitlines()]
    assert all(set(line) == {"semisvm_row", "label", "semisvm_picked"} for line in lines)
    for line in lines:
        line["label"] = int(y[line["semisvm_row"] - 1])
    (tmp_path / "todo.jsonl").write_text("\n".join(map(json.dumps, lines)))
    answers = ["--answers", tmp_path / "todo.jsonl"]
    run("fit", tmp_path / "X.npz", *answers, "-o", tmp_path / "m", "-a", "svm", "-q")
    model = semisvm.load(tmp_path / "m")
    assert model.classes_.tolist() == [0, 1]
    assert np.mean(model.estimator.predict(X) == y) > 0.8
    for command in ("select", "fit"):
        more = [*answers, "-o", tmp_path / "no.csv"]
        message = run(command, tmp_path / "X.npz", "--key", "id", *more, code=2).stderr
        assert "matrix has no" in message


def test_what_spreadsheets_do_to_cells():
    assert same_cell("0.30000000000000004", "0.3")
    assert same_cell("007", "7")
    assert same_cell("two\r\nlines ", "two\nlines")
    assert same_cell("", "NA")
    assert not same_cell("1", "2")
    assert not same_cell("a", "")
    assert not same_cell("a", "b")


def test_labels_of_both_files_are_of_one_kind(tmp_path):
    data = Table({"x": [1.0, 2.0, 3.0]}, np.array([1, None, None], dtype=object))
    path = write(
        tmp_path / "a.csv", [{"semisvm_row": 2, "label": "2"}, {"semisvm_row": 1, "label": "1"}]
    )
    joined = join_answers(data, [path])
    assert joined.data.labels.tolist() == [1, 2, None]
    assert joined.notes == []
    write(path, [{"semisvm_row": 2, "label": "two"}])
    assert join_answers(data, [path]).data.labels.tolist() == ["1", "two", None]
    assert data.labels.tolist() == [1, None, None]
    with pytest.raises(DataError, match="joined from tables"):
        join_answers(data, [tmp_path / "a.svm"])


def test_a_method_that_differs_in_the_choice_of_rows_is_compared_only_by_name():
    unasked = {method.name for method in _named(None)}
    assert "vs3vm" in unasked
    assert "cvs3vm" not in unasked
    assert "cvs3vm" in {method.name for method in _named("cvs3vm")}
