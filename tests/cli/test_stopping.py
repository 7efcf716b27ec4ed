"""Ctrl-C is answered soon, in the middle of a long call too, and what is finished is reported."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import semisvm
from problems import hide, two_blobs
from semisvm.cli.interrupts import SIZE, Board, StopMessage
from waiting import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and POSIX signals")

# each one call that looks at no signal for an hour and more; the first holds Python's lock too, so
# no thread can run
LOCKED = "sum(range(10**14))"
UNLOCKED = "hashlib.pbkdf2_hmac('sha512', b'x', b'y', 2**31 - 1)"
PROGRAM = """
import hashlib, sys
import semisvm.estimators.gradient as low_density

def fit(self, X, y, sample_weight=None):
    print("in the long call", file=sys.stderr, flush=True)
    CALL

low_density.LowDensitySeparation.fit = fit
from semisvm.cli.entry import main
main()
"""

# The fit that is going on ends after the first process has looked whether to wait for it, however
# slow either process is.
CHOOSING = """
import mmap, os, sys, time
from semisvm.cli import interrupts
from semisvm.model_selection.successive_halving import SuccessiveHalving

looked, first = mmap.mmap(-1, 1), os.getpid()
may_start, read = SuccessiveHalving._may_start, interrupts.Board.read

def slowed(self, runner, runners, fold):
    if fold == 2 and not self.stopped:
        print("in the long call", file=sys.stderr, flush=True)
        while not looked[0]:
            time.sleep(0.01)
    return may_start(self, runner, runners, fold)

def seen(board):
    if os.getpid() == first:
        looked[0] = 1
    return read(board)

SuccessiveHalving._may_start = slowed
interrupts.Board.read = seen
from semisvm.cli.entry import main
main()
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopping")
    X, y = two_blobs(60)
    np.savez(folder / "a.npz", X=X, y=hide(y, 20))
    return folder / "a.npz"


def stopped(*arguments, call=LOCKED, number=signal.SIGINT, to_group=False, program=None):
    """Start a command, send a signal in the middle; return its exit code and output."""
    program = PROGRAM.replace("CALL", call) if program is None else program
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        seen = ""
        while "in the long call" not in seen and process.poll() is None:
            seen += process.stderr.readline()
        time.sleep(0.5)  # for the call itself; what follows holds before it, too
        if to_group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, output, seen + errors
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_compare_prints_what_is_finished(data):
    arguments = ["compare", data, "--unlabeled", "-1", "--methods", "tsvm,lds", "--folds", "3"]
    code, output, errors = stopped(*arguments, to_group=True)
    assert code == 130
    assert "stopped: these methods were finished" in errors
    # once, whichever of the two processes prints it
    names = [line.split()[0] for line in output.splitlines() if line.startswith(" ")]
    assert names == ["method", "svm", "tsvm"]
    assert output.count("behind svm") + output.count("ahead of svm") + output.count("level") == 1
    assert "Traceback" not in errors


def test_compare_as_json(data):
    arguments = ["compare", data, "--unlabeled", "-1", "--methods", "tsvm,lds", "--json"]
    code, output, errors = stopped(*arguments, call=UNLOCKED)
    assert code == 130
    assert "stopped: these methods were finished" in errors
    assert "Traceback" not in errors
    facts = json.loads(output)
    assert facts["stopped"] is True
    assert [method["name"] for method in facts["methods"]] == ["svm", "tsvm"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_fit_is_stopped_and_writes_nothing(data, tmp_path, number, code):
    arguments = ["fit", data, "--unlabeled", "-1", "-a", "lds", "-o", tmp_path / "m"]
    found, output, errors = stopped(*arguments, number=number)
    assert (found, output) == (code, "")
    assert errors.splitlines()[-1] == "stopped; no file was written"
    assert errors.count("stopped") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to_group", [False, True], ids=["process", "terminal"])
def test_an_interrupt_of_the_choice_leaves_the_best_model_so_far(data, tmp_path, to_group):
    """The fit that is going on ends later than a command that only stops may."""
    arguments = ["fit", data, "--unlabeled", "-1", "--quick", "-o", tmp_path / "m"]
    code, output, errors = stopped(*arguments, to_group=to_group, program=CHOOSING)
    assert code == 0, errors
    assert errors.count("Interrupted: choosing among the methods") == 1
    assert "Not all folds were used" in output
    choice = semisvm.load(tmp_path / "m").summary["choice"]
    assert len(choice["methods"]["methods"][0]["scores"]) == 2


# a choice that is inside a long call when it is interrupted
IN_A_CALL = """
import sys
from semisvm.cli import interrupts
from semisvm.cli.interrupts import first_interrupt, supervised

def work():
    with first_interrupt():
        print("in the long call", file=sys.stderr, flush=True)
        sum(range(10**14))

supervised(work)
"""


def test_a_second_interrupt_ends_a_choice_that_cannot_handle_the_first():
    process = subprocess.Popen(
        [sys.executable, "-c", IN_A_CALL], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stderr.readline() == "in the long call\n"
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        # the first one lets the choice go on, for longer than other commands have
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2.5)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert errors == "stopped; no file was written\n"


def test_the_command_ends_if_the_first_process_is_killed():
    """The pipe of the output stays open until both are gone."""
    program = (
        "import os, signal, time\n"
        "from semisvm.cli.interrupts import supervised\n"
        "def work():\n"
        "    os.kill(os.getppid(), signal.SIGKILL)\n"
        "    time.sleep(600)\n"
        "supervised(work)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=PATIENCE)
    assert ended.returncode == -signal.SIGKILL


def test_the_message_is_printed_once_though_the_end_takes_long():
    program = (
        "import sys, time\n"
        "from semisvm.cli import interrupts\n"
        "def work():\n"
        "    try:\n"
        "        print('here', flush=True)\n"
        "        time.sleep(600)\n"
        "    finally:\n"
        "        interrupts.print_stop_message()\n"
        "        time.sleep(600)\n"
        "interrupts.supervised(work)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors == "stopped; no file was written\n"


def test_a_command_that_dies_is_reported():
    program = (
        "import os, signal\n"
        "from semisvm.cli.interrupts import supervised\n"
        "supervised(lambda: os.kill(os.getpid(), signal.SIGKILL))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 137
    assert re.fullmatch(r".* killed by .*SIGKILL.* memory .*\n", ended.stderr)


def test_the_last_words_are_always_whole():
    board = Board()
    assert board.read() == StopMessage()
    for words in (StopMessage("é\n" * 3, "one", []), StopMessage("two", finishes=[2, 15])):
        board.write(words)
        assert board.read() == words
    board.write(StopMessage("x" * SIZE, "long", [2]))
    assert board.read() == StopMessage("", "long", [2])
