"""Compiling ahead: the first fit of another process finds everything, and a person is informed."""

import os
import subprocess
import sys

import pytest

from semisvm import compiling, warm

FIT = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba.core import event
from semisvm.tables.table import Table
from semisvm.training import train

class Listener(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

texts = ["good fine film", "bad poor film", "fine good plot", "poor bad plot"] * 30
labels = np.array(["up", "down"] * 60, dtype=object)
labels[40:] = None
with event.install_listener("numba:compile", Listener()):
    train(Table({"text": texts}, labels))
    # wide enough for latent directions
    rng = np.random.default_rng(0)
    wide = [" ".join([text, *(f"w{k}" for k in rng.integers(250, size=6))]) for text in 2 * texts]
    size = rng.normal(size=len(wide))
    train(Table({"text": wide, "size": size}, np.concatenate([labels, labels[40:], labels[:40]])))
print(sorted(Listener.names))
"""


@pytest.mark.slow
def test_after_warm_a_default_fit_compiles_nothing(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for code in ("import semisvm; assert semisvm.warm() > 0; assert semisvm.warm() == 0", FIT):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "[]"


class _Terminal:
    def __init__(self, is_terminal):
        self.is_terminal, self.text = is_terminal, ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text


@pytest.mark.parametrize("is_terminal", [True, False])
def test_compiling_is_announced_once_and_only_on_a_terminal(monkeypatch, is_terminal):
    monkeypatch.setattr(compiling, "_announced", False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    terminal = _Terminal(is_terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    compiling._announce()
    compiling._announce()
    assert terminal.text.count("compiling") == (1 if is_terminal else 0)


def test_warm_returns_seconds():
    assert warm() >= 0.0
