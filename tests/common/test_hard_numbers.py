"""Small data with hard numbers: every method ends after a bounded amount of work.

Work is counted in what the solvers report, not in seconds.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from problems import hide
from promises import quick
from semisvm import AnnealedSVC, PosteriorRegularizedClassifier, TransductiveSVC
from semisvm.estimators import registry

N_ROWS = 24
MOST_WORK = 10_000
# a pass of dual ascent is a fraction of a Newton step
MOST_PASSES = 100_000


def rows(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.arange(N_ROWS) % n_classes
    X = rng.standard_normal((N_ROWS, 4))
    X[np.arange(N_ROWS), y] += 2.0
    return X, y


def beside(column):
    return lambda X: np.column_stack([X, column(X)])


HARD = {
    "tiny": lambda X: X * 1e-8,
    "huge": lambda X: X * 1e6,
    "columns of all scales": lambda X: X * np.logspace(-8, 8, X.shape[1]),
    "constant column": beside(lambda X: np.full(len(X), 7.0)),
    "huge constant column": beside(lambda X: np.full(len(X), 1e12)),
    "columns twice": beside(lambda X: X),
    "nothing but zeros": lambda X: 0.0 * X,
}
# their steps, on a pair of rows each, are counted in millions
BY_PAIRS = {"means3vm", "means3vm-mkl"}
MOST_PAIRS = 30_000_000


def work(model):
    """Count rounds and the steps of their weight steps."""
    rows = model.trace_.rows
    # the rows of the phase "newton" are steps themselves
    return len(rows) + sum(r.get("newton_steps", 0) for r in rows if r["phase"] != "newton")


def fit(model, X, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return model.fit(X, labels)


def in_turns():
    """Pair methods and hard numbers with two and three classes in turns.

    So every method, and every case, has fits of both.
    """
    for i, method in enumerate(registry.methods()):
        classes = (2, 3)
        for j, case in enumerate(HARD):
            m = classes[(i + j) % len(classes)]
            yield pytest.param(method, case, m, id=f"{method.name}-{case}-{m}")


@pytest.mark.parametrize(("method", "case", "m"), list(in_turns()))
def test_every_method_ends(method, case, m):
    limit = MOST_PAIRS if method.name in BY_PAIRS else MOST_WORK
    X, y = rows(m)
    X = HARD[case](X)
    try:
        model = fit(quick(method), X, hide(y, 9))
    except ValueError as refused:
        if "all rows of X are equal" not in str(refused):
            raise
        return
    assert work(model) < limit
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize(
    ("cls", "loss"),
    [
        (TransductiveSVC, "hinge"),
        (TransductiveSVC, "crammer_singer"),
        (AnnealedSVC, "hinge"),
        (AnnealedSVC, "crammer_singer"),
        (AnnealedSVC, "log"),  # that of TransductiveSVC is a method of the registry
    ],
)
def test_every_loss_ends(cls, loss, case):
    X, y = rows(2)
    assert work(fit(cls(loss=loss), HARD[case](X), hide(y, 9))) < MOST_PASSES


@pytest.mark.parametrize(
    ("name", "m"),
    # label means of many classes are those of two, one class after the other
    [("posterior", 3), ("da", 2), ("da", 3), ("tsvm", 2), ("tsvm", 3)]
    + [(name, 2) for name in sorted(BY_PAIRS)],
)
def test_rows_of_any_length_that_is_read(name, m):
    X, y = rows(m)
    model = fit(registry.get(name).make(), X * 1e30, hide(y, 9))
    assert work(model) < (MOST_PAIRS if name in BY_PAIRS else MOST_WORK)


@pytest.mark.parametrize("scale", [1e40, 1e70])
def test_what_rounding_prevents_is_reported(scale):
    X, y = rows(2)
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        model = AnnealedSVC(loss="hinge").fit(X * scale, hide(y, 9))
    assert work(model) < MOST_PASSES


def test_rounds_that_stall_are_reported():
    X, y = rows(2)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = PosteriorRegularizedClassifier().fit(HARD["huge constant column"](X), hide(y, 9))
    assert work(model) < MOST_WORK
