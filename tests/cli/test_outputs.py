"""What commands write: never over their inputs, checked first, and nothing lost at the end."""

import ast
import csv
import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import semisvm

pytest.importorskip("typer")
pytest.importorskip("rich")

import typer

from commands import refusal, run
from semisvm import cli
from semisvm.cli.app import COMMANDS, app
from semisvm.cli.outputs import Output, parameters_of
from semisvm.tables import writing as places
from waiting import PATIENCE, wait_until

posix = pytest.mark.skipif(os.name == "nt", reason="files as POSIX has them")
PROGRAMS = {command.name: command for command in typer.main.get_command(app).commands.values()}
WORDS = ("win money prize offer", "lunch meeting plan notes")

INPUTS = {
    *("data", "model", "answers", "labels", "checkpoint", "embeddings", "vocabulary", "evaluate"),
    *("take", "tls_cert", "tls_key"),
}
"""Parameters that are paths and are read; whatever else is a path must be an `Output`."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with data.csv and a model of it."""
    folder = tmp_path_factory.mktemp("made")
    rows = [f"{i},{WORDS[i % 2]},{('spam', 'ham')[i % 2] if i < 12 else ''}" for i in range(40)]
    (folder / "data.csv").write_text("\n".join(["row,text,kind", *rows]) + "\n")
    run("fit", folder / "data.csv", "--label", "kind", "-a", "svm", "-o", folder / "m", "-q")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy that may be spoilt."""
    for name in ("data.csv", "m"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    return tmp_path


def fitting(folder, *options):
    return ["fit", folder / "data.csv", "--label", "kind", "-a", "svm", *options]


# every command


def declared(command):
    reads, writes = parameters_of(command, Path), parameters_of(command, Output)
    return pytest.param(PROGRAMS[command.__name__], reads, writes, id=command.__name__)


every_command = pytest.mark.parametrize(
    ("program", "reads", "writes"), [declared(command) for command in COMMANDS]
)


def arguments_for(program, values):
    """Write values of parameters as a command line."""
    line = [program.name]
    for parameter in program.params:
        if parameter.name in values:
            flag = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
            line += [*flag, str(values[parameter.name])]
    return line


@every_command
def test_paths_are_inputs_or_outputs(program, reads, writes):
    folders = {"fit": {"scratch"}}.get(program.name, set())
    assert set(reads) - folders <= INPUTS
    for parameter in program.params:
        shown = getattr(parameter, "help", None) or ""
        assert parameter.name in writes or "to write" not in shown, parameter.name


SPELLINGS = {
    "same": lambda path: path,
    "dots": lambda path: path.parent / "sub" / ".." / path.name,
    "symlink": lambda path: link(path, os.symlink),
    "hard link": lambda path: link(path, os.link),
}


def link(path, make):
    name = path.with_name(f"link-{path.name}")
    make(path, name)
    return name


@posix
@pytest.mark.parametrize("spelling", SPELLINGS)
@every_command
def test_no_output_is_an_input(tmp_path, program, reads, writes, spelling):
    """Files hold nonsense, so that anything but the check would give another error."""
    (tmp_path / "sub").mkdir()
    for output in writes:
        for name in reads:
            case = tmp_path / f"{output}-{name}"
            (case / "sub").mkdir(parents=True)
            files = {n: case / f"{n}.csv" for n in [*reads, *writes]}
            for n in reads:
                files[n].write_text(f"nonsense {n}")
            line = refusal(
                *arguments_for(program, {**files, output: SPELLINGS[spelling](files[name])})
            )
            assert "is read by this command" in line
            assert files[name].read_text() == f"nonsense {name}"


@posix
@pytest.mark.parametrize("there", [True, False])
@every_command
def test_no_output_is_another_output(tmp_path, program, reads, writes, there):
    (tmp_path / "sub").mkdir()
    files = {name: tmp_path / f"{name}.csv" for name in [*reads, *writes]}
    for name in reads:
        files[name].write_text("nonsense")
    if len(writes) < 2:
        return
    first, second = writes[:2]
    if there:
        files[first].write_text("old")
    for other in (files[first], tmp_path / "sub" / ".." / f"{first}.csv"):
        line = refusal(*arguments_for(program, {**files, second: other}))
        assert "are the same" in line
    assert not there or files[first].read_text() == "old"
    assert "are the same" in refusal(*arguments_for(program, {**files, first: "-", second: "-"}))


def test_new_outputs_that_differ_in_case_only(folder):
    line = refusal(*fitting(folder, "-o", folder / "New", "--report", folder / "new"))
    assert "are the same" in line


@every_command
def test_bad_places_are_refused_before_the_work(tmp_path, program, reads, writes):
    (tmp_path / "file").write_text("")
    files = {name: tmp_path / f"{name}.csv" for name in [*reads, *writes]}
    for name in reads:
        files[name].write_text("nonsense")
    for output in writes:
        missing = tmp_path / "file" / "out.csv"
        line = refusal(*arguments_for(program, {**files, output: missing}))
        assert "there is no folder" in line or "cannot be written" in line


def test_output_is_not_sent_to_an_input(folder):
    data = folder / "data.csv"
    before = data.read_bytes()
    for options in ([], ["-o", "-"], ["-o", "/dev/stdout"]):
        with open(data, "ab") as stream:
            process = start("predict", folder / "m", data, *options, stdout=stream)
            _, message = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert b"is read by this command" in message
        assert data.read_bytes() == before


def test_labels_beside_a_matrix_are_an_input(tmp_path):
    (tmp_path / "X.npz").write_text("nonsense")
    (tmp_path / "y.npy").write_text("nonsense")
    assert "is read by this command" in refusal("fit", tmp_path / "X.npz", "-o", tmp_path / "y.npy")


WRITERS = {"write_bytes": 0, "write_text": 0, "save": 1, "write_report": 1, "convert_files": 1}
FORBIDDEN = {"mkdir", "touch", "rename", "unlink", "symlink_to", "fdopen"}


def test_commands_write_to_outputs_only():
    """`Output.target` is the one way to a file, so what was not checked cannot be written."""
    for source in Path(cli.__file__).parent.glob("*.py"):
        if source.name == "outputs.py":
            continue
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            assert name not in FORBIDDEN, (source.name, node.lineno)
            assert ast.unparse(node.func) != "open", (source.name, node.lineno)
            if name in WRITERS:
                target = node.args[WRITERS[name]]
                assert getattr(target, "attr", "") == "target", (source.name, node.lineno)


# what is lost, and what is not


@pytest.mark.parametrize("fault", ["report", "figure"])
def test_a_lesser_output_does_not_cost_the_rest(folder, monkeypatch, fault):
    """The disk fills up after the check."""

    def sync(stream, path):
        with places.explained(path):
            if str(path).endswith((".html", ".png")) and path in checked:
                raise OSError(errno.ENOSPC, "No space left on device")
        checked.add(path)
        original(stream, path)

    checked, original = set(), places.sync
    monkeypatch.setattr("semisvm.tables.writing.sync", sync)
    if fault == "report":
        result = run(*fitting(folder, "-o", folder / "n", "--report", folder / "r.html"), code=2)
        assert semisvm.load(folder / "n").summary["method"] == "svm"
        assert "labels           ham=6, spam=6" in result.stdout
        words = f"the model was saved to {folder / 'n'}; the report was not: {folder / 'r.html'}"
    else:
        pytest.importorskip("matplotlib")
        options = ["--label", "kind", "--methods", "svm,tsvm", "--repeats", "1"]
        figure = folder / "f.png"
        result = run("compare", folder / "data.csv", *options, "--figure", figure, code=2)
        assert "tsvm" in result.stdout
        words = f"the figure was not written: {figure}"
    assert f"error: {words}: the disk is full." in result.stderr
    assert not list(folder.glob("*.html")) + list(folder.glob("*.png")) + list(folder.glob(".*"))


def test_a_full_disk_is_one_line(folder, monkeypatch):
    def fail(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    for line in (
        refusal(*fitting(folder, "-o", folder / "n")),
        refusal("predict", folder / "m", folder / "data.csv", "-o", folder / "p.csv"),
        refusal("select", folder / "data.csv", "--label", "kind", "-o", folder / "s.csv"),
        refusal("report", folder / "m", "-o", folder / "r.html"),
    ):
        assert line.endswith(": the disk is full.")
    assert sorted(p.name for p in folder.iterdir()) == ["data.csv", "m"]


def test_half_of_a_character_is_found_before_the_fit(tmp_path, monkeypatch):
    rows = ['{"text": "a b", "kind": "x"}'] * 4 + ['{"text": "c d", "kind": "\\ud83d"}'] * 4
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    monkeypatch.setattr("semisvm.training.prepare", lambda *a, **k: pytest.fail("too late"))
    line = refusal("fit", tmp_path / "a.jsonl", "--label", "kind", "-o", tmp_path / "m")
    assert "a.jsonl, line 5: '\\ud83d' is half of a character" in line


@pytest.mark.parametrize("cell", [r'{"a\udc00": "x"}', r'{"a": "\ud83dx"}', r'{"a": ["\ud83d"]}'])
def test_half_of_a_character_anywhere_in_json_lines(tmp_path, cell):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "\\ud83d\\ude42"}\n' + cell)
    with pytest.raises(semisvm.tables.DataError, match=r"line 2: .* is half of a character"):
        semisvm.tables.read(path)
    path.write_text('{"a": "\\ud83d\\ude42 \\u00e9"}\n')
    assert semisvm.tables.read(path).columns["a"] == ["\U0001f642 é"]


def test_ctrl_c_names_what_was_written(folder, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("semisvm.reporting.page.write_report", stop)
    new, page = folder / "n", folder / "r.html"
    result = run(*fitting(folder, "-o", new, "--report", page), code=130)
    assert f"stopped; {new} was written" in result.stderr
    assert semisvm.load(new).summary["rows"] == 40
    result = run("report", new, "-o", page, code=130)
    assert "stopped; no file was written" in result.stderr


# standard output


# on a busy machine it may take longer to end than a command is given
PROGRAM = f"""
from semisvm.cli import entry, interrupts
interrupts.GRACE = {PATIENCE}
entry.main()
"""


def start(*arguments, **options):
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(command, **options)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_rows_go_to_standard_output(made, name):
    plain = run("predict", made / "m", made / "data.csv").stdout
    assert run("predict", made / "m", made / "data.csv", "-o", name).stdout == plain
    options = ["--label", "kind", "-n", "3", "--by", "random", "-o", name]
    result = run("select", made / "data.csv", *options)
    assert len(list(csv.reader(io.StringIO(result.stdout)))) == 4


def test_a_model_goes_to_standard_output_and_the_summary_elsewhere(made, tmp_path):
    result = run(*fitting(made, "-o", "-"))
    (tmp_path / "n").write_bytes(result.stdout_bytes)
    assert semisvm.load(tmp_path / "n").summary["rows"] == 40
    assert "labels           ham=6, spam=6" in result.stderr
    page = run(*fitting(made, "-o", tmp_path / "n", "--report", "-"))
    assert page.stdout.startswith("<!DOCTYPE html>")
    assert "labels " in page.stderr
    assert run("report", tmp_path / "n", "-o", "-").stdout.endswith("</html>\n")
    assert not Path("-").exists()
    assert "--json is printed to standard output" in refusal(*fitting(made, "-o", "-", "--json"))


@posix
def test_a_model_is_nothing_for_a_terminal(made):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = start(*fitting(made, "-o", "-"), stdout=theirs)
    _, message = process.communicate(timeout=PATIENCE)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 2
    assert b"not text for a terminal" in message


@posix
@pytest.mark.parametrize(
    ("command", "unbuffered"), [("methods", ""), ("fit", ""), ("predict", "1")]
)
def test_a_reader_that_goes_is_no_error(made, command, unbuffered):
    lines = {"fit": fitting(made, "-o", "-"), "predict": ["predict", made / "m", made / "data.csv"]}
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    process = start(*lines.get(command, [command]), stdout=writing, env=environment)
    os.close(writing)
    _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, message
    assert b"Broken" not in message
    assert b"Traceback" not in message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_one_line(made, unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        process = start("predict", made / "m", made / "data.csv", stdout=full, env=environment)
        _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    (line,) = message.decode().splitlines()
    assert line.startswith("error: ")
    assert line.endswith("No space left on device.")


# signals


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])  # SIGTERM: test_stopping.py
def test_signals_end_a_command_and_leave_no_half_written_file(made, tmp_path, number):
    process, writer = half_way(made, tmp_path)
    try:
        process.send_signal(number)
        _, message = process.communicate(timeout=PATIENCE)
    finally:
        os.close(writer)
        process.kill()
    assert process.returncode == 128 + number, message
    assert message.decode() == "stopped; no file was written\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe.csv"]


@posix
def test_nohup_is_heeded_and_what_a_kill_leaves_is_removed(made, tmp_path):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process, writer = half_way(made, tmp_path, preexec_fn=ignore, start_new_session=True)
    try:
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        # the process that works, and the one that waits for it and would have it clean up
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    finally:
        os.close(writer)
        process.kill()
    assert len(list(tmp_path.glob(".out.csv.*"))) == 1
    run("predict", made / "m", made / "data.csv", "-o", tmp_path / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "pipe.csv"]


def half_way(made, tmp_path, **options):
    """Start a command whose data come through a pipe that stays open."""
    pipe, out = tmp_path / "pipe.csv", tmp_path / "out.csv"
    os.mkfifo(pipe)
    process = start("predict", made / "m", pipe, "-o", out, **options)
    writer = os.open(pipe, os.O_RDWR)  # does not wait for the reader
    # a byte is less than the command waits for, and gone once it has come to read, after all checks
    os.write(writer, b"r")
    wait_until(lambda: process.poll() is not None or is_drained(writer))
    return process, writer


def is_drained(pipe):
    import fcntl
    import struct
    import termios

    (left,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"    "))
    return left == 0
