"""Shared fixtures: the real data sets, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SEMISVM_DATA", ROOT.parent / "shared" / "data"))


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
def published_splits(dataset):
    """Load a real data set with labelled rows of its published splits, or skip the test."""

    def load(name, n_labels):
        X, y = dataset(name)
        return X, y, np.load(DATA / name / "splits.npz")[f"lab_{n_labels}"]

    return load
