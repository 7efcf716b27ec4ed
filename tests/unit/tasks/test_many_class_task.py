"""A problem with many classes and unlabelled rows, as the methods see it."""

import numpy as np
import pytest
from scipy import sparse

from semisvm import TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import build, flat
from semisvm.labels.partial import prior_counts
from semisvm.losses import LOSSES
from semisvm.methods import Recorder, decades
from semisvm.methods.transductive import Assigning, TableAssigning, finish_many
from semisvm.solvers.newton import measure
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.weight_steps import RowsProblem

SMOOTH = ["squared_hinge", "squared", "log"]
TREES = {"flat": flat(np.arange(4)), "tree": build({"a": [0, 1], "b": [2, 3]}, np.arange(4))}


def task_of(loss="squared_hinge", tree="flat", n=160, d=12, reg=0.02, form=np.asarray):
    """Four clusters with 12 labels."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 4
    X = rng.standard_normal((n, d))
    X[np.arange(n), y] += 2.0
    labeled, unlabeled = np.arange(12), np.arange(12, n)
    return ManyClassTask.of(
        make_design(form(X), 1.0, Workers()),
        labeled,
        unlabeled,
        y[labeled],
        np.full(12, 1 / 12),
        counts=prior_counts(np.bincount(y[unlabeled]) / len(unlabeled), len(unlabeled)),
        loss=LOSSES[loss],
        hierarchy=TREES[tree],
        reg=reg,
        recorder=Recorder(),
    )


def state_at(task, labels, lam):
    """Give weights with what is known of them for labels, computed afresh."""
    w = 0.4 * np.random.default_rng(5).standard_normal(task.n_weights)
    state = task.from_weights(w)
    task.rows.blocks[0].take_labels(labels)
    task.rows.all.set_label_costs(lam)
    measure(state, task.problem().linearize(w), task.reg, 1e-6)
    return state


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("rows", [[], [0], [3, 17, 40]])
@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_gradients_follow_other_labels(loss, tree, rows, ratio):
    task, lam = task_of(loss, tree), 0.3
    labels = np.random.default_rng(1).integers(0, 4, task.n_unlabeled)
    state = state_at(task, labels, lam)
    other = labels.copy()
    other[rows] = (other[rows] + 1) % 4
    task.rows.blocks[0].take_labels(other)
    here = task.relabeled(state, ratio, ratio * lam)
    assert not here.exact
    expected = state_at(task, other, ratio * lam)
    objective = here.value + 0.5 * task.reg * state.w @ state.w
    assert objective == pytest.approx(expected.objective)
    np.testing.assert_allclose(here.gradient, expected.gradient, rtol=1e-10, atol=1e-14)


def test_where_most_labels_are_others_it_does_not_follow():
    task = task_of()
    labels = np.zeros(task.n_unlabeled, dtype=np.intp)
    state = state_at(task, labels, 0.3)
    task.rows.blocks[0].take_labels(labels + 1)
    assert task.relabeled(state, 1.0, 0.3) is None


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("loss", "share"),
    [("squared_hinge", 1.0), ("squared_hinge", 0.0), ("squared", 0.3), ("log", 1.0)],
)
def test_gradient_follows_a_step_from_the_rows_that_change_sides(loss, share, tree, monkeypatch):
    monkeypatch.setattr("semisvm.tasks.many_scores.MAX_CHANGED", share)
    task = task_of(loss, tree)
    labels = np.random.default_rng(1).integers(0, 4, task.n_unlabeled)
    state, problem, t = state_at(task, labels, 0.7), task.problem(), 0.6
    step = 0.2 * np.random.default_rng(2).standard_normal(task.n_weights)
    out = np.empty_like(step)
    predicted = state.gradient + t * problem.reg * step + t * problem.product(step, out)
    problem.set_direction(step)
    there = state.w + t * step
    moved = problem.advance(there, t, predicted)
    [block] = task.rows.blocks
    scores = block.scores.copy()
    task.rows.all.score(there)
    expected = problem.linearize(there)
    np.testing.assert_allclose(scores, block.scores, rtol=1e-12, atol=1e-14)
    assert moved.exact == (loss == "log" or share == 0.0)
    assert moved.value == pytest.approx(expected.value)
    np.testing.assert_allclose(moved.gradient, expected.gradient, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", [Assigning, TableAssigning])
def test_following_does_not_change_the_path(method, form, monkeypatch):
    def fit():
        task = task_of(form=form, n=600)
        steps = method(task, task.at(task.start(np.zeros(task.n_weights), 1e-5)))
        solution = finish_many(steps, decades(1e-3, 1.0, 1e-5), lam=1.0, max_rounds=50)
        return solution, task.recorder.trace["objective"], steps

    counts, original = [], RowsProblem.linearize
    monkeypatch.setattr(
        RowsProblem, "linearize", lambda self, w: (counts.append(1), original(self, w))[1]
    )
    known, path, steps = fit()
    followed, counts[:] = len(counts), []
    for home in ("driver", "many_scores"):
        monkeypatch.setattr(f"semisvm.tasks.{home}.MAX_CHANGED", -1.0)
    afresh, expected, _ = fit()
    np.testing.assert_allclose(path, expected, rtol=1e-9)
    np.testing.assert_array_equal(known.codes, afresh.codes)
    np.testing.assert_allclose(known.w, afresh.w, atol=1e-7)
    assert followed < 0.5 * len(counts)
    assert known.objective == pytest.approx(steps.objective(1.0))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_threads_repeat_bit_for_bit_and_agree_with_one(form, monkeypatch):
    monkeypatch.setattr("semisvm.designs.workers.MIN_WORK_PER_THREAD", 50)
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    X = rng.standard_normal((400, 12))
    X[np.arange(400), y] += 2.0
    partly = np.where(np.arange(400) < 20, y, -1)
    one, two, again = (TransductiveSVC(n_jobs=n).fit(form(X), partly) for n in (1, 2, 2))
    np.testing.assert_array_equal(two.coef_, again.coef_)
    np.testing.assert_array_equal(one.transduction_, two.transduction_)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-12)
