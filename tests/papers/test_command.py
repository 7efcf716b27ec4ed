"""``python -m papers``: its messages, lists, tables and files."""

import json

import pytest
from papers.__main__ import judgement, main
from scipy import sparse

from papers import TABLES, pcmac, toys
from problems import save_set, two_blobs


def run(capsys, *arguments, code=0):
    """Run a command; return what it prints to stdout and stderr."""
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a table"),
        (["pcmc"], "Did you mean 'pcmac'?"),
        (["reuters", "--figure", "a.png"], "has no curves to draw"),
        (["pcmac", "--figure", "a.gif"], "not 'a.gif'"),
        (["pcmac", "--figure", "no/a.png"], "there is no folder 'no'"),
        (["pcmac", "--repeat", "0"], "--repeat must be at least 1"),
        (["all"], "all needs --out DIR"),
        (["pcmac", "--out", "folder"], "all needs --out DIR"),
        (["all", "--out", "folder", "--json"], "all writes"),
    ],
)
def test_wrong_arguments(capsys, arguments, message):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_data(capsys, tmp_path):
    message = run(capsys, "pcmac", "--data", tmp_path / "nowhere", code=2).err
    assert message.startswith("error: no data folder")
    assert "no set 'text1_pcmac'" in run(capsys, "pcmac", "--data", tmp_path, code=2).err


def test_tables_are_listed(capsys):
    assert "Sindhwani" in run(capsys, "--list").out
    tables = json.loads(run(capsys, "--list", "--json").out)["tables"]
    assert [table["name"] for table in tables] == list(TABLES)
    needs = {table["name"]: table["needs"] for table in tables}
    assert needs["pcmac"] == ["text1_pcmac"]
    assert len(needs["clustered"]) == 7
    assert all(table["minutes"] > 0 for table in tables)


def test_bars_are_named_where_they_are_reached():
    reached = judgement(TABLES["clustered"], 0, None)
    assert reached.startswith("All bars are reached (our bars, 0.7 to 12.1 points below the paper")
    assert "No row of this table has a bar" in judgement(TABLES["halves"], 0, None)


def test_toys_need_no_data(capsys, monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    monkeypatch.setattr(toys, "METHODS", {"DA, hinge": toys.METHODS["DA, hinge"]})
    monkeypatch.setattr(toys, "WIDTHS", {"moons": (0.3,)})
    assert "moons" in run(capsys, "toys", "--repeat", 1).out


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Save made-up rows under the name of the paper's set; return the folder."""
    save_set(tmp_path, "text1_pcmac", sparse.csr_matrix(two_blobs(60)[0]), 2 * two_blobs(60)[1] - 1)
    monkeypatch.setattr(pcmac, "TRAINING_ROWS", 40)
    monkeypatch.setattr(pcmac, "LABELED", (10,))
    return tmp_path


def test_a_table_is_run(capsys, made_up):
    arguments = ["pcmac", "--data", made_up, "--repeat", 1]
    shown = run(capsys, *arguments).out
    assert "mean test error (Table 3)" in shown
    assert "missed (test errors within 1 point of the paper's, " in shown
    assert "); see MISSED above" in shown
    kept, figure = made_up / "kept.jsonl", made_up / "curves.svg"
    result = json.loads(run(capsys, *arguments, "--json", "--resume", kept, "--figure", figure).out)
    assert result["settings"]["splits"] == 1
    assert len(result["tables"]["mean test error (Table 3)"]) == 3
    assert figure.read_text().startswith("<?xml")
    again = run(capsys, *arguments, "--json", "--resume", kept)
    assert json.loads(again.out)["tables"] == result["tables"]
    assert "1 of 1 measurements are taken over" in again.err
    for text in ("something else\n{}\n", "my notes, in one line without an end"):
        kept.write_text(text)
        message = run(capsys, *arguments, "--resume", kept, code=2).err
        assert "not a journal of 'python -m papers'" in message
        assert kept.read_text() == text


def test_all_tables(capsys, made_up, monkeypatch):
    """A table whose data are missing is left out; a run that is repeated measures nothing."""
    tables = {name: TABLES[name] for name in ("pcmac", "reuters")}
    monkeypatch.setattr("papers.__main__.TABLES", tables)
    out = made_up / "out"
    arguments = ["all", "--data", made_up, "--out", out, "--repeat", 1]
    assert "reuters is left out" in run(capsys, *arguments).out
    assert sorted(path.name for path in out.iterdir()) == ["pcmac.json", "pcmac.jsonl", "pcmac.png"]
    assert "1 of 1 measurements are taken over" in run(capsys, *arguments).out
