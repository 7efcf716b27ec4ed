"""Small problems that the tests share."""

import numpy as np
from scipy import sparse

from semisvm.designs import Workers, make_design
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Recorder
from semisvm.losses import LOSSES


def two_blobs(n=120, d=6, gap=2.5, seed=0, positive=0.5):
    """Two Gaussian clusters; returns X and y in {0, 1}."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < round(positive * n)).astype(int)
    rng.shuffle(y)
    X = rng.standard_normal((n, d))
    X[:, 0] += gap * (2 * y - 1) / 2
    X[:, 1] += gap * (2 * y - 1) / 2
    return X, y


def hide(y, n_labels, seed=0):
    """Keep ``n_labels`` labels, in proportion to the classes, and mark the other rows by -1."""
    rng = np.random.default_rng(seed)
    partly = np.full(len(y), -1)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        keep = rows[: max(1, round(n_labels * len(rows) / len(y)))]
        partly[keep] = label
    return partly


def sparse_text(n=200, d=500, seed=0, dtype=np.float64):
    """Unit rows with few entries and two topics; returns CSR X and y in {0, 1}."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rows, columns = [], []
    for i in range(n):
        common = rng.zipf(1.6, 12) % (d // 3)
        topic = d // 3 + y[i] * (d // 3) + rng.integers(0, d // 3, 6)
        columns += [*common, *topic]
        rows += [i] * (len(common) + len(topic))
    X = sparse.csr_matrix((rng.random(len(rows)) + 0.1, (rows, columns)), shape=(n, d))
    norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
    return sparse.csr_matrix(sparse.diags(1 / norms) @ X, dtype=dtype), y


def binary_task(loss="squared_hinge", n=60, d=4, reg=0.05, seed=0):
    """Two clusters with six labels, as the methods for two classes see them."""
    X, y = two_blobs(n, d, gap=1.5, seed=seed)
    partly = hide(y, 6)
    labeled = np.flatnonzero(partly != -1)
    return BinaryTask(
        design=make_design(X, 1.0, Workers()),
        labeled=labeled,
        unlabeled=np.flatnonzero(partly == -1),
        positive=partly[labeled] == 1,
        weight=np.full(len(labeled), 1.0 / len(labeled)),
        n_positive=round(0.4 * (n - len(labeled))),
        loss=LOSSES[loss],
        reg=reg,
        recorder=Recorder(),
    )


def random_costs(n, m, seed=0):
    """Costs that favour a hidden class, and counts that do not fit it; some may be zero."""
    rng = np.random.default_rng(seed)
    costs = rng.standard_normal((n, m)) + 0.5 * rng.standard_normal(m)
    costs[np.arange(n), rng.integers(0, m, n)] -= 1.5
    counts = np.bincount(rng.integers(0, m, n) * rng.integers(0, 2, n), minlength=m)
    return costs, counts
