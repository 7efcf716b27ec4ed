"""Shared fixtures: the real data sets, where they are at hand."""

import gzip
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from scipy import sparse

from slow import is_slow

# A shell that runs the tests in the background has them ignore Ctrl-C, nohup has them ignore a
# hang-up, and all commands would inherit that. A handler is not inherited: of a hang-up it only
# hides that it came.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)

# A busy machine is no error: examples may take any time. Where CI is set they are the same in every
# run; elsewhere each run tries others.
settings.register_profile(
    "semisvm",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("semisvm")

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SEMISVM_DATA", ROOT.parent / "shared" / "data"))


def pytest_collection_modifyitems(items):
    """Mark what is slow."""
    for item in items:
        if is_slow(item.path):
            item.add_marker("slow")


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk():
    """Let writers go on before the disk has the data; it fails as it does for a closed file.

    What a test writes need not survive a loss of power, and waiting takes longer than most tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: os.fstat(file) and None)
        yield


@pytest.fixture(scope="session")
def dataset():
    """Load a real data set by name, or skip the test with the reason."""

    def load(name):
        folder = DATA / name
        if not folder.is_dir():
            pytest.skip(f"the data set {name} is not here: set SEMISVM_DATA to its parent folder")
        if (folder / "X.npz").exists():
            X = sparse.load_npz(folder / "X.npz").tocsr()
        else:
            X = np.load(folder / "X.npy")
        return X, np.load(folder / "y.npy")

    return load


@pytest.fixture(scope="session")
def splits(dataset):
    """Load the published splits of a real data set; skipped like the set itself."""

    def load(name):
        dataset(name)
        return np.load(DATA / name / "splits.npz")

    return load


@pytest.fixture(scope="session")
def newsgroups():
    """Load bodies of messages and names of some groups of 20 newsgroups, or skip the test."""

    def load(*groups):
        path = DATA / "20news" / "20news.jsonl.gz"
        if not path.exists():
            pytest.skip("the data set 20news is not here: set SEMISVM_DATA to its parent folder")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found = [post for post in map(json.loads, lines) if post["label"] in groups]
        return [p["text"].partition("\n\n")[2] for p in found], [p["label"] for p in found]

    return load
