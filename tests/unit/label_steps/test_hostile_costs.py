"""Label steps with costs that differ by many orders of magnitude, or are not numbers."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from semisvm.label_steps import entropic, exact
from semisvm.label_steps._transport_kernels import near
from semisvm.label_steps.beliefs import gibbs
from semisvm.label_steps.entropic import SoftTable, spread
from semisvm.label_steps.switching import _crossing
from semisvm.label_steps.transportation import CostTable, transport
from semisvm.solvers._crammer_singer_kernels import make_feasible


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), decades=st.sampled_from([0.0, 3.0, 8.0]))
def test_masses_of_all_sizes_are_balanced(seed, decades):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 40)), int(rng.integers(2, 6))
    costs = 10.0 ** rng.uniform(-decades, decades, size=(n, m)) * rng.integers(1, 4, size=(n, m))
    mass = 10.0 ** rng.uniform(-decades / 2, decades / 2, size=n)
    wanted = rng.dirichlet(np.ones(m)) * mass.sum()
    step = exact(costs, wanted, mass=mass)
    # all but the divided rows, at most m - 1, have the cheapest class at the prices
    reduced = costs - step.prices
    chosen = reduced[np.arange(n), step.labels]
    # prices are sums of costs, so they are as exact as the largest of these
    slack = 1e-9 * np.abs(costs).max()
    assert np.all(chosen <= reduced.min(axis=1) + slack)
    off = np.abs(np.bincount(step.labels, mass, minlength=m) - wanted).sum()
    assert off <= 2.0 * np.sort(mass)[-(m - 1) :].sum() + 1e-9 * mass.sum()


def test_parts_of_rows_that_meet_again_are_one():
    # pieces that were split again and again took gigabytes
    rng = np.random.default_rng(3)
    costs, mass = np.round(rng.normal(size=(120, 3)), 0), 10.0 ** rng.uniform(-8, 8, size=120)
    table = CostTable(costs, mass)
    prices = np.zeros(3)
    excess = table.assign(prices) - mass.sum() / 3.0
    assert table.balance(prices, excess, np.inf)
    assert not excess.any()


@pytest.mark.parametrize("mass", [None, np.linspace(1.0, 2.0, 6)])
def test_costs_that_are_not_numbers_end_in_an_error(mass):
    costs = np.full((6, 3), np.nan)
    counts = np.full(3, 2) if mass is None else np.full(3, mass.sum() / 3.0)
    table = CostTable(costs) if mass is None else CostTable(costs, mass)
    with pytest.raises(FloatingPointError, match="not finite numbers"):
        transport(table, counts, None)


def test_beliefs_at_a_temperature_far_below_the_costs():
    costs = np.array([[1e300, 2e300, 3e300], [5.0, 5.0, 5.0], [-1e300, 0.0, 1e300]])
    p, sums = np.empty_like(costs), np.empty(3)
    total = gibbs(costs, 1.0, np.zeros(3), 1e-10, np.ones(1), p, sums)
    np.testing.assert_allclose(p, [[1, 0, 0], [1 / 3] * 3, [1, 0, 0]])
    assert np.isfinite(total)


def test_beliefs_of_costs_that_are_not_numbers_are_none():
    p, sums = np.empty((1, 2)), np.empty(2)
    gibbs(np.full((1, 2), np.nan), 1.0, np.zeros(2), 1.0, np.ones(1), p, sums)
    assert np.isnan(p).all()


def test_prices_that_double_precision_cannot_resolve_are_given_up_soon():
    rng = np.random.default_rng(0)
    costs = rng.random((30, 4)) * 10.0 ** rng.uniform(0, 30, (30, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        step = entropic(costs, [9, 8, 7, 6], temperature=1.0, prices=np.zeros(4))
    assert step.n_loops < 100
    np.testing.assert_allclose(step.beliefs.sum(axis=1), 1.0)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
def test_prices_far_from_the_start_are_reached_soon(far):
    """Steps of some temperatures each would end at 300 of them, and meet no counts."""
    rng = np.random.default_rng(0)
    costs = far * rng.random((60, 3))
    counts = np.array([40, 15, 5])
    rows, calls = SoftTable(costs, counts), []
    gibbs = rows.gibbs
    rows.gibbs = lambda *given: calls.append(1) or gibbs(*given)
    rows.exact_prices = None
    prices, _, _ = spread(rows, counts, 1.0, far * np.array([-2.0, 0.0, 2.0]), 1e-6)
    np.testing.assert_allclose(rows.p.sum(axis=0), counts, atol=1e-6)
    assert len(calls) < 200
    np.testing.assert_allclose(np.ptp(prices), np.ptp(exact(costs, counts).prices), atol=0.1 * far)


def test_kernels_that_python_calls_return_numbers():
    """Numba makes arrays by code of Python, in which Ctrl-C becomes a SystemError."""
    rng = np.random.default_rng(0)
    costs, labels = rng.random((20, 3)), rng.integers(0, 3, 20)
    found, limit = np.empty(20, dtype=np.int64), np.full((3, 3), np.inf)
    n = near(costs, np.zeros(3), labels, 0.1, limit, found)
    assert isinstance(n, int)
    assert 0 < n < 20
    down, up = np.empty((2, 20), dtype=np.intp)
    assert all(isinstance(n, int) for n in _crossing(costs[:, 0], labels > 0, down, up))
    moved = np.zeros(20, dtype=np.bool_)
    assert make_feasible(costs, costs - 0.5, np.zeros_like(costs), moved) is None
    assert moved.all()
