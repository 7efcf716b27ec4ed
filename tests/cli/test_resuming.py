"""``semisvm fit --checkpoint`` and ``--resume``: stopped, killed, and refused."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from commands import run
from problems import hide, two_blobs
from semisvm import load
from waiting import PATIENCE

# the seventh round does not end; the second way of waiting looks at no signal
PROGRAM = """
import sys, time
from semisvm.methods.transductive import Switching

real, rounds = Switching.weight_step, []

def weight_step(self, level):
    rounds.append(level)
    if len(rounds) == 7:
        print("in the long round", file=sys.stderr, flush=True)
        WAIT
    return real(self, level)

Switching.weight_step = weight_step
from semisvm.cli.entry import main
main()
"""
SLEEPING, LOCKED = "time.sleep(600)", "sum(range(10**14))"
HOW = "holds the fit: to go on, run the same command with --resume"


@pytest.fixture
def folder(tmp_path):
    X, y = two_blobs(200, gap=1.0)
    np.savez(tmp_path / "a.npz", X=X, y=hide(y, 20))
    return tmp_path


def command(folder, model, *more, method="tsvm"):
    data = ["fit", folder / "a.npz", "--unlabeled", "-1", "-a", method, "-q"]
    # the rounds that are counted are those of the fit, not of an estimate of the shares
    data += ["--prior", "labelled"]
    return [*map(str, data), "-o", str(folder / model), *map(str, more)]


def stopped(folder, wait, number):
    """Stop a fit in its seventh round; return the exit code and the output."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", PROGRAM.replace("WAIT", wait)),
            *command(folder, "late.semisvm", "--checkpoint", folder / "c"),
        ],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        seen = ""
        while "in the long round" not in seen and process.poll() is None:
            seen += process.stderr.readline()
        time.sleep(0.2)  # for the wait itself; what follows holds before it, too
        os.killpg(process.pid, number)
        errors = process.communicate(timeout=PATIENCE)[1]
        return process.returncode, errors
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and POSIX signals")
@pytest.mark.parametrize(
    ("wait", "number", "code"),
    [
        (LOCKED, "SIGINT", 130),
        (SLEEPING, "SIGTERM", 143),
        (SLEEPING, "SIGKILL", -9),
    ],
)
def test_a_fit_that_was_stopped_goes_on(folder, wait, number, code):
    found, errors = stopped(folder, wait, getattr(signal, number))
    assert found == code
    if number != "SIGKILL":
        assert errors.splitlines()[-1] == f"stopped; {folder / 'c'} {HOW}"
    assert not (folder / "late.semisvm").exists()
    late = command(folder, "late.semisvm", "--checkpoint", folder / "c", "--resume")
    run(*late)
    run(*command(folder, "whole.semisvm", "--checkpoint", folder / "d"))
    late, whole = (load(folder / f"{name}.semisvm").estimator for name in ("late", "whole"))
    np.testing.assert_array_equal(late.coef_, whole.coef_)
    np.testing.assert_array_equal(late.intercept_, whole.intercept_)
    assert (late.n_iter_, late.objective_) == (whole.n_iter_, whole.objective_)
    assert late.callback is None


def test_without_a_file_it_starts_at_the_beginning(folder):
    done = run(*command(folder, "m", "--checkpoint", folder / "c", "--resume"))
    assert "there is no" in done.stderr
    assert "starts at the beginning" in done.stderr


@pytest.mark.parametrize(
    ("more", "method", "message"),
    [
        (["--resume"], "tsvm", "--resume needs --checkpoint"),
        (["--checkpoint", "C"], "auto", "name the method"),
        (["--checkpoint", "C"], "lds", "cannot go on from a checkpoint"),
        (["--checkpoint", "C/no/x"], "tsvm", "no folder"),
        (["--checkpoint", "DATA"], "tsvm", "not a checkpoint"),
        (["--checkpoint", "MODEL"], "tsvm", "name another file"),
    ],
)
def test_refusals(folder, more, method, message):
    named = {"C": folder / "c", "DATA": folder / "a.npz", "MODEL": folder / "m"}
    words = [str(named.get(word, word)).replace("C/", f"{folder}/") for word in more]
    assert message in run(*command(folder, "m", *words, method=method), code=2).stderr
    assert not (folder / "m").exists()


def test_other_settings_are_refused_in_the_words_of_the_command_line(folder):
    more = ("--checkpoint", folder / "c")
    run(*command(folder, "m", *more))
    done = run(*command(folder, "m", *more, "--resume", "--reg", "0.5"), code=2)
    assert "reg was None and is 0.5" in done.stderr
    assert "Traceback" not in done.output
