"""Outputs of a hinge SVM without a row: the span rule against refits."""

import numpy as np
import pytest
from scipy import sparse

from problems import short_texts, two_blobs
from semisvm import MeanSVC
from semisvm.designs import Workers, make_design
from semisvm.methods import label_means
from semisvm.solvers.smo import PairState, RowGram, hinge_problem, leverages, solve_pairs


def machine(X, positive, cost):
    """Return an SVM of the rows: its dual problem, and the solution."""
    problem = hinge_problem(RowGram(make_design(X, 1.0, Workers())), positive, cost)
    found = PairState.zero(problem)
    return problem, solve_pairs(problem, found, tol=1e-10, max_iter=10**6)


def outputs(problem, found):
    return found.gradient + problem.target + found.intercept


def without(X, positive, cost, row):
    """Return the output of a row in a fit without it."""
    rest = np.delete(np.arange(len(positive)), row)
    _, found = machine(X[rest], positive[rest], cost[rest])
    return float((X[[row]] @ (X[rest].T @ found.beta))[0] + found.intercept)


def first_labels(y):
    return np.where(np.arange(len(y)) < 30, y, -1)


def noisy_texts(n):
    X, y = short_texts(n, n_words=500, seed=1)
    flipped = np.random.default_rng(0).random(n) < 0.1
    return X, (y == 1) ^ flipped


@pytest.mark.parametrize("C_unlabeled", [0.1, 1.0, 10.0])
def test_outputs_are_those_of_fits_without_the_row(C_unlabeled):
    X, positive = noisy_texts(160)
    cost = np.where(np.arange(160) < 20, 100.0, C_unlabeled)
    problem, found = machine(X, positive, cost)
    rows = np.arange(20, 160, 7)
    seen = outputs(problem, found)[rows]
    estimated = seen - found.beta[rows] * leverages(problem, found, rows)
    exact = np.array([without(X, positive, cost, row) for row in rows])
    assert np.abs(seen - exact).mean() > 0.05
    assert np.abs(estimated - exact).mean() < 0.2 * np.abs(seen - exact).mean()


def test_rule_is_exact_while_the_same_rows_are_free():
    """Rows of low cost, which change little: at their bound, and one that is free."""
    X, positive = two_blobs(60, 4, gap=1.0)[0], np.arange(60) % 3 > 0
    cost = np.where(np.arange(60) < 50, 1.0, 1e-4)
    problem, found = machine(X, positive, cost)
    rows = np.arange(50, 60)
    assert np.count_nonzero(found.beta[rows]) > 3
    expected = [without(X, positive, cost, row) for row in rows]
    estimated = outputs(problem, found)[rows] - found.beta[rows] * leverages(problem, found, rows)
    np.testing.assert_allclose(estimated, expected, atol=1e-6)


def test_leverages_are_squared_distances_from_the_hull_of_the_free_rows():
    X, positive = two_blobs(40, 6, gap=1.0)[0], np.arange(40) % 2 > 0
    problem, found = machine(X, positive, np.ones(40))
    free = np.flatnonzero((found.beta > problem.lower) & (found.beta < problem.upper))
    assert 2 < len(free) < 40
    expected = []
    for row in range(40):
        hull = X[np.setdiff1d(free, row)]
        edges = (hull[1:] - hull[0]).T
        apart = X[row] - hull[0]
        nearest = edges @ np.linalg.lstsq(edges, apart, rcond=None)[0]
        expected.append(np.sum((apart - nearest) ** 2))
    rows = np.random.default_rng(0).permutation(40)
    found = leverages(problem, found, rows)
    np.testing.assert_allclose(found, np.array(expected)[rows], atol=1e-5)


def test_equal_free_rows_hold_each_other():
    X = np.repeat(np.array([[1.0, 0.0], [-1.0, 0.2], [0.3, 1.0]]), 2, axis=0)
    problem = hinge_problem(
        RowGram(make_design(X, 1.0, Workers())), np.arange(6) % 4 < 2, np.ones(6)
    )
    state = PairState.zero(problem)
    state.beta[:] = 0.5 * problem.target * (problem.upper - problem.lower)
    np.testing.assert_allclose(leverages(problem, state, np.arange(6)), 0.0, atol=1e-6)


@pytest.mark.parametrize("n_free", [0, 1])
def test_without_other_free_rows_there_is_no_estimate(n_free):
    problem = hinge_problem(
        RowGram(make_design(np.eye(4), 1.0, Workers())), np.arange(4) < 2, np.ones(4)
    )
    state = PairState.zero(problem)
    state.beta[:n_free] = 0.5
    found = leverages(problem, state, np.arange(4))
    assert np.isinf(found[: max(n_free, 1)]).all()
    # rows at a bound have the one free row as their hull
    assert np.array_equal(np.isinf(found[n_free:]), np.full(4 - n_free, n_free == 0))


@pytest.mark.parametrize("method", ["iter", "mkl"])
def test_new_rows_of_short_texts_keep_the_shares(method):
    """By the outputs of the unlabelled rows, shares of new rows missed by 4 to 7 points."""
    apart = []
    for seed in (2, 4, 6):
        X, y = short_texts(1100, n_words=30_000, seed=seed)
        model = MeanSVC(C_unlabeled=1.0, method=method, class_prior=[0.7, 0.3], balance_tol=0.0)
        model.fit(X[:500], first_labels(y[:500]))
        apart.append(abs(np.mean(model.predict(X[500:]) == 1) - 0.3))
        assert np.count_nonzero(model.transduction_[30:] == 1) == 0.3 * 470
    assert np.mean(apart) < 0.03


def test_probes_do_not_depend_on_the_order_of_the_rows(monkeypatch):
    monkeypatch.setattr(label_means, "PROBES", 40)
    X, y = short_texts(400, n_words=2000, seed=1)
    partly = first_labels(y)
    order = np.append(np.arange(30), np.random.default_rng(0).permutation(np.arange(30, 400)))
    given = {"class_prior": [0.7, 0.3], "balance_tol": 0.0, "tol": 1e-10}
    one = MeanSVC(**given).fit(X, partly)
    two = MeanSVC(**given).fit(sparse.csr_matrix(X[order]), partly[order])
    assert "intercept moved" in " ".join(one.trace_.notes)
    np.testing.assert_allclose(one.intercept_, two.intercept_, atol=1e-6)
