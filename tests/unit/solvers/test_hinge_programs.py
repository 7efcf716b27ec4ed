import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from semisvm.solvers import ProgramError
from semisvm.solvers.hinge_programs import Balance, HingeProgram, middle_intercept


def some_rows(rng, k=25, d=4):
    signs = np.where(rng.random(k) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    X = rng.standard_normal((k, d))
    X[:, 0] += signs
    return X, signs, rng.random(k) + 0.1


def by_primal(X, signs, mu, costs, balance=None):
    """The same program with variables w+, w-, b and one error for each row."""
    k, d = X.shape
    c = np.concatenate([np.full(2 * d, mu), [0.0], costs])
    T = signs[:, None] * X
    rows = np.hstack([-T, T, -signs[:, None], -np.eye(k)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * k
    equal = {}
    if balance is not None:
        mean = balance.mean
        equal = {"A_eq": [np.concatenate([mean, -mean, [1.0], np.zeros(k)])], "b_eq": balance.level}
    found = linprog(c, rows, -np.ones(k), bounds=bounds, **equal)
    assert found.status == 0
    return found


def value(X, signs, mu, costs, w):
    below = np.maximum(1.0 - signs * (X @ w[:-1] + w[-1]), 0.0)
    return mu * np.abs(w[:-1]).sum() + costs @ below


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 1.0, 20.0]), st.booleans())
def test_same_as_the_primal_program(seed, mu, balanced):
    rng = np.random.default_rng(seed)
    X, signs, first = some_rows(rng)
    balance = Balance(X[10:].mean(axis=0), 0.3) if balanced else None
    program = HingeProgram(sparse.csr_matrix(X), signs, mu, balance)
    # the same model is solved for other costs, some of them zero
    for factor in (1.0, rng.random(25) < 0.7, 5.0):
        costs = factor * first
        costs[:2] = 1.0
        found = program.solve(costs)
        peer = by_primal(X, signs, mu, costs, balance)
        assert found.value == pytest.approx(peer.fun, rel=1e-6)
        assert found.value == pytest.approx(value(X, signs, mu, costs, found.w))
        assert found.value == pytest.approx(mu * found.norm + found.loss)
        assert found.bound <= found.value * (1 + 1e-6)
        if balance is not None:
            assert balance.mean @ found.w[:-1] + found.w[-1] == pytest.approx(0.3)


def test_weights_that_are_zero_are_zero():
    X, signs, costs = some_rows(np.random.default_rng(0), k=40, d=20)
    w = HingeProgram(X, signs, 5.0).solve(costs).w[:-1]
    assert 0 < np.count_nonzero(w) < 10
    assert np.abs(w[w != 0]).min() > 1e-6


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_middle_of_the_best_intercepts(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    outputs, signs = rng.normal(size=k).round(1), np.where(rng.random(k) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    costs = rng.choice([0.0, 1.0, 2.0], k)
    costs[:2] = rng.choice([1.0, 2.0], 2)
    grid = np.arange(-160, 161) / 20
    totals = np.maximum(1.0 - signs[:, None] * (outputs[:, None] + grid), 0.0).T @ costs
    best = grid[totals <= totals.min() + 1e-9]
    b = middle_intercept(outputs, signs, costs)
    assert b == pytest.approx((best[0] + best[-1]) / 2)
    # the other way round the classes give the opposite model
    assert middle_intercept(-outputs, -signs, costs) == pytest.approx(-b)


def test_numbers_out_of_range_are_trouble():
    X, signs, costs = some_rows(np.random.default_rng(0))
    with pytest.raises(ProgramError, match=r"numerical trouble.*scale the columns"):
        HingeProgram(X * 1e200, signs, 1.0).solve(costs)
