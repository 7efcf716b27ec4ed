"""A fit takes the same steps in the same order, wherever its rows are, in two classes."""

import sys
from pathlib import Path

import numpy as np
import pytest

import semisvm
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC

PACKAGE = Path(semisvm.__file__).parent
STEPS = ["fitting", "encode", "class_shares", "make_design", "make_task", "first_state", "publish"]
FACTS = {"ScoringClassifier.features_by", "ScoringClassifier.__sklearn_tags__"}
"""Properties that scikit-learn's validation reads; they are no step of the fit."""


def calls_of(work):
    """Return the functions of the package that some work calls, in the order of first calls."""
    found = {}

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found.setdefault((path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(found)


def in_parts(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(20, X.shape[1]))


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 3))
    return X, np.where(np.arange(60) % 4, -1, X[:, 0] > 0)


@pytest.mark.parametrize("place", [lambda X: X, in_parts], ids=["in memory", "in parts"])
@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
def test_steps_in_order(cls, place, rows):
    X, y = rows
    called = [name for _, name in calls_of(lambda: cls(reg=0.1).fit(place(X), y))]
    # the estimate of the class shares, a step of its own, has fits with these steps
    shares = called.index("class_shares")
    estimate = called.index("estimate_shares")
    assert (
        called.index("encode") < shares < estimate < called.index(f"{cls.__name__}._solve_binary")
    )
    given = cls(reg=0.1, class_prior=[0.5, 0.5])
    called = [name for _, name in calls_of(lambda: given.fit(place(X), y))]
    assert [name for name in called if name in STEPS] == STEPS


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC, NewtonSVC])
def test_two_classes_in_two_files(cls, rows):
    called = calls_of(lambda: cls(reg=0.1).fit(*rows))
    methods = {name for path, name in called if path.startswith("estimators/") and "." in name}
    classes = {name.split(".")[0] for name in methods - FACTS if "<" not in name}
    assert classes - {"UsesShares", "EvidenceClassifier", "TakesEvidence"} == {
        cls.__name__,
        "LinearSemiSupervisedClassifier",
    }
