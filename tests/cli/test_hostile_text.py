"""Hostile labels, names and cells: shown, not obeyed; no formulas for spreadsheets."""

import ast
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import semisvm

pytest.importorskip("typer")
pytest.importorskip("rich")


from commands import run
from semisvm import cli
from semisvm.tables import read

UNFIT = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SPAM, HAM = "sp\x1b[31mam\x9b2J", "[red]ham[/red]\u202e"
TEXT, SIZE = "te\x1b]0;title\x07xt", "=si\x7fze"
LINK = '=HYPERLINK("http://example.org")'


def write_rows(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([names, *rows])


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with data whose labels and names steer terminals, and a model of them."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, n_labels in (("few.csv", 12), ("all.csv", 40)):
        texts = ("win money\x1b[1m prize offer", "lunch meeting plan notes")
        rows = [[texts[i % 2], i % 7, (SPAM, HAM)[i % 2]] for i in range(40)]
        rows = [[*row[:2], row[2] if i < n_labels else ""] for i, row in enumerate(rows)]
        write_rows(folder / name, [TEXT, SIZE, "kind"], rows)
    options = ["--label", "kind", "-a", "tsvm", "-o", folder / "m", "--report", folder / "r.html"]
    return folder, run("fit", folder / "few.csv", *options, "--numeric", SIZE, "--text", TEXT)


def check(result):
    assert not UNFIT.search(result.stdout)
    assert not UNFIT.search(result.stderr)
    return result.stdout


def test_tables_and_notes(hostile):
    folder, fitted = hostile
    assert r"sp\x1b[31mam\x9b2J=6" in check(fitted)
    assert r"[red]ham[/red]\u202e=6" in fitted.stdout
    assert r"te\x1b]0;title\x07xt=text" in fitted.stdout
    shown = check(run("inspect", folder / "m"))
    assert r"[red]ham[/red]\u202e" in shown
    assert r"=si\x7fze" in shown
    assert r"sp\x1b[31mam\x9b2J" in check(run("evaluate", folder / "m", folder / "all.csv"))
    options = ["--methods", "tsvm", "--label", "kind", "--repeats", "1"]
    check(run("compare", folder / "few.csv", *options))
    options = ["--label", "kind", "-n", "2", "-o", folder / "a\x1b[1m.csv"]
    assert r"a\x1b[1m.csv" in check(run("select", folder / "few.csv", *options))


def test_errors_and_warnings(hostile):
    folder, _ = hostile
    result = run("fit", folder / "few.csv", "--label", "no\x1b[2J\n", "-o", folder / "n", code=2)
    check(result)
    assert len(result.stderr.splitlines()) == 1
    result = run("predict", folder / "m", folder / "no\x1b[2J.csv", code=2)
    assert r"no\x1b[2J.csv: there is no such file" in check(result) + result.stderr


def test_json_is_the_same_data(hostile):
    folder, _ = hostile
    facts = json.loads(check(run("evaluate", folder / "m", folder / "all.csv", "--json")))
    assert set(facts["classes"]) == {SPAM, HAM}
    out = folder / "p.jsonl"
    run("predict", folder / "m", folder / "all.csv", "-o", out)
    text = out.read_text(encoding="utf-8")
    assert not UNFIT.search(text)
    assert {json.loads(line)["label"] for line in text.splitlines()} == {SPAM, HAM}


def test_the_report(hostile):
    folder, _ = hostile
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert not UNFIT.search(page)
    assert "[red]ham[/red]\ufffd" in page


def test_rows_are_exact_except_on_a_terminal(hostile):
    folder, _ = hostile
    rows = csv.DictReader(run("predict", folder / "m", folder / "all.csv").stdout.splitlines())
    assert {row["label"] for row in rows} == {SPAM, HAM}
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "semisvm", "predict", folder / "m", folder / "all.csv"]
    process = subprocess.Popen([*map(str, command)], stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    text = shown.decode().replace("\r\n", "\n")
    assert not UNFIT.search(text)
    assert r"sp\x1b[31mam\x9b2J," in text


def test_one_place_prints():
    """Whatever is printed goes through `printing` or `messages`, which escape control characters.

    What `interrupts` prints at the end has been through them before.
    """
    for source in Path(cli.__file__).parent.glob("*.py"):
        if source.name in ("printing.py", "messages.py", "entry.py", "app.py", "interrupts.py"):
            continue
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "typer.echo", "typer.secho"), source.name


# formulas


@pytest.fixture(scope="module")
def formulas(tmp_path_factory):
    """A folder with data of which labels, keys, names and texts are formulas."""
    folder = tmp_path_factory.mktemp("formulas")
    texts = (f"{LINK} win money", "- lunch plan notes")
    labels = ("+good", "-1")
    rows = [[f"=A{i}", texts[i % 2], -i, labels[i % 2] if i < 12 else ""] for i in range(40)]
    write_rows(folder / "a.csv", ["=id", "text", "-log p", "@kind"], rows)
    options = ["--label", "@kind", "-a", "svm", "--key", "=id", "--text", "text", "-q"]
    run("fit", folder / "a.csv", *options, "-o", folder / "m")
    return folder


def test_predictions_are_exact_with_a_warning(formulas):
    out, data = formulas / "p.csv", formulas / "a.csv"
    result = run("predict", formulas / "m", data, "-o", out, "--keep", "text", "--keep", "-log p")
    assert {row["label"] for row in rows_of(out)} == {"+good", "-1"}
    # 20 labels, 40 texts and a name; not the numbers
    assert "warning: 61 cells of" in result.stderr
    assert "--escape-formulas" in result.stderr
    facts = json.loads(run("evaluate", formulas / "m", data, "--json").stdout)
    assert facts["accuracy"] == 1.0
    run("predict", formulas / "m", data, "-o", out)
    out.write_text(out.read_text().replace("label", "@kind", 1))
    write_rows(formulas / "b.csv", ["text", "-log p", "@kind"], joined(data, out))
    assert run("evaluate", formulas / "m", formulas / "b.csv", "--json").stdout.count("1.0") >= 2
    assert run("predict", formulas / "m", data, "--keep-formulas").stderr == ""


def joined(data, out):
    return [
        [row["text"], row["-log p"], guess["@kind"]]
        for row, guess in zip(rows_of(data), rows_of(out), strict=True)
    ]


def test_formulas_become_text_on_demand(formulas):
    out = formulas / "e.tsv"
    options = ["-o", out, "--keep", "text", "--keep", "-log p", "--escape-formulas"]
    result = run("predict", formulas / "m", formulas / "a.csv", *options)
    assert result.stderr == ""
    header, *lines = csv.reader(out.read_text().splitlines(), delimiter="\t")
    assert header == ["text", "'-log p", "label", "score"]
    assert {line[0] for line in lines} == {f"'{LINK} win money", "'- lunch plan notes"}
    assert {line[1] for line in lines} == {str(-i) for i in range(40)}
    assert {line[2] for line in lines} == {"'+good", "-1"}
    out = formulas / "e.jsonl"
    run("predict", formulas / "m", formulas / "a.csv", "-o", out, "--escape-formulas")
    assert set(read(out).columns["label"]) == {"+good", "-1"}


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize("flag", ["--escape-formulas", "--keep-formulas", None])
def test_files_to_fill_in_come_back(formulas, tmp_path, flag, key):
    """Nobody who fills in labels in a spreadsheet runs what is in them, and all rows are found."""
    data, out = formulas / "a.csv", tmp_path / "to_label.csv"
    common = ["--label", "@kind", *(["--key", "=id"] if key else []), "--text", "text"]
    run("select", data, *common, "-n", "28", "-o", out, *([] if flag is None else [flag]))
    rows = rows_of(out)
    mark = "" if flag == "--keep-formulas" else "'"
    assert {row["text"][: 2 + len(mark)] for row in rows} == {f"{mark}=H", f"{mark}- "}
    for row in rows:
        row[f"{mark}@kind"] = f"{mark}+good" if "win" in row["text"] else "-1"
    write_rows(out, rows[0], [list(row.values()) for row in rows])
    run("fit", data, *common, "--answers", out, "-a", "svm", "-q", "-o", tmp_path / "m")
    model = semisvm.load(tmp_path / "m")
    assert model.summary["labels"] == {"+good": 20, "-1": 20}


def test_a_key_that_may_be_either_of_two_is_refused(tmp_path):
    rows = [[("=x", "'=x")[i] if i < 2 else f"k{i}", "win lunch", ""] for i in range(20)]
    write_rows(tmp_path / "a.csv", ["id", "text", "kind"], rows)
    write_rows(tmp_path / "b.csv", ["id", "kind"], [["'=x", "spam"]])
    options = ["--label", "kind", "--key", "id", "--answers", tmp_path / "b.csv"]
    result = run("fit", tmp_path / "a.csv", *options, "-o", tmp_path / "m", code=2)
    assert "not clear which is meant" in result.stderr
