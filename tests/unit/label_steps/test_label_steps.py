"""Label steps for many classes: exact, simplex, switching, greedy, entropic."""

import itertools
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack
from scipy.special import softmax

from problems import random_costs
from semisvm.label_steps import (
    binary_beliefs,
    dual_value,
    entropic,
    exact,
    greedy,
    simplex,
    switching,
    transportation,
)
from semisvm.labels.partial import prior_counts


def brute_force(costs, counts):
    rows = np.arange(len(costs))
    words = itertools.product(range(len(counts)), repeat=len(costs))
    fitting = (w for w in words if np.array_equal(np.bincount(w, minlength=len(counts)), counts))
    return min(costs[rows, list(w)].sum() for w in fitting)


def highs(costs, counts):
    n, m = costs.shape
    A = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m))])
    b = np.concatenate([np.ones(n), counts])
    return linprog(costs.ravel(), A_eq=csr_array(A), b_eq=b, method="highs").fun


def assert_optimal(step, costs, counts):
    np.testing.assert_array_equal(np.bincount(step.labels, minlength=len(counts)), counts)
    assert step.cost == pytest.approx(costs[np.arange(len(costs)), step.labels].sum())
    assert dual_value(costs, counts, step.prices) == pytest.approx(step.cost, rel=1e-9, abs=1e-9)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 60),
    m=st.integers(1, 7),
    decimals=st.sampled_from([0, 1, 12]),
)
def test_exact_and_simplex_are_certified(seed, n, m, decimals):
    """With ties (few decimals), classes of count zero, one class, no row."""
    costs, counts = random_costs(n, m, seed)
    costs = costs.round(decimals)
    assert_optimal(exact(costs, counts), costs, counts)
    for block in (None, 1, 5, n + 1):
        assert_optimal(simplex(costs, counts, block=block), costs, counts)


def test_the_simplex_method_lowers_the_cost_with_every_pivot_and_goes_on_from_labels():
    costs, counts = random_costs(300, 6, 3)
    ends = [simplex(costs, counts, max_loops=k) for k in range(0, 200, 20)]
    assert np.all(np.diff([end.cost for end in ends]) <= 0.0)
    assert ends[0].cost == switching(costs, counts, max_loops=0).cost
    best = exact(costs, counts)
    again = simplex(costs, counts, ends[5].labels)
    assert again.cost == pytest.approx(best.cost)
    assert again.n_loops < simplex(costs, counts).n_loops
    assert simplex(costs, counts, best.labels).cost == pytest.approx(best.cost)


def test_the_simplex_method_ends_where_all_costs_are_equal():
    costs = np.zeros((200, 8))
    counts = prior_counts(np.full(8, 1 / 8), 200)
    assert_optimal(simplex(costs, counts), costs, counts)


@pytest.mark.parametrize("seed", range(20))
def test_exact_against_brute_force(seed):
    costs, counts = random_costs(6, 3, seed)
    assert exact(costs, counts).cost == pytest.approx(brute_force(costs, counts))


@pytest.mark.parametrize(("n", "m"), [(80, 2), (120, 5), (300, 12)])
def test_exact_against_highs(n, m):
    costs, counts = random_costs(n, m, n)
    assert exact(costs, counts).cost == pytest.approx(highs(costs, counts), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(3000, 20), (20_000, 4), (2000, 105)])
def test_exact_at_size_cold_and_warm(n, m):
    """Large enough for price samples and for heaps that hold a part of the rows."""
    costs, counts = random_costs(n, m, 1)
    cold = exact(costs, counts)
    assert_optimal(cold, costs, counts)
    moved = costs + 0.05 * np.random.default_rng(2).standard_normal(costs.shape)
    warm = exact(moved, counts, cold.prices)
    assert_optimal(warm, moved, counts)
    assert warm.cost == pytest.approx(exact(moved, counts).cost, rel=1e-12)
    assert_optimal(exact(moved, counts, 100 * np.arange(m)), moved, counts)


def test_exact_with_heaps_that_are_too_short(monkeypatch):
    monkeypatch.setattr(transportation, "ENTRIES_PER_ROW", 0)
    monkeypatch.setattr(transportation, "ENTRIES_PER_PAIR", 1)
    costs, counts = random_costs(3000, 6, 5)
    assert_optimal(exact(costs, counts, np.zeros(6)), costs, counts)


def test_exact_when_all_want_the_same_class():
    costs = np.tile([0.0, 1.0, 2.0], (30, 1)) + np.arange(30)[:, None] * [0.0, 0.1, 0.05]
    counts = np.array([5, 10, 15])
    assert_optimal(exact(costs, counts), costs, counts)


@pytest.mark.parametrize("m", [2, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_switching_keeps_counts_and_comes_close(m, seed):
    costs, counts = random_costs(400, m, seed)
    step = switching(costs, counts)
    np.testing.assert_array_equal(np.bincount(step.labels, minlength=m), counts)
    best = exact(costs, counts).cost
    start = greedy(-costs, counts)
    assert best - 1e-9 <= step.cost <= start.cost + 1e-9
    assert step.cost - best <= 0.05 * (start.cost - best) + 1e-9
    if m == 2:
        assert step.cost == pytest.approx(best), "optimal for two classes"


def test_switching_loops_lower_the_cost():
    costs, counts = random_costs(500, 6, 0)
    values = [switching(costs, counts, max_loops=k).cost for k in range(6)]
    assert np.all(np.diff(values) <= 0)
    assert values[1] < values[0]
    full = switching(costs, counts)
    assert switching(costs, counts, full.labels).n_loops == 0


def test_switching_refuses_a_start_that_breaks_the_counts():
    with pytest.raises(ValueError, match="keep the counts"):
        switching(np.zeros((3, 2)), [1, 2], start=[0, 0, 1])


def test_greedy_serves_by_score():
    scores = np.array([[5.0, 1, 0], [4, 3, 0], [3, 0, 2], [2, 0, 1]])
    assert greedy(scores, [1, 1, 2]).labels.tolist() == [0, 1, 2, 2]
    assert greedy(scores, [4, 0, 0]).labels.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("temperature", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("m", [1, 2, 5, 20])
def test_entropic_keeps_the_counts(temperature, m):
    costs, counts = random_costs(400, m, 3)
    step = entropic(costs, counts, temperature)
    np.testing.assert_allclose(step.beliefs.sum(axis=0), counts, atol=1e-9)
    np.testing.assert_allclose(step.beliefs.sum(axis=1), 1, atol=1e-12)
    used = counts > 0
    gibbs = softmax(-(costs[:, used] - step.prices[used]) / temperature, axis=1)
    np.testing.assert_allclose(step.beliefs[:, used], gibbs, atol=1e-8)
    assert step.cost == pytest.approx(np.sum(step.beliefs * costs))
    again = entropic(costs, counts, temperature, step.prices)
    assert again.n_loops == 0


def test_entropic_for_two_classes_is_the_root_finder():
    costs, _ = random_costs(300, 2, 0)
    for temperature in (0.01, 1.0):
        p, _, _ = binary_beliefs(costs[:, 1] - costs[:, 0], temperature, 0.3)
        step = entropic(costs, [210, 90], temperature)
        np.testing.assert_allclose(step.beliefs[:, 1], p, atol=1e-10)


def test_entropic_meets_exact_in_the_cold():
    costs, counts = random_costs(500, 6, 1)
    best = exact(costs, counts)
    gaps = [entropic(costs, counts, t).cost - best.cost for t in (1.0, 0.1, 0.01, 1e-4)]
    assert np.all(np.diff(gaps) < 0)
    assert gaps[-1] == pytest.approx(0, abs=1e-3)
    np.testing.assert_array_equal(entropic(costs, counts, 1e-5).labels, best.labels)


def test_entropic_minimises_the_free_energy():
    costs, counts = random_costs(12, 3, 0)[0], [2, 4, 6]
    p = entropic(costs, counts, 0.7).beliefs

    def energy(p):
        return np.sum(costs * p) + 0.7 * np.sum(p * np.log(p))

    rng = np.random.default_rng(0)
    for _ in range(20):
        e = rng.standard_normal(p.shape)
        e -= e.mean(axis=0)
        e -= e.mean(axis=1, keepdims=True)
        assert energy(p + 1e-4 * p.min() * e) >= energy(p) - 1e-12


def test_entropic_recovers_from_a_bad_start():
    costs, counts = random_costs(300, 4, 0)
    step = entropic(costs, counts, 0.05, prices=[1e3, -1e3, 0, 5])
    np.testing.assert_allclose(step.beliefs.sum(axis=0), counts, atol=1e-9)


def test_entropic_returns_from_a_step_that_went_too_far():
    # almost no row is of the first class at first, so the first step is the longest allowed;
    # it ends with almost no row of the second class, which misses its count by less
    scores = np.linspace(3.0, 7.0, 80)
    costs = np.column_stack([np.logaddexp(0.0, scores), np.logaddexp(0.0, -scores)])
    step = entropic(costs, [59, 21], 1.0)
    np.testing.assert_allclose(step.beliefs.sum(axis=0), [59, 21], rtol=1e-9)


@pytest.mark.parametrize("step", [exact, switching, greedy, lambda c, n: entropic(c, n, 1.0)])
def test_bad_input(step):
    with pytest.raises(ValueError, match=r"sum to the 3 rows, got \[1, 1\]"):
        step(np.zeros((3, 2)), [1, 1])
    with pytest.raises(ValueError, match="whole numbers"):
        step(np.zeros((3, 2)), [1.5, 1.5])
    with pytest.raises(ValueError, match="one entry per class"):
        step(np.zeros((3, 2)), [1, 1, 1])
    with pytest.raises(ValueError, match="row 1, column 0"):
        step(np.array([[0, 1], [np.nan, 0]]), [1, 1])


def test_bad_temperature():
    with pytest.raises(ValueError, match="temperature must be"):
        entropic(np.zeros((2, 2)), [1, 1], 0.0)


def test_counts_from_fractions():
    costs, _ = random_costs(101, 3, 0)
    counts = prior_counts(np.array([0.2, 0.3, 0.5]), 101)
    assert_optimal(exact(costs, counts), costs, counts)


@pytest.mark.parametrize("place", [(2, 3), (2, 0)])
def test_entropic_steps_where_only_rounding_is_left_of_the_curvature(place):
    # all rows decided: the diagonal cancels to zero, and what is left beside it is noise
    hessian = np.zeros((4, 4))
    hessian[place] = -2e-14
    gradient = np.array([0.0, 0.0, -1.0, 1.0])
    ascent = import_module("semisvm.label_steps.entropic")._ascent
    direction = ascent(hessian, gradient, 1e-5)
    assert np.isfinite(direction).all()
    assert gradient @ direction > 0.0
    assert np.abs(direction).max() <= 20.1e-5


@pytest.mark.parametrize("gap", [4.0, 5.0, 6.0, 7.0, 8.0])
@pytest.mark.parametrize("deviation", [0.5, 1.0])
def test_entropic_steps_do_not_leap_over_the_optimum_and_back(gap, deviation):
    """Far from it, a step to where the counts are missed by less may be one too far."""
    costs = np.zeros((100, 2))
    costs[:, 0] = gap + deviation * np.random.default_rng(0).standard_normal(100)
    step = entropic(costs, [70, 30], 1.0)
    np.testing.assert_allclose(step.beliefs.sum(axis=0), [70, 30], atol=1e-6)
    assert step.n_loops <= 20
