"""Label steps that take long: compiled code returns to Python often enough to handle signals."""

import subprocess
import sys

import numpy as np
import pytest

from semisvm.label_steps import exact, simplex, transportation
from waiting import PATIENCE

# Most rows must be moved, each along a path of its own: several seconds of the processor.
LONG_STEP = """
import os, signal, sys, threading, time
import numpy as np
from semisvm.label_steps import exact, simplex

def steps(n, m):
    rng = np.random.default_rng(0)
    costs = rng.normal(size=(n, m))
    costs[:, 0] -= 100.0
    mass = rng.uniform(1.0, 2.0, n)
    return {
        "exact": lambda: exact(costs, np.full(m, n // m), np.zeros(m)),
        "masses": lambda: exact(costs, np.full(m, mass.sum() / m), np.zeros(m), mass=mass),
        "simplex": lambda: simplex(costs, np.full(m, n // m), rng.permutation(n) % m),
    }

steps(100, 20)[sys.argv[1]]()  # compiles
clock = time.pthread_getcpuclockid(threading.get_ident())
start = time.clock_gettime(clock)
sent = []

def interrupt():
    while time.clock_gettime(clock) - start < 1.0:
        time.sleep(0.01)
    sent.append(time.clock_gettime(clock))
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
step = steps(int(sys.argv[2]), 20)[sys.argv[1]]
start = time.clock_gettime(clock)
threading.Thread(target=interrupt, daemon=True).start()
try:
    step()
except KeyboardInterrupt:
    print(time.clock_gettime(clock) - sent[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the processor time of a thread")
@pytest.mark.parametrize(
    ("step", "n_rows"), [("exact", 160_000), ("masses", 120_000), ("simplex", 100_000)]
)
def test_long_step_is_interrupted_soon(step, n_rows):
    command = [sys.executable, "-c", LONG_STEP, step, str(n_rows)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.stdout, f"not interrupted. {run.stderr}"
    assert float(run.stdout) < 1.5


@pytest.mark.parametrize("weighted", [False, True])
def test_calls_that_do_little_give_the_same_labels(monkeypatch, weighted):
    rng = np.random.default_rng(0)
    costs = rng.normal(size=(300, 4)) * 10.0 ** rng.uniform(0, 6, (300, 1))
    mass = rng.uniform(0.5, 2.0, 300) if weighted else np.ones(1)
    counts = np.full(4, mass.sum() / 4) if weighted else np.full(4, 75)
    whole = exact(costs, counts, np.zeros(4), mass=mass)
    monkeypatch.setattr(transportation, "CELLS_PER_CALL", 50)
    parts = exact(costs, counts, np.zeros(4), mass=mass)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    np.testing.assert_array_equal(parts.prices, whole.prices)


def test_pivots_in_several_calls_give_the_same_labels(monkeypatch):
    rng = np.random.default_rng(0)
    costs, counts = rng.normal(size=(300, 4)), np.full(4, 75)
    whole = simplex(costs, counts)
    monkeypatch.setattr(sys.modules[simplex.__module__], "CELLS_PER_CALL", 50)
    parts = simplex(costs, counts)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    np.testing.assert_array_equal(parts.prices, whole.prices)
    assert parts.n_loops == whole.n_loops
