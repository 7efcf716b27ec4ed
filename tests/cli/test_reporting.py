"""Reports from the command line."""

import json

import pytest

import semisvm

pytest.importorskip("typer")
pytest.importorskip("rich")


from commands import run


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with data, a model, and the report that the fit wrote."""
    folder = tmp_path_factory.mktemp("reporting")
    rows = [("<b>win</b> cash prize", "lunch plan notes")[i % 2] for i in range(40)]
    names = [("<i>spam</i>", "ham")[i % 2] if i < 10 else "" for i in range(40)]
    lines = ["text,kind", *(f"{row},{name}" for row, name in zip(rows, names, strict=True))]
    (folder / "mail.csv").write_text("\n".join(lines) + "\n")
    options = ["--text", "text", "-o", folder / "m.semisvm", "--report", folder / "fit.html"]
    result = run("fit", folder / "mail.csv", "--label", "kind", *options)
    return folder, result


def test_fit_writes_a_report(fitted):
    folder, result = fitted
    assert f"Report {folder / 'fit.html'}" in result.stdout
    assert "edges" not in result.stdout
    page = (folder / "fit.html").read_text(encoding="utf-8")
    assert "<h1>Model of mail.csv</h1>" in page
    assert "&lt;i&gt;spam&lt;/i&gt;" in page
    assert "<i>spam" not in page


def test_report_of_a_model_file(fitted):
    folder, _ = fitted
    model, out = folder / "m.semisvm", folder / "model.html"
    assert run("report", model, "-o", out, "--title", "Mine").stdout == f"Report {out}\n"
    assert "<h1>Mine</h1>" in out.read_text(encoding="utf-8")


def test_report_as_json(fitted):
    folder, _ = fitted
    model, out = folder / "m.semisvm", folder / "both.html"
    data = json.loads(run("report", model, "--json", "--top", "2", "-o", out).stdout)
    assert data["data"]["rows"] == 40
    assert {entry["name"]: entry["labels"] for entry in data["classes"]} == {
        "<i>spam</i>": 5,
        "ham": 5,
    }
    assert [len(entry["features"]) for entry in data["top"]] == [2, 2]
    assert data["created"] == semisvm.load(model).summary["created"]
    assert out.exists()


def test_held_out_rows_in_a_report(fitted):
    folder, _ = fitted
    test = folder / "held out.csv"
    rows = ["win cash prize,<i>spam</i>"] * 3 + ["lunch plan notes,ham"] * 4
    test.write_text("\n".join(["text,kind", *rows, "win cash,ham", "lunch,"]) + "\n")
    model, out, card = folder / "m.semisvm", folder / "held.html", folder / "held.md"
    shown = run("report", model, "-o", out, "--card", card, "--evaluate", test, "--json").stdout
    found = json.loads(shown)["evaluation"]
    assert (found["rows"], found["unlabelled_rows"]) == (8, 1)
    assert found["accuracy"] == 7 / 8
    low, high = found["interval"]
    assert 0.0 < low < 7 / 8 < high < 1.0
    assert sum(map(sum, found["confusion"])) == 8
    wrong = [example for example in found["examples"] if not example["right"]]
    assert [(e["row"], e["true"], e["cells"]) for e in wrong] == [(8, "ham", "win cash")]
    page = out.read_text(encoding="utf-8")
    assert "Confusion table" in page
    assert "Examples of errors" in page
    assert "<i>spam" not in page
    assert "labelled rows of" in card.read_text(encoding="utf-8")
    message = run("report", model, "-o", out, "--label", "kind", code=2).stderr
    assert "--evaluate" in message
    message = run("report", model, "-o", out, "--evaluate", folder / "none.csv", code=2).stderr
    assert "none.csv" in message


def test_shares_are_shown_with_their_source(fitted):
    folder, _ = fitted
    fit = ["fit", folder / "mail.csv", "--label", "kind", "--text", "text", "-o", folder / "s"]
    assert "shares used" not in run(*fit, "-a", "svm").stdout
    assert "shares used" not in run("inspect", folder / "s").stdout
    assert "(estimated)" in run(*fit, "-a", "tsvm").stdout
    assert "(given)" in run(*fit, "-a", "tsvm", "--prior", "ham=0.5").stdout
    assert "(given)" in run("inspect", folder / "s").stdout


def test_mistakes(fitted):
    folder, _ = fitted
    result = run("report", folder / "m.semisvm", code=2)
    assert "-o or --card, or use --json" in result.stderr
    options = ["--label", "kind", "-o", folder / "n.semisvm", "--report"]
    result = run("fit", folder / "mail.csv", *options, folder / "no" / "r.html", code=2)
    assert "there is no folder" in result.stderr
    assert not (folder / "n.semisvm").exists()
    result = run("fit", folder / "mail.csv", *options, folder, code=2)
    assert "this is a folder" in result.stderr
