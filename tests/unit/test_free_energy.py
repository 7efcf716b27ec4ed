"""The free energy of annealing: its value, its derivatives, and the steps down it."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning

from problems import binary_task, hide, two_blobs
from semisvm import AnnealedSVC
from semisvm.estimators import annealing
from semisvm.labels import binary_beliefs, mean_soft_cost
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.weights.free_energy import change_beliefs, soften

LAM = 0.7


def energy(task, w, temperature):
    scores = task.scores(w)
    soft_labels = task.soft_labels(scores, LAM, temperature)
    return task.free_energy(w, scores, LAM, temperature, soft_labels)


def at(task, w, temperature):
    scores = task.scores(w)
    p, q, _ = task.soft_labels(scores, LAM, temperature)
    problem = task.semisupervised(p, q, LAM)
    slopes, curvature = np.empty(len(scores)), np.empty(len(scores))
    return soften(
        problem.linearize_into(slopes, curvature, w, scores),
        curvature,
        p * q,
        problem=problem,
        scores=scores,
        unlabeled=task.unlabeled,
        lam=LAM,
        temperature=temperature,
    )


@pytest.mark.parametrize("temperature", [20.0, 1.0, 0.05])
def test_soft_cost_is_the_expected_cost_less_the_entropy(temperature):
    g = np.random.default_rng(0).normal(size=200)
    p, q, price = binary_beliefs(g, temperature, 0.3)
    direct = np.mean(p * g - temperature * (entr(p) + entr(q)))
    assert mean_soft_cost(g, price, temperature, p, q) == pytest.approx(direct, rel=1e-12)


def test_free_energy_is_the_objective_less_the_entropy():
    task = binary_task()
    w = np.random.default_rng(1).normal(size=task.n_weights)
    scores, temperature = task.scores(w), 0.8
    p, q, price = task.soft_labels(scores, LAM, temperature)
    value = task.free_energy(w, scores, LAM, temperature, (p, q, price))
    o, values = scores[task.unlabeled], task.loss.values
    fit = task.weight @ values(np.where(task.positive, 1, -1) * scores[task.labeled])
    soft = np.mean(LAM * (p * values(o) + q * values(-o)) - temperature * (entr(p) + entr(q)))
    assert value == pytest.approx(0.5 * (task.reg * w @ w + fit + soft), rel=1e-12)


@pytest.mark.parametrize("temperature", [5.0, 1.0, 0.3])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_gradient_is_that_of_the_free_energy(loss, temperature):
    task, rng = binary_task(loss), np.random.default_rng(2)
    w, h = 0.4 * rng.normal(size=task.n_weights), 1e-5
    here = at(task, w, temperature)
    for j in range(task.n_weights):
        e = h * np.eye(task.n_weights)[j]
        slope = (energy(task, w + e, temperature) - energy(task, w - e, temperature)) / (2 * h)
        assert here.gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("temperature", [5.0, 1.0, 0.3])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_curvature_is_that_of_the_free_energy(loss, temperature):
    task, rng = binary_task(loss), np.random.default_rng(3)
    w, h = 0.4 * rng.normal(size=task.n_weights), 1e-6
    here = at(task, w, temperature)
    for _ in range(5):
        p = rng.normal(size=task.n_weights)
        product = here.product(p, np.empty_like(p)) + task.reg * p
        after, before = at(task, w + h * p, temperature), at(task, w - h * p, temperature)
        expected = (after.gradient - before.gradient) / (2 * h)
        np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-6)


def test_scales_are_positive_where_the_curvature_is_not():
    task, temperature = binary_task(), 0.5
    here = at(task, np.zeros(task.n_weights), temperature)
    H = np.array([here.product(p, np.empty_like(p)) for p in np.eye(task.n_weights)])
    np.testing.assert_allclose(H, H.T, atol=1e-14)
    assert np.linalg.eigvalsh(H)[0] < -task.reg
    assert (here.scales() > 0.0).all()


def test_decided_labels_do_not_answer():
    task = binary_task(reg=1e-3)
    w = 50.0 * np.random.default_rng(5).normal(size=task.n_weights)
    scores, temperature = task.scores(w), 1e-6
    p, q, _ = task.soft_labels(scores, LAM, temperature)
    assert np.minimum(p, q).max() < 1e-12
    plain = task.semisupervised(p, q, LAM).linearize(w, scores)
    x = np.ones(task.n_weights)
    product = at(task, w, temperature).product(x, np.empty_like(x))
    np.testing.assert_allclose(product, plain.product(x, np.empty_like(x)), rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_a_gradient_follows_from_beliefs_to_others(loss):
    task = binary_task(loss)
    w = 0.4 * np.random.default_rng(6).normal(size=task.n_weights)
    scores = task.scores(w)
    before, _, _ = task.soft_labels(scores, LAM, 0.3)
    after = before.copy()
    after[[3, 17, 40]] = [0.9, 0.2, 0.5]
    known = {"design": task.design, "loss": task.loss, "scores": scores, "lam": LAM}
    known["unlabeled"] = task.unlabeled

    def gradient(p):
        return task.semisupervised(p, 1.0 - p, LAM).linearize(w, scores).gradient

    followed = gradient(before)
    assert change_beliefs(followed, before, after, **known)
    np.testing.assert_allclose(followed, gradient(after), rtol=1e-10, atol=1e-14)
    assert change_beliefs(followed, after, after, **known)
    np.testing.assert_allclose(followed, gradient(after), rtol=1e-10, atol=1e-14)
    untouched = followed.copy()
    assert not change_beliefs(followed, after, np.roll(after, 1), **known)
    np.testing.assert_array_equal(followed, untouched)


def test_the_gradient_that_follows_is_that_of_the_last_beliefs(monkeypatch):
    """What a level that moved nothing reports must hold when it is computed afresh."""
    data = partly_labeled(n=600)
    checked = []
    original = annealing.Annealing.label_step

    def check(method, level):
        state = method.state
        if state.n_iter == 0 and state.gradient is not None:
            problem = method.task.semisupervised(method.p, method.q, method.lam)
            fresh = problem.linearize(state.w, method.task.scores(state.w)).gradient
            checked.append(np.abs(fresh - state.gradient).max() / (1e-9 + np.abs(fresh).max()))
        return original(method, level)

    monkeypatch.setattr(annealing.Annealing, "label_step", check)
    # no level ends without a look at its gradient
    monkeypatch.setattr(annealing, "TRUST", 0.0)
    AnnealedSVC(reg=1e-2).fit(*data)
    assert len(checked) > 10
    assert max(checked) < 1e-6


@pytest.mark.parametrize("scale", [1e-120, 1e-9, 1e9, 1e70])
def test_no_scale_of_the_data_gives_nan(scale):
    X, partly = partly_labeled(n=80, d=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AnnealedSVC().fit(scale * X, partly)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


def test_threads_agree():
    one = AnnealedSVC(reg=1e-2).fit(*partly_labeled())
    two = AnnealedSVC(reg=1e-2, n_jobs=2).fit(*partly_labeled())
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-7, atol=1e-9)


def partly_labeled(n=300, d=30, seed=3):
    X, y = two_blobs(n, d, gap=1.5, seed=seed)
    return X, hide(y, 6)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
@pytest.mark.parametrize("seed", range(4))
def test_the_free_energy_falls_at_every_temperature(loss, seed):
    model = AnnealedSVC(reg=1e-3, loss=loss).fit(*partly_labeled(seed=seed))
    rows = [row for row in model.trace_ if row["phase"] == "annealing"]
    assert len({row["level"] for row in rows}) > 5
    for before, after in itertools.pairwise(rows):
        if before["level"] == after["level"] and "free_energy" in after:
            assert after["free_energy"] <= before["free_energy"] + 1e-12


def alternating(monkeypatch):
    """Let annealing hold its beliefs while the weights move."""
    plain = replace(SQUARED_HINGE, gap_slopes=None)
    monkeypatch.setitem(LOSSES, "squared_hinge", plain)


@pytest.mark.parametrize("seed", range(4))
def test_newton_takes_fewer_rounds_than_turns_and_ends_no_higher(monkeypatch, seed):
    X, y = two_blobs(300, 10, gap=3.0, seed=seed)
    partly = hide(y, 6)
    model = AnnealedSVC(reg=1e-2).fit(X, partly)
    alternating(monkeypatch)
    turns = AnnealedSVC(reg=1e-2).fit(X, partly)
    assert model.n_iter_ < turns.n_iter_
    assert model.objective_ <= turns.objective_ * (1.0 + 1e-3)


def test_at_a_high_temperature_both_find_the_same_point(monkeypatch):
    """There the free energy is convex, and the end of a level does not depend on the way."""
    data = partly_labeled()

    def first_level():
        model = AnnealedSVC(reg=1e-2, entropy_tol=1e-12, tol=1e-10).fit(*data)
        rows = [row for row in model.trace_ if row["phase"] == "annealing" and row["level"] == 0]
        return len(rows), rows[-1]["free_energy"], rows[-1]["objective"]

    rounds, energy, objective = first_level()
    alternating(monkeypatch)
    turns, expected, same = first_level()
    assert rounds < turns
    assert energy == pytest.approx(expected, abs=1e-6)
    assert objective == pytest.approx(same, rel=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_levels_that_end_as_predicted_end_where_others_do(monkeypatch, seed):
    X, y = two_blobs(300, 10, gap=2.0, seed=seed)
    partly = hide(y, 6)
    model = AnnealedSVC(reg=0.1).fit(X, partly)
    monkeypatch.setattr(annealing, "TRUST", 0.0)
    careful = AnnealedSVC(reg=0.1).fit(X, partly)
    assert model.n_iter_ < careful.n_iter_
    assert model.objective_ == pytest.approx(careful.objective_, rel=1e-5)


def test_a_step_that_does_not_gain_is_taken_back(monkeypatch):
    X, partly = partly_labeled(n=120, d=5)
    # no step is ever good enough: every temperature is left at once, at the weights it had
    monkeypatch.setattr(annealing, "LEAST_GAIN", 1e6)
    monkeypatch.setattr(annealing, "MAX_TRIALS", 3)
    model = AnnealedSVC(reg=1e-2).fit(X, partly)
    rows = [row for row in model.trace_ if row["phase"] == "annealing"]
    assert {row["newton_steps"] for row in rows} == {0}
    assert len({row["objective"] for row in rows}) == 1
    assert np.isfinite(model.coef_).all()
