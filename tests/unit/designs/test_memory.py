"""A fit to rows on the disk takes vectors over rows and columns, and not the rows."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from semisvm import write_rows

N_ROWS, N_COLUMNS, PER_ROW = 50_000, 5_000, 250
FITS = """
import resource, sys
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC, open_rows

def used():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))

X, small = open_rows(sys.argv[1]), open_rows(sys.argv[2])
estimators = [kind(n_jobs=1) for kind in (NewtonSVC, TransductiveSVC, AnnealedSVC)]
for estimator in estimators:
    estimator.fit(small, small.y).predict(small)
n, d = X.shape
# as in docs/scale.md, after the first fits of the process; 100 rows have labels
allowed = 200 * n + 300 * d + 8 * 2**20 + 3 * 5100 * X.nbytes // (2 * n)
assert X.nbytes > 3 * allowed, (X.nbytes, allowed)
if sys.argv[3] == "limited":
    resource.setrlimit(resource.RLIMIT_DATA, (used() + allowed,) * 2)
for estimator in estimators:
    estimator.fit(X, X.y)
    print(estimator.predict(X).sum())
try:
    X[:]
except MemoryError:
    print("too large")
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Rows of 150 megabytes, and a few of them."""
    place = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    w = rng.normal(size=N_COLUMNS)

    def piece(n):
        columns = rng.integers(0, N_COLUMNS, (n, PER_ROW))
        entries = (rng.random(columns.size) / PER_ROW**0.5, columns.ravel())
        X = sparse.csr_matrix((*entries, np.arange(n + 1) * PER_ROW), (n, N_COLUMNS))
        X.sum_duplicates()
        return X

    pieces = [piece(2_000) for _ in range(N_ROWS // 2_000)]
    y = np.concatenate([X @ w > 0 for X in pieces]).astype(int)
    y[100:] = -1
    write_rows(place / "large.rows", pieces, y)
    write_rows(place / "small.rows", pieces[0][:200], np.append(y[:100], [-1] * 100))
    return place


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
def test_memory_of_fits(folders):
    # the first process compiles what only large data need: the compiler takes memory too
    for how in ("free", "limited"):
        done = subprocess.run(
            [sys.executable, "-c", FITS, folders / "large.rows", folders / "small.rows", how],
            capture_output=True,
            text=True,
            env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            check=False,
        )
        assert done.returncode == 0, done.stderr
    *found, last = done.stdout.split("\n", 3)
    assert all(0 < int(count) < N_ROWS for count in found)
    assert last == "too large\n"
