"""Small problems, and fits that are interrupted."""

import os
import signal

import numpy as np

from semisvm import AnnealedSVC, Checkpoint, NewtonSVC, TransductiveSVC


def blobs(n_classes, n=160, seed=0):
    """Return overlapping blobs, of which one row in eight has its label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[: n // 4] = 0  # classes of different sizes
    X = rng.standard_normal((n, 5)) + 1.2 * np.eye(5)[y]
    partly = np.where(rng.random(n) < 1 / 8, y, -1)
    partly[-n_classes:] = y[-n_classes:] = np.arange(n_classes)
    return X, partly


def tree(n_classes):
    return {"a": {0: {}, 1: {}}, "b": {k: {} for k in range(2, n_classes)}}


TWO, MANY = blobs(2), blobs(4)
RARE = (TWO[0], np.where((TWO[1] == 1) & (np.arange(160) % 3 > 0), -1, TWO[1]))
CASES = {
    "tsvm": (TransductiveSVC(reg=1e-2), TWO),
    "tsvm log": (TransductiveSVC(reg=1e-2, loss="log"), TWO),
    "tsvm squared": (TransductiveSVC(reg=1e-2, loss="squared"), TWO),
    "tsvm rbf": (TransductiveSVC(reg=1e-2, kernel="rbf"), TWO),
    "tsvm many": (TransductiveSVC(reg=1e-2), MANY),
    "tsvm tree": (TransductiveSVC(reg=1e-2, hierarchy=tree(4)), MANY),
    "da": (AnnealedSVC(reg=1e-2), TWO),
    "da rare": (AnnealedSVC(reg=1e-2), RARE),
    "da log": (AnnealedSVC(reg=1e-2, loss="log"), TWO),
    "da many": (AnnealedSVC(reg=1e-2, temperature=1.0), MANY),
    "da as it is": (AnnealedSVC(reg=1e-2, temperature=1.0, refine=False), TWO),
    "da many, fixed": (AnnealedSVC(reg=1e-2, temperature=0.2, last_temperature=0.2), MANY),
    "da tree": (AnnealedSVC(reg=1e-2, temperature=1.0, hierarchy=tree(4)), MANY),
    "newton": (NewtonSVC(reg=1e-4), TWO),
    "newton many": (NewtonSVC(reg=1e-4, loss="log"), MANY),
}


def made(case, path, n_jobs=None, **options):
    """Fit a case with a checkpoint."""
    estimator, (X, y) = CASES[case]
    keeper = Checkpoint(path, **{"every": 0.0, **options})
    parameters = {**estimator.get_params(deep=False), "callback": keeper, "n_jobs": n_jobs}
    return type(estimator)(**parameters).fit(X, y)


# a fit that is resumed reads some rows once more
NO_COSTS = {"passes": 0.0, "seconds": 0.0}
ATTRIBUTES = ("coef_", "intercept_", "objective_", "n_iter_", "transduction_")


def same(one, other):
    """Compare two models bit for bit, with their traces but for what they cost."""
    for name in ATTRIBUTES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    beliefs = [getattr(model, "label_distribution_", 0.0) for model in (one, other)]
    np.testing.assert_array_equal(*beliefs)
    for ours, theirs in zip(one.trace_, other.trace_, strict=True):
        np.testing.assert_equal({**ours, **NO_COSTS}, {**theirs, **NO_COSTS})
    assert one.trace_.notes == other.trace_.notes


def killed(work):
    """Run a function in a process that kills itself, and wait for its end."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class InterruptedFitError(Exception):
    """What ends a fit in a test."""
