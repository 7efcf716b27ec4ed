import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from problems import binary_task
from semisvm.label_steps import binary_beliefs, switch_pairs, top_labels
from semisvm.losses import LOSSES

TWO = sorted(name for name, loss in LOSSES.items() if loss.two is not None)
SQUARED_HINGE = LOSSES["squared_hinge"].two


def cost(loss, scores, labels):
    return float(loss.values(np.where(labels, scores, -scores)).sum())


@pytest.mark.parametrize("loss", TWO)
@pytest.mark.parametrize("n_positive", range(8))
def test_top_labels_are_the_best_of_all(loss, n_positive):
    loss = LOSSES[loss].two
    scores = np.random.default_rng(n_positive).normal(0, 1.5, 7)
    best = min(
        cost(loss, scores, np.isin(np.arange(7), chosen))
        for chosen in itertools.combinations(range(7), min(n_positive, 7))
    )
    labels = top_labels(scores, n_positive)
    assert labels.sum() == min(n_positive, 7)
    assert cost(loss, scores, labels) == pytest.approx(best)


@pytest.mark.parametrize("scores", [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
def test_top_labels_leave_no_class_without_rows(scores):
    """One of the masses is beyond the digits of their sum."""
    labels = top_labels(np.array(scores), 2e5, np.array([2e13, 1e-9]))
    assert labels.any()
    assert not labels.all()


def test_top_labels_break_ties_by_row():
    assert top_labels(np.array([1.0, 0.0, 0.0, 0.0, -1.0]), 3).tolist() == [1, 1, 1, 0, 0]
    assert top_labels(np.zeros(4), 2).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("max_pairs", [1, 2, None])
def test_switching_never_breaks_the_count_and_always_gains(max_pairs):
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.normal(0, 1.5, 30).round(1)  # rounding makes ties
        labels = rng.random(30) < 0.4
        before, count = cost(SQUARED_HINGE, scores, labels), labels.sum()
        new, switched = switch_pairs(scores, labels, max_pairs)
        assert new.sum() == count
        assert switched <= (max_pairs or 30)
        assert (labels != new).sum() == 2 * switched
        if switched:
            assert cost(SQUARED_HINGE, scores, new) < before
        else:
            assert cost(SQUARED_HINGE, scores, top_labels(scores, count)) == pytest.approx(before)


def test_switching_all_reaches_the_best_labels():
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(0, 1, 200), rng.random(200) < 0.3
    new, _ = switch_pairs(scores, labels)
    np.testing.assert_array_equal(new, top_labels(scores, labels.sum()))
    assert switch_pairs(scores, new)[1] == 0


def test_single_switches_end_at_the_same_labels():
    rng = np.random.default_rng(2)
    scores, labels = rng.normal(0, 1, 40), rng.random(40) < 0.5
    expected, pairs = switch_pairs(scores, labels)
    for _ in range(pairs):
        labels, switched = switch_pairs(scores, labels, 1)
        assert switched == 1
    np.testing.assert_array_equal(labels, expected)
    assert switch_pairs(scores, labels, 1)[1] == 0


def test_equal_scores_are_left_alone():
    labels = np.array([True, False, True, False])
    new, switched = switch_pairs(np.zeros(4), labels)
    assert switched == 0
    np.testing.assert_array_equal(new, labels)


@pytest.mark.parametrize("labels", [np.ones(3, bool), np.zeros(3, bool)])
def test_nothing_to_switch(labels):
    assert switch_pairs(np.arange(3.0), labels)[1] == 0


@pytest.mark.parametrize("temperature", [1e-4, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("mean", [0.01, 0.3, 0.9])
def test_beliefs_against_a_root_finder(temperature, mean):
    g = np.random.default_rng(0).normal(0, 3, 500)

    def excess(nu):
        return expit((nu - g) / temperature).mean() - mean

    p, q, price = binary_beliefs(g, temperature, mean)
    assert abs(p.mean() - mean) <= 1e-12
    np.testing.assert_allclose(p + q, 1.0, atol=1e-15)
    low = g.min() - 50 * temperature
    nu = brentq(excess, low, g.max() + 50 * temperature, xtol=1e-14, rtol=1e-15)
    np.testing.assert_allclose(p, expit((nu - g) / temperature), atol=1e-8)
    if temperature >= 0.1:  # in the cold any price between two rows will do
        assert price == pytest.approx(nu, abs=1e-6 * (1 + temperature))


def test_beliefs_with_a_start_and_with_ties():
    g = np.repeat([0.0, 1.0], 50)
    p, _, price = binary_beliefs(g, 1e-5, 0.3, price=0.5)
    assert abs(p.mean() - 0.3) <= 1e-12
    np.testing.assert_allclose(p[:50], 0.6, atol=1e-10)
    again, _, _ = binary_beliefs(g, 1e-5, 0.3, price=price)
    np.testing.assert_allclose(again, p, atol=1e-12)


def test_beliefs_minimise_the_free_energy():
    rng = np.random.default_rng(0)
    g, temperature = rng.normal(0, 1, 20), 0.7
    p, _, _ = binary_beliefs(g, temperature, 0.4)

    def energy(p):
        return g @ p + temperature * np.sum(p * np.log(p) + (1 - p) * np.log1p(-p))

    for _ in range(20):
        e = rng.standard_normal(20)
        e -= e.mean()
        assert energy(p + 1e-4 * e) >= energy(p)


def test_beliefs_approach_the_hard_labels_when_cold():
    scores = np.random.default_rng(0).normal(0, 1, 100)
    g = SQUARED_HINGE.values(scores) - SQUARED_HINGE.values(-scores)
    p, _, _ = binary_beliefs(g, 1e-7, 0.25)
    np.testing.assert_array_equal(p > 0.5, top_labels(scores, 25))


def test_weighted_beliefs_equal_repeated_rows():
    g = np.random.default_rng(0).normal(0, 1, 10)
    repeats = np.arange(1, 11)
    p, _, _ = binary_beliefs(g, 0.5, 0.4, weight=repeats / repeats.sum())
    long, _, _ = binary_beliefs(np.repeat(g, repeats), 0.5, 0.4)
    np.testing.assert_allclose(np.repeat(p, repeats), long, atol=1e-10)


def test_entropy_and_divergence():
    rows, lam = binary_task(n=10).rows, 0.3
    [block] = rows.blocks

    def divergence(p, before):
        block._p, block._q = before.copy(), 1.0 - before
        block.set_belief_costs(lam)
        block._p, block._q = p, 1.0 - p
        return block.divergence(lam)

    p = np.array([0.5, 0.0, 1.0, 0.25])
    expected = (np.log(2) - 0.25 * np.log(0.25) - 0.75 * np.log(0.75)) / 4
    block._p, block._q = p, 1.0 - p
    assert block.entropy() == pytest.approx(expected)
    assert divergence(p, p) == pytest.approx(0.0, abs=1e-30)
    r = np.array([0.4, 0.1, 0.9, 0.5])
    terms = [0.5 * np.log(0.5 / 0.4) + 0.5 * np.log(0.5 / 0.6), -np.log(0.9), -np.log(0.9)]
    terms.append(0.25 * np.log(0.5) + 0.75 * np.log(1.5))
    assert divergence(p, r) == pytest.approx(np.mean(terms))
