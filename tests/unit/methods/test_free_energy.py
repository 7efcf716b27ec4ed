"""The free energy of annealing: its value, its derivatives, and the steps down it."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import entr, expit
from sklearn.exceptions import ConvergenceWarning

from problems import binary_task, gradient_of_beliefs, hide, two_blobs, two_class_task
from semisvm import AnnealedSVC
from semisvm.label_steps import binary_beliefs
from semisvm.label_steps.beliefs import soft_costs
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.methods.annealing import Annealing
from semisvm.methods.free_energy import FreeEnergy
from semisvm.solvers import newton
from semisvm.tasks.weight_steps import SoftLabels

LAM = 0.7
SMOOTH = pytest.mark.parametrize("loss", ["squared_hinge", "squared", "log"])


def softened(task, w, temperature):
    """Give the rows the scores of weights, and the beliefs of these."""
    soft = SoftLabels(LAM, temperature)
    task.rows.all.score(w)
    task.soften(soft)
    return soft


def energy(task, w, temperature):
    return task.free_energy(w, softened(task, w, temperature))


def at(task, w, temperature):
    """The problem, whose labels respond to the next step, and its gradient."""
    problem = FreeEnergy(task, softened(task, w, temperature))
    gradient = problem.linearize(w).gradient
    problem.curve()
    return problem, gradient


@pytest.mark.parametrize("temperature", [20.0, 1.0, 0.05])
def test_soft_cost_is_the_expected_cost_less_the_entropy(temperature):
    g = np.random.default_rng(0).normal(size=200)
    p, q, price = binary_beliefs(g, temperature, 0.3)
    direct = np.mean(p * g - temperature * (entr(p) + entr(q)))
    assert soft_costs(g, price, temperature, np.ones(1), p, q, 0, 200) / 200 == pytest.approx(
        direct, rel=1e-12
    )


def test_free_energy_is_the_objective_less_the_entropy():
    task = binary_task()
    w = np.random.default_rng(1).normal(size=task.n_weights)
    temperature, [block] = 0.8, task.rows.blocks
    soft = softened(task, w, temperature)
    p = task.rows.all.beliefs().copy()
    q, scores = 1.0 - p, block.scores
    value = task.free_energy(w, soft)
    o, values = scores[block.unlabeled], task.loss.values
    fit = block.weight @ values(np.where(block.positive, 1, -1) * scores[block.labeled])
    soft = np.mean(LAM * (p * values(o) + q * values(-o)) - temperature * (entr(p) + entr(q)))
    assert value == pytest.approx(0.5 * (task.reg * w @ w + fit + soft), rel=1e-12)


@pytest.mark.parametrize("temperature", [5.0, 1.0, 0.3])
@SMOOTH
def test_gradient_is_that_of_the_free_energy(loss, temperature):
    task, rng = binary_task(loss), np.random.default_rng(2)
    w, h = 0.4 * rng.normal(size=task.n_weights), 1e-5
    _, gradient = at(task, w, temperature)
    for j in range(task.n_weights):
        e = h * np.eye(task.n_weights)[j]
        slope = (energy(task, w + e, temperature) - energy(task, w - e, temperature)) / (2 * h)
        assert gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("temperature", [5.0, 1.0, 0.3])
@SMOOTH
def test_curvature_is_that_of_the_free_energy(loss, temperature):
    task, rng = binary_task(loss), np.random.default_rng(3)
    w, h = 0.4 * rng.normal(size=task.n_weights), 1e-6
    for _ in range(5):
        p = rng.normal(size=task.n_weights)
        here, _ = at(task, w, temperature)
        product = here.product(p, np.empty_like(p)) + task.reg * p
        (_, after), (_, before) = (at(task, w + t * p, temperature) for t in (h, -h))
        expected = (after - before) / (2 * h)
        np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("temperature", [5.0, 0.3])
@SMOOTH
def test_derivatives_with_evidence(loss, temperature):
    plain, rng = binary_task(loss), np.random.default_rng(4)
    [block] = plain.rows.blocks
    evidence = rng.normal(size=len(block.unlabeled))
    evidence[:8], evidence[8:12] = np.inf, -np.inf
    X, y = two_blobs(60, 4, gap=1.5)
    task = two_class_task(X, hide(y, 6), loss=LOSSES[loss], reg=0.05, evidence=evidence)
    w, p, h = 0.4 * rng.normal(size=task.n_weights), rng.normal(size=task.n_weights), 1e-5
    here, gradient = at(task, w, temperature)
    product = here.product(p, np.empty_like(p)) + task.reg * p
    slope = (energy(task, w + h * p, temperature) - energy(task, w - h * p, temperature)) / (2 * h)
    assert gradient @ p == pytest.approx(slope, rel=1e-5, abs=1e-7)
    (_, after), (_, before) = (at(task, w + t * p, temperature) for t in (h, -h))
    np.testing.assert_allclose(product, (after - before) / (2 * h), rtol=1e-4, atol=1e-5)
    softened(task, w, temperature)
    found = task.rows.all.beliefs()
    assert found[:8].max() == 0.0
    assert found[8:12].min() == 1.0
    assert found.mean() == pytest.approx(task.positive_share)


def test_free_energy_with_evidence_is_the_expected_cost_less_the_entropy():
    plain, rng = binary_task(), np.random.default_rng(1)
    [block] = plain.rows.blocks
    u, temperature = len(block.unlabeled), 0.8
    costs = rng.exponential(size=(u, 2)) * [1, 0]
    costs[::2] = costs[::2, ::-1]
    costs[:3], costs[3:6] = [0.0, np.inf], [np.inf, 0.0]
    X, y = two_blobs(60, 4, gap=1.5)
    evidence = costs[:, 1] - costs[:, 0]
    task = two_class_task(X, hide(y, 6), loss=SQUARED_HINGE, reg=0.05, evidence=evidence)
    w = rng.normal(size=task.n_weights)
    value = energy(task, w, temperature)
    p, [block] = task.rows.all.beliefs().copy(), task.rows.blocks
    o, values, q = block.scores[block.unlabeled], task.loss.values, 1.0 - p
    fit = block.weight @ values(np.where(block.positive, 1, -1) * block.scores[block.labeled])
    with np.errstate(invalid="ignore"):
        positive = np.where(p > 0.0, p * (values(o) + costs[:, 1]), 0.0)
        negative = np.where(q > 0.0, q * (values(-o) + costs[:, 0]), 0.0)
    soft = np.mean(LAM * (positive + negative) - temperature * (entr(p) + entr(q)))
    assert value == pytest.approx(0.5 * (task.reg * w @ w + fit + soft), rel=1e-12)


def test_scales_are_positive_where_the_curvature_is_not():
    task, temperature = binary_task(), 0.5
    here, _ = at(task, np.zeros(task.n_weights), temperature)
    H = np.array([here.product(p, np.empty_like(p)) for p in np.eye(task.n_weights)])
    np.testing.assert_allclose(H, H.T, atol=1e-14)
    assert np.linalg.eigvalsh(H)[0] < -task.reg
    assert (here.scales() > 0.0).all()


def test_decided_labels_do_not_answer():
    task = binary_task(reg=1e-3)
    w = 50.0 * np.random.default_rng(5).normal(size=task.n_weights)
    temperature, x = 1e-6, np.ones(task.n_weights)
    product = at(task, w, temperature)[0].product(x, np.empty_like(x))
    softened(task, w, temperature)
    p = task.rows.all.beliefs()
    assert np.minimum(p, 1.0 - p).max() < 1e-12
    task.rows.all.set_belief_costs(LAM)
    np.testing.assert_allclose(product, task.problem().product(x, np.empty_like(x)), rtol=1e-9)


@SMOOTH
def test_a_gradient_follows_from_beliefs_to_others(loss):
    task = binary_task(loss)
    w = 0.4 * np.random.default_rng(6).normal(size=task.n_weights)
    softened(task, w, 0.3)
    before = task.rows.all.beliefs().copy()
    after = before.copy()
    after[[3, 17, 40]] = [0.9, 0.2, 0.5]
    [block] = task.rows.blocks

    def change(before, after):
        block._p_before, block._p, block._q = before, after, 1.0 - after
        return task.rows.all.follow_beliefs(LAM)

    def gradient(p):
        return gradient_of_beliefs(task, w, p, LAM)

    n_changed, more = change(before, after)
    assert n_changed == 3
    np.testing.assert_allclose(gradient(before) + more, gradient(after), rtol=1e-10, atol=1e-14)
    assert change(after, after) == (0, None)
    assert change(after, np.roll(after, 1)) is None


def test_the_gradient_that_follows_is_that_of_the_last_beliefs(monkeypatch):
    """What a level that moved nothing reports must hold when it is computed afresh."""
    data = partly_labeled(n=600)
    checked = []
    original = Annealing.label_step

    def check(method, level):
        state, task = method.state, method.task
        if state.n_iter == 0 and state.gradient is not None:
            fresh = gradient_of_beliefs(task, state.w, task.rows.all.beliefs(), method.soft.lam)
            checked.append(np.abs(fresh - state.gradient).max() / (1e-9 + np.abs(fresh).max()))
        return original(method, level)

    monkeypatch.setattr(Annealing, "label_step", check)
    # no level ends without a look at its gradient
    monkeypatch.setattr(newton, "TRUST", 0.0)
    AnnealedSVC(reg=1e-2, class_prior="labels").fit(*data)
    assert len(checked) > 10
    assert max(checked) < 1e-6


@pytest.mark.parametrize("scale", [1e-120, 1e-9, 1e9, 1e70])
def test_no_scale_of_the_data_gives_nan(scale):
    X, partly = partly_labeled(n=80, d=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AnnealedSVC(class_prior="labels").fit(scale * X, partly)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


def test_threads_agree():
    one = AnnealedSVC(reg=1e-2, class_prior="labels").fit(*partly_labeled())
    two = AnnealedSVC(reg=1e-2, n_jobs=2, class_prior="labels").fit(*partly_labeled())
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-7, atol=1e-9)


def partly_labeled(n=300, d=30, seed=3):
    X, y = two_blobs(n, d, gap=1.5, seed=seed)
    return X, hide(y, 6)


@pytest.mark.parametrize("loss", [*LOSSES])
@pytest.mark.parametrize("seed", range(2))
def test_the_free_energy_falls_at_every_temperature(loss, seed):
    data = partly_labeled(n=120, seed=seed)
    model = AnnealedSVC(reg=1e-2, loss=loss, class_prior="labels").fit(*data)
    rows = [row for row in model.trace_ if row["phase"] == "annealing"]
    assert len({row["level"] for row in rows}) > 5
    assert all(np.isfinite(row["free_energy"]) for row in rows)
    for before, after in itertools.pairwise(rows):
        if before["level"] == after["level"]:
            assert after["free_energy"] <= before["free_energy"] + 1e-12


def test_the_free_energy_of_a_temperature_without_a_step_is_that_of_its_weights():
    """At a temperature far above the costs the beliefs are even, and their entropy is known."""
    X, partly = partly_labeled(n=120)
    options = {"temperature": 1e9, "last_temperature": 1e9, "class_prior": [0.5, 0.5]}
    model = AnnealedSVC(refine=False, **options).fit(X, partly)
    row = next(row for row in model.trace_ if row["phase"] == "last temperature")
    assert row["free_energy"] / 1e9 == pytest.approx(-0.5 * np.log(2.0), rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(2))
def test_the_free_energy_of_many_classes_with_a_margin_falls(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 90)
    X = rng.standard_normal((90, 6))
    X[np.arange(90), y] += 1.5
    model = AnnealedSVC(0.05, loss="crammer_singer", class_prior="labels").fit(X, hide(y, 12, seed))
    rows = [row for row in model.trace_ if row["phase"] == "annealing"]
    pairs = [pair for pair in itertools.pairwise(rows) if pair[0]["level"] == pair[1]["level"]]
    assert pairs
    for before, after in pairs:
        assert after["free_energy"] <= before["free_energy"] + 1e-12


def alternating(monkeypatch):
    """Let annealing hold its beliefs while the weights move."""
    plain = replace(SQUARED_HINGE.two, gap_slopes=None)
    monkeypatch.setitem(LOSSES, "squared_hinge", replace(SQUARED_HINGE, two=plain))


@pytest.mark.parametrize("seed", range(4))
def test_newton_takes_fewer_rounds_than_turns_and_ends_no_higher(monkeypatch, seed):
    X, y = two_blobs(300, 10, gap=3.0, seed=seed)
    partly = hide(y, 6)
    model = AnnealedSVC(reg=1e-2, class_prior="labels").fit(X, partly)
    alternating(monkeypatch)
    turns = AnnealedSVC(reg=1e-2, class_prior="labels").fit(X, partly)
    assert model.n_iter_ < turns.n_iter_
    assert model.objective_ <= turns.objective_ * (1.0 + 1e-3)


def test_at_a_high_temperature_both_find_the_same_point(monkeypatch):
    """There the free energy is convex, and the end of a level does not depend on the way."""
    data = partly_labeled()

    def first_level():
        model = AnnealedSVC(reg=1e-2, entropy_tol=1e-12, tol=1e-10, class_prior="labels").fit(*data)
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
    model = AnnealedSVC(reg=0.1, class_prior="labels").fit(X, partly)
    monkeypatch.setattr(newton, "TRUST", 0.0)
    careful = AnnealedSVC(reg=0.1, class_prior="labels").fit(X, partly)
    assert model.n_iter_ < careful.n_iter_
    assert model.objective_ == pytest.approx(careful.objective_, rel=1e-5)


def test_a_step_that_does_not_gain_is_taken_back(monkeypatch):
    X, partly = partly_labeled(n=120, d=5)
    original = Annealing.label_step

    def check(method, level):
        """The beliefs, taken back with the step, are still those of the price."""
        [block], soft, values = method.task.rows.blocks, method.soft, method.task.loss.values
        o = block.scores[block.unlabeled]
        gaps = soft.lam * (values(o) - values(-o))
        expected = expit((soft.price - gaps) / soft.temperature)
        np.testing.assert_allclose(method.task.rows.all.beliefs(), expected, atol=1e-9)
        return original(method, level)

    monkeypatch.setattr(Annealing, "label_step", check)
    # no step is ever good enough: every temperature is left at once, at the weights it had
    monkeypatch.setattr(newton, "LEAST_GAIN", 1e6)
    model = AnnealedSVC(reg=1e-2, class_prior="labels").fit(X, partly)
    rows = [row for row in model.trace_ if row["phase"] == "annealing"]
    assert {row["newton_steps"] for row in rows} == {0}
    assert len({row["objective"] for row in rows}) == 1
    assert np.isfinite(model.coef_).all()
