"""The guide is complete: all public names, all methods, commands that do what is printed."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from runpy import run_path

import pytest

from papers import TABLES
from semisvm.estimators import registry
from semisvm.tables.formats import FORMATS, SUFFIXES, load

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the docs are not beside the tests", allow_module_level=True)

PUBLIC = (
    "semisvm",
    "semisvm.persistence",
    "semisvm.tables",
    "semisvm.reporting",
    "semisvm.estimators",
    "semisvm.label_steps",
    "semisvm.labelling",
    "semisvm.model_selection",
    "semisvm.solvers",
)
FOR_EXTENSIONS = {"Linearization", "Problem", "State", "minimize"}
"""Names of the rooms for people who extend the package: `docs/extending.md` explains them."""
CHECK = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("module", PUBLIC)
def test_reference_has_every_public_name(module):
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    documented = set(
        re.findall(r"^\.\. auto(?:class|exception|function|data):: (?:.*\.)?(\w+)", pages, re.M)
    )
    names = {name for name in import_module(module).__all__ if not name.startswith("__")}
    assert names - FOR_EXTENSIONS <= documented


NAMED = re.compile(r"`((?:\.\./)?[\w.]+(?:/[\w.]+)*(?:\.py|/))`")
HOMES = (DOCS.parent / "src" / "semisvm", DOCS.parent / "src", DOCS.parent)


def test_pages_name_files_that_exist():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
    named = {(p.name, name) for p in pages for name in NAMED.findall(p.read_text(encoding="utf-8"))}
    missing = [
        (page, name)
        for page, name in sorted(named)
        if "NAME" not in name and not any((home / name).exists() for home in HOMES)
    ]
    assert missing == []


def test_architecture_has_every_room():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## Sixteen rooms")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)/` \|", table, re.M)
    assert sorted(listed) == sorted(path.parent.name for path in HOMES[0].glob("*/__init__.py"))
    assert len(listed) == 16


def test_every_format_is_in_the_table_of_files_and_has_a_reader():
    page = (DOCS / "files.md").read_text(encoding="utf-8")
    table = page.split("## Reading")[1].split("\n\n")[1]
    assert set(re.findall(r"`(\.\w+)`", table)) == set(SUFFIXES)
    for one in FORMATS.values():
        assert callable(load(one.reader))
        assert one.writer is None or callable(load(one.writer))


def test_table_has_every_method(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    lines = import_module("method_table").markdown().splitlines()[2:]
    names = [re.findall(r"`([^`]+)`", line)[0] for line in lines]
    assert names == [method.name for method in registry.methods()]
    assert all(m.summary in line for m, line in zip(registry.methods(), lines, strict=True))


def test_guide_names_only_methods_that_exist():
    page = (DOCS / "which_method.md").read_text(encoding="utf-8")
    advice = page.split("## Start here")[1].split("## The same")[0]
    tables = [line for line in advice.splitlines() if line.startswith("| ")]
    named = {name for line in tables for name in re.findall(r"`([a-z][a-z-]*)`", line)} - {
        "log",
        "auto",
    }
    for name in named:
        registry.get(name)


def commands(page):
    """Give the commands of the console blocks, each with what it should print."""
    for block in re.findall(r"```console\n(.*?)```", page, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, wanted = part.partition("\n")
            yield line, wanted


def test_commands_of_the_start_page(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    from typer.testing import CliRunner

    from semisvm.cli.app import app

    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["functions.py", "."])
    run_path(str(ROOT / "examples" / "data" / "functions.py"), run_name="__main__")
    failed, attempted = doctest.testfile(
        str(DOCS / "start.md"), module_relative=False, optionflags=FLAGS, encoding="utf-8"
    )
    assert attempted > 0
    assert failed == 0
    page = (DOCS / "start.md").read_text(encoding="utf-8")
    for line, wanted in commands(page):
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
        assert CHECK.check_output(wanted, result.stdout, FLAGS), f"{line}\n{result.stdout}"
    assert (tmp_path / "labels.csv").stat().st_size > 0


NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.md"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(path.parent)
    names: dict[str, object] = {}
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
    assert cells
    for cell in cells:
        exec(cell, names)


def test_page_of_the_papers_names_every_table():
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    missing = [name for name in TABLES if f"`python -m papers {name}" not in page]
    assert missing == []


@pytest.fixture
def script(monkeypatch):
    """Import the script that writes the papers' tables in the guide."""
    monkeypatch.syspath_prepend(DOCS)
    return import_module("paper_tables")


def test_tables_of_the_papers_are_those_of_the_results(script):
    found = []
    for path in sorted(DOCS.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        found += [match[2] for match in script.BLOCK.finditer(page)]
        assert script.renewed(page) == page, f"{path.name}: run python docs/paper_tables.py"
        assert page.count("<!-- table ") == page.count("<!-- end of table -->")
    assert set(script.VIEWS) <= set(found)
    assert len(found) == len(set(found))


def test_a_table_that_is_not_that_of_the_result_is_found(script):
    page = "text\n\n<!-- table pcmac -->\nby hand\n<!-- end of table -->\n\nmore\n"
    written = script.renewed(page)
    assert "by hand" not in written
    assert "`python -m papers pcmac --repeat " in written
    assert written.startswith("text\n")
    assert written.endswith("more\n")
    assert script.renewed(written) == written


@pytest.mark.parametrize("path", sorted((DOCS / "results").glob("*.json")), ids=lambda p: p.stem)
def test_results_of_the_papers_are_shown_with_their_source(path, script):
    """Every result is of a commit, and is a table of the guide or a figure."""
    result = json.loads(path.read_text(encoding="utf-8"))
    assert re.fullmatch("[0-9a-f]{7,40}", result["machine"]["commit"])
    assert result["benchmark"] == path.stem
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    if result["curves"]:
        assert f"../build/papers/{path.stem}.png" in page
        assert f"<!-- table figure {path.stem} -->" in page
    else:
        assert path.stem in [name for name, _ in script.VIEWS.values()]


def test_figures_of_the_papers_are_drawn_by_the_command_of_make_docs(tmp_path):
    (line,) = re.findall(
        r"^\t@(.*) docs/paper_figures\.py .*$", (ROOT / "Makefile").read_text(), flags=re.M
    )
    command = line.replace("$(RUN)", shlex.quote(sys.executable))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(
        f"{command} docs/paper_figures.py {shlex.quote(str(tmp_path))}",
        shell=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    assert list(tmp_path.glob("*.png"))
