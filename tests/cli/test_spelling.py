"""The library names its parameters; the command line names its options."""

import ast
import warnings
from pathlib import Path

import pytest

pytest.importorskip("typer")

import typer

import semisvm
from commands import run
from semisvm.cli.app import app
from semisvm.cli.messages import OPTIONS, SWITCHES, UserError, guarded, in_options, message_of
from semisvm.tables import DataError, read

SOURCE = Path(semisvm.__file__).parent
COMMANDS = {"cli"}
"""They parse options themselves."""


def literals(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_library_quotes_no_options():
    found = {
        (str(path.relative_to(SOURCE)), text)
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in COMMANDS
        for text in literals(path)
        if "--" in text
        and any(option in text for option in [*OPTIONS.values(), *SWITCHES.values()])
    }
    # the registry has them as data, for the table of "semisvm methods"
    assert {text for path, text in found if path == "estimators/registry.py"} <= set(
        OPTIONS.values()
    )
    assert not {path for path, _ in found} - {"estimators/registry.py"}


def test_all_options_are_there():
    commands = typer.main.get_command(app).commands.values()
    known = {word for c in commands for p in c.params for word in (*p.opts, *p.secondary_opts)}
    assert set(OPTIONS.values()) <= known
    assert {text.split()[0] for text in SWITCHES.values()} <= known


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "use unlabeled='-1'; if 0 does, unlabeled='0'.",
            "use --unlabeled -1; if 0 does, --unlabeled 0.",
        ),
        ("If so, use max_columns=7.", "If so, use --columns 7."),
        (
            "Name columns with text=, numeric= or categorical=.",
            "Name columns with --text, --numeric or --categorical.",
        ),
        ("use quotes=False if", "use --no-quotes if"),
        ("the parameter class_prior has no effect", "the option --prior has no effect"),
        ("use label='my label'", "use --label 'my label'"),
        ("reg=0.01 scored 0.9", "reg=0.01 scored 0.9"),
        ("the column 'key=a'", "the column 'key=a'"),
        ("monkey='x'", "monkey='x'"),
        ("the parameters of the fit", "the parameters of the fit"),
    ],
)
def test_parameters_become_options(message, expected):
    assert in_options(message) == expected


def test_names_of_files_stay():
    error = DataError("use format='npz'.", "format='npz'", 3)
    assert str(error) == "format='npz', line 3: use format='npz'."
    assert message_of(error) == "format='npz', line 3: use --format npz."
    assert message_of(UserError("--label is 'key='")) == "--label is 'key='"


def test_library_and_command_line_suggest_a_remedy(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\nfür,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="for instance with encoding='latin-1'"):
        read(path)
    fit = ["fit", str(path), "--label", "b", "-o", str(tmp_path / "m")]
    assert "for instance with --encoding latin-1." in run(*fit, code=2).stderr


def test_notes_name_the_shares_that_were_used(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{k},{label}\n" for k, label in enumerate("ab??????")))
    fit = ["fit", str(path), "--label", "y", "--unlabeled", "?", "-a", "tsvm"]
    fit += ["--numeric", "x", "-o", str(tmp_path / "m")]
    assert "class shares estimated: a " in run(*fit).stdout
    (note,) = [n for n in semisvm.load(tmp_path / "m").summary["notes"] if n.startswith("class")]
    assert note.startswith("class shares estimated: a ")
    run(*fit, "--prior", "labels")
    assert semisvm.load(tmp_path / "m").estimator.class_prior == "labels"
    assert semisvm.load(tmp_path / "m").estimator.class_prior_.tolist() == [0.5, 0.5]


def test_warnings_that_differ_in_numbers_only_are_shown_once(capsys):
    @guarded
    def command():
        for count in (3, 1.5e-4, 12):
            warnings.warn(f"{count} rows are off.", UserWarning, stacklevel=1)
        warnings.warn("another matter.", UserWarning, stacklevel=1)

    command()
    assert capsys.readouterr().err.splitlines() == [
        "warning: 3 rows are off.",
        "warning: another matter.",
        "2 more warnings differed from these in numbers only",
    ]
