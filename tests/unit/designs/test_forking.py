"""Forks while another thread holds what a fit holds for a moment."""

import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

from semisvm.designs import Workers
from semisvm.designs import workers as blas
from semisvm.designs.workers import global_compiler_lock, no_fork
from waiting import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


def in_child(work, seconds=PATIENCE):
    """Run a function in a forked child; return whether it ends, and well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads about
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() is not False else 1
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


def held_for_a_moment(lock):
    """Let another thread hold a lock for a moment, and come back while it does."""
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    return thread


@pytest.mark.parametrize("lock", [no_fork, global_compiler_lock], ids=["imports", "compiler"])
def test_a_fork_waits_for_locks_of_a_fit(lock):
    def take():
        with lock:
            pass

    thread = held_for_a_moment(lock)
    assert in_child(take)
    thread.join()
    take()


def test_a_fork_while_blas_threads_are_limited(monkeypatch):
    """The first limit takes its time: libraries are looked up."""
    began, controller = threading.Event(), blas._controller

    def slow():
        began.set()
        time.sleep(0.2)
        return controller()

    def use():
        with Workers(2):
            pass

    monkeypatch.setattr(blas, "_controller", slow)
    thread = threading.Thread(target=use)
    thread.start()
    began.wait()
    monkeypatch.setattr(blas, "_controller", controller)
    assert in_child(use)
    thread.join()


def test_a_child_does_not_wait_for_fits_of_its_parent_to_restore_blas():
    entered, leave = threading.Event(), threading.Event()

    def fit():
        with Workers():
            entered.set()
            leave.wait()

    def use():
        with Workers():
            pass
        return blas.one_blas_thread._limit is None

    thread = threading.Thread(target=fit)
    thread.start()
    entered.wait()
    assert in_child(use)
    leave.set()
    thread.join()
    assert blas.one_blas_thread._limit is None


def test_a_child_of_a_fit_ends_what_the_fit_began():
    with Workers():
        assert in_child(lambda: blas.one_blas_thread.__exit__(None, None, None))


CODE = """
import sys
import numpy as np
from semisvm import NewtonSVC, TransductiveSVC
X = np.random.default_rng(0).standard_normal((40, 3))
y = (X[:, 0] > 0).astype(int)
NewtonSVC().fit(X, y)
before = set(sys.modules)
partly = np.where(np.arange(40) < 10, y, -1)
for kernel in ("linear", "rbf", "poly", "cosine", "laplacian", lambda a, b: float(a @ b)):
    NewtonSVC(kernel=kernel, gamma=0.01, coef0=0.0).fit(X, y).predict(X)
TransductiveSVC(kernel="rbf", gamma="mean_distance", n_jobs=2).fit(X, partly).predict(X)
print(sorted(name for name in set(sys.modules) - before if not name.startswith("numba")))
"""


def test_a_fit_imports_nothing():
    """After the first compiled function, with which numba brings its own modules."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV_")}
    out = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment
    )
    assert out.stdout.strip() == "[]"
