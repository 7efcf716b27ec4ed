"""A method goes on from a few vectors over columns as if it had never stopped."""

import pickle
from functools import partial

import numpy as np
import pytest

from problems import two_blobs
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import flat
from semisvm.labels.weights import UNIT_WEIGHT
from semisvm.losses import SQUARED_HINGE
from semisvm.methods import Recorder, falling, follow, rising
from semisvm.methods.annealing import Annealing, Cooling, Rival
from semisvm.methods.supervised import first_state
from semisvm.methods.transductive import Assigning, Switching
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask


def masses(n):
    """Weights of unlabelled rows, with mean one."""
    found = np.random.default_rng(1).gamma(2.0, size=n)
    return found * n / found.sum()


def two_class_task(has_weights=False):
    X, y = two_blobs(400, 10, gap=1.5)
    labeled = np.arange(0, 400, 40)
    unlabeled = np.setdiff1d(np.arange(400), labeled)
    weight = np.full(len(labeled), 1 / len(labeled))
    design = make_design(X, 1.0, Workers())
    return TwoClassTask.of(
        design, labeled, unlabeled, y[labeled] == 1, weight,
        n_positive=195, loss=SQUARED_HINGE, reg=1e-2, recorder=Recorder(),
        mass=masses(390) if has_weights else UNIT_WEIGHT,
    )  # fmt: skip


def many_class_task(has_weights=False):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = rng.standard_normal((400, 6)) + 1.5 * np.eye(6)[y]
    labeled = np.arange(0, 400, 20)
    unlabeled = np.setdiff1d(np.arange(400), labeled)
    weight = np.full(len(labeled), 1 / len(labeled))
    counts = np.bincount(y[unlabeled], minlength=3)
    design = make_design(X, 1.0, Workers())
    return ManyClassTask.of(
        design, labeled, unlabeled, y[labeled], weight, counts=counts,
        loss=SQUARED_HINGE, hierarchy=flat(np.arange(3)), reg=1e-2, recorder=Recorder(),
        mass=masses(380) if has_weights else UNIT_WEIGHT,
    )  # fmt: skip


CASES = {
    "switching": (
        two_class_task,
        lambda task, state: Switching(task, state, None),
        rising(1e-3, 1.0, 3.0, 1e-8),
    ),
    "rival": (
        two_class_task,
        lambda task, state: Rival(task, state, 0.0),
        rising(1e-3, 1.0, 3.0, 1e-8),
    ),
    "annealing": (
        two_class_task,
        lambda task, state: Annealing(task, state, 1.0, 1e-6),
        falling(10.0, 1e-2, 1.5, 1e-8),
    ),
    "assigning": (many_class_task, Assigning, rising(1e-3, 1.0, 3.0, 1e-8)),
    "cooling": (
        many_class_task,
        lambda task, state: Cooling(task, state, 1.0, 1e-6),
        falling(10.0, 1e-2, 1.5, 1e-8),
    ),
}
CASES |= {
    f"{case} by mass": (partial(make_task, has_weights=True), *rest)
    for case, (make_task, *rest) in CASES.items()
}


def started(case):
    make_task, make_method, levels = CASES[case]
    task = make_task()
    return make_method(task, first_state(task, None, 1e-8)), levels


def run(method, levels):
    follow("test", levels, method, method.task.recorder, 200)
    return method


@pytest.mark.parametrize("stop", [1, 4])
@pytest.mark.parametrize("case", CASES)
def test_a_method_goes_on_from_a_snapshot(case, stop):
    method, levels = started(case)
    whole = run(method, levels).state.w
    first, _ = started(case)
    kept = pickle.dumps(run(first, levels[:stop]).snapshot())
    n_weights = method.task.n_weights
    assert len(kept) < 8 * 4 * n_weights + 1_500
    other, _ = started(case)
    other.restore(pickle.loads(kept))
    np.testing.assert_allclose(run(other, levels[stop:]).state.w, whole, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("max_rounds", [1, 2, 200])
@pytest.mark.parametrize("case", CASES)
def test_a_method_brings_back_all_that_it_keeps(case, max_rounds):
    """Wherever it was before, and in another process: the two then do the same, bit for bit."""
    method, levels = started(case)
    follow("test", levels[:2], method, method.task.recorder, max_rounds)
    kept = method.snapshot()
    follow("test", levels[2:4], method, method.task.recorder, max_rounds)
    fresh, _ = started(case)
    for one in (method, fresh):
        one.restore(kept)
    np.testing.assert_equal(method.snapshot(), fresh.snapshot())
    for name, value in kept.items():
        # prices are computed anew, from scores that were
        if name not in ("price", "prices", "gradient"):
            np.testing.assert_equal(fresh.snapshot()[name], value)
    for one in (method, fresh):
        follow("test", levels[2:], one, one.task.recorder, max_rounds)
    np.testing.assert_equal(method.snapshot(), fresh.snapshot())


def test_pairs_switched_one_by_one_cannot_be_restored():
    task = two_class_task()
    method = Switching(task, first_state(task, None, 1e-5), 1)
    with pytest.raises(TypeError, match="cannot be saved and resumed"):
        method.snapshot()
