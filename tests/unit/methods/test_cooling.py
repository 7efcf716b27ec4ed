"""The free energy of many classes: its value, its derivatives, and the steps down it."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning

from problems import hide
from semisvm import AnnealedSVC
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import build, flat
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.methods import Recorder
from semisvm.methods.annealing import DECIDING, Cooling
from semisvm.methods.free_energy import FreeEnergy
from semisvm.solvers import newton
from semisvm.tasks import ManyScoreBlock, ManyScoreRows
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.weight_steps import SoftLabels

LAM, M = 0.7, 4
SMOOTH = pytest.mark.parametrize("loss", ["squared_hinge", "squared", "log"])
TEMPERATURES = pytest.mark.parametrize("temperature", [3.0, 0.5, 0.1])
TREES = {"flat": flat(np.arange(M)), "tree": build({"a": [0, 1], "b": [2, 3]}, np.arange(M))}
TREE = pytest.mark.parametrize("tree", TREES)
# rows of the blocks; one block has no labelled row, and one a single row
CUTS = {"one block": (0, 80), "several blocks": (0, 33, 34, 41, 80)}


def cut_task(loss="squared_hinge", tree="flat", cuts="one block", empty=None, evidence=False):
    """A small task with given blocks; a class may have no unlabelled row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, M, 80)
    X = rng.standard_normal((80, 5)) + np.eye(5)[y]
    given = np.zeros(80, dtype=bool)
    given[np.r_[0:33:4, 42:80:6]] = True
    counts = np.bincount(y[~given], minlength=M)
    if empty is not None:
        counts[empty - 1] += counts[empty]
        counts[empty] = 0
    many, u, n = LOSSES[loss].many, np.count_nonzero(~given), np.count_nonzero(given)
    blocks = []
    for start, stop in itertools.pairwise(CUTS[cuts]):
        design = make_design(X[start:stop], 1.0, Workers())
        here, free = np.flatnonzero(given[start:stop]), np.flatnonzero(~given[start:stop])
        weight, codes = np.full(len(here), 1 / n), y[start:stop][here]
        block = ManyScoreBlock(design, here, free, codes, weight, u, many, TREES[tree])
        if evidence:
            block.evidence = rng.exponential(size=(len(free), M))
            block.evidence[::5, start % M] = np.inf
        blocks.append(block)
    return ManyClassTask(ManyScoreRows(blocks), counts, many, TREES[tree], 1e-2, Recorder())


def weights(task, scale=0.4, seed=1):
    return scale * np.random.default_rng(seed).standard_normal(task.n_weights)


def at(task, w, temperature):
    """The problem, whose labels respond to the next step, its value and its gradient."""
    soft = SoftLabels(LAM, temperature)
    task.rows.all.score(w)
    task.soften(soft)
    problem, value = FreeEnergy(task, soft), task.free_energy(w, soft)
    gradient = problem.linearize(w).gradient
    problem.curve()
    return problem, value, gradient


@SMOOTH
@TEMPERATURES
@pytest.mark.parametrize("empty", [None, 2])
@pytest.mark.parametrize("evidence", [False, True])
def test_free_energy_is_the_objective_less_the_entropy(loss, temperature, empty, evidence):
    task = cut_task(loss, empty=empty, evidence=evidence)
    w, [block] = weights(task), task.rows.blocks
    _, value, _ = at(task, w, temperature)
    p, scores = task.rows.all.beliefs(), block.scores_of(w)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p.sum(axis=0), task.counts, atol=1e-8)
    fit = task.loss.costs(scores[block.labeled])[np.arange(len(block.codes)), block.codes]
    costs = task.loss.costs(scores[block.unlabeled])
    if evidence:
        assert p[np.isinf(block.evidence)].max() == 0.0
        costs += np.where(np.isinf(block.evidence), 0.0, block.evidence)
    soft = np.sum(LAM * p * costs - temperature * entr(p))
    direct = task.reg / 2 * w @ w + block.weight @ fit + soft / task.n_unlabeled
    assert value == pytest.approx(direct, rel=1e-10)


@SMOOTH
@TEMPERATURES
@TREE
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize(("empty", "evidence"), [(None, False), (2, False), (None, True)])
def test_derivatives_are_those_of_the_free_energy(loss, temperature, tree, cuts, empty, evidence):
    task, h = cut_task(loss, tree, cuts, empty, evidence), 1e-6
    w = weights(task)
    for seed in range(3):
        p = weights(task, 1.0, seed)
        here, _, gradient = at(task, w, temperature)
        product = here.product(p, np.empty_like(p)) + task.reg * p
        (_, up, after), (_, down, before) = (at(task, w + t * p, temperature) for t in (h, -h))
        assert gradient @ p == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-7)
        np.testing.assert_allclose(product, (after - before) / (2 * h), rtol=1e-5, atol=1e-6)


@SMOOTH
def test_label_slopes_distinguish_costs_of_labels(loss):
    """What they leave out is the same for all labels of a row."""
    many, rng, h = LOSSES[loss].many, np.random.default_rng(2), 1e-6
    S, D, slopes = rng.normal(size=(30, M)), rng.normal(size=(30, M)), np.empty((30, M))
    many.label_slopes(S, np.arange(30), 0.3, slopes, 0, 30)
    moved = 0.3 * (many.costs(S + h * D) - many.costs(S - h * D)) / (2 * h)
    rest = moved - slopes * D
    np.testing.assert_allclose(rest - rest[:, :1], 0.0, atol=1e-8)


def test_the_curvature_is_symmetric_and_not_always_positive():
    task = cut_task()
    # the same scores for all classes: nothing is decided
    here, *_ = at(task, np.zeros(task.n_weights), 0.1)
    eye = np.eye(task.n_weights)
    H = np.array([here.product(p, np.empty_like(p)) for p in eye])
    np.testing.assert_allclose(H, H.T, atol=1e-12)
    assert np.linalg.eigvalsh(H)[0] < -task.reg
    assert (here.scales() > 0.0).all()
    # held fixed, the same labels give a convex problem
    here.hold(np.zeros(task.n_weights))
    fixed = np.array([here.product(p, np.empty_like(p)) for p in eye])
    assert np.linalg.eigvalsh(fixed)[0] > -1e-12


def test_decided_labels_do_not_answer():
    task = cut_task()
    w, x = weights(task, 50.0), np.ones(task.n_weights)
    product = at(task, w, 1e-5)[0].product(x, np.empty_like(x))
    p = task.rows.all.beliefs()
    assert np.minimum(p, 1.0 - p).max() < 1e-9
    np.testing.assert_allclose(product, task.problem().product(x, np.empty_like(x)), rtol=1e-4)


def test_a_loss_without_label_responses():
    task = cut_task()
    plain = replace(task.loss, label_slopes=None)
    for block in task.rows.blocks:
        block.loss = plain
    here, *_ = at(task, weights(task), 0.5)
    p = weights(task, 1.0)
    expected = task.problem().product(p, np.empty_like(p))
    np.testing.assert_allclose(here.product(p, np.empty_like(p)), expected)


@pytest.mark.parametrize("empty", [None, 1])
def test_divergence_is_that_from_the_beliefs_in_the_costs(empty):
    task = cut_task(empty=empty)
    at(task, weights(task), 0.5)
    old = task.rows.all.beliefs().copy()
    assert task.rows.all.divergence(LAM) == pytest.approx(0.0, abs=1e-15)
    for step in (1e-7, 1e-2, 1.0):
        task.rows.all.score(weights(task) + step)
        task.soften(SoftLabels(LAM, 0.5))
        p, used = task.rows.all.beliefs(), task.counts > 0
        direct = np.sum(p[:, used] * np.log(p[:, used] / old[:, used])) / len(p)
        assert task.rows.all.divergence(LAM) == pytest.approx(direct, rel=1e-6, abs=1e-15)
    task.rows.all.restore_beliefs(LAM)
    np.testing.assert_allclose(task.rows.all.beliefs(), old, rtol=1e-14)


def blobs(m=5, n=400, d=12, gap=1.6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    X = rng.standard_normal((n, d))
    X[np.arange(n), y] += gap
    return X, hide(y, 4 * m, seed), np.bincount(y, minlength=m) / n


@SMOOTH
@pytest.mark.parametrize("hierarchy", [None, {"a": [0, 1, 2], "b": [3, 4]}])
def test_the_free_energy_falls_at_every_temperature(loss, hierarchy, monkeypatch):
    X, partly, shares = blobs()
    kept = []
    original = Cooling.label_step

    def check(method, level):
        sums = method.task.rows.all.beliefs().sum(axis=0)
        kept.append(np.abs(sums - method.task.counts).max())
        return original(method, level)

    monkeypatch.setattr(Cooling, "label_step", check)
    # temperatures that are far from each other, so that a level takes several steps
    cooling = {"temperature": 10.0, "annealing_rate": 3.0}
    model = AnnealedSVC(1e-3, loss=loss, class_prior=shares, hierarchy=hierarchy, **cooling)
    rows = [row for row in model.fit(X, partly).trace_ if row["phase"] == "annealing"]
    assert len({row["level"] for row in rows}) > 5
    moved = 0
    for before, after in itertools.pairwise(rows):
        if before["level"] == after["level"]:
            assert after["free_energy"] <= before["free_energy"] + 1e-12
            moved += after["newton_steps"] > 0
    assert moved > 1
    assert max(kept) < 1e-6


def alternating(monkeypatch):
    """Let annealing hold its beliefs while the weights move."""
    plain = replace(SQUARED_HINGE.many, label_slopes=None)
    monkeypatch.setitem(LOSSES, "squared_hinge", replace(SQUARED_HINGE, many=plain))


@pytest.mark.parametrize("seed", range(3))
def test_newton_takes_fewer_rounds_than_turns_and_ends_no_higher(monkeypatch, seed):
    X, partly, shares = blobs(seed=seed, gap=2.5)
    given = {"reg": 1e-2, "class_prior": shares, "temperature": 10.0}
    model = AnnealedSVC(**given).fit(X, partly)
    alternating(monkeypatch)
    turns = AnnealedSVC(**given).fit(X, partly)
    assert model.n_iter_ < turns.n_iter_
    assert model.objective_ <= turns.objective_ * (1.0 + 1e-3)


def test_threads_agree():
    X, partly, shares = blobs()
    one = AnnealedSVC(reg=1e-2, class_prior=shares).fit(X, partly)
    two = AnnealedSVC(reg=1e-2, class_prior=shares, n_jobs=2).fit(X, partly)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-7, atol=1e-9)


def test_a_step_that_does_not_gain_is_taken_back(monkeypatch):
    X, partly, shares = blobs(n=150)
    original = Cooling.label_step

    def check(method, level):
        """The beliefs, taken back with the step, are still those of the prices."""
        [block], soft = method.task.rows.blocks, method.soft
        costs = soft.lam * method.task.loss.costs(block.scores[block.unlabeled])
        z = (soft.price - costs) / soft.temperature
        expected = np.exp(z - z.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(method.task.rows.all.beliefs(), expected, atol=1e-9)
        return original(method, level)

    monkeypatch.setattr(Cooling, "label_step", check)
    # no step is ever good enough: every temperature is left at once, at the weights it had
    monkeypatch.setattr(newton, "LEAST_GAIN", 1e6)
    model = AnnealedSVC(reg=1e-2, class_prior=shares).fit(X, partly)
    rows = [row for row in model.trace_ if row["phase"] == "annealing"]
    assert {row["newton_steps"] for row in rows} == {0}
    assert len({row["objective"] for row in rows}) == 1
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("scale", [1e-120, 1e-9, 1e9, 1e70])
def test_no_scale_of_the_data_gives_nan(scale):
    X, partly, shares = blobs(n=40, m=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AnnealedSVC(class_prior=shares).fit(scale * X, partly)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


def steps_down(rate, m):
    """Fit; return the steps between temperatures as powers of the rate, and falls of entropy."""
    X, partly, shares = blobs(m=m, gap=4.0)
    cooling = {"temperature": 10.0, "annealing_rate": rate}
    model = AnnealedSVC(1e-3, class_prior=shares, **cooling).fit(X, partly)
    pairs = list(itertools.pairwise(row for row in model.trace_ if "entropy" in row))
    powers = [np.log(a["value"] / b["value"]) / np.log(rate) for a, b in pairs]
    return powers, [a["entropy"] - b["entropy"] for a, b in pairs]


def test_temperatures_are_closer_where_much_is_decided():
    powers, falls = steps_down(2.0, m=5)
    expected = [0.5 if fall > DECIDING else 1.0 for fall in falls[:-1]]
    np.testing.assert_allclose(powers, [1.0, *expected])
    assert {0.5, 1.0} == set(expected)


def test_temperatures_of_two_classes_are_evenly_spaced():
    powers, falls = steps_down(2.0, m=2)
    assert max(falls) > DECIDING
    np.testing.assert_allclose(powers, 1.0)
